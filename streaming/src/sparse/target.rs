//! A sparse frame in a directory.

use std::fs::{self, File};
use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use oxiblosc_core::frame::FrameType;
use tempfile::TempDir;

use super::directory::{FileName, parent_of, remove_header, sync_directory, write_file, write_index};
use super::plan_file::CLAIM_FILE;
use super::replace::{OldNameHolds, check_replaceable, replace_directory};
use crate::disk::{Handle, IoMode, IoTask, follow_links, lock};
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
    place: Destination,
    /// The file being received: its name and the number of bytes written.
    current: Option<(FileName, u64)>,
    writing: Option<Writing>,
    publish: Option<IoTask<io::Result<()>>>,
    committed: bool,
}

#[derive(Debug)]
enum Destination {
    /// Already under its name, and locked until the frame is complete, where the system supports it.
    Final { path: PathBuf, lock: Option<Handle> },
    /// To be renamed. The directory is `None` once that is done; it is shared with the task that does it.
    Temporary { path: PathBuf, temporary: Arc<Mutex<Option<TempDir>>>, destination: PathBuf },
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
        let name = destination.file_name().ok_or_else(|| {
            let message = format!("{} does not end in a name", path.as_ref().display());
            io::Error::new(io::ErrorKind::InvalidInput, message)
        })?;
        check_replaceable(&destination)?;
        let mut prefix = std::ffi::OsString::from(".");
        prefix.push(name);
        prefix.push(".");
        let mut builder = tempfile::Builder::new();
        builder.prefix(&prefix).suffix(".part");
        // Temporary directories are private by default; this one becomes an ordinary one.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o777));
        let temporary = builder.tempdir_in(parent_of(&destination))?;
        let path = temporary.path().to_owned();
        Ok(Self::new(Destination::Temporary { path, temporary: Arc::new(Mutex::new(Some(temporary))), destination }))
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
        Ok(Self::new(Destination::Final { path: path.to_owned(), lock: handle }))
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

    fn new(place: Destination) -> Self {
        Self {
            mode: IoMode::default(),
            durable: false,
            place,
            current: None,
            writing: None,
            publish: None,
            committed: false,
        }
    }

    fn directory(&self) -> &Path {
        match &self.place {
            Destination::Final { path, .. } | Destination::Temporary { path, .. } => path,
        }
    }

    fn write(&self, file: FileName, at: u64, bytes: Bytes) -> IoTask<io::Result<()>> {
        let (directory, durable) = (self.directory().to_owned(), self.durable);
        // The temporary directory must not be removed while a file is being written to it, or part of it would be left
        // behind: the last owner removes it.
        let held = match &self.place {
            Destination::Temporary { temporary, .. } => Some(Arc::clone(temporary)),
            _ => None,
        };
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

    /// Every step can be repeated: after a rename the temporary directory is missing.
    fn publish(&self, index: Bytes) -> IoTask<io::Result<()>> {
        let (path, durable) = (self.directory().to_owned(), self.durable);
        let rename = match &self.place {
            Destination::Final { .. } => None,
            Destination::Temporary { temporary, destination, .. } => Some((Arc::clone(temporary), destination.clone())),
        };
        self.mode.run(move || {
            let Some((temporary, destination)) = rename else {
                write_index(&path, &index, durable)?;
                remove_header(&path);
                return Ok(());
            };
            let mut temporary = temporary.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(directory) = temporary.as_ref() {
                write_index(directory.path(), &index, durable)?;
                remove_header(directory.path());
                let behind = replace_directory(directory.path(), &destination)?;
                let synced = if durable { sync_directory(parent_of(&destination)) } else { Ok(()) };
                if let Some(directory) = temporary.take() {
                    match behind {
                        // It is no longer needed. What cannot be removed does no harm.
                        OldNameHolds::OldFrame if synced.is_ok() => drop(directory.close()),
                        // Nothing has this name now, or a frame that may reappear after a crash.
                        OldNameHolds::OldFrame | OldNameHolds::Nothing => drop(directory.keep()),
                    }
                }
                return synced;
            }
            if durable { sync_directory(parent_of(&destination)) } else { Ok(()) }
        })
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
        if self.committed {
            return Poll::Ready(Ok(()));
        }
        if self.publish.is_none() {
            ready!(self.poll_write(cx))?;
            self.publish = Some(self.publish(header.clone()));
        }
        let Some(publish) = &mut self.publish else { return Poll::Pending };
        let result = ready!(Pin::new(publish).poll(cx));
        self.publish = None;
        self.committed = result.is_ok();
        if let Destination::Final { lock, .. } = &mut self.place
            && self.committed
        {
            // From now on it may be edited.
            *lock = None;
        }
        Poll::Ready(result)
    }

    fn frame_type(&self) -> FrameType {
        FrameType::Sparse
    }

    fn is_open_ended(&self) -> bool {
        matches!(self.place, Destination::Final { .. })
    }

    fn poll_close(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_abort(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Destination::Temporary { temporary, .. } = &self.place else { return Poll::Ready(Ok(())) };
        // Otherwise a file being written would be left behind.
        if let Some(task) = self.writing.as_mut().and_then(|writing| writing.task.as_mut()) {
            let _ = ready!(Pin::new(task).poll(cx));
            self.writing = None;
        }
        let directory = temporary.lock().unwrap_or_else(PoisonError::into_inner).take();
        Poll::Ready(directory.map_or(Ok(()), TempDir::close))
    }
}

fn append_to_file(directory: &Path, name: FileName, at: u64, bytes: &[u8], durable: bool) -> io::Result<()> {
    use std::io::{Seek, Write};
    let mut file = fs::OpenOptions::new().write(true).open(directory.join(name.to_string()))?;
    file.seek(io::SeekFrom::Start(at))?;
    file.write_all(bytes)?;
    if durable { file.sync_all() } else { Ok(()) }
}
