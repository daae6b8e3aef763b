//! Chunks being encoded, in order.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use oxiblosc_core::Registry;
use oxiblosc_core::chunk::{ChunkContext, ChunkEncoder, ChunkError, EncodeParams};
use oxiblosc_core::nd::Geometry;

use super::input::ChunkInput;
use crate::compute::{Job, Pool};
use crate::error::WriteError;
use crate::sync::Mutex;
use crate::trace::span;

/// A chunk that has been encoded.
pub(crate) struct EncodedChunk {
    pub(crate) chunk: Bytes,
}

/// Encodes chunks on a pool, with encoders that are reused.
pub(crate) struct ChunkEncoders {
    shared: Arc<EncoderInner>,
    pool: Pool,
}

struct EncoderInner {
    params: EncodeParams,
    registry: Registry,
    geometry: Option<Arc<Geometry>>,
    /// Idle encoders. One whose job has panicked is discarded.
    encoders: Mutex<Vec<ChunkEncoder>>,
}

impl ChunkEncoders {
    /// # Errors
    /// When codec and filters of `params` are not all in the registry, or do not accept them.
    pub(crate) fn new(
        params: EncodeParams,
        registry: Registry,
        geometry: Option<Arc<Geometry>>,
        pool: Pool,
    ) -> Result<Self, ChunkError> {
        let encoders = Mutex::new(vec![ChunkEncoder::new(&params, &registry)?]);
        Ok(Self { shared: Arc::new(EncoderInner { params, registry, geometry, encoders }), pool })
    }

    /// Bytes of an item.
    pub(crate) fn typesize(&self) -> usize {
        self.shared.params.typesize
    }

    /// Starts to encode chunk `number`.
    pub(crate) fn encode(&self, number: u64, mut input: ChunkInput) -> Job<Result<EncodedChunk, ChunkError>> {
        let (shared, pool) = (Arc::clone(&self.shared), self.pool.clone());
        let span = span!("encode_chunk", chunk = number);
        let work = move || {
            input.cut();
            let mut encoder = shared.take()?;
            let mut ctx = ChunkContext::numbered(number);
            ctx.item_size = Some(shared.params.typesize);
            ctx.nd = shared.geometry.as_deref();
            // It is returned once the target has taken it.
            let mut chunk = pool.buffers().take(encoder.max_encoded_len(input.len()));
            let len = encoder.encode_pieces_into(&input.pieces(), &ctx, &mut chunk, &pool.share())?;
            chunk.truncate(len);
            shared.put_back(encoder);
            input.recycle(pool.buffers());
            Ok(EncodedChunk { chunk: chunk.into() })
        };
        self.pool.spawn(move || span.in_scope(work))
    }
}

impl EncoderInner {
    fn take(&self) -> Result<ChunkEncoder, ChunkError> {
        let kept = self.encoders.lock().unwrap_or_else(PoisonError::into_inner).pop();
        kept.map_or_else(|| ChunkEncoder::new(&self.params, &self.registry), Ok)
    }

    fn put_back(&self, encoder: ChunkEncoder) {
        self.encoders.lock().unwrap_or_else(PoisonError::into_inner).push(encoder);
    }
}

/// Chunks being encoded on the pool, returned in the order in which they were given.
#[derive(Default)]
pub(crate) struct EncodeQueue {
    queue: VecDeque<QueuedChunk>,
    bytes: usize,
}

struct QueuedChunk {
    number: u64,
    len: usize,
    job: Job<Result<EncodedChunk, ChunkError>>,
}

impl EncodeQueue {
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    pub(crate) fn chunks(&self) -> usize {
        self.queue.len()
    }

    /// Decoded bytes of these chunks.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn push(&mut self, number: u64, len: usize, job: Job<Result<EncodedChunk, ChunkError>>) {
        self.bytes += len;
        self.queue.push_back(QueuedChunk { number, len, job });
    }

    /// The next chunk in order, with its number; `None` when there are no more.
    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<(u64, EncodedChunk), WriteError>>> {
        let Some(entry) = self.queue.front_mut() else { return Poll::Ready(None) };
        let result = ready!(Pin::new(&mut entry.job).poll(cx));
        let chunk = entry.number;
        self.bytes -= entry.len;
        self.queue.pop_front();
        Poll::Ready(Some(match result {
            Ok(Ok(encoded)) => Ok((chunk, encoded)),
            Ok(Err(source)) => Err(WriteError::Encode { chunk, source: Arc::new(source) }),
            Err(panic) => Err(WriteError::Panicked { chunk, panic }),
        }))
    }
}
