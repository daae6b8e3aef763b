//! What was found and what was recovered.

use oxiblosc_core::nd::NdError;
use oxiblosc_core::registry::MissingPlugin;

use super::numbers::ChunkNumbers;
use crate::sink::Summary;

/// The state in which a frame was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Found {
    /// It opens, though some of its chunks may be damaged.
    Whole,
    /// It is open-ended, and complete except for the totals in its header.
    Open,
    /// Its writer was interrupted.
    Unfinished,
    /// It was complete; its end is missing or damaged.
    Cut,
}

/// What has been recovered of a frame, and what was lost.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recovered {
    /// The state in which the frame was found.
    pub found: Found,
    /// Chunks that were saved. All of them decode, but for those in [`unchecked`](Self::unchecked).
    pub chunks: u64,
    /// Decoded bytes that were saved.
    pub nbytes: u64,
    /// Chunks of the new frame that are zeros because their data is lost: damaged, or never written.
    pub replaced: ChunkNumbers,
    /// Chunks of the new frame whose codec, or one of whose filters, is not available: they are copied unchecked, and
    /// any of them may be damaged.
    pub unchecked: ChunkNumbers,
    /// What these chunks need and the registry does not have.
    pub missing: Vec<MissingPlugin>,
    /// Decoded bytes that are known to be lost, those of replaced chunks included; `None` if it is not known how many
    /// there should be. Damage to [unchecked](Self::unchecked) chunks is not counted.
    pub lost_nbytes: Option<u64>,
    /// Bytes of the old frame that are not part of anything saved: the beginning of a chunk, a damaged index,
    /// uncommitted edits.
    pub unused_bytes: u64,
    /// Whether each saved chunk is known to have its old number. If the index is lost, chunks that existed only there
    /// (zeros) or that edits had moved may have shifted the others.
    pub in_order: bool,
    /// The frame was an array and no longer is one: its metalayer was damaged or contradicted the chunks. The chunks
    /// are in the new frame, one after the other. This is the reason. The metalayer is left out, unless it is
    /// readable and there are chunks that cannot be decoded without it.
    pub damaged_array: Option<NdError>,
    /// The frame had variable-length metalayers, and they are lost.
    pub lost_vlmetalayers: bool,
    /// The new frame.
    pub summary: Summary,
}

impl Recovered {
    /// Whether every chunk that was saved has been decoded. If not, [`missing`](Self::missing) says what that would
    /// take.
    pub fn is_verified(&self) -> bool {
        self.unchecked.is_empty()
    }
}
