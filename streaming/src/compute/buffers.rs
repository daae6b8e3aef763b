//! Large buffers that are reused instead of being returned to the system.
//!
//! Most allocators map a buffer of some megabytes afresh each time, and its pages are zeroed one page fault at a time:
//! with a fast codec that takes longer than the decoding itself.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, PoisonError, Weak};

use bytes::Bytes;

use crate::disk::IoMode;
use crate::sync::Mutex;

/// The free list that buffers are taken from and returned to. Clones share it, and the last one to be dropped frees the
/// buffers it keeps.
#[derive(Clone)]
pub(crate) struct Buffers {
    list: Arc<FreeList>,
}

struct FreeList {
    /// All of full length, so that nothing need be cleared that is about to be overwritten. The most recently returned
    /// one is last.
    free: Mutex<Vec<Vec<u8>>>,
    most: usize,
    most_bytes: usize,
}

impl Buffers {
    /// Keeps at most `most` unused buffers.
    pub(crate) fn new(most: usize) -> Self {
        Self::with_limits(most, usize::MAX)
    }

    /// Keeps at most `most` unused buffers of at most `most_bytes` bytes in total.
    pub(crate) fn with_limits(most: usize, most_bytes: usize) -> Self {
        Self { list: Arc::new(FreeList { free: Mutex::new(Vec::new()), most, most_bytes }) }
    }

    /// A buffer of `len` bytes with arbitrary content.
    pub(crate) fn take(&self, len: usize) -> Buffer {
        // Fresh zero pages cost less than copying and clearing old ones to grow them.
        let bytes = self.pop(len).unwrap_or_else(|| vec![0; capacity_for(len)]);
        Buffer { bytes, len, home: Arc::downgrade(&self.list) }
    }

    /// A kept buffer of at least `len` bytes, but not of many more: the caller may hold on to it for a long time.
    pub(crate) fn pop(&self, len: usize) -> Option<Vec<u8>> {
        const TOO_LONG: usize = 8;
        let mut free = self.list.free.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = |bytes: &Vec<u8>| (len..=len.saturating_mul(TOO_LONG)).contains(&bytes.len());
        let found = free.iter().rposition(fits)?;
        // The most recently returned one is most likely still in cache.
        Some(free.remove(found))
    }

    /// The lengths of the buffers on the free list, in the order in which they were returned.
    #[cfg(test)]
    pub(crate) fn kept(&self) -> Vec<usize> {
        self.list.free.lock().unwrap_or_else(PoisonError::into_inner).iter().map(Vec::len).collect()
    }

    /// Adds a buffer that was allocated elsewhere.
    pub(crate) fn put(&self, mut bytes: Vec<u8>) {
        bytes.resize(bytes.capacity(), 0);
        self.list.put(bytes);
    }
}

impl FreeList {
    /// Keeps a buffer. The least recently used ones are dropped to make room for it.
    fn put(&self, bytes: Vec<u8>) {
        let mut gone = Vec::new();
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        free.push(bytes);
        while free.len() > self.most || free.iter().map(Vec::len).sum::<usize>() > self.most_bytes {
            gone.push(free.remove(0));
        }
        // Free them after the lock is released.
        drop(free);
        let len = gone.iter().map(Vec::len).sum();
        free_in_background(gone, len);
    }
}

/// Frees `len` bytes of memory. Returning much memory to the system takes milliseconds, so that happens off an
/// executor's thread.
pub(crate) fn free_in_background(gone: impl Send + 'static, len: usize) {
    const LARGE: usize = 4 << 20;
    if len > LARGE && IoMode::default() == IoMode::Offloaded {
        blocking::unblock(move || drop(gone)).detach();
    }
}

/// The length to allocate for a buffer of `len` bytes. Lengths vary from one use to the next, above all those of
/// encoded chunks, and pages that are never touched take no memory.
fn capacity_for(len: usize) -> usize {
    const PAGE: usize = 4096;
    if len < 16 * PAGE {
        return len;
    }
    let step = len.checked_next_power_of_two().map_or(PAGE, |power| power / 8);
    len.checked_next_multiple_of(step).unwrap_or(len)
}

impl fmt::Debug for Buffers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffers").field("most", &self.list.most).finish_non_exhaustive()
    }
}

/// A buffer that is returned to its free list on drop.
pub(crate) struct Buffer {
    bytes: Vec<u8>,
    len: usize,
    /// Weak, so that a buffer that is still held does not keep the others alive.
    home: Weak<FreeList>,
}

impl Buffer {
    /// Shortens the buffer to `len` bytes.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[..self.len]
    }
}

impl AsRef<[u8]> for Buffer {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let Some(list) = self.home.upgrade() else { return };
        list.put(std::mem::take(&mut self.bytes));
    }
}

impl From<Buffer> for Bytes {
    fn from(buffer: Buffer) -> Self {
        Self::from_owner(buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_return_when_the_last_part_of_them_is_gone() {
        let buffers = Buffers::new(1);
        let mut first = buffers.take(100);
        first.fill(7);
        let address = first.as_ptr();
        let first = Bytes::from(first);
        let part = first.slice(10..20);
        drop(first);
        assert_ne!(buffers.take(100).as_ptr(), address);
        drop(part);
        let again = buffers.take(50);
        assert_eq!((again.as_ptr(), again.len()), (address, 50));
        drop(again);
        assert_eq!(buffers.take(101)[..], [0; 101], "too short a buffer was given");
    }

    #[test]
    fn no_more_are_kept_than_agreed() {
        let buffers = Buffers::new(2);
        drop([buffers.take(1), buffers.take(1), buffers.take(1)]);
        assert_eq!(buffers.kept(), [1, 1]);
        let held = Bytes::from(buffers.take(1));
        drop(buffers);
        drop(held);
    }

    #[test]
    fn the_oldest_make_room_and_none_is_given_for_a_few_bytes() {
        let buffers = Buffers::with_limits(9, 3000);
        let taken = [1000, 1001, 1002, 1003].map(|len| buffers.take(len));
        let last = taken[3].as_ptr();
        drop(taken);
        assert_eq!(buffers.kept(), [1002, 1003]);
        drop(buffers.take(100));
        assert_eq!(buffers.kept(), [1002, 1003, 100]);
        assert_eq!(buffers.take(1000).as_ptr(), last);
        buffers.put(Vec::with_capacity(3001));
        assert_eq!(buffers.kept(), [0; 0]);
    }

    #[test]
    fn a_little_more_finds_room_too() {
        let buffers = Buffers::new(2);
        let first = buffers.take(1_000_000);
        let address = first.as_ptr();
        drop(first);
        drop(buffers.take(10));
        assert_eq!(buffers.take(1_040_000).as_ptr(), address);
        for len in [0, 1, 65_535, 65_536, 65_537, 1 << 20, (1 << 20) + 1] {
            assert!((len..=len + len / 4).contains(&capacity_for(len)), "{len}");
        }
        assert_eq!(capacity_for(usize::MAX), usize::MAX);
    }

    #[test]
    fn a_part_is_shared_and_all_of_it_returns() {
        let buffers = Buffers::new(1);
        let mut taken = buffers.take(9);
        taken[..5].copy_from_slice(b"chunk");
        taken.truncate(5);
        taken.truncate(7);
        assert_eq!(Bytes::from(taken), "chunk");
        assert_eq!(buffers.take(9)[..5], *b"chunk");
    }
}
