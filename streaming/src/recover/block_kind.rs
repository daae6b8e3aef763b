//! Which kind of blocks the chunks of a frame have.

use bytes::Bytes;
use oxiblosc_core::chunk::{ChunkContext, ChunkDecoder, ChunkEncoder, ChunkHeader, EncodeParams, SpecialKind};
use oxiblosc_core::{Inline, Limits, Registry};

use super::assemble::special;
use super::error::RecoverError;
use super::work_limit::WorkLimit;
use crate::edit::{EditError, encodable};

/// Gives every chunk of a new frame blocks of the same kind, of fixed or of variable length: C-Blosc2 does not read
/// frames that have both. The first chunk decides. A chunk of the other kind, and a chunk of zeros among those with
/// blocks of variable length, is encoded again.
pub(super) struct BlockKind<'a> {
    registry: &'a Registry,
    params: EncodeParams,
    decoder: ChunkDecoder,
    /// What the header says of the blocks, for a frame that begins with a lost chunk.
    announced: bool,
    /// Whether they are of variable length, once that is decided.
    variable: Option<bool>,
    encoder: Option<ChunkEncoder>,
}

impl<'a> BlockKind<'a> {
    /// For chunks that are encoded like `params` if they have to be. `announced`: the header of the frame says that the
    /// blocks are of variable length.
    pub(super) fn new(params: &EncodeParams, announced: bool, registry: &'a Registry, limits: Limits) -> Self {
        Self {
            registry,
            params: encodable(params.clone(), registry),
            decoder: ChunkDecoder::new(registry).with_limits(limits),
            announced,
            variable: None,
            encoder: None,
        }
    }

    /// `chunk` as it is, or encoded again; `None` if it would have to be and does not decode.
    pub(super) fn fit(
        &mut self,
        chunk: Bytes,
        ctx: &ChunkContext<'_>,
        budget: &mut WorkLimit,
    ) -> Result<Option<Bytes>, RecoverError> {
        let Ok(header) = ChunkHeader::parse(&chunk) else { return Ok(None) };
        let found = header.has_vl_blocks();
        if *self.variable.get_or_insert(found) == found {
            return Ok(Some(chunk));
        }
        budget.decode(header.nbytes as u64)?;
        match self.decoder.decode(&chunk, ctx, &Inline) {
            Ok(decoded) => self.encode(&decoded, ctx).map(Some),
            Err(_) => Ok(None),
        }
    }

    /// The next chunk, of `nbytes` bytes of one value, if it cannot be written as such.
    pub(super) fn special(
        &mut self,
        kind: SpecialKind,
        nbytes: u64,
        budget: &mut WorkLimit,
    ) -> Result<Option<Bytes>, RecoverError> {
        if !*self.variable.get_or_insert(self.announced) {
            return Ok(None);
        }
        self.fit(special(kind, nbytes, self.params.typesize), &ChunkContext::default(), budget)
    }

    /// Bytes of an item of the frame.
    pub(super) fn typesize(&self) -> usize {
        self.params.typesize
    }

    fn encode(&mut self, decoded: &[u8], ctx: &ChunkContext<'_>) -> Result<Bytes, RecoverError> {
        let encoder = match &mut self.encoder {
            Some(encoder) => encoder,
            none => none.insert(
                ChunkEncoder::new(&self.params, self.registry)
                    .or_else(|_| ChunkEncoder::new(&EncodeParams { typesize: 1, ..self.params.clone() }, self.registry))
                    .map_err(EditError::Params)?,
            ),
        };
        let encoded = match self.variable {
            Some(true) => encoder.encode_blocks(&[decoded], ctx, &Inline),
            _ => encoder.encode(decoded, ctx, &Inline),
        };
        let chunk = ctx.number.unwrap_or_default();
        Ok(encoded.map_err(|source| EditError::Encode { chunk, source })?.into())
    }
}
