//! `oxiblosc recover` and `oxiblosc seal`: frames whose writer died, or whose end is missing.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::ops::Range;

use oxiblosc::recover::{ChunkNumbers, Found, RecoverError, RecoverOptions, Recovered};
use oxiblosc::source::RangeSource;
use oxiblosc::{Registry, block_on};
use serde_json::{Value, json};

use crate::args::{FrameKind, RecoverArgs, SealArgs, Source};
use crate::error::{CliError, one_line};
use crate::needs::{missing_json, missing_text};
use crate::units::show_exact;
use crate::{input, output, progress};

/// The most chunks that are listed one by one; beyond that only their number is shown.
const NAMED: usize = 8;

pub(crate) fn run(args: &RecoverArgs, registry: &Registry) -> Result<(), CliError> {
    let name = args.input.name();
    if args.input.is(&args.output) {
        let message = format!("{name}: a recovered frame cannot replace its input, choose another output");
        return Err(CliError::Usage(message));
    }
    let bar = progress::bar(None, args.quiet);
    let options = options(args.max_output, args.max_work, registry).progress(&bar.of_library());
    let recovered = match (&args.input, &args.output) {
        // Only a directory may have lost its index.
        (Source::Path(input), Source::Path(output)) if input.is_dir() => options.recover(input, output),
        _ => {
            let source = input::open(&args.input).map_err(CliError::io(&name))?;
            bar.set_length(block_on(source.size()).map_err(CliError::io(&name))?);
            let layout = if source.chunk_files().is_some() { FrameKind::Sparse } else { FrameKind::Contiguous };
            let mut target = output::target(&args.output, layout)?;
            block_on(options.recover_into(source, &mut target))
        }
    };
    bar.finish_and_clear();
    let recovered = recovered.map_err(failed(&name))?;
    // Standard output may be receiving the frame.
    let on_stderr = matches!(args.output, Source::Standard);
    if args.json {
        print(&format!("{:#}", to_json(&recovered)), on_stderr)?;
    } else if !args.quiet {
        let mut text = match recovered.found {
            Found::Whole => String::new(),
            Found::Open => "open-ended and complete: ".into(),
            Found::Unfinished => "its writer was interrupted: ".into(),
            _ => "its end is missing: ".into(),
        };
        text += &saved(&recovered);
        print(&format!("{name}: {text}"), on_stderr)?;
    }
    Ok(())
}

pub(crate) fn seal(args: &SealArgs, registry: &Registry) -> Result<(), CliError> {
    let Source::Path(path) = &args.frame else {
        return Err(CliError::Usage(format!("cannot seal {}: give a file", args.frame.name())));
    };
    let name = args.frame.name();
    let sealed = options(None, args.max_work, registry).seal_file(path).map_err(failed(&name))?;
    if args.quiet {
        return Ok(());
    }
    let state = if sealed.found == Found::Whole { "was sealed already" } else { "sealed" };
    let mut text = format!("{name}: {state}, {}, {}", chunks(sealed.chunks), show_exact(sealed.nbytes));
    if sealed.found == Found::Unfinished && sealed.unused_bytes > 0 {
        let _ = write!(text, "; {} after the last complete chunk have been cut off", show_exact(sealed.unused_bytes));
    }
    text += &not_verified(&sealed);
    print(&text, false)
}

fn options(max_output: Option<usize>, max_work: Option<usize>, registry: &Registry) -> RecoverOptions {
    let mut options = RecoverOptions::new().registry(registry);
    if let Some(bytes) = max_output {
        options = options.output_bytes(bytes as u64);
    }
    if let Some(bytes) = max_work {
        options = options.work_bytes(bytes as u64);
    }
    options
}

