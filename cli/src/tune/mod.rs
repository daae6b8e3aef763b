//! `oxiblosc tune`.

mod array;
mod candidates;
mod measure;
mod plot;
mod purpose;
mod sample;
mod search;

use std::io::{self, Write};
use std::time::Duration;

use bytes::Bytes;
use oxiblosc::{Pool, Registry};
use serde_json::{Value, json};

use crate::args::TuneArgs;
use crate::error::CliError;
use crate::npy::NpyHeader;
use crate::progress;
use crate::raw::RawInput;
use crate::writer::write_picture;
use array::ArraySample;
use candidates::{Choice, Skipped, candidates};
use measure::{LONGEST, Measurement, Meter};
use purpose::recommended;
use search::Search;

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
    let mantissa_bits = args.max_error.map(|error| mantissa_bits(error, typesize, header, args)).transpose()?;
    let Choice { candidates, skipped } = candidates(&sample, array.as_ref(), typesize, mantissa_bits, registry);
    let bar = progress::count(candidates.len() as u64, args.quiet);
    let budget = args.budget.map(Duration::from_secs_f64);
    let meter = Meter {
        typesize,
        registry,
        pool: args.threads.map_or_else(Pool::inline, |threads| Pool::new(threads.into())),
        longest: budget.map_or(LONGEST, |budget| LONGEST.min(budget / 10)),
        max_error: args.max_error,
    };
    let most_block = sample.iter().map(Bytes::len).max().unwrap_or_default();
    let found = Search { budget, most_block, typesize, skipped }.run(candidates, |candidate| {
        bar.inc(1);
        match &array {
            Some(array) if candidate.of_array => meter.measure_array(candidate, array),
            _ => meter.measure(candidate, &sample),
        }
    });
    bar.finish_and_clear();
    let (mut results, mut skipped) = found;
    if results.is_empty() {
        let reason = skipped.pop().map_or_else(|| "there is no codec to try".to_owned(), |skipped| skipped.reason);
        return Err(CliError::data(&input.name)(reason));
    }
    results.sort_by(|a, b| b.ratio().total_cmp(&a.ratio()));

    if let Some(path) = &args.plot {
        let svg = plot::svg(&results);
        write_picture(svg, &args.input, path)?;
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

/// How many bits of the mantissa floats need so that they change by no more than this part of themselves.
///
/// # Errors
/// The items are no floats of 4 or 8 bytes in the byte order of the filter.
fn mantissa_bits(error: f64, typesize: usize, header: Option<&NpyHeader>, args: &TuneArgs) -> Result<u8, CliError> {
    let floats = header.is_none_or(|header| ["<f4", "<f8"].contains(&&*header.descr));
    let most = match typesize {
        4 if floats => 23.0,
        8 if floats => 52.0,
        _ => {
            let message = format!(
                "--max-error: {} has no little-endian floats of 4 or 8 bytes; for plain bytes give --typesize",
                args.input.name()
            );
            return Err(CliError::Usage(message));
        }
    };
    // What is cut off is less than the last bit that stays. Lossless: from 1 to 52.
    Ok((-error.log2()).ceil().clamp(1.0, most) as u8)
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
            "block_size": result.candidate.block_size,
            "chunk_size": result.candidate.chunk_size,
            "on_front": is_worthwhile(result, results),
            "sample_bytes": result.nbytes,
            "ratio": result.ratio(),
            "encode_bytes_per_second": result.encode_speed(),
            "decode_bytes_per_second": result.decode_speed(),
            "options": result.candidate.options(typesize),
        })
    };
    let best: Vec<_> = recommended(results)
        .map(|(channel, result)| json!({ "for": channel.name(), "options": result.candidate.options(typesize) }))
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
    let size = |size: Option<usize>| size.map_or_else(|| "auto".to_owned(), |size| format!("{}K", size >> 10));
    // The names of built-in plugins have room; others may be longer.
    let codec_width = rows().map(|result| result.candidate.codec_name.len()).fold(8, usize::max);
    let filter_width = rows().map(|result| filters(result).len()).fold(18, usize::max);
    writeln!(
        out,
        "{:<codec_width$} {:>5}  {:<filter_width$} {:>8} {:>8} {:>8} {:>13} {:>13}",
        "codec", "level", "filters", "block", "chunk", "ratio", "encode MB/s", "decode MB/s"
    )?;
    for result in rows() {
        let candidate = &result.candidate;
        writeln!(
            out,
            "{:<codec_width$} {:>5}  {:<filter_width$} {:>8} {:>8} {:>8.2} {:>13.0} {:>13.0}",
            candidate.codec_name,
            candidate.level,
            filters(result),
            size(candidate.block_size),
            size(candidate.chunk_size),
            result.ratio(),
            result.encode_speed() / 1e6,
            result.decode_speed() / 1e6,
        )?;
    }
    writeln!(out, "\n{} tried; those that another one beats in every respect are omitted", results.len())?;
    for Skipped { what, reason } in skipped {
        writeln!(out, "not tried: {what}: {reason}")?;
    }
    for (channel, result) in recommended(results) {
        writeln!(out, "for {:<22} {}", channel.name(), result.candidate.options(typesize))?;
    }
    Ok(())
}
