//! Where frames are written to.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::io::AllowStdIo;
use oxiblosc::IoMode;
use oxiblosc::frame::FrameType;
use oxiblosc::location::ObjectLocation;
use oxiblosc::source::{ObjectSource, RangeSource};
use oxiblosc::target::{FileTarget, MemoryTarget, Part, PlaceTarget, SparseTarget, SpoolTarget, Target};

use crate::location::{Place, prefix};

pub(crate) type AnyTarget = Box<dyn Target + Send>;

/// A target that leaves nothing at `place` unless the frame is finished. A path that is not a regular file, such as a
/// pipe, is written through.
pub(crate) async fn open(place: &Place, contiguous: bool) -> io::Result<AnyTarget> {
    match place {
        Place::Path(path) if contiguous => file(path),
        Place::Path(path) => Ok(Box::new(SparseTarget::create(path)?.inline())),
        Place::Object(object) => self::object(object, contiguous).await,
        Place::File(file) if contiguous => {
            Ok(Box::new(SpoolTarget::new(AllowStdIo::new(file.clone())).io_mode(IoMode::Inline)))
        }
        Place::File(_) => Err(refused("a sparse frame is a directory or a prefix of objects, not a file object")),
        Place::Bytes(_) => Err(refused("bytes cannot be written to")),
    }
}

fn file(path: &Path) -> io::Result<AnyTarget> {
    let stream = std::fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir());
    if stream {
        let file = std::fs::OpenOptions::new().write(true).open(path)?;
        return Ok(Box::new(SpoolTarget::new(AllowStdIo::new(file)).io_mode(IoMode::Inline)));
    }
    Ok(Box::new(FileTarget::create(path)?.inline()))
}

async fn object(object: &ObjectLocation, contiguous: bool) -> io::Result<AnyTarget> {
    let Some(target) = object.target()? else {
        return Err(refused("only object stores can be written to: s3://, gs:// and az://"));
    };
    let (store, path) = (Arc::clone(object.store()?), object.path().clone());
    // An object and a sparse frame of one name would hide each other from readers.
    let index = exists(ObjectSource::sparse(Arc::clone(&store), path.clone())).await?;
    match contiguous {
        true if index => Err(taken("there is a sparse frame of this name, which is not replaced by an object")),
        true => Ok(Box::new(target)),
        false if !index && exists(ObjectSource::new(store, path)).await? => {
            Err(taken("there is an object of this name, which is not replaced by a sparse frame"))
        }
        false => Ok(Box::new(PlaceTarget::new(prefix(object)?))),
    }
}

/// Whether there is such an object, as far as can be known: with write-only access the check is denied.
async fn exists(source: ObjectSource) -> io::Result<bool> {
    match source.size().await {
        Ok(_) => Ok(true),
        Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied) => Ok(false),
        Err(e) => Err(e),
    }
}

fn refused(message: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, message)
}

fn taken(message: &str) -> io::Error {
    io::Error::new(io::ErrorKind::AlreadyExists, message)
}

/// A target in memory whose bytes can be taken when the frame is finished.
#[derive(Clone)]
pub(crate) struct Memory(Arc<Mutex<MemoryTarget>>);

impl Memory {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Mutex::new(MemoryTarget::new().inline())))
    }

    fn lock(&self) -> MutexGuard<'_, MemoryTarget> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `work` with the bytes; a frame if it is finished.
    pub(crate) fn with_bytes<T>(&self, work: impl FnOnce(&[u8]) -> T) -> T {
        work(self.lock().as_bytes())
    }
}

impl Target for Memory {
    fn poll_append(&mut self, cx: &mut Context<'_>, part: Part, bytes: &mut Bytes) -> Poll<io::Result<()>> {
        self.lock().poll_append(cx, part, bytes)
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.lock().poll_flush(cx)
    }

    fn poll_commit(&mut self, cx: &mut Context<'_>, header: &Bytes) -> Poll<io::Result<()>> {
        self.lock().poll_commit(cx, header)
    }

    fn frame_type(&self) -> FrameType {
        self.lock().frame_type()
    }

    fn is_open_ended(&self) -> bool {
        self.lock().is_open_ended()
    }

    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.lock().poll_close(cx)
    }

    fn poll_abort(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.lock().poll_abort(cx)
    }
}
