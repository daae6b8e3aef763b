//! The b2nd metalayer.

use super::{Geometry, MAX_DIMS, NdError, Tiling, dtype};
use crate::frame::{Frame, Metalayers};

/// The content of the metalayer that makes a frame an array.
///
/// ```
/// use oxiblosc_core::nd::{ArrayMeta, Geometry};
///
/// let geometry = Geometry { shape: vec![2, 3], chunk_shape: vec![2, 2], block_shape: vec![1, 2] };
/// let meta = ArrayMeta::new(geometry, "<i2");
/// assert_eq!(ArrayMeta::parse(&meta.to_bytes()?)?, meta);
/// # Ok::<(), oxiblosc_core::nd::NdError>(())
/// ```
///
/// Source: b2nd metalayer document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArrayMeta {
    /// Format version; 0 so far. No reader looks at it.
    pub version: u8,
    /// The shapes.
    pub geometry: Geometry,
    /// The format of the dtype: 0 for NumPy. Meaningless without a dtype.
    pub dtype_format: u8,
    /// The dtype of the items as it is in the metalayer. Arrays made by the predecessor of b2nd have none.
    pub dtype: Option<String>,
}

/// The sizes in the header of the frame around an array, to be compared with the metalayer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameSizes {
    /// Size of an item.
    pub typesize: u64,
    /// Decoded bytes of a chunk; 0 if they differ, or if the frame has no chunks yet.
    pub chunksize: u64,
    /// Decoded bytes of a block; 0 when the frame does not tell.
    pub blocksize: u64,
    /// Number of chunks.
    pub nchunks: u64,
}

impl FrameSizes {
    /// The sizes in the header of `frame`.
    pub fn of(frame: &Frame) -> Self {
        let header = frame.header();
        Self {
            typesize: header.typesize.into(),
            chunksize: frame.chunk_size().unwrap_or(0) as u64,
            blocksize: header.block_size.into(),
            nchunks: frame.nchunks(),
        }
    }
}

/// A msgpack array of up to 15 elements: the number is in the low four bits.
const FIXARRAY: u8 = 0x90;
/// A msgpack 64-bit signed integer follows.
const INT64: u8 = 0xd3;
/// A msgpack 32-bit signed integer follows.
const INT32: u8 = 0xd2;
/// A msgpack string follows, after its length in 32 bits.
const STR32: u8 = 0xdb;

impl ArrayMeta {
    /// Name of the metalayer.
    pub const NAME: &'static str = "b2nd";
    /// Its name in files of the Caterva library, of which b2nd is the successor. Readers look for it second.
    pub const LEGACY_NAME: &'static str = "caterva";
    /// The `dtype_format` of NumPy: "0 means NumPy format", says the b2nd metalayer document.
    pub const NUMPY: u8 = 0;

    /// The metalayer of an array of items of a NumPy dtype, written as NumPy does: `<f4`, `|S5`,
    /// `[('a', '<i4'), ('b', '<f8')]`.
    pub fn new(geometry: Geometry, dtype: impl Into<String>) -> Self {
        Self { version: 0, geometry, dtype_format: Self::NUMPY, dtype: Some(dtype.into()) }
    }

