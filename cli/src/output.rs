//! Where compressed bytes go: a file, directory or object that appears whole or not at all unless it is to be followed,
//! or a stream.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::Path;

use futures::io::AllowStdIo;
use oxiblosc::IoMode;
use oxiblosc::target::{FileTarget, OpenTarget, SparseTarget, SpoolTarget};

use crate::abort_on_drop::AbortOnDrop;
use crate::args::{FrameKind, Source};
use crate::error::CliError;

/// A target for `destination`. A file, directory or object gets its name when it is complete; a stream or a device,
/// which cannot be replaced, gets its bytes then. Only an open-ended frame is visible from the start.
pub(crate) fn target(destination: &Source, layout: FrameKind) -> Result<AbortOnDrop, CliError> {
    let path = match (destination, layout) {
        (Source::Path(path), _) => path,
        (Source::Remote(object), _) => return object.target(layout),
        (Source::Standard, FrameKind::Contiguous) => {
            return Ok(AbortOnDrop::stream(SpoolTarget::new(AllowStdIo::new(io::stdout())).io_mode(IoMode::Inline)));
        }
        (Source::Standard, FrameKind::Open) => {
            return Ok(AbortOnDrop::stream(OpenTarget::new(AllowStdIo::new(io::stdout()))));
        }
        (Source::Standard, FrameKind::Sparse) => {
            return Err(CliError::Usage("--layout sparse: standard output is no directory".into()));
        }
    };
    if layout == FrameKind::Sparse {
        let target = SparseTarget::create(path).map_err(failed(destination))?;
        return Ok(AbortOnDrop::new(target.io_mode(IoMode::Inline)));
    }
    let stream = fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir());
    let open = layout == FrameKind::Open;
    let target = if stream {
        OpenOptions::new().write(true).open(path).map(AllowStdIo::new).map(|file| match open {
            true => AbortOnDrop::stream(OpenTarget::new(file)),
            false => AbortOnDrop::stream(SpoolTarget::new(file).io_mode(IoMode::Inline)),
        })
    } else {
        let target = if open { FileTarget::in_place(path) } else { FileTarget::create(path) };
        target.map(|target| AbortOnDrop::new(target.io_mode(IoMode::Inline)))
    };
    target.map_err(failed(destination))
}

/// A target that replaces the frame at `path`, after syncing to the disk.
pub(crate) fn replacement(path: &Path, is_sparse: bool) -> io::Result<AbortOnDrop> {
    Ok(match is_sparse {
        true => AbortOnDrop::new(SparseTarget::create(path)?.inline().durable(true)),
        false => AbortOnDrop::new(FileTarget::create(path)?.inline().durable(true)),
    })
}

/// An error of writing to `destination`. If standard output breaks, its reader has closed it.
pub(crate) fn failed(destination: &Source) -> impl FnOnce(io::Error) -> CliError {
    move |error| match destination {
        Source::Standard => CliError::stdout(error),
        _ => CliError::io(destination.output_name())(error),
    }
}
