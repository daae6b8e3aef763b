//! Kernels and their dispatch.
//!
//! A kernel is a plain function over byte slices. The functions of this module pick the implementation for a
//! [`Level`]; each vector implementation has its twin in `scalar`, against which the tests compare it byte by byte.
//! The level is a value that every filter carries, not a global: tests and benchmarks force one by building a filter
//! with it.

#[cfg(target_arch = "x86_64")]
mod avx512;
mod lanes;
mod level;
mod scalar;

pub use level::Level;

use level::LevelProof;

/// Calls the kernel of this name in the implementation for a level.
macro_rules! dispatch {
    ($level:expr, $kernel:ident($($arg:expr),*)) => {
        match $level.kind() {
            LevelProof::Scalar => scalar::$kernel($($arg),*),
            #[cfg(target_arch = "aarch64")]
            LevelProof::Neon(neon) => neon.$kernel($($arg),*),
            #[cfg(target_arch = "x86_64")]
            LevelProof::Sse2(sse2) => sse2.$kernel($($arg),*),
            #[cfg(target_arch = "x86_64")]
            LevelProof::Avx2(avx2) => avx2.$kernel($($arg),*),
            #[cfg(target_arch = "x86_64")]
            LevelProof::Avx512(avx512) => avx512.$kernel($($arg),*),
        }
    };
}

/// Byte transposition: byte `j` of item `i` moves to `j * n + i`, where `n = src.len() / width`. A partial item at the
/// end is copied.
///
/// # Panics
/// When the slices differ in length or `width` is 0.
pub(crate) fn shuffle(level: Level, width: usize, src: &[u8], dst: &mut [u8]) {
    assert_eq!(src.len(), dst.len(), "a filter maps a block to a block of the same length");
    if width == 1 || src.len() < width {
        return dst.copy_from_slice(src);
    }
    dispatch!(level, shuffle(width, src, dst));
}

/// Inverse of [`shuffle`].
pub(crate) fn unshuffle(level: Level, width: usize, src: &[u8], dst: &mut [u8]) {
    assert_eq!(src.len(), dst.len(), "a filter maps a block to a block of the same length");
    if width == 1 || src.len() < width {
        return dst.copy_from_slice(src);
    }
    dispatch!(level, unshuffle(width, src, dst));
}

/// Bit transposition of the leading `n` items, `n = src.len() / width` rounded down to a multiple of 8: bit `k` of
/// byte `j` of item `8g + t` becomes bit `t` of byte `(8j + k) * n / 8 + g`. The rest is copied.
///
/// # Panics
/// When the slices differ in length or `width` is 0.
pub(crate) fn bitshuffle(level: Level, width: usize, src: &[u8], dst: &mut [u8]) {
    assert_eq!(src.len(), dst.len(), "a filter maps a block to a block of the same length");
    dispatch!(level, bitshuffle(width, src, dst));
}

/// Inverse of [`bitshuffle`].
pub(crate) fn bitunshuffle(level: Level, width: usize, src: &[u8], dst: &mut [u8]) {
    assert_eq!(src.len(), dst.len(), "a filter maps a block to a block of the same length");
    dispatch!(level, bitunshuffle(width, src, dst));
}

/// `dst[i] = src[i] ^ other[i]`.
///
/// The same on all levels: memory takes most of the time, and the compiler's 16-byte vectors get more out of it than
/// wider ones. They do not straddle cache lines wherever an allocator put the blocks, and more pending stores tell the
/// processor earlier which lines come next.
///
/// # Panics
/// When the three slices differ in length.
pub(crate) fn xor(src: &[u8], other: &[u8], dst: &mut [u8]) {
    assert!(src.len() == dst.len() && src.len() == other.len(), "xor works on slices of the same length");
    scalar::xor(src, other, dst);
}

/// Replaces every word by its XOR with the previous word; the first one is copied. It takes a level like its inverse,
/// but ignores it, as [`xor`] has none.
///
/// # Panics
/// When the slices differ in length or it is no multiple of `width`, which must be 1, 2, 4 or 8.
pub(crate) fn xor_previous(_: Level, width: usize, src: &[u8], dst: &mut [u8]) {
    check_words(width, src, dst);
    let first = width.min(src.len());
    dst[..first].copy_from_slice(&src[..first]);
    xor(&src[first..], &src[..src.len() - first], &mut dst[first..]);
}

