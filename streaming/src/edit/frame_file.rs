//! Files of contiguous frames that are edited in place.

use std::future::ready;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use oxiblosc_core::frame::{Frame, FrameOpener};
use oxiblosc_core::{Limits, Registry};

use super::EditError;
use crate::compute::block_on;
use crate::reader::drive;

/// The file of a contiguous frame, to be edited in place: random access, and a way to wait for the disk.
///
/// The methods block. An editor calls them on a thread that may block, unless it is told otherwise
/// ([`EditOptions::io_mode`](super::EditOptions::io_mode)), one at a time.
///
/// # Contract
/// - Reads return the bytes asked for, or as many of them as exist.
/// - A call that failed may be made again with the same arguments.
/// - What was written before [`sync`](FrameFile::sync) reaches stable storage before what is written afterwards, as far
///   as the file can promise that at all. A write that does not cross a multiple of 512 bytes and does not make the
///   file longer happens as a whole or not at all, as it does on disks. A commit relies on no more than that: what does
///   not fit into one such write is done with [`replace`](FrameFile::replace).
pub trait FrameFile {
    /// Length in bytes.
    fn size(&self) -> io::Result<u64>;

    /// Bytes of the file.
    fn read_at(&self, range: Range<u64>) -> io::Result<Bytes>;

    /// Writes into the file, or past its end.
    fn write_at(&mut self, at: u64, bytes: &[u8]) -> io::Result<()>;

    /// Truncates the file to this length.
    fn truncate(&mut self, size: u64) -> io::Result<()>;

    /// Replaces the whole file in one step, by `head`, the bytes of the old file from there to `tail_at`, and `tail`.
    /// It is on stable storage before its name leads to it, and the name is after the next [`sync`](FrameFile::sync).
    ///
    /// Called for changes that do not fit into a write of one sector. A file that cannot be replaced returns an error,
    /// which leaves the frame as it was and prevents further commits.
    fn replace(&mut self, head: &[u8], tail_at: u64, tail: &[u8]) -> io::Result<()>;

    /// Waits until everything written is on stable storage.
    fn sync(&mut self) -> io::Result<()>;
}

/// A frame in memory.
impl FrameFile for Vec<u8> {
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

    fn replace(&mut self, head: &[u8], tail_at: u64, tail: &[u8]) -> io::Result<()> {
        self.write_at(0, head)?;
        self.write_at(tail_at, tail)?;
        FrameFile::truncate(self, tail_at + tail.len() as u64)
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A file that the owner of another handle looks at after the edit, such as a frame in memory.
impl<F: FrameFile + ?Sized> FrameFile for Arc<Mutex<F>> {
    fn size(&self) -> io::Result<u64> {
        held(self).size()
    }

    fn read_at(&self, range: Range<u64>) -> io::Result<Bytes> {
        held(self).read_at(range)
    }

    fn write_at(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        held(self).write_at(at, bytes)
    }

    fn truncate(&mut self, size: u64) -> io::Result<()> {
        held(self).truncate(size)
    }

    fn replace(&mut self, head: &[u8], tail_at: u64, tail: &[u8]) -> io::Result<()> {
        held(self).replace(head, tail_at, tail)
    }

    fn sync(&mut self) -> io::Result<()> {
        held(self).sync()
    }
}

/// Locks a file. One whose operation panicked is used as it is: what was not committed is not read.
pub(super) fn held<F: ?Sized>(file: &Mutex<F>) -> MutexGuard<'_, F> {
    file.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Opens the contiguous frame in a file.
pub(crate) fn open_file<F: FrameFile + ?Sized>(
    file: &F,
    registry: &Registry,
    limits: &Limits,
) -> Result<Frame, EditError> {
    open_with(FrameOpener::new(file.size()?, registry, *limits), |range| file.read_at(range))
}

/// Opens the frame whose bytes `read` gives.
pub(crate) fn open_with(
    opener: FrameOpener,
    read: impl Fn(Range<u64>) -> io::Result<Bytes>,
) -> Result<Frame, EditError> {
    let read =
        |ranges: Vec<_>| ready(ranges.into_iter().map(&read).collect::<io::Result<_>>().map_err(EditError::from));
    block_on(drive(opener, read))
}