    /// Parses the metalayer of an array; `None` if `metalayers` has none, so that the frame is not an array.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    pub fn find(metalayers: &Metalayers) -> Option<Result<Self, NdError>> {
        let content = metalayers.get(Self::NAME).or_else(|| metalayers.get(Self::LEGACY_NAME));
        content.map(|content| Self::parse(content))
    }

    /// Parses the content of the metalayer.
    ///
    /// Fields are read by position and markers of integers and arrays not looked at, as C-Blosc2 does: with 16
    /// dimensions the markers that every writer uses are no longer valid msgpack. What follows the dtype is ignored.
    ///
    /// # Errors
    /// The content ends early, has more than [`MAX_DIMS`] dimensions or negative lengths, or its dtype is not text.
    /// [`tiling`](Self::tiling) checks whether the shapes make sense together.
    pub fn parse(content: &[u8]) -> Result<Self, NdError> {
        let mut input = Input { content, at: 0 };
        // "[msgpack] fixarray with X=7 elements" (5 without a dtype), the version, the number of dimensions.
        let [_, version, ndim] = input.take("the head")?;
        let ndim = usize::from(ndim);
        if ndim > MAX_DIMS {
            return Err(NdError::TooManyDims { limit: MAX_DIMS, found: ndim });
        }
        let shape = input.lengths("the shape", ndim, |input| Ok(i64::from_be_bytes(input.number("the shape")?)))?;
        let mut lengths32 = |what| {
            let lengths = input.lengths(what, ndim, |input| Ok(i32::from_be_bytes(input.number(what)?).into()))?;
            // Lengths are not negative, and came from 32 bits.
            Ok(lengths.into_iter().map(|n| n as u32).collect::<Vec<_>>())
        };
        let chunk_shape = lengths32("the chunk shape")?;
        let block_shape = lengths32("the block shape")?;
        let geometry = Geometry { shape, chunk_shape, block_shape };
        let (dtype_format, dtype) = match input.rest() {
            0 => (Self::NUMPY, None),
            _ => input.dtype().map(|(format, text)| (format, Some(text)))?,
        };
        Ok(Self { version, geometry, dtype_format, dtype })
    }

    /// The content of the metalayer. Its length depends on the number of dimensions and the dtype alone, so that an
    /// array can change its shape in place.
    ///
    /// # Errors
    /// The shapes differ in rank, have more than [`MAX_DIMS`] dimensions, or hold lengths that the fields cannot.
    pub fn to_bytes(&self) -> Result<Vec<u8>, NdError> {
        let Geometry { shape, chunk_shape, block_shape } = &self.geometry;
        let ndim = shape.len();
        if ndim > MAX_DIMS {
            return Err(NdError::TooManyDims { limit: MAX_DIMS, found: ndim });
        }
        let mut out = Vec::with_capacity(6 + ndim * 19 + 6 + self.dtype.as_ref().map_or(0, String::len));
        let elements = if self.dtype.is_some() { 7 } else { 5 };
        out.extend([FIXARRAY + elements, self.version, ndim as u8]);
        // With 16 dimensions this is not a fixarray any more; it is what C-Blosc2 writes and reads.
        let array = FIXARRAY + ndim as u8;
        out.push(array);
        for &len in shape {
            let limit = i64::MAX as u64;
            let too_large = NdError::TooLarge { what: "a dimension of the array", limit, found: Some(len) };
            out.push(INT64);
            out.extend(i64::try_from(len).map_err(|_| too_large)?.to_be_bytes());
        }
        for (what, lens) in [("the chunk shape", chunk_shape), ("the block shape", block_shape)] {
            if lens.len() != ndim {
                return Err(NdError::Rank { what, expected: ndim, found: lens.len() });
            }
            out.push(array);
            for &len in lens {
                let limit = i32::MAX as u64;
                let too_large = NdError::TooLarge { what, limit, found: Some(len.into()) };
                out.push(INT32);
                out.extend(i32::try_from(len).map_err(|_| too_large)?.to_be_bytes());
            }
        }
        if let Some(dtype) = &self.dtype {
            let limit = i32::MAX as u64;
            let too_large = NdError::TooLarge { what: "the dtype", limit, found: Some(dtype.len() as u64) };
            let len = i32::try_from(dtype.len()).map_err(|_| too_large)?;
            out.extend([self.dtype_format, STR32]);
            out.extend(len.to_be_bytes());
            out.extend(dtype.as_bytes());
        }
        Ok(out)
    }

    /// Bytes of an item according to the dtype, if there is one that is understood.
    pub fn dtype_item_size(&self) -> Option<usize> {
        if self.dtype_format != Self::NUMPY {
            return None;
        }
        self.dtype.as_deref().and_then(dtype::item_size)
    }

    /// Checks the shapes against each other, the dtype and the frame, and returns the layout of the array.
    ///
    /// C-Blosc2 does not compare the metalayer with the frame, and reads wrong data when they disagree. One
    /// disagreement is its own: arrays of items wider than 255 bytes made by python-blosc2 may have type size 1 in
    /// the frame. Their item size is that of the dtype, or follows from the size of a chunk.
    ///
    /// # Errors
    /// The shapes are impossible ([`Geometry::tile`]), or the frame has other sizes than follow from them.
    pub fn tiling(&self, frame: &FrameSizes) -> Result<Tiling, NdError> {
        let differ = |what, expected, found| Err(NdError::Frame { what, expected, found });
        let typesize = frame.typesize;
        let item_size = match self.dtype_item_size().map(|size| size as u64) {
            Some(size) if size != typesize && !(size > 255 && typesize == 1) => {
                return differ("the item size", size, typesize);
            }
            Some(size) => size,
            None => {
                let items = self.geometry.stored_chunk_items().unwrap_or(0);
                let wide = frame.chunksize.checked_div(items).filter(|size| size * items == frame.chunksize);
                wide.filter(|&size| size > 255 && typesize == 1).unwrap_or(typesize)
            }
        };
        // What does not fit is too large anyway.
        let tiling = self.geometry.clone().tile(usize::try_from(item_size).unwrap_or(usize::MAX))?;
        if frame.nchunks != tiling.chunk_count() {
            return differ("the number of chunks", tiling.chunk_count(), frame.nchunks);
        }
        let unsettled = tiling.chunk_count() == 0 && frame.chunksize == 0;
        if frame.chunksize != tiling.chunk_bytes() as u64 && !unsettled {
            return differ("the chunk size", tiling.chunk_bytes() as u64, frame.chunksize);
        }
        if frame.blocksize != tiling.block_bytes() as u64 && frame.blocksize != 0 {
            return differ("the block size", tiling.block_bytes() as u64, frame.blocksize);
        }
        Ok(tiling)
    }
}

