//! What was found, for programs.

use oxiblosc_tune::{Measurement, ThreadSpeed, Tuned};
use serde_json::{Value, json};

use super::not_tried;
use super::options::options;

pub(super) fn of(tuned: &Tuned, typesize: usize) -> Value {
    let row = |result: &Measurement| {
        json!({
            "codec": result.candidate.codec_name,
            "level": result.candidate.level,
            "filters": result.candidate.filter_names,
            "block_size": result.candidate.block_size,
            "chunk_size": result.candidate.chunk_size,
            "on_front": tuned.is_on_front(result),
            "sample_bytes": result.nbytes,
            "ratio": result.ratio(),
            "encode_bytes_per_second": result.encode_speed(),
            "decode_bytes_per_second": result.decode_speed(),
            "options": options(&result.candidate),
        })
    };
    let threads = |speed: &ThreadSpeed| {
        json!({
            "threads": speed.threads,
            "encode_bytes_per_second": speed.encode_speed,
            "decode_bytes_per_second": speed.decode_speed,
        })
    };
    let best = tuned.recommended().map(|(purpose, result)| {
        json!({
            "for": purpose.to_string(),
            "options": options(&result.candidate),
            "threads": result.threads.iter().map(threads).collect::<Vec<_>>(),
        })
    });
    json!({
        "typesize": typesize,
        "sample_bytes": tuned.measurements().iter().map(|result| result.nbytes).max(),
        "results": tuned.measurements().iter().map(row).collect::<Vec<_>>(),
        "recommended": best.collect::<Vec<_>>(),
        "not_tried": not_tried(tuned).map(|(what, reason)| json!({ "what": what, "reason": reason })).collect::<Vec<_>>(),
    })
}
