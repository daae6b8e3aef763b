//! Stores: where a frame that is edited is kept.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use oxiblosc_core::Registry;
use oxiblosc_core::frame::{Frame, FrameOpener, OpenStep, chunk_file_name};

use super::EditError;
use crate::disk::{Handle, PositionedFile, is_at, lock, parent_of, sync_directory, temporary_beside};
use crate::sparse::directory::{index_path, read_chunk_file, write_chunk_file, write_index};

/// A place where a frame can be changed: random access to the bytes of a contiguous frame, or to the files of a sparse
/// one.
///
/// # Contract
/// - Reads return the bytes asked for, or as many of them as exist.
/// - A call that failed may be made again with the same arguments.
/// - What was written before [`sync`](Store::sync) reaches stable storage before what is written afterwards, as far as
///   the store can promise that at all. A write that does not cross a multiple of 512 bytes and does not make the file
///   longer happens as a whole or not at all, as it does on disks. A commit relies on no more than that: what does not
///   fit into one such write is done with [`replace_file`](Store::replace_file).
pub trait Store {
    /// Bytes of the file with the frame, or with the index of a sparse frame.
    fn size(&self) -> io::Result<u64>;

    /// Bytes of that file.
    fn read_at(&self, range: Range<u64>) -> io::Result<Bytes>;

    /// Writes into the file of a contiguous frame, or past its end.
    fn write_at(&mut self, at: u64, bytes: &[u8]) -> io::Result<()>;

    /// Truncates the file of a contiguous frame to this length.
    fn truncate(&mut self, size: u64) -> io::Result<()>;

    /// Replaces the file of a contiguous frame in one step, by `head`, the bytes of the old file from there to
    /// `tail_at`, and `tail`. It is on stable storage before its name leads to it, and the name is after the next
    /// [`sync`](Store::sync).
    ///
    /// Called for changes that do not fit into a write of one sector. The default is an error, which leaves the frame
    /// as it was and prevents further commits: a store that is written in place has no other way to make such a change
    /// without a moment at which there is no valid frame.
    fn replace_file(&mut self, head: &[u8], tail_at: u64, tail: &[u8]) -> io::Result<()> {
        let _ = (head, tail_at, tail);
        let reason = "the change spans sectors of the disk, and this store cannot replace its file in one step";
        Err(io::Error::new(io::ErrorKind::Unsupported, reason))
    }

    /// Waits until everything written is on stable storage.
    fn sync(&mut self) -> io::Result<()>;

    /// Whether this is a sparse frame. The following methods are for those.
    fn is_sparse(&self) -> bool {
        false
    }

