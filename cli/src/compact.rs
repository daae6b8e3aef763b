//! `oxiblosc compact`.

use std::io::{self, IsTerminal};

use oxiblosc::core::Registry;
use oxiblosc::streaming::edit;

use crate::append::editable;
use crate::args::CompactArgs;
use crate::error::CliError;
use crate::units::show_bytes;

pub(crate) fn run(args: &CompactArgs, registry: &Registry) -> Result<(), CliError> {
    let (path, reader) = editable(&args.frame, "compact", registry)?;
    let before = reader.cbytes();
    drop(reader);
    let summary = edit::compact(path).map_err(CliError::data(args.frame.name()))?;
    if !args.quiet && io::stderr().is_terminal() {
        eprintln!("{}: {} to {}", path.display(), show_bytes(before), show_bytes(summary.cbytes));
    }
    Ok(())
}
