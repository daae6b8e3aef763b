//! `oxiblosc compact`.

use std::io::{self, IsTerminal};

use oxiblosc::edit::{self, FileStore, Store};
use oxiblosc::frame::ChecksumState;
use oxiblosc::{Registry, block_on};

use crate::append::{editable, path_of};
use crate::args::CompactArgs;
use crate::error::CliError;
use crate::units::show_bytes;
use crate::{output, progress};

pub(crate) fn run(args: &CompactArgs, registry: &Registry) -> Result<(), CliError> {
    let path = path_of(&args.frame, "compact")?;
    // Locks out editors until the frame has been replaced.
    let store = FileStore::open(path, true).map_err(CliError::io(args.frame.name()))?;
    let bar = progress::bar(None, args.quiet);
    let reader = editable(&args.frame, "compact", registry, &bar)?;
    let before = reader.cbytes();
    bar.set_length(before);
    let mut target = output::replacement(path, store.is_sparse()).map_err(CliError::io(args.frame.name()))?;
    let summary = block_on(edit::copy(&reader, &mut target)).map_err(CliError::data(args.frame.name()))?;
    bar.finish_and_clear();
    let checksums = reader.frame().checksums();
    if !args.quiet && *checksums == ChecksumState::Outdated {
        eprintln!("{}: it has no checksums any more: {checksums}", path.display());
    }
    if !args.quiet && io::stderr().is_terminal() {
        eprintln!("{}: {} to {}", path.display(), show_bytes(before), show_bytes(summary.cbytes));
    }
    Ok(())
}
