//! The six filter slots and their order.
//!
//! Source: chunk format document, field `filters`: slots are applied in increasing order on the way in, in decreasing
//! order on the way out; a slot with id 0 is skipped.

use thiserror::Error;

use crate::filter::{BlockContext, Filter, FilterError};
use crate::id::FilterId;
use crate::registry::{Registry, RegistryError};

/// Number of filter slots in a chunk header.
pub const SLOTS: usize = 6;

/// One filter slot: which filter, and the byte of metadata it is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct FilterSlot {
    /// The filter; [`FilterId::NONE`] leaves the slot empty.
    pub id: FilterId,
    /// The `filters_meta` byte.
    pub meta: u8,
}

/// The six filter slots as stored in chunk and frame headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct FilterSlots(pub [FilterSlot; SLOTS]);

impl FilterSlots {
    /// No filter at all.
    pub const NONE: Self = Self([FilterSlot { id: FilterId::NONE, meta: 0 }; SLOTS]);

    /// One filter without metadata, in the last slot as C-Blosc2 does by default.
    pub const fn single(id: FilterId) -> Self {
        let mut slots = Self::NONE;
        slots.0[SLOTS - 1].id = id;
        slots
    }

    /// Byte shuffle in the last slot: the default of C-Blosc2.
    pub const SHUFFLE: Self = Self::single(FilterId::SHUFFLE);

    /// Fills the slots from the first one; `None` when there are more than six filters.
    pub fn from_list(filters: &[(FilterId, u8)]) -> Option<Self> {
        let mut slots = Self::NONE;
        if filters.len() > SLOTS {
            return None;
        }
        for (slot, &(id, meta)) in slots.0.iter_mut().zip(filters) {
            *slot = FilterSlot { id, meta };
        }
        Some(slots)
    }

    /// The slots that hold a filter, in forward order, with their slot numbers.
    pub fn active(&self) -> impl DoubleEndedIterator<Item = (usize, FilterSlot)> + '_ {
        self.0.iter().copied().enumerate().filter(|(_, slot)| slot.id != FilterId::NONE)
    }

    /// Whether `id` is in any slot.
    pub fn contains(&self, id: FilterId) -> bool {
        self.active().any(|(_, slot)| slot.id == id)
    }
}

/// Instances of the filters of six slots, owned by one worker, with the buffers between them.
pub struct Pipeline {
    stages: Vec<Stage>,
    between: [Vec<u8>; 2],
    lossy: bool,
}

struct Stage {
    slot: usize,
    id: FilterId,
    meta: u8,
    filter: Box<dyn Filter>,
}

impl Pipeline {
    /// Instantiates the filters in `slots`.
    ///
    /// # Errors
    /// [`PipelineError::Registry`] names the slot whose filter has no provider.
    pub fn new(slots: &FilterSlots, registry: &Registry) -> Result<Self, PipelineError> {
        let mut lossy = false;
        let stages = slots
            .active()
            .map(|(slot, FilterSlot { id, meta })| {
                let entry = registry.filter(id).map_err(|source| PipelineError::Registry { slot, source })?;
                lossy |= entry.info().traits.lossy;
                Ok(Stage { slot, id, meta, filter: entry.instance() })
            })
            .collect::<Result<_, PipelineError>>()?;
        Ok(Self { stages, between: [Vec::new(), Vec::new()], lossy })
    }

    /// Whether no slot holds a filter, so that blocks pass through unchanged.
    pub fn is_empty(&self) -> bool {
        self.stages.is_empty()
    }

    /// Whether any filter discards information.
    pub fn is_lossy(&self) -> bool {
        self.lossy
    }

    /// Applies the filters in slot order from `src` to `dst`, both of the length of the block: the first filter reads
    /// the caller's bytes and the last one writes the caller's buffer, so nothing is copied on the way.
    pub fn forward(&mut self, ctx: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), PipelineError> {
        run(self.stages.iter_mut(), &mut self.between, ctx, src, dst, Filter::forward)
    }

    /// Undoes the filters in reverse slot order from `src` to `dst`, both of the length of the block.
    pub fn backward(&mut self, ctx: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), PipelineError> {
        run(self.stages.iter_mut().rev(), &mut self.between, ctx, src, dst, Filter::backward)
    }
}

type Apply = fn(&mut (dyn Filter + 'static), &BlockContext<'_>, &[u8], &mut [u8]) -> Result<(), FilterError>;

fn run<'s>(
    stages: impl ExactSizeIterator<Item = &'s mut Stage>,
    between: &mut [Vec<u8>; 2],
    ctx: &BlockContext<'_>,
    src: &[u8],
    dst: &mut [u8],
    apply: Apply,
) -> Result<(), PipelineError> {
    let count = stages.len();
    if count == 0 {
        dst.copy_from_slice(src);
        return Ok(());
    }
    let [filled, spare] = between;
    for buffer in [&mut *filled, &mut *spare].into_iter().take(count - 1) {
        // Grown once to the block size; filters overwrite every byte, so old contents need no clearing.
        if buffer.len() < src.len() {
            buffer.resize(src.len(), 0);
        }
    }
    let (mut filled, mut spare) = (filled, spare);
    for (i, stage) in stages.enumerate() {
        let ctx = BlockContext { meta: stage.meta, ..*ctx };
        let input = if i == 0 { src } else { &filled[..src.len()] };
        let output = if i + 1 == count { &mut *dst } else { &mut spare[..src.len()] };
        apply(&mut *stage.filter, &ctx, input, output).map_err(|source| PipelineError::Filter {
            slot: stage.slot,
            id: stage.id,
            source,
        })?;
        std::mem::swap(&mut filled, &mut spare);
    }
    Ok(())
}

/// Why a pipeline could not be built or run.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PipelineError {
    /// The filter in this slot has no provider.
    #[error("filter slot {slot}: {source}")]
    Registry {
        /// Slot number, 0..=5.
        slot: usize,
        /// What the registry says.
        source: RegistryError,
    },
    /// The filter in this slot failed.
    #[error("filter slot {slot}, filter {id}: {source}")]
    Filter {
        /// Slot number, 0..=5.
        slot: usize,
        /// The filter.
        id: FilterId,
        /// What the filter says.
        source: FilterError,
    },
}
