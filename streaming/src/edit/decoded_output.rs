//! Writing the decoded chunks of another frame.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use futures::SinkExt;
use oxiblosc_core::Limits;
use oxiblosc_core::chunk::{ChunkContext, ChunkEncoder, EncodeParams, SpecialKind, SpecialValue, special_chunk};

use super::{ChunkOutput, EditError};
use crate::compute::Pool;
use crate::error::ReadError;
use crate::sink::{FrameSink, Summary, WriteOptions};
use crate::target::Target;

/// Zeros written at a time.
const PIECE: u64 = 1 << 20;

/// Encodes the chunks of a frame again, with the chunk size of that frame.
pub(crate) enum DecodedOutput<'a, T> {
    /// Several at a time.
    Rechunked(Box<FrameSink<&'a mut T>>),
    /// One at a time, each as one chunk: no sink writes chunks of this size. It is no whole number of items, or more
    /// than a chunk can hold or the reader allows, or a single item is more than a block can hold. All of that can be read
    /// from a header.
    Each(Box<EachChunk<'a, T>>),
}

/// Encodes each chunk by itself.
pub(crate) struct EachChunk<'a, T> {
    output: ChunkOutput<'a, T>,
    encoder: Arc<Mutex<ChunkEncoder>>,
    pool: Pool,
    next: u64,
}

impl<'a, T: Target> DecodedOutput<'a, T> {
    /// For chunks of the size that `options` name, which come from a reader with these limits.
    pub(crate) fn new(options: WriteOptions, limits: &Limits, target: &'a mut T) -> Result<Self, EditError> {
        let registry = crate::given_or_linked(options.registry.as_ref())?;
        let encoder = ChunkEncoder::new(&options.params, &registry);
        // A sink would hold the zeros of a chunk that is too long to be decoded.
        if options.resolved_chunk_size().is_ok_and(|size| size <= limits.chunk_bytes) && encoder.is_ok() {
            return Self::rechunked(options, target);
        }
        // Chunks do not record a type size above 255 anyway.
        let single = || ChunkEncoder::new(&EncodeParams { typesize: 1, ..options.params.clone() }, &registry);
        let encoder = encoder.or_else(|_| single()).map_err(EditError::Params)?;
        let params = options.frame_params(options.chunk_size.unwrap_or(0))?;
        let mut output = ChunkOutput::new(&params, &registry, target)?;
        for (name, content) in &options.vlmetalayers {
            output.set_vlmetalayer(name, content)?;
        }
        output.copy_encoded_vlmetalayers(&options.encoded_vlmetalayers)?;
        let pool = options.pool.unwrap_or_default();
        let encoder = Arc::new(Mutex::new(encoder));
        Ok(Self::Each(Box::new(EachChunk { output, encoder, pool, next: 0 })))
    }

    /// For chunks that are cut anew, into those of the size that `options` name.
    pub(crate) fn rechunked(options: WriteOptions, target: &'a mut T) -> Result<Self, EditError> {
        Ok(Self::Rechunked(Box::new(options.sink(target)?)))
    }

    /// Writes the next chunk.
    pub(crate) async fn push(&mut self, chunk: Bytes) -> Result<(), EditError> {
        match self {
            Self::Rechunked(sink) => Ok(sink.feed(chunk).await?),
            Self::Each(each) => each.push(chunk).await,
        }
    }

    /// Writes `nbytes` zeros as the next chunk.
    pub(crate) async fn push_zeros(&mut self, nbytes: u64) -> Result<(), EditError> {
        match self {
            Self::Rechunked(sink) => {
                let mut left = nbytes;
                while left > 0 {
                    let piece = left.min(PIECE);
                    sink.feed(vec![0; piece as usize].into()).await?;
                    left -= piece;
                }
                Ok(())
            }
            // Lossless: the length of a chunk.
            Self::Each(each) => each.push_zeros(nbytes as usize).await,
        }
    }

    /// Completes the frame and closes the target.
    pub(crate) async fn finish(self) -> Result<Summary, EditError> {
        match self {
            Self::Rechunked(mut sink) => Ok(FrameSink::close(&mut sink).await?),
            Self::Each(each) => each.output.finish().await,
        }
    }
}

impl<T: Target> EachChunk<'_, T> {
    async fn push(&mut self, decoded: Bytes) -> Result<(), EditError> {
        let chunk = self.next;
        self.next += 1;
        let (encoder, pool) = (Arc::clone(&self.encoder), self.pool.clone());
        // Off the polling thread, like all encoding.
        let job = self.pool.spawn(move || {
            let mut encoder = encoder.lock().unwrap_or_else(PoisonError::into_inner);
            encoder.encode(&decoded, &ChunkContext::numbered(chunk), &pool)
        });
        let encoded = job.await.map_err(|panic| ReadError::Panicked { chunk, panic })?;
        let encoded = encoded.map_err(|source| EditError::Encode { chunk, source })?;
        self.output.push(encoded.into()).await
    }

    /// They are not encoded: there may be gigabytes of them.
    async fn push_zeros(&mut self, nbytes: usize) -> Result<(), EditError> {
        let chunk = self.next;
        self.next += 1;
        if self.output.push_specials(SpecialKind::Zero, nbytes, 1).await? {
            return Ok(());
        }
        let zeros = special_chunk(SpecialValue::Zero, nbytes, 1, nbytes);
        self.output.push(zeros.map_err(|source| EditError::Encode { chunk, source })?.into()).await
    }
}
