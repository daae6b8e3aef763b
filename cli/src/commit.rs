//! `oxiblosc commit`.

use std::io::{self, IsTerminal};
use std::sync::Arc;

use oxiblosc::nd::Tiling;
use oxiblosc::sparse::{self, MissingChunks, ShareError};
use oxiblosc::{Registry, SharedWriter, block_on};

use crate::args::{CommitArgs, MissingArg};
use crate::error::{CliError, one_line};
use crate::part::shared_place;
use crate::units::show_bytes;

pub(crate) fn run(args: &CommitArgs, registry: &Registry) -> Result<(), CliError> {
    let name = args.frame.output_name();
    let show = !args.run.quiet && io::stderr().is_terminal();
    let place = shared_place(&args.frame, false)?;
    let writer = block_on(SharedWriter::open_on(Arc::clone(&place), &args.run.pool(), registry));
    if args.discard {
        let removed = block_on(sparse::clear_with(&place, registry)).map_err(CliError::data(&name))?;
        if removed == 0 && matches!(writer, Err(ShareError::NoPlan)) {
            return Err(CliError::data(&name)("there are no parts to discard"));
        }
        if show {
            eprintln!("{name}: {removed} chunks removed");
        }
        return Ok(());
    }
    let missing = match args.missing {
        MissingArg::Fail => MissingChunks::Fail,
        MissingArg::Zero => MissingChunks::Zero,
        MissingArg::Nan => MissingChunks::Nan,
    };
    let writer = writer.map_err(|error| match error {
        // What the library says is meant for programs.
        ShareError::NoPlan => CliError::data(&name)("there are no parts: `oxiblosc compress --part` writes them"),
        error => CliError::data(&name)(error),
    })?;
    let summary = block_on(writer.commit(missing)).map_err(|error| match (&error, writer.tiling()) {
        (ShareError::Missing { chunks, count, .. }, Some(tiling)) => {
            CliError::data(&name)(format!("{}: {}", lost(tiling, chunks, *count, args.parts), one_line(&error)))
        }
        _ => CliError::data(&name)(error),
    })?;
    if show {
        let (decoded, encoded) = (show_bytes(summary.nbytes), show_bytes(summary.cbytes));
        eprintln!("{name}: {} chunks, {decoded} to {encoded}", summary.chunks);
    }
    Ok(())
}

/// Which parts are missing, or which rows if it is not known how many parts there are. Of many missing chunks the first
/// are named, and so are the first parts.
fn lost(tiling: &Tiling, chunks: &[u64], count: u64, parts: Option<u64>) -> String {
    let len = tiling.shape().first().copied().unwrap_or(1);
    let chunk_rows = tiling.geometry().chunk_shape.first().map_or(1, |&rows| u64::from(rows).max(1));
    // Parts are as equal as whole chunks allow.
    let step = parts.map_or(chunk_rows, |parts| len.div_ceil(parts.max(1)).next_multiple_of(chunk_rows)).max(1);
    let mut found: Vec<u64> = Vec::new();
    for &chunk in chunks {
        let row = tiling.chunk_position(chunk).ok().and_then(|at| at.first().copied()).unwrap_or(0) * chunk_rows;
        if found.last() != Some(&(row / step)) {
            found.push(row / step);
        }
    }
    let more = if count > chunks.len() as u64 { " and perhaps others" } else { "" };
    let list = |text: &dyn Fn(u64) -> String| found.iter().map(|&at| text(at)).collect::<Vec<_>>().join(", ");
    match parts {
        Some(parts) => format!("missing: part {}{more}", list(&|at| format!("{}/{parts}", at + 1))),
        None => {
            let rows = |at: u64| format!("{} to {}", at * step, ((at + 1) * step).min(len));
            format!("missing: some items of the rows {}{more}", list(&rows))
        }
    }
}
