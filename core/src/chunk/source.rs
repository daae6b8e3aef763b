//! The bytes that a chunk is made of, which may lie in several pieces of memory.

use super::block_encoder::resized;
use super::copy::copy;

/// The bytes of one block before it is encoded.
#[derive(Clone, Copy)]
pub(crate) enum SourceBlock<'a> {
    /// They lie next to each other.
    Whole(&'a [u8]),
    /// They begin `skip` bytes into the first of these pieces and go on in the next ones.
    Pieces { pieces: &'a [&'a [u8]], skip: usize, len: usize },
}

impl<'a> SourceBlock<'a> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Whole(bytes) => bytes.len(),
            Self::Pieces { len, .. } => *len,
        }
    }

    /// The bytes next to each other. Those of several pieces are copied to `buffer`, which is the size of a block and
    /// hence still in the cache when they are read.
    pub(crate) fn joined<'b>(&self, buffer: &'b mut Vec<u8>) -> &'b [u8]
    where
        'a: 'b,
    {
        match self {
            Self::Whole(bytes) => bytes,
            Self::Pieces { len, .. } => {
                let joined = resized(buffer, *len);
                self.copy_to(joined);
                joined
            }
        }
    }

    /// Copies the bytes to `dst`, which has their length.
    pub(crate) fn copy_to(&self, dst: &mut [u8]) {
        match *self {
            Self::Whole(bytes) => copy(bytes, dst),
            Self::Pieces { pieces, mut skip, .. } => {
                let mut rest = dst;
                for piece in pieces {
                    if rest.is_empty() {
                        break;
                    }
                    let piece = &piece[skip..];
                    let len = piece.len().min(rest.len());
                    let (part, tail) = std::mem::take(&mut rest).split_at_mut(len);
                    copy(&piece[..len], part);
                    rest = tail;
                    skip = 0;
                }
            }
        }
    }

    /// Whether this is the same memory as `other`.
    pub(crate) fn is(&self, other: &Self) -> bool {
        matches!((self, other), (Self::Whole(one), Self::Whole(other)) if std::ptr::eq(*one, *other))
    }
}

/// Cuts the concatenation of `pieces` into blocks of `block_size` bytes, of which the last one may be shorter.
pub(crate) fn cut<'a>(pieces: &'a [&'a [u8]], block_size: usize) -> Vec<SourceBlock<'a>> {
    let nbytes = len_of(pieces);
    let mut blocks = Vec::with_capacity(nbytes.div_ceil(block_size));
    // Where the next block begins.
    let (mut piece, mut skip, mut left) = (0, 0, nbytes);
    while left > 0 {
        let len = left.min(block_size);
        while pieces[piece].len() == skip {
            (piece, skip) = (piece + 1, 0);
        }
        blocks.push(match pieces[piece].get(skip..skip + len) {
            Some(bytes) => SourceBlock::Whole(bytes),
            None => SourceBlock::Pieces { pieces: &pieces[piece..], skip, len },
        });
        skip += len;
        while skip > pieces[piece].len() {
            skip -= pieces[piece].len();
            piece += 1;
        }
        left -= len;
    }
    blocks
}

/// The length of all `pieces` together.
pub(crate) fn len_of(pieces: &[&[u8]]) -> usize {
    // Lengths in memory cannot overflow, except of aliases; the limit of a chunk is far below that.
    pieces.iter().fold(0, |sum: usize, piece| sum.saturating_add(piece.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_those_of_the_concatenation_and_copied_only_where_they_must_be() {
        let data: Vec<u8> = (0..=255).collect();
        for cuts in [&[][..], &[0, 0], &[1], &[5, 5, 6], &[10, 20, 30], &[9, 11, 12, 13, 200, 256], &[255]] {
            let mut pieces = Vec::new();
            let mut from = 0;
            for &to in cuts.iter().chain([&data.len()]) {
                pieces.push(&data[from..to]);
                from = to;
            }
            for block_size in [1, 7, 10, 128, 256, 300] {
                let blocks = cut(&pieces, block_size);
                let expected: Vec<&[u8]> = data.chunks(block_size).collect();
                assert_eq!(blocks.len(), expected.len());
                let mut start = 0;
                for (block, expected) in blocks.iter().zip(expected) {
                    assert_eq!((block.len(), block.joined(&mut Vec::new())), (expected.len(), expected));
                    let end = start + expected.len();
                    let is_cut = cuts.iter().any(|&at| start < at && at < end);
                    assert_eq!(matches!(block, SourceBlock::Pieces { .. }), is_cut, "{start}..{end} of {cuts:?}");
                    start = end;
                }
            }
        }
        assert!(cut(&[], 8).is_empty() && cut(&[&[], &[]], 8).is_empty());
    }
}
