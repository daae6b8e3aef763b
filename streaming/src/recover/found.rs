//! What was found, and what became of it.

use oxiblosc_core::nd::NdError;

use super::numbers::ChunkNumbers;
use crate::sink::Summary;

/// In which state a frame was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Found {
    /// It opens. Chunks of it may be damaged all the same.
    Whole,
    /// It is open-ended, and complete but for the totals in its header.
    Open,
    /// Its writer was interrupted.
    Unfinished,
    /// It was complete once; its end is missing or damaged.
    Cut,
}

/// What has been recovered of a frame, and what was lost.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recovered {
    /// In which state the frame was found.
    pub found: Found,
    /// Chunks that were saved. All of them decode, but for those in [`unchecked`](Self::unchecked).
    pub chunks: u64,
    /// Decoded bytes that were saved.
    pub nbytes: u64,
    /// Chunks of the new frame that are zeros because what was in them is lost: damaged, or never written.
    pub replaced: ChunkNumbers,
    /// Chunks of the new frame of which nobody here knows the codec, or a filter: they are what they were.
    pub unchecked: ChunkNumbers,
    /// Decoded bytes that were lost, those of replaced chunks included; `None` when nothing tells how many there should
    /// be.
    pub lost_nbytes: Option<u64>,
    /// Bytes of the old frame that belong to nothing that was saved: the beginning of a chunk, a damaged index, what
    /// an edit had not yet committed.
    pub unused_bytes: u64,
    /// Whether each saved chunk is known to have its old number. When the index is lost, chunks that were in it alone
    /// (zeros) or that had been moved by edits may have shifted the others.
    pub in_order: bool,
    /// The frame was an array and is one no more: its metalayer was damaged, or contradicted the chunks, which are all the
    /// more in the new frame, one after the other. This is what was wrong with it. The metalayer is left out, unless the
    /// frame opens and has chunks that cannot be decoded without it.
    pub damaged_array: Option<NdError>,
    /// The frame had variable-length metalayers, and they are lost.
    pub lost_vlmetalayers: bool,
    /// The new frame.
    pub summary: Summary,
}
