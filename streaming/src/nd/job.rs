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
            let work = move || work(&mut JobInput::new(&shared, &fetched, &chunk));
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
            Ok(Err(error)) => Err(array_error(&self.shared, chunk, error)),
            Err(panic) => Err(ReadError::Panicked { chunk, panic }.into()),
        }
    }
}

/// The error of decoding a chunk, as callers get it.
pub(super) fn array_error<S: RangeSource + 'static>(
    shared: &ReaderInner<S>,
    chunk: u64,
    error: DecodeError,
) -> ArrayError {
    match error {
        DecodeError::Chunk(error) => shared.decode_error(chunk, error).into(),
        DecodeError::Nd(error) => error.into(),
    }
}

impl<'j, S: RangeSource + 'static> JobInput<'j, S> {
    /// `chunk` will be the number of the chunk that the job works on.
    pub(super) fn new(shared: &'j ReaderInner<S>, fetched: &'j Fetched, chunk: &'j AtomicU64) -> Self {
        Self { shared, fetched, decoder: PartDecoder::new(&shared.decoding), chunk }
    }

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
