//! This project.

use oxiblosc_core::chunk::{ChunkContext, ChunkDecoder, ChunkEncoder, EncodeParams};
use oxiblosc_core::executor::{Executor, Inline};
use oxiblosc_core::registry::Registry;
use oxiblosc_plugins as _;
use oxiblosc_streaming::Pool;

use super::{ChunkCodec, Slot};
use crate::settings::Settings;
use crate::{Error, Result};

/// The parameters of an encoder.
pub fn params(settings: &Settings) -> EncodeParams {
    EncodeParams {
        codec: settings.codec.id(),
        level: settings.level,
        typesize: settings.typesize,
        filters: settings.filter.slots(settings.typesize),
        block_size: settings.block_size,
        ..EncodeParams::default()
    }
}

/// An encoder and a decoder, and the threads they run on.
pub struct Chunks {
    encoder: ChunkEncoder,
    decoder: ChunkDecoder,
    executor: Box<dyn Executor>,
}

impl Chunks {
    /// An encoder and a decoder for these settings.
    ///
    /// # Errors
    /// When a plugin is missing.
    pub fn new(settings: &Settings) -> Result<Self> {
        Self::with_params(&params(settings), settings.threads)
    }

    /// An encoder and a decoder for these parameters.
    ///
    /// # Errors
    /// When a plugin is missing.
    pub fn with_params(params: &EncodeParams, threads: usize) -> Result<Self> {
        let registry = Registry::linked().map_err(Error::new)?;
        let encoder = ChunkEncoder::new(params, registry).map_err(Error::new)?;
        let executor: Box<dyn Executor> = if threads > 1 { Box::new(Pool::new(threads)) } else { Box::new(Inline) };
        Ok(Self { encoder, decoder: ChunkDecoder::new(registry), executor })
    }

    /// Encodes `src` and appends the chunk to `out`.
    ///
    /// # Errors
    /// When the encoder refuses.
    pub fn append(&mut self, src: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let ctx = ChunkContext::default();
        self.encoder.encode_append(src, &ctx, out, &*self.executor).map(drop).map_err(Error::new)
    }

    /// Decodes the items from number `start` on that fill `dst`.
    ///
    /// # Errors
    /// When the chunk is damaged or has no such items.
    pub fn items(&mut self, chunk: &[u8], start: usize, typesize: usize, dst: &mut [u8]) -> Result<()> {
        let bytes = start * typesize..start * typesize + dst.len();
        self.decoder.decode_bytes_into(chunk, bytes, &ChunkContext::default(), dst).map_err(Error::new)
    }
}

impl ChunkCodec for Chunks {
    fn compress(&mut self, src: &[u8], dst: &mut Slot) -> Result<()> {
        let room = dst.room(self.encoder.max_encoded_len(src.len()));
        let len = self.encoder.encode_into(src, &ChunkContext::default(), room, &*self.executor).map_err(Error::new)?;
        dst.set_len(len);
        Ok(())
    }

    fn decompress(&mut self, chunk: &[u8], dst: &mut [u8]) -> Result<()> {
        let ctx = ChunkContext::default();
        self.decoder.decode_into(chunk, &ctx, dst, &*self.executor).map_err(Error::new)
    }
}
