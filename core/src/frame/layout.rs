//! The three ages of the contiguous frame, told apart by the first byte.

use super::FrameError;
use super::fields::u8_at;
use crate::filter::BitshuffleRule;

/// The eight bytes that every frame of every age carries at offset 2 (frame format documents, field "magic").
pub const MAGIC: &[u8; 8] = b"b2frame\0";

/// Which of the three header layouts a frame has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum FrameLayout {
    /// First byte 0x9B or 0x9C: 2019, up to 2.0.0-beta.1 (early frame format document). Neither filters nor a trailer.
    Early,
    /// First byte 0x9D: 2.0.0-beta.2 up to the development versions of February 2021. Filters, and a trailer.
    Beta,
    /// First byte 0x9E: 2.0.0-rc1 and everything since (contiguous frame format document).
    #[default]
    Current,
}

impl FrameLayout {
    /// Detects the layout of the frame that starts with `head`, which must hold at least 65 bytes, or the whole frame
    /// if it is shorter.
    ///
    /// # Errors
    /// [`FrameError::TooShort`], [`FrameError::Magic`], [`FrameError::UnknownLayout`], or
    /// [`FrameError::LayoutMismatch`] if bytes that distinguish the layouts contradict the first one.
    pub fn detect(head: &[u8]) -> Result<Self, FrameError> {
        let too_short = || FrameError::TooShort { len: head.len() as u64, min: Self::Early.min_header_len() as u64 };
        let magic: [u8; 8] = super::fields::array(head, 2).ok_or_else(too_short)?;
        if &magic != MAGIC {
            return Err(FrameError::Magic { found: magic });
        }
        let first = u8_at(head, 0).ok_or_else(too_short)?;
        let layout = match first {
            0x9B | 0x9C => Self::Early,
            0x9D => Self::Beta,
            0x9E => Self::Current,
            _ => return Err(FrameError::UnknownLayout { found: first }),
        };
        // The field at 57 is the chunk size (an int32) now, and was a thread count (an int16) before the block size
        // was inserted at 52. C-Blosc2 checks neither marker, but all its versions write them.
        let expected = if layout == Self::Current { 0xD2 } else { 0xD1 };
        let found = u8_at(head, 57).ok_or_else(too_short)?;
        if found != expected {
            return Err(FrameError::LayoutMismatch { first, offset: 57, expected, found });
        }
        if layout == Self::Beta {
            let found = u8_at(head, 64).ok_or_else(too_short)?;
            if found != 0xD8 {
                return Err(FrameError::LayoutMismatch { first, offset: 64, expected: 0xD8, found });
            }
        }
        Ok(layout)
    }

    /// Whether a header with this first byte is longer than the [early](Self::Early) ones.
    pub(super) fn is_later(first: u8) -> bool {
        matches!(first, 0x9D | 0x9E)
    }

    /// Bytes of the header before the metalayers section.
    pub const fn min_header_len(self) -> usize {
        match self {
            Self::Early => 64,
            Self::Beta => 82,
            Self::Current => 87,
        }
    }

    /// Whether the header always has a metalayers section, even an empty one.
    pub const fn always_has_metalayers(self) -> bool {
        !matches!(self, Self::Early)
    }

    /// Whether the frame ends with a trailer.
    pub const fn has_trailer(self) -> bool {
        !matches!(self, Self::Early)
    }
}

/// Which rule the bit-shuffled chunks of a frame follow.
///
/// Bit shuffle changed in February 2020 without a change of the chunk version, so only the age of the frame tells which
/// rule its writer followed, and for frames of the months around the change not even that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BitshuffleAge {
    /// Nothing special: the version of each chunk decides.
    ByChunk,
    /// Written before the change; decode with [`BitshuffleRule::WholeBlockOrNothing`].
    Before,
    /// A frame of 2.0.0-beta.3 or beta.4 (before) or of beta.5 (after); nothing in it tells which. Only blocks whose
    /// item count is no multiple of 8 are affected.
    Ambiguous,
}

impl BitshuffleAge {
    /// The rule to force on the chunks, if any. An ambiguous frame is read as beta.5 wrote it.
    pub const fn rule(self) -> Option<BitshuffleRule> {
        match self {
            Self::ByChunk => None,
            Self::Before => Some(BitshuffleRule::WholeBlockOrNothing),
            Self::Ambiguous => Some(BitshuffleRule::LeadingEights),
        }
    }
}
