//! Memory between guard pages, for tests of code that reads and writes without bounds checks.

use std::ptr::{self, NonNull};
use std::slice;

/// The filler around the bytes that a kernel may write.
const FILLER: u8 = 0xA5;

/// How many bytes around a slice are checked afterwards.
const WATCHED: usize = 128;

/// The alignments to try: no vector and no cache line is longer.
pub(crate) const ALIGNMENTS: usize = 64;

/// Every length up to this one is combined with every alignment.
pub(crate) const LONGEST: usize = 300;

/// The guard page that a slice is next to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// The slice begins where the lower page ends.
    Low,
    /// The slice ends where the upper page begins.
    High,
}

/// Where a slice lies: this many bytes away from a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SlicePosition(pub(crate) Side, pub(crate) usize);

impl SlicePosition {
    /// Places for two slices such that each touches a page on each side once while the other one takes a place `gap` bytes
    /// away from it.
    pub(crate) fn pairs(gap: usize) -> [(Self, Self); 4] {
        [Side::Low, Side::High]
            .map(|side| [(Self(side, 0), Self(side, gap)), (Self(side, gap), Self(side, 0))])
            .as_flattened()
            .try_into()
            .unwrap_or_else(|_| unreachable!("two sides, two slices"))
    }
}

/// Some pages of memory between two guard pages: code that goes past the end of a slice next to one crashes at once.
pub(crate) struct GuardedPages {
    /// The lower guard page.
    base: NonNull<u8>,
    page: usize,
    /// Bytes between the two guard pages.
    room: usize,
}

impl GuardedPages {
    /// Allocates at least `room` bytes between two guard pages.
    pub(crate) fn new(room: usize) -> Self {
        // SAFETY: it asks for a number.
        let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).expect("pages have a size");
        let room = room.next_multiple_of(page).max(page);
        let (flags, access) = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, libc::PROT_READ | libc::PROT_WRITE);
        // SAFETY: new memory at an address that the system chooses touches nothing that is there, and is zeroed.
        let base = unsafe { libc::mmap(ptr::null_mut(), room + 2 * page, libc::PROT_NONE, flags, -1, 0) };
        assert_ne!(base, libc::MAP_FAILED, "no memory for {room} bytes and two pages");
        let base = NonNull::new(base.cast::<u8>()).expect("memory is not at address 0");
        // SAFETY: these are the pages between the first and the last of those just mapped, which nobody knows of yet.
        let changed = unsafe { libc::mprotect(base.as_ptr().add(page).cast(), room, access) };
        assert_eq!(changed, 0, "pages cannot be made accessible");
        Self { base, page, room }
    }

    fn all(&mut self) -> &mut [u8] {
        // SAFETY: `room` bytes behind the first page can be read and written, hold initialised bytes, and are borrowed as long
        // as `self`, which alone knows of them.
        unsafe { slice::from_raw_parts_mut(self.base.as_ptr().add(self.page), self.room) }
    }

    /// Where the `len` bytes at `place` begin.
    fn start(&self, SlicePosition(side, gap): SlicePosition, len: usize) -> usize {
        assert!(len + gap <= self.room, "{len} bytes and {gap} are more than {}", self.room);
        if side == Side::Low { gap } else { self.room - gap - len }
    }

    /// A copy of `bytes` at `place`.
    pub(crate) fn with(&mut self, place: SlicePosition, bytes: &[u8]) -> &[u8] {
        let start = self.start(place, bytes.len());
        let here = &mut self.all()[start..start + bytes.len()];
        here.copy_from_slice(bytes);
        here
    }

    /// Runs `work` on `len` bytes at `place`, and returns its result and what it wrote.
    ///
    /// # Panics
    /// When it has written around them.
    pub(crate) fn write<T>(
        &mut self,
        place: SlicePosition,
        len: usize,
        work: impl FnOnce(&mut [u8]) -> T,
    ) -> (T, &[u8]) {
        let start = self.start(place, len);
        let (before, end) = (start.saturating_sub(WATCHED), start + len);
        let behind = (end + WATCHED).min(self.room);
        let all = self.all();
        all[before..behind].fill(FILLER);
        let result = work(&mut all[start..end]);
        let untouched = |bytes: &[u8]| *bytes == [FILLER; WATCHED][..bytes.len()];
        assert!(untouched(&all[before..start]) && untouched(&all[end..behind]), "written outside, at {place:?}, {len}");
        (result, &all[start..end])
    }
}

impl Drop for GuardedPages {
    fn drop(&mut self) {
        // SAFETY: these pages were mapped together, and no slice of them outlives `self`.
        let unmapped = unsafe { libc::munmap(self.base.as_ptr().cast(), self.room + 2 * self.page) };
        debug_assert_eq!(unmapped, 0);
    }
}

/// The alignments to try for a slice of `len` bytes: all of them up to [`LONGEST`] bytes, or if the variable
/// `OXIBLOSC_EXHAUSTIVE` is set, and otherwise a few that depend on the length.
pub(crate) fn gaps(len: usize) -> Vec<usize> {
    if len <= LONGEST || exhaustive() {
        return (0..ALIGNMENTS).collect();
    }
    vec![0, (len * 29 + 1) % ALIGNMENTS, (len * 29 + 33) % ALIGNMENTS]
}

/// Whether to run the exhaustive form of the tests.
pub(crate) fn exhaustive() -> bool {
    std::env::var_os("OXIBLOSC_EXHAUSTIVE").is_some()
}

/// The guard pages work: the system finds nothing to read there.
#[test]
fn nothing_can_be_read_beyond_the_edges() {
    use std::os::fd::AsRawFd;

    let readable = |at: *const u8| {
        let (_reader, writer) = std::io::pipe().expect("a pipe");
        // SAFETY: the system looks at the memory itself, and answers with an error if it is not there.
        unsafe { libc::write(writer.as_raw_fd(), at.cast(), 1) == 1 }
    };
    let mut guarded = GuardedPages::new(5000);
    let edges = guarded.all().as_ptr_range();
    assert!(readable(edges.start) && readable(edges.end.wrapping_sub(1)));
    assert!(!readable(edges.start.wrapping_sub(1)) && !readable(edges.end));
}
