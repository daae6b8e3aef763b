//! The end of a frame: variable-length metalayers, the length of the trailer, and the fingerprint.
//!
//! Source: contiguous frame format document, "trailer". Where the document has the variable-length metalayers in a
//! bin32, C-Blosc2 writes the same three-element array as in the header.

use bytes::Bytes;
use rmp::Marker;

use super::error::Section;
use super::fields::{array, put, u8_at, u16_at, u32_at};
use super::metalayers::MAX_VLMETALAYERS_READ;
use super::{Fingerprint, FrameError, FrameLayout, FrameWriteError, Metalayers};

/// Bytes from the length field's marker to the end: `CE len D8 kind fingerprint`.
pub(super) const TRAILER_TAIL: usize = 23;
/// The trailer without any metalayer: `94 01`, the empty section, and the tail.
pub(super) const MIN_TRAILER: usize = 2 + 10 + TRAILER_TAIL;
/// The least that has a version, a length and a fingerprint. C-Blosc2 accepts a trailer length from here on.
const MIN_TRAILER_LEN: u64 = 2 + TRAILER_TAIL as u64;
/// Trailer of a beta frame without user metadata: `94 01 C6 len`, and the tail.
const MIN_BETA_TRAILER: u64 = MIN_TRAILER_LEN + 5;
/// Where the section of the variable-length metalayers begins, behind `94 01`.
const VL_SECTION_AT: usize = 2;
/// "trailer_version": the one that C-Blosc2 writes since beta 3.
const VERSION: u8 = 1;

/// A parsed trailer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Trailer {
    /// The first byte; 0x94, except 0x0D in frames of 2.0.0-beta.2.
    pub marker: u8,
    /// Version of the trailer; 1 today.
    pub version: u8,
    /// The variable-length metalayers, each value a chunk.
    pub vlmetalayers: Metalayers,
    /// What beta frames had in place of metalayers: one chunk.
    pub user_metadata: Option<Bytes>,
    /// The fingerprint.
    pub fingerprint: Fingerprint,
}

/// What the first bytes of a trailer say about its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TrailerExtent {
    /// This many bytes are needed to tell more.
    Needs(usize),
    /// It has this many bytes.
    Len(usize),
}

impl Trailer {
    /// An empty trailer, as in a new frame.
    pub fn new() -> Self {
        Self { marker: Marker::FixArray(4).to_u8(), version: VERSION, ..Self::default() }
    }

    /// Reads the length of the trailer from `tail`, the last 23 bytes (or more) of a frame that ends at `frame_len`.
    ///
    /// `room` is what header and chunks leave for it.
    pub(super) fn len_from_tail(
        tail: &[u8],
        frame_len: u64,
        room: u64,
        layout: FrameLayout,
    ) -> Result<u64, FrameError> {
        let marker_at = frame_len.saturating_sub(TRAILER_TAIL as u64);
        let end = tail.len().checked_sub(TRAILER_TAIL).map(|at| &tail[at..]).unwrap_or_default();
        let found = u8_at(end, 0);
        let len = match (found, u32_at(end, 1)) {
            (Some(marker), Some(len)) if marker == Marker::U32.to_u8() => len,
            _ => return Err(FrameError::TrailerMarker { offset: marker_at, found }),
        };
        let min = if layout == FrameLayout::Beta { MIN_BETA_TRAILER } else { MIN_TRAILER_LEN };
        if u64::from(len) < min || u64::from(len) > room {
            return Err(FrameError::TrailerLen { offset: marker_at + 1, found: len.into(), min, max: room });
        }
        Ok(len.into())
    }

    /// Parses a whole trailer.
    pub fn parse(trailer: &Bytes, layout: FrameLayout) -> Result<Self, FrameError> {
        let len = trailer.len() as u64;
        let declared = Self::len_from_tail(trailer, len, len, layout)?;
        if declared != len {
            let offset = len - TRAILER_TAIL as u64 + 1;
            return Err(FrameError::TrailerLen { offset, found: declared, min: len, max: len });
        }
        // `len_from_tail` has made sure of both ends.
        let (Some(marker), Some(version)) = (u8_at(trailer, 0), u8_at(trailer, 1)) else {
            return Err(FrameError::TrailerMarker { offset: 0, found: None });
        };
        let body = trailer.slice(..trailer.len() - TRAILER_TAIL);
        let at = trailer.len() - Fingerprint::LEN;
        let kind = u8_at(trailer, at + 1).unwrap_or_default();
        let digest = array(trailer, at + 2).unwrap_or_default();
        let mut parsed = Self { marker, version, fingerprint: Fingerprint { kind, digest }, ..Self::default() };
        // Beta frames changed from one to the other while their layout stayed the same.
        let is_user_metadata = layout == FrameLayout::Beta && u8_at(&body, 2) == Some(Marker::Bin32.to_u8());
        if is_user_metadata {
            parsed.user_metadata = user_metadata(&body, len)?;
        } else if layout == FrameLayout::Beta && u8_at(&body, 2) != Some(Marker::FixArray(3).to_u8()) {
            return Err(FrameError::TrailerKind { found: u8_at(&body, 2).unwrap_or_default() });
        } else {
            parsed.vlmetalayers = Metalayers::parse_trailer(&body)?;
        }
        Ok(parsed)
    }

