//! Encoding and decoding chunks for an editor, off the polling thread.

use std::sync::Arc;

use bytes::Bytes;
use futures::lock::Mutex;
use oxiblosc_core::chunk::{ChunkContext, ChunkDecoder, ChunkEncoder, ChunkError, EncodeParams};
use oxiblosc_core::nd::Geometry;
use oxiblosc_core::pipeline::{FilterSlots, Pipeline};
use oxiblosc_core::{Inline, Limits, Registry};

use super::EditError;
use crate::compute::Pool;
use crate::disk::IoMode;
use crate::error::ReadError;

/// Encodes and decodes the chunks of a frame, one at a time, with the blocks of each on all threads of a pool.
///
/// A future that is dropped leaves its job to finish; the next one waits for it, before its own job is given to a
/// worker: a worker that waited in a job could be the one that is to finish the other.
#[derive(Clone)]
pub(super) struct Coder {
    codecs: Arc<Mutex<Codecs>>,
    params: Arc<EncodeParams>,
    pool: Pool,
    mode: IoMode,
    /// Bytes of an item.
    item_size: usize,
    /// Whether encoding may lose information.
    may_lose: bool,
}

struct Codecs {
    encoder: ChunkEncoder,
    decoder: ChunkDecoder,
}

impl Coder {
    /// # Errors
    /// [`EditError::Params`].
    pub(super) fn new(
        params: &EncodeParams,
        registry: &Registry,
        limits: Limits,
        item_size: usize,
        pool: Pool,
        mode: IoMode,
    ) -> Result<Self, EditError> {
        let encoder = ChunkEncoder::new(params, registry).map_err(EditError::Params)?;
        let decoder = ChunkDecoder::new(registry).with_limits(limits);
        Ok(Self {
            codecs: Arc::new(Mutex::new(Codecs { encoder, decoder })),
            params: Arc::new(params.clone()),
            pool,
            mode,
            item_size,
            may_lose: may_lose(params, registry),
        })
    }

    pub(super) fn params(&self) -> &EncodeParams {
        &self.params
    }

    /// Encodes `data` as chunk `i`.
    pub(super) async fn encode(
        &self,
        i: u64,
        geometry: Option<Arc<Geometry>>,
        data: Bytes,
    ) -> Result<Bytes, EditError> {
        let item_size = self.item_size;
        let encode = move |codecs: &mut Codecs, pool: &Pool| {
            codecs.encoder.encode(&data, &context(i, item_size, geometry.as_deref()), pool)
        };
        let chunk = self.run(i, encode).await?;
        chunk.map(Bytes::from).map_err(|source| EditError::Encode { chunk: i, source })
    }

    /// Encodes `data` as chunk `i` after `change` has changed some of its bytes. With `keeps` the others, which are in
    /// the frame already, stay as they are: if encoding would change them, the chunk is stored uncompressed.
    pub(super) async fn encode_changed<E>(
        &self,
        i: u64,
        geometry: Option<Arc<Geometry>>,
        mut data: Vec<u8>,
        keeps: bool,
        change: impl Fn(&mut [u8]) -> Result<(), E> + Send + 'static,
    ) -> Result<Result<Bytes, E>, EditError>
    where
        E: Send + 'static,
    {
        let (item_size, may_lose, params) = (self.item_size, self.may_lose && keeps, Arc::clone(&self.params));
        let encode = move |codecs: &mut Codecs, pool: &Pool| {
            if let Err(error) = change(&mut data) {
                return Ok(Err(error));
            }
            let ctx = context(i, item_size, geometry.as_deref());
            let chunk = codecs.encoder.encode(&data, &ctx, pool)?;
            if may_lose {
                let mut decoded = codecs.decoder.decode(&chunk, &ctx, pool)?;
                // What the codec has made of the new bytes does not matter.
                if change(&mut decoded).is_err() || decoded != data {
                    return Ok(Ok(store(i, &params, &data)?.into()));
                }
            }
            Ok(Ok(chunk.into()))
        };
        self.run(i, encode).await?.map_err(|source| EditError::Encode { chunk: i, source })
    }

    /// Encodes `data` as chunk `i` so that its first `kept` bytes, which are in the frame already, stay as they are:
    /// stored uncompressed if encoding loses information.
    pub(super) async fn encode_kept(
        &self,
        i: u64,
        geometry: Option<Arc<Geometry>>,
        data: Bytes,
        kept: usize,
    ) -> Result<Bytes, EditError> {
        let (item_size, may_lose, params) = (self.item_size, self.may_lose, Arc::clone(&self.params));
        let encode = move |codecs: &mut Codecs, pool: &Pool| {
            let ctx = context(i, item_size, geometry.as_deref());
            let chunk = codecs.encoder.encode(&data, &ctx, pool)?;
            if may_lose && codecs.decoder.decode(&chunk, &ctx, pool)?.get(..kept) != data.get(..kept) {
                return store(i, &params, &data);
            }
            Ok(chunk)
        };
        let chunk = self.run(i, encode).await?;
        chunk.map(Bytes::from).map_err(|source| EditError::Encode { chunk: i, source })
    }

    /// Decodes chunk `i`.
    pub(super) async fn decode(
        &self,
        i: u64,
        geometry: Option<Arc<Geometry>>,
        chunk: Bytes,
    ) -> Result<Vec<u8>, EditError> {
        let item_size = self.item_size;
        let decode = move |codecs: &mut Codecs, pool: &Pool| {
            let ctx = context(i, item_size, geometry.as_deref());
            codecs.decoder.decode(&chunk, &ctx, pool)
        };
        self.run(i, decode).await?.map_err(|source| EditError::Decode { chunk: i, source })
    }

    async fn run<T: Send + 'static>(
        &self,
        chunk: u64,
        work: impl FnOnce(&mut Codecs, &Pool) -> T + Send + 'static,
    ) -> Result<T, EditError> {
        // What a panic leaves is scratch space, which the next chunk overwrites.
        let (mut codecs, pool) = (Arc::clone(&self.codecs).lock_owned().await, self.pool.clone());
        let work = move || work(&mut codecs, &pool);
        match self.mode {
            IoMode::Inline => Ok(work()),
            IoMode::Offloaded => {
                self.pool.spawn(work).await.map_err(|panic| ReadError::Panicked { chunk, panic }.into())
            }
        }
    }
}

fn context(i: u64, item_size: usize, geometry: Option<&Geometry>) -> ChunkContext<'_> {
    let mut context = ChunkContext::numbered(i);
    context.item_size = Some(item_size);
    context.nd = geometry;
    context
}

/// Encodes `data` as a stored (uncompressed) chunk.
fn store(i: u64, params: &EncodeParams, data: &[u8]) -> Result<Vec<u8>, ChunkError> {
    let params = EncodeParams { level: 0, filters: FilterSlots::NONE, use_dict: false, ..params.clone() };
    ChunkEncoder::new(&params, &Registry::empty())?.encode(data, &ChunkContext::numbered(i), &Inline)
}

/// Whether encoding with these parameters may lose information, as the plugins say.
fn may_lose(params: &EncodeParams, registry: &Registry) -> bool {
    registry.codec(params.codec).map_or(true, |codec| codec.info().traits.lossy)
        || Pipeline::new(&params.filters, registry).map_or(true, |filters| filters.is_lossy())
}
