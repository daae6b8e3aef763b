//! A sparse frame in a directory.

use std::fs::{self, File};
use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use oxiblosc_core::frame::FrameType;
use tempfile::TempDir;

use super::directory::{FileName, remove_header, write_file, write_index};
use super::plan_file::CLAIM_FILE;
use super::replace::check_replaceable;
use crate::disk::{Handle, IoMode, IoTask, Publication, follow_links, lock, temporary_directory_beside};
use crate::target::{Part, Target};

/// Writes a sparse frame: a directory with a file for each chunk, written as the chunks arrive, and the index file
/// `chunks.b2frame`, which is written last, in one step.
///
/// Until the frame is complete the files are in a temporary directory next to it, which is removed if the target is
/// dropped; an existing frame of the same name stays until then. [`SparseTarget::in_place`] writes under the final name
/// from the start.
///
/// ```
/// use std::io::Write;
/// use oxiblosc_streaming::{WriteOptions, blocking, target::SparseTarget};
/// # use oxiblosc_plugins as _;
///
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("sparse.b2frame");
/// let options = WriteOptions::default().chunk_size(1000);
/// let mut writer = blocking::FrameWriter::with_target(SparseTarget::create(&path)?.inline(), options)?;
/// writer.write_all(&[7; 2500])?;
/// writer.finish()?;
/// assert!(path.join("chunks.b2frame").exists() && path.join("00000002.chunk").exists());
/// assert_eq!(blocking::FrameReader::open(&path)?.bytes(1999..2001)?, &[7, 7][..]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct SparseTarget {
    mode: IoMode,
    durable: bool,
    /// Where the files are until the frame is complete.
    directory: PathBuf,
    publication: Publication<TempDir>,
    /// Of a directory that has its name from the start, until the frame is complete, where the system supports it.
    lock: Option<Handle>,
    /// The file being received: its name and the number of bytes written.
    current: Option<(FileName, u64)>,
    writing: Option<Writing>,
}

#[derive(Debug)]
struct Writing {
    file: FileName,
    /// Offset of the bytes in the file.
    at: u64,
    bytes: Bytes,
    /// `None` after a failure, until the write is retried.
    task: Option<IoTask<io::Result<()>>>,
}

impl SparseTarget {
    /// A target whose directory gets the name `path` when the frame is complete. An existing sparse frame is replaced.
    ///
    /// # Errors
    /// When no directory can be created there, and when `path` is not a directory, or has other things in it than a
    /// sparse frame.
    pub fn create(path: impl AsRef<Path>) -> io::Result<Self> {
        // Without the trailing slash that C-Blosc2 allows.
        let destination = follow_links(&path.as_ref().components().collect::<PathBuf>())?;
        if destination.file_name().is_none() {
            let message = format!("{} does not end in a name", path.as_ref().display());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        check_replaceable(&destination)?;
        let temporary = temporary_directory_beside(&destination)?;
        Ok(Self::new(temporary.path().to_owned(), Publication::renaming(temporary, destination), None))
    }

    /// A target that writes to `path` from the start, creating it if needed. Existing chunk files are overwritten or
    /// left; only those named by the index file matter.
    ///
    /// The directory is locked until the frame is complete or the target dropped, where the system supports it, so that
    /// no other target or editor writes there.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`] when there is an index file, whose chunks would be overwritten, and when
    /// [several writers](crate::SharedWriter) or a [`PlaceTarget`](super::PlaceTarget) have begun a frame there.
    /// [`io::ErrorKind::WouldBlock`] when another writer has locked it.
    pub fn in_place(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref();
        fs::create_dir_all(path)?;
        let index = path.join(oxiblosc_core::frame::INDEX_FILE);
        if index.try_exists()? {
            let message = format!("{} exists, and its chunks would be overwritten", index.display());
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, message));
        }
        if path.join(CLAIM_FILE).try_exists()? {
            let message = format!(
                "other writers have begun a frame in {}: `sparse::clear` removes what they have left if they are gone",
                path.display()
            );
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, message));
        }
        // Not every system allows directories to be opened.
        let handle = File::open(path).ok().map(|handle| lock(handle, path)).transpose()?;
        Ok(Self::new(path.to_owned(), Publication::in_place(), handle))
    }

    /// Writes on the polling thread instead of one that may block.
    #[must_use]
    pub fn inline(self) -> Self {
        self.io_mode(IoMode::Inline)
    }

    /// Which thread writes the files.
    #[must_use]
    pub fn io_mode(mut self, mode: IoMode) -> Self {
        self.mode = mode;
        self
    }

    /// Whether everything is synced to the disk before the frame gets its name. Off by default: it waits for the disk
    /// for each chunk.
    #[must_use]
    pub fn durable(mut self, durable: bool) -> Self {
        self.durable = durable;
        self
    }

    fn new(directory: PathBuf, publication: Publication<TempDir>, lock: Option<Handle>) -> Self {
        let (mode, durable) = (IoMode::default(), false);
        Self { mode, durable, directory, publication, lock, current: None, writing: None }
    }

    fn write(&self, file: FileName, at: u64, bytes: Bytes) -> IoTask<io::Result<()>> {
        let (directory, durable) = (self.directory.clone(), self.durable);
        // The temporary directory must not be removed while a file is being written to it, or part of it would be left
        // behind: the last owner removes it.
        let held = self.publication.hold();
        self.mode.run(move || {
            let result = match at {
                0 => write_file(&directory, file, &bytes, durable),
                _ => append_to_file(&directory, file, at, &bytes, durable),
            };
            drop(held);
            result
        })
    }

    /// Waits for the write in progress, or retries one that has failed.
    fn poll_write(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(mut writing) = self.writing.take() else { return Poll::Ready(Ok(())) };
        let mut task =
            writing.task.take().unwrap_or_else(|| self.write(writing.file, writing.at, writing.bytes.clone()));
        let result = Pin::new(&mut task).poll(cx);
        if result.is_pending() {
            writing.task = Some(task);
        }
        if !matches!(result, Poll::Ready(Ok(()))) {
            self.writing = Some(writing);
        }
        result
    }
}

