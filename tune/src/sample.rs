//! Samples of data of any length.

use bytes::Bytes;

use crate::array::ArraySample;

/// Bytes of a piece of a sample; each piece is compressed as one chunk.
const PIECE: usize = 1 << 20;
/// The most pieces of a sample.
const PIECES: usize = 8;
/// The least bytes of a piece of a reduced sample: the usual blocks fit, and ratios come out nearly as with more.
const LEAST_PIECE: usize = 128 << 10;

/// Pieces from all over some data, on which combinations are tried.
#[derive(Debug, Clone)]
pub struct Sample {
    pub(crate) pieces: Vec<Bytes>,
    pub(crate) typesize: usize,
    array: Option<(Vec<u64>, String)>,
}

impl Sample {
    /// The most bytes of a sample, unless [`with_limit`](Self::with_limit) says otherwise.
    pub const BYTES: usize = PIECE * PIECES;

    /// A sample of items of `typesize` bytes. A type size of 0 counts as 1.
    pub fn new(data: &[u8], typesize: usize) -> Self {
        Self::with_limit(data, typesize, Self::BYTES)
    }

    /// A sample of at most `bytes` bytes, but at least one item. What is sampled is copied.
    pub fn with_limit(data: &[u8], typesize: usize, bytes: usize) -> Self {
        let typesize = typesize.max(1);
        let count = bytes.div_ceil(PIECE).max(1);
        let len = whole_items(if data.len() <= bytes { PIECE } else { bytes / count }, typesize);
        let pieces = if data.len() <= len.saturating_mul(count) {
            data.chunks(len).map(Bytes::copy_from_slice).collect()
        } else {
            let last = (data.len() - len) / typesize;
            let starts = (0..count).map(|i| i * last / (count - 1).max(1) * typesize);
            starts.map(|start| Bytes::copy_from_slice(&data[start..start + len])).collect()
        };
        Self { pieces, typesize, array: None }
    }

    /// Says that the data are an array with this shape and dtype, in C order, so that codecs for arrays are tried on its
    /// first rows. Without effect if the items have another size than `typesize`.
    pub fn array(mut self, shape: impl Into<Vec<u64>>, dtype: impl Into<String>) -> Self {
        let (shape, dtype) = (shape.into(), dtype.into());
        let is_other = oxiblosc::nd::item_size(&dtype).is_some_and(|size| size != self.typesize);
        self.array = (!is_other).then_some((shape, dtype));
        self
    }

    /// Bytes of an item.
    pub fn typesize(&self) -> usize {
        self.typesize
    }

    /// Bytes of the sample.
    pub fn len(&self) -> usize {
        self.pieces.iter().map(Bytes::len).sum()
    }

    /// Whether there is nothing to compress.
    pub fn is_empty(&self) -> bool {
        self.pieces.iter().all(Bytes::is_empty)
    }

    /// The dtype of the array that this is a sample of.
    pub(crate) fn dtype(&self) -> Option<&str> {
        self.array.as_ref().map(|(_, dtype)| dtype.as_str())
    }

    /// The first rows of the array that this is a sample of: the first piece begins where the array does.
    pub(crate) fn array_sample(&self) -> Option<ArraySample> {
        let (shape, dtype) = self.array.as_ref()?;
        ArraySample::new(shape, dtype, self.typesize, self.pieces.first()?)
    }

    /// Bytes of the longest piece.
    pub(crate) fn longest_piece(&self) -> usize {
        self.pieces.iter().map(Bytes::len).max().unwrap_or_default()
    }

    /// About `bytes` bytes of the sample, from all over it, as there is no time for more.
    pub(crate) fn reduced(mut self, bytes: usize) -> Self {
        if self.len() <= bytes {
            return self;
        }
        let count = (bytes / LEAST_PIECE).clamp(1, self.pieces.len());
        let len = whole_items((bytes / count).max(LEAST_PIECE), self.typesize);
        let pieces = (0..count).map(|i| &self.pieces[i * self.pieces.len() / count]);
        self.pieces = pieces.map(|piece| piece.slice(..piece.len().min(len))).collect();
        self
    }
}

/// Takes a [`Sample`] of a stream, whose length need not be known before its end.
///
/// ```
/// use bytes::Bytes;
/// use oxiblosc_tune::Sampler;
///
/// let mut sampler = Sampler::new(4);
/// let piece = Bytes::from(vec![1; sampler.piece_bytes()]);
/// for _ in 0..100 {
///     sampler.push(piece.clone());
/// }
/// let sample = sampler.finish();
/// assert_eq!(sample.len(), 7 * piece.len());
/// ```
#[derive(Debug)]
pub struct Sampler {
    pieces: Vec<Bytes>,
    typesize: usize,
    /// Every so many pieces one is kept.
    stride: usize,
    pushed: usize,
}

