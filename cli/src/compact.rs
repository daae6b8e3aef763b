//! `oxiblosc compact`.

use std::io::{self, IsTerminal};

use oxiblosc::edit::{self, FrameLock};
use oxiblosc::frame::ChecksumState;
use oxiblosc::{Registry, block_on, blocking};

use crate::append::{editable, path_of};
use crate::args::{CompactArgs, Source};
use crate::error::CliError;
use crate::progress::Progress;
use crate::remote::Remote;
use crate::units::show_bytes;
use crate::{output, progress};

pub(crate) fn run(args: &CompactArgs, registry: &Registry) -> Result<(), CliError> {
    let bar = progress::bar(None, args.quiet);
    if let Source::Remote(object) = &args.frame {
        return unnamed(args, object, registry, &bar);
    }
    let path = path_of(&args.frame, "compact")?;
    // Before it is read, or an edit could be lost.
    let _lock = FrameLock::new(path).map_err(CliError::io(args.frame.name()))?;
    let reader = editable(&args.frame, "compact", registry, &bar)?;
    let before = reader.cbytes();
    bar.set_length(before);
    let mut target = output::replacement(path, path.is_dir()).map_err(CliError::io(args.frame.name()))?;
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

/// Removes the chunks of a sparse frame in a bucket that its index does not name.
fn unnamed(args: &CompactArgs, object: &Remote, registry: &Registry, bar: &Progress) -> Result<(), CliError> {
    let reader = editable(&args.frame, "compact", registry, bar)?;
    if !reader.frame().is_sparse() {
        return Err(CliError::Usage(format!(
            "cannot compact {object}: a single object has no holes to remove in place"
        )));
    }
    let place = object.place().map_err(CliError::io(args.frame.name()))?;
    let removed = blocking::compact_place(place).map_err(CliError::data(args.frame.name()))?;
    bar.finish_and_clear();
    if !args.quiet && io::stderr().is_terminal() {
        eprintln!("{object}: {removed} unused chunks removed");
    }
    Ok(())
}
