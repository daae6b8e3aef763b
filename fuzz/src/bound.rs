//! How much an input may cost.

use oxiblosc::edit::EditOptions;
use oxiblosc::recover::RecoverOptions;
use oxiblosc::{Limits, Pool, ReadOptions};

/// How frames are opened, and how long a frame may be that is read as a whole.
#[derive(Debug, Clone)]
pub struct Setup {
    /// What every reader, editor and recovery is given.
    pub limits: Limits,
    /// Where chunks are decoded.
    pub pool: Pool,
    /// Frames with more decoded bytes than this are only read in part.
    pub whole: u64,
}

/// Frames with more chunks than this are only read in part.
pub(crate) const MOST_CHUNKS: u64 = 1 << 12;

impl Setup {
    /// Small limits, and everything on one thread: for millions of runs.
    pub fn small() -> Self {
        let mut limits = Limits::default();
        limits.chunk_bytes = 4 << 20;
        limits.chunks = 1 << 16;
        limits.header_bytes = 1 << 20;
        limits.trailer_bytes = 1 << 20;
        limits.metalayer_bytes = 1 << 20;
        limits.in_flight_bytes = 16 << 20;
        limits.result_bytes = 4 << 20;
        Self { limits, pool: Pool::inline(), whole: 1 << 20 }
    }

    /// The limits and threads of a program that says nothing about them.
    pub fn default_limits() -> Self {
        Self { limits: Limits::default(), pool: Pool::default(), whole: 1 << 20 }
    }

    /// Bytes that may be allocated at any one time for an input of `len` bytes, whatever is done with it: the limits,
    /// what an oracle keeps to compare with, and a few copies of the input.
    pub fn bytes(&self, len: usize) -> usize {
        let limits = &self.limits;
        let metadata = limits.header_bytes + limits.trailer_bytes + limits.metalayer_bytes;
        // A chunk, what it decodes to, its blocks on the way, and its encoding in an editor.
        let chunk = limits.chunk_bytes.saturating_mul(6);
        // An entry of the index, decoded and encoded, and what an editor knows of it.
        let index = limits.chunks.saturating_mul(128) as usize;
        let kept = (self.whole as usize).saturating_mul(28);
        [limits.in_flight_bytes, chunk, index, metadata.saturating_mul(4), kept, len.saturating_mul(32), 8 << 20]
            .into_iter()
            .fold(0, usize::saturating_add)
    }

    /// For readers.
    pub fn read(&self) -> ReadOptions {
        ReadOptions::new().limits(self.limits).pool(&self.pool)
    }

    /// For recoveries. They may decode as much as a frame that is read as a whole has, many times over.
    pub fn recover(&self) -> RecoverOptions {
        RecoverOptions::new().limits(self.limits).work_bytes(64 * self.whole).output_bytes(16 * self.whole)
    }

    /// For editors.
    pub fn edit(&self) -> EditOptions {
        EditOptions::new().limits(self.limits).pool(&self.pool)
    }
}
