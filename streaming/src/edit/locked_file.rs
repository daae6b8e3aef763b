//! Files that are locked while they are edited.

use std::fs::OpenOptions;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use bytes::Bytes;

use super::FrameFile;
use crate::disk::{
    PositionedFile, TRIES, is_at, lock, parent_of, replace_file, replaced_by_another, sync_directory, temporary_beside,
};

/// The file of a contiguous frame, locked against other editors where the system supports it. Readers are not affected.
#[derive(Debug)]
pub struct LockedFile {
    file: PositionedFile,
    /// The file, with links resolved.
    path: PathBuf,
    durable: bool,
    /// A sync has failed, and what was written before may never reach the disk.
    failed: bool,
}

impl LockedFile {
    /// Opens a file for reading and writing. With `durable`, [`sync`](FrameFile::sync) waits for the disk.
    ///
    /// # Errors
    /// When there is none, and [`io::ErrorKind::WouldBlock`] when another editor has it open.
    pub fn open(path: impl AsRef<Path>, durable: bool) -> io::Result<Self> {
        let path = path.as_ref();
        for _ in 0..TRIES {
            let resolved = path.canonicalize()?;
            let file = lock(OpenOptions::new().read(true).write(true).open(&resolved)?, path)?;
            // It may have been replaced before it was locked.
            if is_at(&file, path)? {
                return Ok(Self { file: PositionedFile::new(file), path: resolved, durable, failed: false });
            }
        }
        Err(replaced_by_another(path))
    }
}

impl FrameFile for LockedFile {
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

    fn replace(&mut self, head: &[u8], tail_at: u64, tail: &[u8]) -> io::Result<()> {
        if !is_at(self.file.file(), &self.path)? {
            return Err(replaced_by_another(&self.path));
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
        replace_file(temporary, &self.path)?;
        // If the rest fails, the repeated change is made to the new file, with the same result.
        self.file = PositionedFile::new(file);
        if self.durable { sync_directory(parent_of(&self.path)) } else { Ok(()) }
    }

    fn sync(&mut self) -> io::Result<()> {
        if !is_at(self.file.file(), &self.path)? {
            return Err(replaced_by_another(&self.path));
        }
        if self.failed {
            // Systems report a failed write once and forget it: a second sync would succeed without writing anything.
            return Err(io::Error::other("writing to the disk has failed before: open the frame again"));
        }
        if self.durable {
            self.file.file().sync_all().inspect_err(|_| self.failed = true)?;
        }
        Ok(())
    }
}
