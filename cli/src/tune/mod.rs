//! `oxiblosc tune`.

mod json;
mod options;
mod plot;
mod table;

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::time::Duration;

use oxiblosc::{Pool, Registry};
use oxiblosc_tune::{Sampler, Skipped, Subject, TuneError, TuneOptions, Tuned};

use crate::args::TuneArgs;
use crate::error::{CliError, in_one_line};
use crate::needs::is_builtin;
use crate::progress;
use crate::raw::RawInput;
use crate::writer::write_picture;
use options::options;

pub(crate) fn run(args: &TuneArgs, registry: &Registry) -> Result<(), CliError> {
    let mut input = RawInput::open(&args.input, false, &args.decoding, args.quiet)?;
    let item_size = input.npy.as_ref().map_or(1, |header| header.item_size);
    let typesize = args.typesize.map_or(item_size, |size| size as usize);
    let mut sampler = Sampler::new(typesize);
    while let Some(piece) = input.next(sampler.piece_bytes())? {
        sampler.push(piece);
    }
    input.bar.finish_and_clear();
    let mut sample = sampler.finish();
    if let Some(header) = input.npy.as_ref().filter(|header| header.item_size == typesize) {
        sample = sample.array(header.shape.clone(), header.descr.clone());
    }

    let mut tune = TuneOptions::new().registry(registry);
    if let Some(threads) = args.threads {
        tune = tune.pool(&Pool::new(threads.into()));
    }
    if let Some(seconds) = args.budget {
        tune = tune.budget(Duration::from_secs_f64(seconds));
    }
    if let Some(part) = args.max_error {
        tune = tune.max_error(part);
    }
    let bar = progress::count(0, args.quiet);
    let tuned = tune.tune_watched(&sample, |progress| {
        bar.set_length(progress.total as u64);
        bar.set_position(progress.done as u64);
        ControlFlow::Continue(())
    });
    bar.finish_and_clear();
    let tuned = tuned.map_err(|error| failed(error, args, &input.name))?;

    if let Some(path) = &args.plot {
        write_picture(plot::svg(&tuned), &args.input, path)?;
    }
    let mut out = io::stdout().lock();
    if args.json { writeln!(out, "{:#}", json::of(&tuned, typesize)) } else { table::write(&mut out, &tuned) }
        .and_then(|()| out.flush())
        .map_err(CliError::stdout)
}

fn failed(error: TuneError, args: &TuneArgs, name: &str) -> CliError {
    match error {
        TuneError::NoFloats => CliError::Usage(format!(
            "--max-error: {} has no little-endian floats of 4 or 8 bytes; for plain bytes give --typesize",
            args.input.name()
        )),
        TuneError::NothingWorks { reason } => CliError::data(name)(reason),
        error => CliError::data(name)(error),
    }
}

/// What was not tried, and why. Who has not added a plugin need not be told of it, unless there was no time for it.
fn not_tried(tuned: &Tuned) -> impl Iterator<Item = (String, String)> {
    let is_told = |skipped: &&Skipped| match skipped.subject {
        Subject::Plugin(plugin) => skipped.for_lack_of_time || !is_builtin(plugin),
        _ => true,
    };
    tuned.skipped().iter().filter(is_told).map(|skipped| {
        let what = match &skipped.subject {
            Subject::Combination(candidate) => options(candidate),
            subject => subject.to_string(),
        };
        (what, in_one_line(&skipped.reason))
    })
}
