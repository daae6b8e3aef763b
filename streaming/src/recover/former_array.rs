//! Chunks of an array whose metalayer contradicts them.
//!
//! Some codecs and filters need the shape of the blocks. A metalayer that is wrong about the array can be right about
//! its blocks: it is then kept, since the chunks would be lost without it.

use oxiblosc_core::frame::PartialHeader;
use oxiblosc_core::{Limits, Registry};

use super::chunk_checker::ChunkChecker;
use super::error::RecoverError;
use super::work_limit::WorkLimit;

/// Checks the chunks of a frame that was an array.
pub(super) struct FormerArray<'a> {
    /// Decodes them as chunks of the array.
    array: ChunkChecker<'a>,
    /// Decodes them as those of a plain frame.
    plain: ChunkChecker<'a>,
    keeps_layer: bool,
}

impl<'a> FormerArray<'a> {
    /// For the frame with this head, whose metalayers would be kept.
    pub(super) fn new(head: &PartialHeader, registry: &'a Registry, limits: &Limits) -> Self {
        let checker = || ChunkChecker::new(head, registry, limits);
        Self { array: checker(), plain: checker().without_array(), keeps_layer: false }
    }

    /// Whether chunk `number` decodes with the metalayer of the array and not without it. From then on the metalayer is
    /// kept.
    pub(super) fn needs_layer(
        &mut self,
        number: u64,
        chunk: &[u8],
        budget: &mut WorkLimit,
    ) -> Result<bool, RecoverError> {
        self.keeps_layer |=
            self.plain.is_damaged(number, chunk, budget)? && !self.array.is_damaged(number, chunk, budget)?;
        Ok(self.keeps_layer)
    }
}

/// Whether a chunk that has decoded still does in the new frame, with the metalayer of the array or without it.
pub(super) fn still_decodes(
    former: Option<&mut FormerArray<'_>>,
    number: u64,
    chunk: &[u8],
    budget: &mut WorkLimit,
) -> Result<bool, RecoverError> {
    let Some(former) = former else { return Ok(true) };
    let checker = if former.keeps_layer { &mut former.array } else { &mut former.plain };
    Ok(!checker.is_damaged(number, chunk, budget)?)
}
