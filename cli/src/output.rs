//! Where compressed bytes go: a file, directory or object that appears whole or not at all unless it is to be followed,
//! or a stream.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::Path;
use std::sync::Arc;

use futures::io::AllowStdIo;
use oxiblosc::location::ObjectLocation;
use oxiblosc::object::ObjectPrefix;
use oxiblosc::source::{ObjectSource, RangeSource};
use oxiblosc::target::{FileTarget, OpenTarget, PlaceTarget, SparseTarget, SpoolTarget};
use oxiblosc::{IoMode, block_on};

use crate::abort_on_drop::AbortOnDrop;
use crate::args::{FrameKind, Source};
use crate::error::CliError;

/// A target for `destination`. A file, directory or object gets its name when it is complete; a stream or a device,
/// which cannot be replaced, gets its bytes then. Only an open-ended frame is visible from the start.
pub(crate) fn target(destination: &Source, layout: FrameKind) -> Result<AbortOnDrop, CliError> {
    let path = match (destination, layout) {
        (Source::Path(path), _) => path,
        (Source::Object(object), _) => return self::object(object, layout, destination),
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

/// An object is uploaded while it is written, in parts that become visible with the last one; the index of a sparse
/// frame is put last.
fn object(object: &ObjectLocation, layout: FrameKind, destination: &Source) -> Result<AbortOnDrop, CliError> {
    let refuse = |reason: &str| Err(CliError::Usage(format!("{object}: {reason}")));
    let store = object.store().map_err(failed(destination))?;
    let target = object.target().map_err(failed(destination))?;
    match (layout, target) {
        (_, None) => refuse("only object stores can be written to: s3://, gs:// and az://"),
        (FrameKind::Open, _) => refuse("--layout open: an object does not exist before it is complete"),
        (FrameKind::Contiguous, Some(_)) if object.is_prefix() => {
            refuse("the slash at the end says that it is the prefix of a sparse frame: --layout sparse writes one")
        }
        (FrameKind::Contiguous, Some(target)) => {
            block_on(refuse_sparse(object)).map_err(failed(destination))?;
            Ok(AbortOnDrop::new(target))
        }
        (FrameKind::Sparse, Some(_)) => {
            block_on(refuse_object(object)).map_err(failed(destination))?;
            let prefix = ObjectPrefix::with_store(Arc::clone(store), object.path().clone());
            Ok(AbortOnDrop::new(PlaceTarget::new(prefix)))
        }
    }
}

/// An object next to the prefix of the same name would hide the sparse frame there from readers.
async fn refuse_sparse(object: &ObjectLocation) -> io::Result<()> {
    match exists(ObjectSource::sparse(Arc::clone(object.store()?), object.path().clone())).await? {
        true => Err(taken("there is a sparse frame of this name, which is not replaced by an object")),
        false => Ok(()),
    }
}

/// The other way around.
async fn refuse_object(object: &ObjectLocation) -> io::Result<()> {
    let (store, path) = (object.store()?, object.path());
    let object = ObjectSource::new(Arc::clone(store), path.clone());
    // Where objects are files, prefixes are directories, which some servers list as objects. An existing sparse frame
    // is reported by the target.
    let index = ObjectSource::sparse(Arc::clone(store), path.clone());
    if exists(object).await? && !exists(index).await? {
        return Err(taken("there is an object of this name, which is not replaced by a sparse frame"));
    }
    Ok(())
}

fn taken(message: &str) -> io::Error {
    io::Error::new(io::ErrorKind::AlreadyExists, message)
}

/// Whether there is such an object, as far as can be known: with write-only access the check is denied.
async fn exists(source: ObjectSource) -> io::Result<bool> {
    match source.size().await {
        Ok(_) => Ok(true),
        Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied) => Ok(false),
        Err(e) => Err(e),
    }
}

/// An error of writing to `destination`. If standard output breaks, its reader has closed it.
pub(crate) fn failed(destination: &Source) -> impl FnOnce(io::Error) -> CliError {
    move |error| match destination {
        Source::Standard => CliError::stdout(error),
        _ => CliError::io(destination.output_name())(error),
    }
}