    /// Bytes of a chunk file.
    fn read_chunk_file(&self, id: u32, range: Range<u64>) -> io::Result<Bytes> {
        let _ = (id, range);
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Writes a chunk file as a whole; it is on stable storage after the next [`sync`](Store::sync).
    fn write_chunk_file(&mut self, id: u32, bytes: &[u8]) -> io::Result<()> {
        let _ = (id, bytes);
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Replaces the index file in one step.
    fn replace_index(&mut self, index: &[u8]) -> io::Result<()> {
        let _ = index;
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Removes a chunk file. It is no error if there is none.
    fn remove_chunk_file(&mut self, id: u32) -> io::Result<()> {
        let _ = id;
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// A contiguous frame in memory.
impl Store for Vec<u8> {
    fn size(&self) -> io::Result<u64> {
        Ok(self.len() as u64)
    }

    fn read_at(&self, range: Range<u64>) -> io::Result<Bytes> {
        let at = |n: u64| usize::try_from(n).map_or(self.len(), |n| n.min(self.len()));
        Ok(Bytes::copy_from_slice(self.get(at(range.start)..at(range.end)).unwrap_or_default()))
    }

    fn write_at(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        let start = usize::try_from(at).map_err(io::Error::other)?;
        let end = start.checked_add(bytes.len()).ok_or(io::ErrorKind::OutOfMemory)?;
        if self.len() < end {
            self.resize(end, 0);
        }
        self[start..end].copy_from_slice(bytes);
        Ok(())
    }

    fn truncate(&mut self, size: u64) -> io::Result<()> {
        self.truncate(usize::try_from(size).unwrap_or(usize::MAX));
        Ok(())
    }

    fn replace_file(&mut self, head: &[u8], tail_at: u64, tail: &[u8]) -> io::Result<()> {
        self.write_at(0, head)?;
        self.write_at(tail_at, tail)?;
        Store::truncate(self, tail_at + tail.len() as u64)
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A contiguous frame in a file, or a sparse one in a directory.
///
/// The file or directory is locked against other editors, where the system supports it; readers are not affected.
#[derive(Debug)]
pub struct FileStore {
    file: PositionedFile,
    /// The file, with links resolved.
    path: PathBuf,
    /// The directory with the chunk files of a sparse frame.
    directory: Option<LockedDirectory>,
    durable: bool,
}

/// A locked directory.
#[derive(Debug)]
struct LockedDirectory {
    path: PathBuf,
    /// `None` where directories cannot be opened.
    handle: Option<Handle>,
}

/// How many times opening is retried if the frame is replaced meanwhile.
const TRIES: usize = 8;

impl FileStore {
    /// Opens a file or directory for reading and writing. With `durable`, [`sync`](Store::sync) waits for the disk.
    ///
    /// # Errors
    /// When there is none, and [`io::ErrorKind::WouldBlock`] when another editor has it open.
    pub fn open(path: &Path, durable: bool) -> io::Result<Self> {
        for _ in 0..TRIES {
            if let Some(store) = Self::open_once(path, durable)? {
                return Ok(store);
            }
        }
        Err(replaced(path))
    }

    /// `None` if it was replaced before it was locked.
    fn open_once(path: &Path, durable: bool) -> io::Result<Option<Self>> {
        let (index, is_sparse) = index_path(path);
        let directory = match is_sparse {
            true => {
                let handle = File::open(path).ok().map(|handle| lock(handle, path)).transpose()?;
                if let Some(handle) = &handle
                    && !is_at(handle, path)?
                {
                    return Ok(None);
                }
                Some(LockedDirectory { path: path.to_owned(), handle })
            }
            false => None,
        };
        let index = index.canonicalize()?;
        // The index of a sparse frame is replaced, never written to.
        let file = OpenOptions::new().read(true).write(!is_sparse).open(&index)?;
        let file = if is_sparse { file.into() } else { lock(file, path)? };
        if !is_sparse && !is_at(&file, path)? {
            return Ok(None);
        }
        Ok(Some(Self { file: PositionedFile::new(file), path: index, directory, durable }))
    }

    fn directory(&self) -> io::Result<&Path> {
        match &self.directory {
            Some(held) => Ok(&held.path),
            None => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// The directory, if it is still the one that was opened: its replacement must not be written to.
    fn same_directory(&self) -> io::Result<&Path> {
        let path = self.directory()?;
        match self.directory.as_ref().and_then(|held| held.handle.as_ref()) {
            Some(handle) if !is_at(handle, path)? => Err(replaced(path)),
            _ => Ok(path),
        }
    }
}

fn replaced(path: &Path) -> io::Error {
    io::Error::other(format!("{} has been replaced by somebody else", path.display()))
}

impl Store for FileStore {
    fn size(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn read_at(&self, range: Range<u64>) -> io::Result<Bytes> {
        let len = self.file.len()?;
        let range = range.start.min(len)..range.end.min(len);
        let mut bytes = vec![0; usize::try_from(range.end.saturating_sub(range.start)).map_err(io::Error::other)?];
        self.file.read_exact_at(&mut bytes, range.start)?;
        Ok(bytes.into())
    }

    fn write_at(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, at)
    }

    fn truncate(&mut self, size: u64) -> io::Result<()> {
        self.file.file().set_len(size)
    }

    fn replace_file(&mut self, head: &[u8], tail_at: u64, tail: &[u8]) -> io::Result<()> {
        if self.directory.is_some() {
            return Err(io::ErrorKind::Unsupported.into());
        }
        if !is_at(self.file.file(), &self.path)? {
            return Err(replaced(&self.path));
        }
        let (file, temporary) = temporary_beside(&self.path)?.into_parts();
        // It must be locked from the moment on at which it has the name.
        let file = lock(file, &self.path)?;
        let mut writer = &*file;
        writer.write_all(head)?;
        let mut old = self.file.file();
        old.seek(SeekFrom::Start(head.len() as u64))?;
        let kept = tail_at.saturating_sub(head.len() as u64);
        if io::copy(&mut old.take(kept), &mut writer)? != kept {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        writer.write_all(tail)?;
        if self.durable {
            file.sync_all()?;
        }
        temporary.persist(&self.path).map_err(|failed| failed.error)?;
        // If the rest fails, the repeated change is made to the new file, with the same result.
        self.file = PositionedFile::new(file);
        if self.durable { sync_directory(parent_of(&self.path)) } else { Ok(()) }
    }

    fn sync(&mut self) -> io::Result<()> {
        // Chunk files are already on the disk, and so will be the index.
        if self.durable && self.directory.is_none() { self.file.file().sync_all() } else { Ok(()) }
    }

    fn is_sparse(&self) -> bool {
        self.directory.is_some()
    }

    fn read_chunk_file(&self, id: u32, range: Range<u64>) -> io::Result<Bytes> {
        read_chunk_file(self.directory()?, id, &range)
    }

    fn write_chunk_file(&mut self, id: u32, bytes: &[u8]) -> io::Result<()> {
        write_chunk_file(self.same_directory()?, id, bytes, self.durable)
    }

    fn replace_index(&mut self, index: &[u8]) -> io::Result<()> {
        write_index(self.same_directory()?, index, self.durable)
    }

    fn remove_chunk_file(&mut self, id: u32) -> io::Result<()> {
        match fs::remove_file(self.same_directory()?.join(chunk_file_name(id))) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
            result => result,
        }
    }
}

/// Opens the frame in a store.
pub(crate) fn open_frame(
    store: &impl Store,
    registry: &Registry,
    limits: &oxiblosc_core::Limits,
) -> Result<Frame, EditError> {
    let len = store.size()?;
    let opener = match store.is_sparse() {
        true => FrameOpener::sparse(len, registry, *limits),
        false => FrameOpener::new(len, registry, *limits),
    };
    open_with(opener, |range| store.read_at(range))
}

/// Opens the frame whose bytes `read` gives.
pub(crate) fn open_with(
    mut opener: FrameOpener,
    read: impl Fn(Range<u64>) -> io::Result<Bytes>,
) -> Result<Frame, EditError> {
    loop {
        match opener.step()? {
            OpenStep::Done(frame) => return Ok(*frame),
            OpenStep::Read(ranges) => {
                for range in ranges {
                    opener.feed(range.start, read(range)?);
                }
            }
        }
    }
}
