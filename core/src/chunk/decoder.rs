//! From a chunk to its bytes.

use super::{ChunkContext, ChunkError};
use crate::executor::Executor;
use crate::limits::Limits;
use crate::registry::Registry;

/// Decodes chunks; owned by one worker and reused, so that contexts and scratch space are too.
pub struct ChunkDecoder {}

impl ChunkDecoder {
    /// A decoder that finds codecs and filters in `registry`, with the default [`Limits`].
    pub fn new(registry: &Registry) -> Self {
        let _ = registry;
        todo!()
    }

    /// Replaces the limits.
    pub fn with_limits(self, limits: Limits) -> Self {
        let _ = limits;
        self
    }

    /// Decodes a whole chunk into a new buffer.
    pub fn decode(&mut self, chunk: &[u8], ctx: &ChunkContext<'_>) -> Result<Vec<u8>, ChunkError> {
        let _ = (chunk, ctx);
        todo!()
    }

    /// Decodes a whole chunk into `dst`, which must have exactly the decoded length.
    pub fn decode_into(&mut self, chunk: &[u8], ctx: &ChunkContext<'_>, dst: &mut [u8]) -> Result<(), ChunkError> {
        let _ = (chunk, ctx, dst);
        todo!()
    }

    /// Decodes a whole chunk into `dst`, its blocks spread over the workers of `executor`.
    pub fn decode_into_on(
        &mut self,
        chunk: &[u8],
        ctx: &ChunkContext<'_>,
        dst: &mut [u8],
        executor: &dyn Executor,
    ) -> Result<(), ChunkError> {
        let _ = (chunk, ctx, dst, executor);
        todo!()
    }
}