impl Target for SparseTarget {
    fn poll_append(&mut self, cx: &mut Context<'_>, part: Part, bytes: &mut Bytes) -> Poll<io::Result<()>> {
        ready!(self.poll_write(cx))?;
        let file = match part {
            Part::File(id) => FileName::Chunk(id),
            Part::Header => FileName::Header,
            part => {
                let message = format!("a sparse frame consists of files, it has no {part:?}");
                return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidInput, message)));
            }
        };
        if bytes.is_empty() {
            return Poll::Ready(Ok(()));
        }
        let at = match self.current {
            Some((current, written)) if current == file => written,
            _ => 0,
        };
        let bytes = bytes.split_to(bytes.len());
        self.current = Some((file, at + bytes.len() as u64));
        let task = Some(self.write(file, at, bytes.clone()));
        self.writing = Some(Writing { file, at, bytes, task });
        Poll::Ready(Ok(()))
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_write(cx)
    }

    fn poll_commit(&mut self, cx: &mut Context<'_>, header: &Bytes) -> Poll<io::Result<()>> {
        if self.publication.is_done() {
            return Poll::Ready(Ok(()));
        }
        if !self.publication.has_started() {
            ready!(self.poll_write(cx))?;
            let (directory, index, durable) = (self.directory.clone(), header.clone(), self.durable);
            self.publication.start(self.mode, durable, move || {
                write_index(&directory, &index, durable)?;
                remove_header(&directory);
                Ok(())
            });
        }
        ready!(self.publication.poll(cx))?;
        // From now on it may be edited.
        self.lock = None;
        Poll::Ready(Ok(()))
    }

    fn frame_type(&self) -> FrameType {
        FrameType::Sparse
    }

    fn is_open_ended(&self) -> bool {
        self.publication.is_in_place()
    }

    fn poll_close(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_abort(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.publication.is_in_place() {
            return Poll::Ready(Ok(()));
        }
        // Otherwise a file being written would be left behind.
        if let Some(task) = self.writing.as_mut().and_then(|writing| writing.task.as_mut()) {
            let _ = ready!(Pin::new(task).poll(cx));
            self.writing = None;
        }
        Poll::Ready(self.publication.abort())
    }
}

fn append_to_file(directory: &Path, name: FileName, at: u64, bytes: &[u8], durable: bool) -> io::Result<()> {
    use std::io::{Seek, Write};
    let mut file = fs::OpenOptions::new().write(true).open(directory.join(name.to_string()))?;
    file.seek(io::SeekFrom::Start(at))?;
    file.write_all(bytes)?;
    if durable { file.sync_all() } else { Ok(()) }
}
