//! Jobs that decode chunks and report which one failed.

use crate::trace::span;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use oxiblosc_core::chunk::{ChunkError, ChunkHeader};
use oxiblosc_core::nd::ChunkPlan;

use super::ArrayError;
use super::decode::{DecodeError, Destination, PartDecoder};
use super::fetch::Fetched;
use crate::compute::Job;
use crate::error::ReadError;
use crate::reader::ReaderInner;
use crate::source::RangeSource;

/// A job on the pool that works on one chunk after the other.
pub(super) struct ChunkJob<S, T> {
    shared: Arc<ReaderInner<S>>,
    job: Job<Result<T, DecodeError>>,
    /// The chunk it is working on, for errors.
    chunk: Arc<AtomicU64>,
}

/// The data available to such a job.
pub(super) struct JobInput<'j, S> {
    shared: &'j ReaderInner<S>,
    fetched: &'j Fetched,
    decoder: PartDecoder<'j>,
    chunk: &'j AtomicU64,
}

impl<S: RangeSource + 'static, T: Send + 'static> ChunkJob<S, T> {
    /// Runs `work` on the pool with the fetched bytes.
    pub(super) fn spawn(
        shared: &Arc<ReaderInner<S>>,
        fetched: &Fetched,
        work: impl FnOnce(&mut JobInput<'_, S>) -> Result<T, DecodeError> + Send + 'static,
    ) -> Self {
        let chunk = Arc::new(AtomicU64::new(0));
        let job = shared.decoding.pool.spawn({
            let (shared, fetched, chunk) = (Arc::clone(shared), Arc::clone(fetched), Arc::clone(&chunk));
            let span = span!("decode_slice");
            let work = move || {
                let decoder = PartDecoder::new(&shared.decoding);
                work(&mut JobInput { shared: &shared, fetched: &fetched, decoder, chunk: &chunk })
            };
            move || span.in_scope(work)
        });
        Self { shared: Arc::clone(shared), job, chunk }
    }

    /// Waits for the result.
    pub(super) async fn join(self) -> Result<T, ArrayError> {
        let result = self.job.await;
        let chunk = self.chunk.load(Ordering::Relaxed);
        match result {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(DecodeError::Chunk(error))) => Err(self.shared.decode_error(chunk, error).into()),
            Ok(Err(DecodeError::Nd(error))) => Err(error.into()),
            Err(panic) => Err(ReadError::Panicked { chunk, panic }.into()),
        }
    }
}

impl<S: RangeSource + 'static> JobInput<'_, S> {
    /// Sets the chunk that the job works on next.
    pub(super) fn at(&mut self, chunk: u64) {
        self.chunk.store(chunk, Ordering::Relaxed);
    }

    /// Decodes what `part` touches of a chunk and brings it to `destination`.
    pub(super) fn decode(
        &mut self,
        part: &ChunkPlan<'_>,
        destination: &mut impl Destination,
    ) -> Result<(), DecodeError> {
        let chunk = part.number();
        self.at(chunk);
        let nothing = ChunkError::Truncated { what: "chunk", offset: 0, expected: ChunkHeader::MIN_LEN, found: 0 };
        let fetched = self.fetched.get(&chunk).ok_or(nothing)?;
        self.decoder.decode(part, fetched, self.shared.frame.chunk_context(chunk), destination)
    }
}