    /// Whether a trailer begins with this byte, the marker of a msgpack array of four elements. No chunk does.
    pub fn begins_with(byte: u8) -> bool {
        byte == Marker::FixArray(4).to_u8()
    }

    /// The length of the trailer that starts with `bytes`, for readers that arrive from the front.
    ///
    /// # Errors
    /// If no trailer starts like that.
    pub(super) fn extent(bytes: &[u8]) -> Result<TrailerExtent, FrameError> {
        // "vlmetalayers": an array of three elements. The first is the length (uint16) of the map, which counts itself;
        // after the map comes an array16 of bin32 contents.
        let expect = |at: usize, marker: Marker| match u8_at(bytes, at) {
            None => Ok(()),
            Some(found) if found == marker.to_u8() => Ok(()),
            found => Err(FrameError::TrailerMarker { offset: at as u64, found }),
        };
        expect(0, Marker::FixArray(4))?;
        expect(VL_SECTION_AT, Marker::FixArray(3))?;
        let map_at = VL_SECTION_AT + 1;
        expect(map_at, Marker::U16)?;
        let Some(map_len) = u16_at(bytes, map_at + 1) else { return Ok(TrailerExtent::Needs(map_at + 3)) };
        let array_at = map_at + usize::from(map_len);
        expect(array_at, Marker::Array16)?;
        let Some(count) = u16_at(bytes, array_at + 1) else { return Ok(TrailerExtent::Needs(array_at + 3)) };
        if count > MAX_VLMETALAYERS_READ {
            return Err(FrameError::TrailerMarker { offset: array_at as u64 + 1, found: u8_at(bytes, array_at + 1) });
        }
        let mut at = array_at + 3;
        for _ in 0..count {
            expect(at, Marker::Bin32)?;
            let Some(len) = u32_at(bytes, at + 1) else { return Ok(TrailerExtent::Needs(at + 5)) };
            at = at.saturating_add(5).saturating_add(len as usize);
        }
        Ok(TrailerExtent::Len(at.saturating_add(TRAILER_TAIL)))
    }

    /// Where the content of a variable-length metalayer begins in the trailer when written.
    pub(super) fn content_at(&self, name: &str) -> Option<usize> {
        Some(VL_SECTION_AT + self.vlmetalayers.content_at(name)?)
    }

    /// Bytes of the trailer when written.
    pub(super) fn written_len(&self) -> usize {
        MIN_TRAILER - 10 + self.vlmetalayers.section_len()
    }

    /// Serialises the trailer in the current layout.
    ///
    /// # Errors
    /// [`FrameWriteError::MetalayersLen`] when the metalayers are too long to be addressed.
    pub fn to_bytes(&self) -> Result<Vec<u8>, FrameWriteError> {
        let len = self.written_len();
        self.vlmetalayers.check(Section::Trailer, len - self.vlmetalayers.section_len())?;
        let mut out = Vec::with_capacity(len);
        out.extend([Marker::FixArray(4).to_u8(), VERSION]);
        self.vlmetalayers.write(Section::Trailer, 0, &mut out);
        out.push(Marker::U32.to_u8());
        out.extend((len as u32).to_be_bytes());
        out.extend(self.fingerprint.to_bytes());
        debug_assert_eq!(out.len(), len);
        Ok(out)
    }

    /// Replaces the fingerprint in the last bytes of a serialised trailer.
    pub fn set_fingerprint(tail: &mut [u8], fingerprint: Fingerprint) {
        if let Some(at) = tail.len().checked_sub(Fingerprint::LEN) {
            put(tail, at, &fingerprint.to_bytes());
        }
    }
}

/// The user metadata of a beta trailer: `C6 len` and one chunk, or nothing.
fn user_metadata(body: &Bytes, trailer_len: u64) -> Result<Option<Bytes>, FrameError> {
    let len = u32_at(body, 3).unwrap_or(u32::MAX);
    match usize::try_from(len).ok().and_then(|len| len.checked_add(7)) {
        Some(7) => Ok(None),
        Some(end) if end <= body.len() => Ok(Some(body.slice(7..end))),
        _ => Err(FrameError::UserMetadata { found: len.into(), trailer_len }),
    }
}
