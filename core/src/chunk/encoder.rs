//! From a buffer to a chunk.

use super::{ChunkContext, ChunkError, EncodeParams};
use crate::executor::Executor;
use crate::registry::Registry;

/// Encodes buffers into chunks; owned by one worker and reused, so that contexts and scratch space are too.
pub struct ChunkEncoder {}

impl ChunkEncoder {
    /// Instantiates the codec and the filters of `params`.
    pub fn new(params: &EncodeParams, registry: &Registry) -> Result<Self, ChunkError> {
        let _ = (params, registry);
        todo!()
    }

    /// Encodes `src` into a new chunk.
    pub fn encode(&mut self, src: &[u8], ctx: &ChunkContext<'_>) -> Result<Vec<u8>, ChunkError> {
        let _ = (src, ctx);
        todo!()
    }

    /// Encodes `src` into a new chunk, its blocks spread over the workers of `executor`. The bytes are the same for
    /// any number of workers.
    pub fn encode_on(
        &mut self,
        src: &[u8],
        ctx: &ChunkContext<'_>,
        executor: &dyn Executor,
    ) -> Result<Vec<u8>, ChunkError> {
        let _ = (src, ctx, executor);
        todo!()
    }
}
