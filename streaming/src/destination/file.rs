//! Writing a frame to a file.

use std::fs::OpenOptions;
use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use tempfile::TempPath;

use super::{Part, Target};
use crate::disk::{
    AppendFile, Handle, IoMode, IoTask, follow_links, lock, parent_of, sync_directory, temporary_beside,
};

/// Writes the frame to a file that appears under its name when it is complete.
///
/// Until then the bytes are in a temporary file next to it, which is removed if the target is dropped; an existing file
/// of the same name stays until then. [`FileTarget::in_place`] writes under the final name from the start.
#[derive(Debug)]
pub struct FileTarget {
    file: AppendFile,
    place: Destination,
    durable: bool,
    publish: Option<IoTask<io::Result<()>>>,
    committed: bool,
}

#[derive(Debug)]
enum Destination {
    /// Already under its name.
    Final,
    /// To be renamed. The path is `None` once that is done; it is shared with the task that does it.
    Temporary { temporary: Arc<Mutex<Option<TempPath>>>, destination: PathBuf },
}

impl FileTarget {
    /// A target whose file replaces `path` when the frame is complete.
    ///
    /// A symbolic link is followed: the file it points to is replaced or created, not the link.
    ///
    /// # Errors
    /// When the temporary file cannot be created, and when `path` is something other than a regular file: a device
    /// or pipe cannot be replaced; write to it through a [`SpoolTarget`](super::SpoolTarget).
    pub fn create(path: impl AsRef<Path>) -> io::Result<Self> {
        let destination = resolve(path.as_ref())?;
        if destination.file_name().is_none() {
            let message = format!("{} does not end in a file name", path.as_ref().display());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        let (file, temporary) = temporary_beside(&destination)?.into_parts();
        let place = Destination::Temporary { temporary: Arc::new(Mutex::new(Some(temporary))), destination };
        Ok(Self::new(file, place))
    }

    /// A target whose file has its final name from the start, and is an open-ended frame until it is complete: it can
    /// be followed while it grows, and recovered if its writer is killed. An existing file is truncated. Where the
    /// system has locks, nobody can edit or seal it while the target exists. Dropping the target releases the lock even if
    /// child processes have been started meanwhile. Only if this process is killed does a child that was forked from it,
    /// and runs no other program, keep the file locked.
    ///
    /// # Errors
    /// When it cannot be written, and [`io::ErrorKind::WouldBlock`] when an editor has locked it.
    pub fn in_place(path: impl AsRef<Path>) -> io::Result<Self> {
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(&path)?;
        let file = lock(file, path.as_ref())?;
        file.set_len(0)?;
        Ok(Self::new(file, Destination::Final))
    }

    /// Writes on the polling thread instead of one that may block.
    #[must_use]
    pub fn inline(self) -> Self {
        self.io_mode(IoMode::Inline)
    }

    /// Which thread writes the file.
    #[must_use]
    pub fn io_mode(mut self, mode: IoMode) -> Self {
        self.file.set_mode(mode);
        self
    }

    /// Whether everything is synced to the disk before the file gets its name, so that the frame survives a crash of
    /// the machine, too. Off by default: it waits for the disk.
    #[must_use]
    pub fn durable(mut self, durable: bool) -> Self {
        self.durable = durable;
        self
    }

    fn new(file: impl Into<Handle>, place: Destination) -> Self {
        Self { file: AppendFile::new(file, IoMode::default()), place, durable: false, publish: None, committed: false }
    }

    /// Every step can be repeated: after a rename the path is missing.
    fn publish(&self, header: Bytes) -> IoTask<io::Result<()>> {
        let (file, durable) = (Arc::clone(self.file.file()), self.durable);
        let rename = match &self.place {
            Destination::Final => None,
            Destination::Temporary { temporary, destination } => Some((Arc::clone(temporary), destination.clone())),
        };
        self.file.mode().run(move || {
            if durable {
                file.file().sync_all()?;
            }
            file.write_all_at(&header, 0)?;
            if durable {
                file.file().sync_all()?;
            }
            let Some((temporary, destination)) = rename else { return Ok(()) };
            let mut temporary = temporary.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(path) = temporary.take() {
                path.persist(&destination).map_err(|failed| {
                    *temporary = Some(failed.path);
                    failed.error
                })?;
            }
            if durable { sync_directory(parent_of(&destination)) } else { Ok(()) }
        })
    }
}

impl Target for FileTarget {
    fn poll_append(&mut self, cx: &mut Context<'_>, _: Part, bytes: &mut Bytes) -> Poll<io::Result<()>> {
        self.file.poll_append(cx, bytes)
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.file.poll_flush(cx)
    }

    fn poll_commit(&mut self, cx: &mut Context<'_>, header: &Bytes) -> Poll<io::Result<()>> {
        if self.committed {
            return Poll::Ready(Ok(()));
        }
        if self.publish.is_none() {
            super::check_whole(header, self.file.len())?;
            ready!(self.file.poll_flush(cx))?;
            self.publish = Some(self.publish(header.clone()));
        }
        let Some(publish) = &mut self.publish else { return Poll::Pending };
        let result = ready!(Pin::new(publish).poll(cx));
        self.publish = None;
        self.committed = result.is_ok();
        Poll::Ready(result)
    }

    fn is_open_ended(&self) -> bool {
        matches!(self.place, Destination::Final)
    }

    fn poll_close(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_abort(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Destination::Temporary { temporary, .. } = &self.place else { return Poll::Ready(Ok(())) };
        let path = temporary.lock().unwrap_or_else(PoisonError::into_inner).take();
        Poll::Ready(path.map_or(Ok(()), TempPath::close))
    }
}

/// The file that `path` names, links followed, if it may be replaced.
fn resolve(path: &Path) -> io::Result<PathBuf> {
    match path.metadata() {
        Ok(metadata) if metadata.is_file() => path.canonicalize(),
        Ok(_) => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("{} is not a regular file and cannot be replaced by one", path.display()),
        )),
        Err(e) if e.kind() == io::ErrorKind::NotFound => follow_links(path),
        Err(e) => Err(e),
    }
}
