//! Filter and codec ids and the ranges they fall into.
//!
//! Source: chunk format document, fields `filters` and `udcodec`; the ranges are those that C-Blosc2 enforces.

use std::fmt;

/// Who may give out an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IdRange {
    /// 0..=31: defined by the Blosc format itself.
    Blosc,
    /// 32..=159: registered globally with the Blosc developers.
    Registered,
    /// 160..=255: free for users; files that use one need the same plugin to be read.
    User,
}

impl IdRange {
    /// The range that `id` belongs to.
    pub const fn of(id: u8) -> Self {
        match id {
            0..=31 => Self::Blosc,
            32..=159 => Self::Registered,
            160..=255 => Self::User,
        }
    }
}

impl fmt::Display for IdRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Blosc => "Blosc-defined, 0..31",
            Self::Registered => "globally registered, 32..159",
            Self::User => "user-defined, 160..255",
        })
    }
}

/// The id of a filter, as stored in a filter slot. 0 marks an unused slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct FilterId(pub u8);

impl FilterId {
    /// An empty slot.
    pub const NONE: Self = Self(0);
    /// Byte shuffle.
    pub const SHUFFLE: Self = Self(1);
    /// Bit shuffle.
    pub const BITSHUFFLE: Self = Self(2);
    /// XOR with the previous item (first block) or with the first block (later blocks).
    pub const DELTA: Self = Self(3);
    /// Clears low mantissa bits.
    pub const TRUNC_PREC: Self = Self(4);
    /// Reorders an n-dimensional block cell by cell.
    pub const NDCELL: Self = Self(32);
    /// Replaces each cell of an n-dimensional block by its mean.
    pub const NDMEAN: Self = Self(33);
    /// Byte-wise difference as written before C-Blosc2 2.5; decode only.
    pub const BYTEDELTA_OLD: Self = Self(34);
    /// Byte-wise difference of consecutive bytes of a shuffled stream.
    pub const BYTEDELTA: Self = Self(35);
    /// Clears low bits of integers.
    pub const INT_TRUNC: Self = Self(36);

    /// The range this id belongs to.
    pub const fn range(self) -> IdRange {
        IdRange::of(self.0)
    }
}

impl fmt::Display for FilterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.0, self.range())
    }
}

/// The id of a codec.
///
/// In a chunk header the three top bits of `flags` carry a *format* code ([`CodecId::format_code`]); the id itself
/// is in the `udcodec` byte. In a frame header the codec nibble carries the id, or 6 when it does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CodecId(pub u8);

impl CodecId {
    /// BloscLZ.
    pub const BLOSCLZ: Self = Self(0);
    /// LZ4.
    pub const LZ4: Self = Self(1);
    /// LZ4 in its high-compression variant; decodes like [`CodecId::LZ4`].
    pub const LZ4HC: Self = Self(2);
    /// Snappy; Blosc 1 chunks only.
    pub const SNAPPY: Self = Self(3);
    /// Zlib.
    pub const ZLIB: Self = Self(4);
    /// Zstandard.
    pub const ZSTD: Self = Self(5);
    /// Lossless codec for two-dimensional blocks.
    pub const NDLZ: Self = Self(32);
    /// ZFP with an absolute error bound.
    pub const ZFP_ACCURACY: Self = Self(33);
    /// ZFP with a number of bit planes.
    pub const ZFP_PRECISION: Self = Self(34);
    /// ZFP with a number of bits per value.
    pub const ZFP_RATE: Self = Self(35);

    /// Format code that says "the codec is in the `udcodec` byte".
    pub const UDCODEC_FORMAT: u8 = 6;

    /// The range this id belongs to.
    pub const fn range(self) -> IdRange {
        IdRange::of(self.0)
    }

    /// The code stored in bits 5..=7 of the chunk flags.
    pub const fn format_code(self) -> u8 {
        match self {
            Self::BLOSCLZ => 0,
            Self::LZ4 | Self::LZ4HC => 1,
            Self::SNAPPY => 2,
            Self::ZLIB => 3,
            Self::ZSTD => 4,
            _ => Self::UDCODEC_FORMAT,
        }
    }

    /// The codec that decodes a chunk with this format code and `udcodec` byte; `None` for the codes 5 and 7, which
    /// no writer uses.
    pub const fn from_format_code(code: u8, udcodec: u8) -> Option<Self> {
        match code {
            0 => Some(Self::BLOSCLZ),
            1 => Some(Self::LZ4),
            2 => Some(Self::SNAPPY),
            3 => Some(Self::ZLIB),
            4 => Some(Self::ZSTD),
            Self::UDCODEC_FORMAT => Some(Self(udcodec)),
            _ => None,
        }
    }
}

impl Default for CodecId {
    fn default() -> Self {
        Self::BLOSCLZ
    }
}

impl fmt::Display for CodecId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.0, self.range())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn range_boundaries() {
        for (id, range) in [
            (0, IdRange::Blosc),
            (31, IdRange::Blosc),
            (32, IdRange::Registered),
            (159, IdRange::Registered),
            (160, IdRange::User),
            (255, IdRange::User),
        ] {
            assert_eq!(IdRange::of(id), range, "id {id}");
        }
    }

    #[test]
    fn format_codes_decode_to_a_codec_that_reads_them() {
        for id in 0..=255u8 {
            let id = CodecId(id);
            let decoded = CodecId::from_format_code(id.format_code(), id.0);
            let expected = if id == CodecId::LZ4HC { CodecId::LZ4 } else { id };
            assert_eq!(decoded, Some(expected));
        }
        assert_eq!(CodecId::from_format_code(5, 0), None);
        assert_eq!(CodecId::from_format_code(7, 0), None);
    }
}
