//! Writing a frame to a file.

use std::fs::OpenOptions;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use tempfile::TempPath;

use super::{Part, Target};
use crate::disk::{AppendFile, Handle, IoMode, Publication, follow_links, lock, temporary_beside};

/// Writes the frame to a file that appears under its name when it is complete.
///
/// Until then the bytes are in a temporary file next to it, which is removed if the target is dropped; an existing file
/// of the same name stays until then. [`FileTarget::in_place`] writes under the final name from the start.
#[derive(Debug)]
pub struct FileTarget {
    file: AppendFile,
    publication: Publication<TempPath>,
    durable: bool,
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
        Ok(Self::new(file, Publication::renaming(temporary, destination)))
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
        Ok(Self::new(file, Publication::in_place()))
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

    fn new(file: impl Into<Handle>, publication: Publication<TempPath>) -> Self {
        Self { file: AppendFile::new(file, IoMode::default()), publication, durable: false }
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
        if self.publication.is_done() {
            return Poll::Ready(Ok(()));
        }
        if !self.publication.has_started() {
            super::check_whole(header, self.file.len())?;
            ready!(self.file.poll_flush(cx))?;
            let (file, header, durable) = (Arc::clone(self.file.file()), header.clone(), self.durable);
            self.publication.start(self.file.mode(), durable, move || {
                if durable {
                    file.file().sync_all()?;
                }
                file.write_all_at(&header, 0)?;
                if durable { file.file().sync_all() } else { Ok(()) }
            });
        }
        self.publication.poll(cx)
    }

    fn is_open_ended(&self) -> bool {
        self.publication.is_in_place()
    }

    fn poll_close(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_abort(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.publication.abort())
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