/// Reads the fields one after the other.
struct Input<'a> {
    content: &'a [u8],
    at: usize,
}

impl<'a> Input<'a> {
    fn rest(&self) -> usize {
        self.content.len() - self.at
    }

    fn slice(&mut self, what: &'static str, len: usize) -> Result<&'a [u8], NdError> {
        let rest = &self.content[self.at..];
        let Some((taken, _)) = rest.split_at_checked(len) else {
            return Err(NdError::Truncated { what, offset: self.at, expected: len, found: rest.len() });
        };
        self.at += len;
        Ok(taken)
    }

    fn take<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], NdError> {
        let mut taken = [0; N];
        taken.copy_from_slice(self.slice(what, N)?);
        Ok(taken)
    }

    /// The bytes of an integer, after its marker.
    fn number<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], NdError> {
        self.slice(what, 1)?;
        self.take(what)
    }

    /// An array of lengths, after its marker.
    fn lengths(
        &mut self,
        what: &'static str,
        ndim: usize,
        read: impl Fn(&mut Self) -> Result<i64, NdError>,
    ) -> Result<Vec<u64>, NdError> {
        self.slice(what, 1)?;
        let mut lengths = Vec::with_capacity(ndim);
        for axis in 0..ndim {
            let found = read(self)?;
            let negative = NdError::Extent { what, axis, expected: "at least 0", found };
            lengths.push(u64::try_from(found).map_err(|_| negative)?);
        }
        Ok(lengths)
    }

    /// The format of the dtype and its text.
    fn dtype(&mut self) -> Result<(u8, String), NdError> {
        let what = "the dtype";
        let [format] = self.take(what)?;
        let offset = self.at;
        let [found] = self.take(what)?;
        if found != STR32 {
            return Err(NdError::Marker { what, offset, expected: STR32, found });
        }
        let len = u32::from_be_bytes(self.take(what)?);
        let text = self.slice(what, usize::try_from(len).unwrap_or(usize::MAX))?;
        let start = self.at - text.len();
        let text = str::from_utf8(text).map_err(|e| NdError::DtypeText { offset: start + e.valid_up_to() })?;
        Ok((format, text.to_owned()))
    }
}
