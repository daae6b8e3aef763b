//! The promise that a frame can be decoded front to back without its index.
//!
//! Only the index says in which order the chunks of a frame belong, which of them are still in use, and where special
//! chunks go that are stored nowhere else. A reader that cannot seek sees it last. A writer that stores every chunk, in
//! order and without holes, says so in a metalayer, together with the lengths at the end of writing: software that does
//! not know the promise and edits the frame changes them, which voids the promise.

use rmp::Marker;

use super::{FrameHeader, Metalayers};

/// The promise that the chunks of a frame lie in index order, without holes and without chunks that are only in the
/// index, and the lengths of the frame for which it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Sequential {
    /// Bytes of the frame.
    pub frame_len: u64,
    /// Decoded bytes of the chunks.
    pub nbytes: u64,
    /// Bytes of the chunks section.
    pub cbytes: u64,
}

const KEYS: [&str; 3] = ["frame_len", "nbytes", "cbytes"];

impl Sequential {
    /// Name of the header metalayer.
    pub const NAME: &'static str = "oxiblosc";

    /// The promise in these metalayers, if there is one that is readable.
    pub fn find(metalayers: &Metalayers) -> Option<Self> {
        let mut rest: &[u8] = metalayers.get(Self::NAME)?;
        let count = rmp::decode::read_map_len(&mut rest).ok()?;
        let mut found = [None; KEYS.len()];
        for _ in 0..count {
            let len = rmp::decode::read_str_len(&mut rest).ok()? as usize;
            let (key, value) = rest.split_at_checked(len)?;
            rest = value;
            // Keys added by later versions may have values of any kind. These three come first.
            let Some(slot) = KEYS.iter().position(|k| k.as_bytes() == key) else { break };
            found[slot] = rmp::decode::read_int(&mut rest).ok();
        }
        let [Some(frame_len), Some(nbytes), Some(cbytes)] = found else { return None };
        Some(Self { frame_len, nbytes, cbytes })
    }

    /// Whether the frame with this header is still the one the promise was made for.
    pub fn holds(&self, header: &FrameHeader) -> bool {
        *self == Self { frame_len: header.frame_len, nbytes: header.nbytes, cbytes: header.cbytes }
    }

    /// Whether the frame with this header is open-ended: still growing, abandoned, or written where the header could
    /// not be made final. All lengths are 0, in the header and in the promise. The chunks follow the header, in order
    /// and without holes. Once the frame is complete, index and trailer follow the last one.
    ///
    /// The index is the chunk that is followed by a trailer, whose first byte (0x90 to 0x9F) begins no chunk.
    pub fn is_open(&self, header: &FrameHeader) -> bool {
        let none = Self { frame_len: 0, nbytes: 0, cbytes: 0 };
        *self == none && none.holds(header)
    }

    /// The content of the metalayer: a msgpack map whose numbers have a fixed width, so that it can be written before
    /// they are known.
    pub fn to_bytes(self) -> Vec<u8> {
        let mut out = vec![Marker::FixMap(KEYS.len() as u8).to_u8()];
        for (key, value) in KEYS.iter().zip([self.frame_len, self.nbytes, self.cbytes]) {
            out.push(Marker::FixStr(key.len() as u8).to_u8());
            out.extend_from_slice(key.as_bytes());
            out.push(Marker::U64.to_u8());
            out.extend(value.to_be_bytes());
        }
        out
    }
}