fn failed(name: &str) -> impl FnOnce(RecoverError) -> CliError {
    move |error| match error {
        RecoverError::Io(error) => CliError::io(name)(error),
        RecoverError::Output { limit } => CliError::data(name)(format!(
            "the recovered frame would exceed {}, far more than the frame itself, as if its index named \
             the same chunks many times; --max-output allows more",
            show_exact(limit)
        )),
        RecoverError::Work { limit } => CliError::data(name)(format!(
            "checking the frame would decode more than {}, far more than a frame of its length holds; \
             --max-work allows more",
            show_exact(limit)
        )),
        error => CliError::data(name)(error),
    }
}

/// Describes what was saved and what was lost.
fn saved(recovered: &Recovered) -> String {
    let mut text = format!("{} saved, {}", chunks(recovered.chunks), show_exact(recovered.nbytes));
    match recovered.lost_nbytes {
        // Chunks that could not be decoded may be damaged.
        Some(0) if !recovered.is_verified() => {}
        Some(0) if recovered.damaged_array.is_none() && !recovered.lost_vlmetalayers => text += ", nothing lost",
        Some(0) => text += ", none lost",
        Some(lost) => {
            let _ = write!(text, ", {} lost", show_exact(lost));
        }
        None => text += "; the original number is unknown",
    }
    if !recovered.replaced.is_empty() {
        let _ = write!(text, "; zeros in place of {}", named(&recovered.replaced));
    }
    text += &not_verified(recovered);
    if recovered.unused_bytes > 0 {
        let _ = write!(text, "; {} of the file are unused", show_exact(recovered.unused_bytes));
    }
    if let Some(error) = &recovered.damaged_array {
        let _ = write!(text, "; it is no longer an array but a plain frame: {}", one_line(error));
    }
    if recovered.lost_vlmetalayers {
        text += "; its variable-length metalayers are lost";
    }
    if !recovered.in_order {
        text += "; without the index their original order is uncertain";
    }
    text
}

/// Which chunks have been copied without being decoded, and why; nothing if all have been.
fn not_verified(recovered: &Recovered) -> String {
    match recovered.is_verified() {
        true => String::new(),
        false => {
            let missing = missing_text(&recovered.missing);
            format!("; copied but not verified: {missing}, needed by {}", named(&recovered.unchecked))
        }
    }
}

fn to_json(recovered: &Recovered) -> Value {
    let ranges = |numbers: &ChunkNumbers| {
        let range = |range: &Range<u64>| json!([range.start, range.end]);
        numbers.ranges().iter().map(range).collect::<Vec<_>>()
    };
    json!({
        "found": match recovered.found {
            Found::Whole => "whole",
            Found::Open => "open",
            Found::Unfinished => "unfinished",
            _ => "cut",
        },
        "chunks": recovered.chunks,
        "nbytes": recovered.nbytes,
        "lost_nbytes": recovered.lost_nbytes,
        "replaced": ranges(&recovered.replaced),
        "verified": recovered.is_verified(),
        "unverified": ranges(&recovered.unchecked),
        "missing": missing_json(&recovered.missing),
        "unused_bytes": recovered.unused_bytes,
        "in_order": recovered.in_order,
        "damaged_array": recovered.damaged_array.as_ref().map(|error| one_line(error)),
        "lost_vlmetalayers": recovered.lost_vlmetalayers,
    })
}

/// The number of chunks, and the first of them.
fn named(numbers: &ChunkNumbers) -> String {
    let first: Vec<_> = numbers.iter().take(NAMED).map(|number| number.to_string()).collect();
    let mut text = format!("{}: {}", chunks(numbers.len()), first.join(", "));
    let more = numbers.len().saturating_sub(NAMED as u64);
    if more > 0 {
        let _ = write!(text, " and {more} more");
    }
    text
}

fn chunks(count: u64) -> String {
    format!("{count} {}", if count == 1 { "chunk" } else { "chunks" })
}

fn print(text: &str, on_stderr: bool) -> Result<(), CliError> {
    if on_stderr {
        eprintln!("{text}");
        return Ok(());
    }
    let mut out = io::stdout().lock();
    writeln!(out, "{text}").and_then(|()| out.flush()).map_err(CliError::stdout)
}