/// Inverse of [`xor_previous`]: the running XOR.
pub(crate) fn xor_running(level: Level, width: usize, src: &[u8], dst: &mut [u8]) {
    check_words(width, src, dst);
    dispatch!(level, xor_running(width, src, dst));
}

/// Replaces every byte by its difference from the previous byte, modulo 256; the first one is copied.
///
/// # Panics
/// When the slices differ in length.
pub(crate) fn sub_previous(level: Level, src: &[u8], dst: &mut [u8]) {
    assert_eq!(src.len(), dst.len(), "a filter maps a block to a block of the same length");
    dispatch!(level, sub_previous(src, dst));
}

/// Inverse of [`sub_previous`]: the running sum.
pub(crate) fn add_running(level: Level, src: &[u8], dst: &mut [u8]) {
    assert_eq!(src.len(), dst.len(), "a filter maps a block to a block of the same length");
    dispatch!(level, add_running(src, dst));
}

/// ANDs every word with the low `width` bytes of `mask` (little-endian). The same on all levels, like [`xor`].
///
/// # Panics
/// As for [`xor_previous`].
pub(crate) fn mask(width: usize, mask: u64, src: &[u8], dst: &mut [u8]) {
    check_words(width, src, dst);
    scalar::mask(width, mask, src, dst);
}

fn check_words(width: usize, src: &[u8], dst: &[u8]) {
    assert!(matches!(width, 1 | 2 | 4 | 8), "words have 1, 2, 4 or 8 bytes, not {width}");
    assert!(src.len() == dst.len() && src.len().is_multiple_of(width), "word kernels work on whole words");
}

/// The starts of strips of `size` that cover `0..len`, where the last one may overlap the previous one; empty if not
/// even one fits.
#[inline(always)]
fn strips(len: usize, size: usize) -> impl Iterator<Item = usize> {
    slabs(0, len, size, size).map(|(first, _)| first)
}

/// Start and length of the slabs that cover `0..len`; empty if `least` does not fit.
///
/// The first one begins at 0, the others at `phase` (less than `size`) and every `size` from there on. Each is `size`
/// long, but the last one may be shorter, down to `least`. If less is left, it is `least` long and overlaps the
/// previous one.
#[inline(always)]
fn slabs(phase: usize, len: usize, size: usize, least: usize) -> Slabs {
    let len = if len < least { 0 } else { len };
    Slabs { start: 0, next: if phase == 0 { size } else { phase }, len, size, least }
}

/// See [`slabs`]. (Two ranges that are chained ask in every round which of them it is, which was one in seven of the
/// instructions of the shuffle of four-byte items.)
struct Slabs {
    start: usize,
    /// The start of the slab after that.
    next: usize,
    len: usize,
    size: usize,
    least: usize,
}

impl Iterator for Slabs {
    type Item = (usize, usize);

    #[inline(always)]
    fn next(&mut self) -> Option<(usize, usize)> {
        if self.start >= self.len {
            return None;
        }
        let count = (self.len - self.start).clamp(self.least, self.size);
        let slab = (self.start.min(self.len - count), count);
        self.start = self.next;
        self.next += self.size;
        Some(slab)
    }
}

/// Bytes of a cache line.
const LINE: usize = 64;

/// The number of bytes of `block` before the first cache line boundary in it. Vectors stored from there on do not
/// straddle two lines, which would cost more than anything else.
fn misalignment(block: &[u8]) -> usize {
    block.as_ptr().addr().wrapping_neg() % LINE
}

/// Whether lines of planes that begin `stride` bytes apart, one of each, would evict each other from the first-level cache.
///
/// The cache places a line by its address modulo 4096, and has 8 to 12 lines for each of the 64 places. In blocks of the
/// usual sizes, powers of two, all planes share a few of them.
fn crowded(planes: usize, stride: usize) -> bool {
    const PLACES: usize = 64;
    const LINES: u8 = 12;
    if planes * stride <= PLACES * LINE * usize::from(LINES) {
        return false;
    }
    let mut lines = [0; PLACES];
    (0..planes).any(|plane| {
        let place = &mut lines[plane * stride / LINE % PLACES];
        *place += 1;
        *place > LINES
    })
}

/// The number of items of `width` bytes, less than 64, before the first cache line boundary in `items`; 0 if the
/// boundary lies within an item, so that no number of them leads to it.
fn items_before_line(width: usize, items: &[u8]) -> usize {
    let bytes = misalignment(items);
    if bytes.is_multiple_of(width) { bytes / width } else { 0 }
}

#[cfg(test)]
mod tests;
