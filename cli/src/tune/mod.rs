//! `oxiblosc tune`.

mod array;
mod candidates;
mod measure;
mod plot;
mod sample;

use std::fs;
use std::io::{self, Write};

use oxiblosc::Registry;
use serde_json::{Value, json};

use crate::args::TuneArgs;
use crate::error::CliError;
use crate::progress;
use crate::raw::RawInput;
use array::ArraySample;
use candidates::{Choice, Skipped, candidates};
use measure::{Measurement, measure, measure_array};

/// The channels that compressed bytes go through, and their speeds, on which the best choice depends.
const CHANNELS: [(&str, f64); 3] =
    [("a network of 100 MB/s", 1e8), ("a disk of 1 GB/s", 1e9), ("memory, 10 GB/s", 1e10)];

pub(crate) fn run(args: &TuneArgs, registry: &Registry) -> Result<(), CliError> {
    let mut input = RawInput::open(&args.input, false, &args.decoding, args.quiet)?;
    let item_size = input.npy.as_ref().map_or(1, |header| header.item_size);
    let typesize = args.typesize.map_or(item_size, |size| size as usize);
    let sample = sample::take(&mut input, typesize)?;
    input.bar.finish_and_clear();
    if sample.iter().all(|piece| piece.is_empty()) {
        return Err(CliError::data(&input.name)("there is nothing to compress"));
    }

    // The pieces have no shape, but the first one begins where the array does.
    let header = input.npy.as_ref().filter(|header| header.item_size == typesize);
    let array = header.zip(sample.first()).and_then(|(header, first)| ArraySample::new(header, first));
    let Choice { candidates, mut skipped } = candidates(&sample, array.as_ref(), typesize, registry);
    let bar = progress::count(candidates.len() as u64, args.quiet);
    let mut results = Vec::new();
    for candidate in candidates {
        let what = candidate.options(typesize);
        let measured = match &array {
            Some(array) if candidate.of_array => measure_array(candidate, array, typesize, registry),
            _ => measure(candidate, &sample, typesize, registry),
        };
        match measured {
            Ok(result) => results.push(result),
            Err(reason) => skipped.push(Skipped { what, reason }),
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    if results.is_empty() {
        let reason = skipped.pop().map_or_else(|| "there is no codec to try".to_owned(), |skipped| skipped.reason);
        return Err(CliError::data(&input.name)(reason));
    }
    results.sort_by(|a, b| b.ratio().total_cmp(&a.ratio()));

    if let Some(path) = &args.plot {
        let svg = plot::svg(&results);
        fs::write(path, svg).map_err(CliError::io(path.display().to_string()))?;
    }
    let mut out = io::stdout().lock();
    if args.json {
        writeln!(out, "{:#}", to_json(&results, &skipped, typesize))
    } else {
        table(&mut out, &results, &skipped, typesize)
    }
    .and_then(|()| out.flush())
    .map_err(CliError::stdout)
}

/// The best for each channel: the least time to compress, transfer and decompress.
fn recommended(results: &[Measurement]) -> impl Iterator<Item = (&'static str, &Measurement)> {
    CHANNELS.into_iter().filter_map(|(name, speed)| {
        let best = results.iter().min_by(|a, b| a.seconds_through(speed).total_cmp(&b.seconds_through(speed)));
        best.map(|best| (name, best))
    })
}

/// Whether no other result is better in ratio and both speeds.
fn is_worthwhile(result: &Measurement, all: &[Measurement]) -> bool {
    let better = |other: &Measurement| {
        other.ratio() > result.ratio()
            && other.encode_speed() > result.encode_speed()
            && other.decode_speed() > result.decode_speed()
    };
    !all.iter().any(better)
}

fn to_json(results: &[Measurement], skipped: &[Skipped], typesize: usize) -> Value {
    let row = |result: &Measurement| {
        json!({
            "codec": result.candidate.codec_name,
            "level": result.candidate.level,
            "filters": result.candidate.filter_names,
            "sample_bytes": result.nbytes,
            "ratio": result.ratio(),
            "encode_bytes_per_second": result.encode_speed(),
            "decode_bytes_per_second": result.decode_speed(),
            "options": result.candidate.options(typesize),
        })
    };
    let best: Vec<_> = recommended(results)
        .map(|(channel, result)| json!({ "for": channel, "options": result.candidate.options(typesize) }))
        .collect();
    let sample_bytes = results.iter().map(|result| result.nbytes).max();
    let not_tried = |skipped: &Skipped| json!({ "what": skipped.what, "reason": skipped.reason });
    json!({
        "typesize": typesize,
        "sample_bytes": sample_bytes,
        "results": results.iter().map(row).collect::<Vec<_>>(),
        "recommended": best,
        "not_tried": skipped.iter().map(not_tried).collect::<Vec<_>>(),
    })
}

fn table(out: &mut impl Write, results: &[Measurement], skipped: &[Skipped], typesize: usize) -> io::Result<()> {
    let rows = || results.iter().filter(|result| is_worthwhile(result, results));
    let filters = |result: &Measurement| result.candidate.filter_names.join(",");
    // The names of built-in plugins have room; others may be longer.
    let codec_width = rows().map(|result| result.candidate.codec_name.len()).fold(8, usize::max);
    let filter_width = rows().map(|result| filters(result).len()).fold(18, usize::max);
    writeln!(
        out,
        "{:<codec_width$} {:>5}  {:<filter_width$} {:>8} {:>13} {:>13}",
        "codec", "level", "filters", "ratio", "encode MB/s", "decode MB/s"
    )?;
    for result in rows() {
        let candidate = &result.candidate;
        writeln!(
            out,
            "{:<codec_width$} {:>5}  {:<filter_width$} {:>8.2} {:>13.0} {:>13.0}",
            candidate.codec_name,
            candidate.level,
            filters(result),
            result.ratio(),
            result.encode_speed() / 1e6,
            result.decode_speed() / 1e6,
        )?;
    }
    writeln!(
        out,
        "\n{} tried on one thread; those that another one beats in every respect are omitted",
        results.len()
    )?;
    for Skipped { what, reason } in skipped {
        writeln!(out, "not tried: {what}: {reason}")?;
    }
    for (channel, result) in recommended(results) {
        writeln!(out, "for {channel:<22} {}", result.candidate.options(typesize))?;
    }
    Ok(())
}
