//! Checking chunks against their headers.

use oxiblosc_core::chunk::{ChunkContext, ChunkDecoder, ChunkHeader};
use oxiblosc_core::frame::{ChunkSize, PartialHeader};
use oxiblosc_core::nd::{ArrayMeta, Geometry};
use oxiblosc_core::plugin_params::PluginParams;
use oxiblosc_core::{Inline, Limits, Registry};

use super::error::RecoverError;
use super::work_limit::WorkLimit;

/// Checks whether chunks are what their headers say.
pub(super) struct ChunkChecker<'a> {
    registry: &'a Registry,
    decoder: ChunkDecoder,
    geometry: Option<Geometry>,
    typesize: usize,
    pub(super) chunk_size: ChunkSize,
}

/// The result of checking a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CheckResult {
    /// It decodes.
    Holds,
    /// Its codec, or one of its filters, is not available: it is trusted.
    Unknown,
    Damaged,
}

impl<'a> ChunkChecker<'a> {
    pub(super) fn new(head: &PartialHeader, registry: &'a Registry, limits: &Limits) -> Self {
        // Damaged ones would be reported for each chunk that needs them.
        let params = PluginParams::find(&head.metalayers).unwrap_or_default();
        let array = head.metalayers.get(ArrayMeta::NAME).and_then(|content| ArrayMeta::parse(content).ok());
        Self {
            registry,
            decoder: ChunkDecoder::new(registry).with_limits(*limits).with_plugin_params(params),
            geometry: array.map(|meta| meta.geometry),
            typesize: head.header.typesize as usize,
            chunk_size: head.header.chunk_size,
        }
    }

    /// For chunks that no longer belong to an array.
    pub(super) fn without_array(mut self) -> Self {
        self.geometry = None;
        self
    }

    /// The header of a chunk, if this frame can have such a chunk.
    pub(super) fn header(&self, bytes: &[u8]) -> Option<ChunkHeader> {
        ChunkHeader::parse(bytes).ok().filter(|header| self.fits(header))
    }

    /// Whether this frame can have a chunk with this header.
    pub(super) fn fits(&self, header: &ChunkHeader) -> bool {
        let fits = match self.chunk_size {
            ChunkSize::Fixed(n) => header.nbytes <= n as usize,
            ChunkSize::Variable | ChunkSize::Unset => true,
        };
        fits && header.nbytes > 0 && header.cbytes >= ChunkHeader::EXTENDED_LEN && !header.is_lazy()
    }

    /// Whether chunk `number` is damaged; its header is not known yet.
    pub(super) fn is_damaged(
        &mut self,
        number: u64,
        chunk: &[u8],
        budget: &mut WorkLimit,
    ) -> Result<bool, RecoverError> {
        let Ok(header) = ChunkHeader::parse(chunk) else { return Ok(true) };
        Ok(self.check(number, &header, chunk, budget)? == CheckResult::Damaged)
    }

    /// Checks whether chunk `number` decodes. Its decoded bytes are charged to the budget beforehand.
    pub(super) fn check(
        &mut self,
        number: u64,
        header: &ChunkHeader,
        chunk: &[u8],
        budget: &mut WorkLimit,
    ) -> Result<CheckResult, RecoverError> {
        let plain = header.is_stored() || header.special().is_some();
        if !plain && !is_known(header, self.registry) {
            return Ok(CheckResult::Unknown);
        }
        // Those need no decoding.
        budget.decode(if plain { 0 } else { header.nbytes as u64 })?;
        let mut ctx = ChunkContext::numbered(number);
        ctx.item_size = Some(self.typesize);
        ctx.nd = self.geometry.as_ref();
        Ok(if self.decoder.check(chunk, &ctx, &Inline).is_ok() { CheckResult::Holds } else { CheckResult::Damaged })
    }
}

/// Whether the registry can decode such a chunk.
pub(super) fn is_known(header: &ChunkHeader, registry: &Registry) -> bool {
    header.codec().is_ok_and(|id| registry.codec(id).is_ok())
        && header.filters.active().all(|(_, slot)| registry.filter(slot.id).is_ok())
}