impl Sampler {
    /// A sampler of items of `typesize` bytes. A type size of 0 counts as 1.
    pub fn new(typesize: usize) -> Self {
        Self { pieces: Vec::new(), typesize: typesize.max(1), stride: 1, pushed: 0 }
    }

    /// How many bytes to push at a time: whole items, about 1 MiB of them.
    pub fn piece_bytes(&self) -> usize {
        whole_items(PIECE, self.typesize)
    }

    /// Takes the next [`piece_bytes`](Self::piece_bytes) of the stream, or what is left of it. Pieces are kept or dropped
    /// as a whole; at most eight are kept.
    pub fn push(&mut self, piece: Bytes) {
        if self.pushed.is_multiple_of(self.stride) {
            if self.pieces.len() == PIECES {
                // Keep every other one, and from now on skip as many.
                let mut keep = false;
                self.pieces.retain(|_| {
                    keep = !keep;
                    keep
                });
                self.stride *= 2;
            }
            if self.pushed.is_multiple_of(self.stride) {
                self.pieces.push(piece);
            }
        }
        self.pushed += 1;
    }

    /// The sample of all that was pushed.
    pub fn finish(self) -> Sample {
        Sample { pieces: self.pieces, typesize: self.typesize, array: None }
    }
}

/// The largest multiple of the item size that is not above `bytes`; at least one item.
pub(crate) fn whole_items(bytes: usize, typesize: usize) -> usize {
    (bytes / typesize).max(1) * typesize
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Items of four bytes that count.
    fn counted(items: u32) -> Vec<u8> {
        (0..items).flat_map(u32::to_le_bytes).collect()
    }

    fn firsts(sample: &Sample) -> Vec<u32> {
        sample.pieces.iter().map(|piece| u32::from_le_bytes([piece[0], piece[1], piece[2], piece[3]])).collect()
    }

    #[test]
    fn short_data_are_sampled_as_a_whole() {
        let data = counted(700_000);
        let sample = Sample::new(&data, 4);
        assert_eq!(sample.pieces.concat(), data);
        assert_eq!(sample.pieces.iter().map(Bytes::len).collect::<Vec<_>>(), [1 << 20, 1 << 20, 702_848]);
        assert!(Sample::new(&[], 4).is_empty() && Sample::new(&[1], 0).len() == 1);
    }

    #[test]
    fn long_data_are_sampled_from_begin_to_end() {
        let data = counted(5_000_000);
        let sample = Sample::new(&data, 4);
        assert_eq!(sample.len(), Sample::BYTES);
        assert_eq!(firsts(&sample)[..2], [0, 676_836]);
        assert!(sample.pieces[7].ends_with(&4_999_999_u32.to_le_bytes()));
        // In pieces of whole items, however little it is.
        let sample = Sample::with_limit(&data, 4, 10_001);
        assert_eq!((sample.pieces.len(), sample.len()), (1, 10_000));
        assert_eq!(Sample::with_limit(&data, 4, 0).len(), 4);
        assert_eq!(Sample::with_limit(&data, 4, 3 << 20).pieces.len(), 3);
        let odd = Sample::with_limit(&data, 12, (2 << 20) + 1);
        assert!(odd.len() <= (2 << 20) + 1 && odd.pieces.iter().all(|piece| piece.len() % 12 == 0));
    }

    #[test]
    fn streams_are_sampled_from_all_over() {
        let data = counted(20 << 18);
        let mut sampler = Sampler::new(4);
        for piece in data.chunks(sampler.piece_bytes()) {
            sampler.push(Bytes::copy_from_slice(piece));
        }
        let sample = sampler.finish();
        assert_eq!(firsts(&sample), [0, 4 << 18, 8 << 18, 12 << 18, 16 << 18]);
    }

    #[test]
    fn reduced_samples_are_from_all_over_too() {
        let sample = Sample::new(&counted(2 << 20), 4);
        assert_eq!(sample.clone().reduced(usize::MAX).len(), 8 << 20);
        let half = sample.clone().reduced(512 << 10);
        assert_eq!(half.pieces.iter().map(Bytes::len).collect::<Vec<_>>(), [LEAST_PIECE; 4]);
        assert_eq!(firsts(&half), [0, 2 << 18, 4 << 18, 6 << 18]);
        let least = sample.reduced(0);
        assert_eq!((firsts(&least), least.len()), (vec![0], LEAST_PIECE));
    }
}
