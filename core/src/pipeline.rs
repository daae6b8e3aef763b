//! The six filter slots and their order.
//!
//! Source: chunk format document, field `filters`: slots are applied in increasing order when encoding and in
//! decreasing order when decoding; a slot with id 0 is skipped.

use std::fmt;
use std::ops::Range;

use thiserror::Error;

use crate::filter::{BlockContext, Filter, FilterError, FilterPart, FilterTraits};
use crate::id::FilterId;
use crate::plugin::{PluginName, guarded};
use crate::plugin_params::{Params, PluginParams};
use crate::registry::{Registry, RegistryError, made};

/// Number of filter slots in a chunk header.
pub const SLOTS: usize = 6;

/// One filter slot: the filter and its byte of metadata.
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

    /// The last filter that changes items of `typesize` bytes before the codec; [`FilterId::NONE`] if there is none.
    /// Shuffle leaves single bytes as they are.
    pub fn last(&self, typesize: usize) -> FilterId {
        let item_size = |slot: FilterSlot| if slot.meta == 0 { typesize } else { slot.meta.into() };
        let changes = |slot: &FilterSlot| slot.id != FilterId::SHUFFLE || item_size(*slot) > 1;
        self.active().map(|(_, slot)| slot).rfind(changes).map_or(FilterId::NONE, |slot| slot.id)
    }

    /// Whether `id` is in any slot.
    pub fn contains(&self, id: FilterId) -> bool {
        self.active().any(|(_, slot)| slot.id == id)
    }
}

impl fmt::Display for FilterSlots {
    /// The ids in forward order, each with its byte of metadata unless that is zero: `1, 4=10`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (_, slot)) in self.active().enumerate() {
            let separator = if i > 0 { ", " } else { "" };
            match slot.meta {
                0 => write!(f, "{separator}{}", slot.id.0)?,
                meta => write!(f, "{separator}{}={meta}", slot.id.0)?,
            }
        }
        if self.active().next().is_none() { f.write_str("none") } else { Ok(()) }
    }
}

/// The filters of six slots, instantiated for one worker, with the buffers between them.
#[derive(Default)]
pub struct Pipeline {
    slots: FilterSlots,
    stages: Vec<Stage>,
    /// Every filter used so far. An instance serves all slots that name its filter, from chunk to chunk.
    instances: Vec<Instance>,
    between: [Vec<u8>; 2],
}

/// One occupied slot.
#[derive(Clone, Copy)]
struct Stage {
    slot: u8,
    meta: u8,
    instance: usize,
}

impl Stage {
    fn apply(
        &self,
        apply: Apply,
        instance: &mut Instance,
        ctx: &BlockContext<'_>,
        src: &[u8],
        dst: &mut [u8],
    ) -> Result<(), PipelineError> {
        let ctx = BlockContext { meta: self.meta, ..*ctx };
        let Instance { plugin, filter, .. } = instance;
        guarded(|| apply(&mut **filter, &ctx, src, dst)).map_err(|source| PipelineError::Filter {
            slot: self.slot,
            filter: Box::new(*plugin),
            source,
        })
    }
}

struct Instance {
    id: FilterId,
    /// The slot that it is for, if it has the parameters of that slot.
    slot: Option<u8>,
    plugin: PluginName,
    traits: FilterTraits,
    filter: Box<dyn Filter>,
}

impl Pipeline {
    /// Instantiates the filters in `slots`, with those of `params` that are for them.
    ///
    /// # Errors
    /// [`PipelineError::Registry`] names the slot whose filter has no provider, [`PipelineError::Filter`] one that does
    /// not take its parameters.
    pub fn new(slots: &FilterSlots, registry: &Registry, params: &PluginParams) -> Result<Self, PipelineError> {
        let mut pipeline = Self::default();
        pipeline.set(slots, registry, params)?;
        Ok(pipeline)
    }

    /// Changes the slots, keeping the filters that were instantiated before. `registry` and `params` must be those that
    /// they came from.
    ///
    /// # Errors
    /// As for [`Pipeline::new`]; the pipeline is empty then.
    pub fn set(
        &mut self,
        slots: &FilterSlots,
        registry: &Registry,
        params: &PluginParams,
    ) -> Result<(), PipelineError> {
        if self.slots == *slots {
            return Ok(());
        }
        self.stages.clear();
        self.slots = FilterSlots::NONE;
        let mut stages = std::mem::take(&mut self.stages);
        for (slot, FilterSlot { id, meta }) in slots.active() {
            let slot = slot as u8;
            let instance = self.instance(slot, id, registry, params.of_filter(slot, id))?;
            stages.push(Stage { slot, meta, instance });
        }
        self.stages = stages;
        self.slots = *slots;
        Ok(())
    }

    fn instance(
        &mut self,
        slot: u8,
        id: FilterId,
        registry: &Registry,
        params: Option<&Params>,
    ) -> Result<usize, PipelineError> {
        // Without parameters, one instance serves all slots.
        let for_slot = params.map(|_| slot);
        if let Some(index) = self.instances.iter().position(|found| (found.id, found.slot) == (id, for_slot)) {
            return Ok(index);
        }
        let missing = |source| PipelineError::Registry { slot, source };
        let entry = registry.filter(id).map_err(missing)?;
        let (plugin, traits) = (entry.info().plugin(), entry.info().traits);
        let mut filter = made(plugin, || entry.instance()).map_err(missing)?;
        if let Some(params) = params {
            let failed = |source| PipelineError::Filter { slot, filter: Box::new(plugin), source };
            guarded(|| filter.configure(params)).map_err(failed)?;
        }
        self.instances.push(Instance { id, slot: for_slot, plugin, traits, filter });
        Ok(self.instances.len() - 1)
    }

    fn traits(&self) -> impl Iterator<Item = FilterTraits> + '_ {
        self.stages.iter().map(|stage| self.instances[stage.instance].traits)
    }

    /// Whether no slot holds a filter, so that blocks pass through unchanged.
    pub fn is_empty(&self) -> bool {
        self.stages.is_empty()
    }

    /// Whether any filter discards information.
    pub fn is_lossy(&self) -> bool {
        self.traits().any(|traits| traits.lossy)
    }

    /// Whether undoing the filters changes nothing, so that it can be skipped.
    pub fn backward_is_identity(&self) -> bool {
        self.traits().all(|traits| traits.forward_only)
    }

    /// Applies the filters in slot order from `src` to `dst`, both of the length of the block: the first filter reads
    /// the caller's bytes and the last one writes the caller's buffer, so nothing is copied on the way.
    pub fn forward(&mut self, ctx: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), PipelineError> {
        let Self { stages, instances, between, .. } = self;
        let result = run(stages.iter(), instances, between, ctx, src, dst, Filter::forward);
        self.checked(result)
    }

    /// Undoes the filters in reverse slot order from `src` to `dst`, both of the length of the block.
    pub fn backward(&mut self, ctx: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), PipelineError> {
        let (used, count) = self.backward_stages();
        let Self { instances, between, .. } = self;
        let result = run(used[..count].iter(), instances, between, ctx, src, dst, Filter::backward);
        self.checked(result)
    }

    /// What of the filtered block the bytes `range` of a block of `len` bytes are made of, if there is a single filter to
    /// undo and it can undo them alone: [`backward`](Self::backward) makes them of that.
    pub(crate) fn part(
        &mut self,
        ctx: &BlockContext<'_>,
        len: usize,
        range: Range<usize>,
    ) -> Result<Option<FilterPart>, PipelineError> {
        let (used, count) = self.backward_stages();
        let Stage { slot, meta, instance } = used[0];
        let Some(Instance { plugin, traits, filter, .. }) = self.instances.get(instance).filter(|_| count == 1) else {
            return Ok(None);
        };
        if !traits.parts || traits.needs_reference {
            return Ok(None);
        }
        let ctx = BlockContext { meta, ..*ctx };
        let part = guarded(|| Ok(filter.part(&ctx, len, range.clone())));
        let failed = |source| PipelineError::Filter { slot, filter: Box::new(*plugin), source };
        let part = part.map_err(failed).map(|part| part.filter(|part| part.fits(len, &range)));
        if part.is_err() {
            *self = Self::default();
        }
        part
    }

    /// The number of filters that [`backward`](Self::backward) has to undo.
    pub(crate) fn backward_steps(&self) -> usize {
        self.backward_stages().1
    }

    /// As [`backward`](Self::backward), but in the memory of two blocks, however many filters there are: from `block` to
    /// `spare`, back to `block`, and so on. The result is in `block` if the number of [steps](Self::backward_steps) is
    /// even, otherwise in `spare`.
    pub(crate) fn backward_between<'b>(
        &mut self,
        ctx: &BlockContext<'_>,
        mut block: &'b mut [u8],
        mut spare: &'b mut [u8],
    ) -> Result<(), PipelineError> {
        let (used, count) = self.backward_stages();
        for stage in &used[..count] {
            let result = stage.apply(Filter::backward, &mut self.instances[stage.instance], ctx, block, spare);
            self.checked(result)?;
            std::mem::swap(&mut block, &mut spare);
        }
        Ok(())
    }

    /// Discards the filters if one of them has panicked: what that leaves in an instance may be anything.
    fn checked(&mut self, result: Result<(), PipelineError>) -> Result<(), PipelineError> {
        if let Err(PipelineError::Filter { source: FilterError::Panicked(_), .. }) = &result {
            *self = Self::default();
        }
        result
    }

    /// The stages to undo, in order. Undoing forward-only filters would only copy, so they are left out.
    fn backward_stages(&self) -> ([Stage; SLOTS], usize) {
        let mut used = [Stage { slot: 0, meta: 0, instance: 0 }; SLOTS];
        let mut count = 0;
        for stage in self.stages.iter().rev().filter(|stage| !self.instances[stage.instance].traits.forward_only) {
            used[count] = *stage;
            count += 1;
        }
        (used, count)
    }
}

type Apply = fn(&mut (dyn Filter + 'static), &BlockContext<'_>, &[u8], &mut [u8]) -> Result<(), FilterError>;

fn run<'s>(
    stages: impl ExactSizeIterator<Item = &'s Stage>,
    instances: &mut [Instance],
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
            *buffer = vec![0; src.len()];
        }
    }
    // The stages read and write: caller -> A -> B -> A -> ... -> caller. `filled` is the one written last.
    let (mut filled, mut spare) = (spare, filled);
    for (i, stage) in stages.enumerate() {
        let input = if i == 0 { src } else { &filled[..src.len()] };
        let output = if i + 1 == count { &mut *dst } else { &mut spare[..src.len()] };
        stage.apply(apply, &mut instances[stage.instance], ctx, input, output)?;
        std::mem::swap(&mut filled, &mut spare);
    }
    Ok(())
}

/// Why a pipeline could not be built or run.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PipelineError {
    /// The filter in this slot has no provider.
    #[error("filter slot {slot} has no provider")]
    Registry {
        /// Slot number, 0..=5.
        slot: u8,
        /// What the registry says.
        source: RegistryError,
    },
    /// The filter in this slot failed.
    #[error("{filter} failed in slot {slot}")]
    Filter {
        /// Slot number, 0..=5.
        slot: u8,
        /// The filter.
        filter: Box<PluginName>,
        /// What the filter says.
        source: FilterError,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::FilterInfo;

    /// Forward appends its meta byte to what a block looks like: shifts all bytes by one place and puts it first.
    #[derive(Clone)]
    struct Push;

    impl Filter for Push {
        fn forward(&mut self, ctx: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
            dst[1..].copy_from_slice(&src[..src.len() - 1]);
            dst[0] = ctx.meta;
            Ok(())
        }

        fn backward(&mut self, ctx: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
            assert_eq!(src[0], ctx.meta, "undone in another order");
            dst[..src.len() - 1].copy_from_slice(&src[1..]);
            dst[src.len() - 1] = 0;
            Ok(())
        }
    }

    fn registry() -> Registry {
        let mut registry = Registry::empty();
        for (id, name, traits) in
            [(160, "push", FilterTraits::LOSSLESS), (161, "push_and_forget", FilterTraits::FORWARD_ONLY)]
        {
            let info = FilterInfo::new(FilterId(id), name, traits, crate::provider!());
            registry.add_filter(info, Box::new(Push)).unwrap();
        }
        registry
    }

    fn slots(filters: &[(u8, u8)]) -> FilterSlots {
        let filters: Vec<_> = filters.iter().map(|&(id, meta)| (FilterId(id), meta)).collect();
        FilterSlots::from_list(&filters).unwrap()
    }

    #[test]
    fn filters_run_in_slot_order_and_back() {
        let ctx = BlockContext::new(1);
        for count in 0..=6 {
            let list: Vec<(u8, u8)> = (1..=count).map(|meta| (160, meta)).collect();
            let mut pipeline = Pipeline::new(&slots(&list), &registry(), &PluginParams::default()).unwrap();
            let src = [9, 9, 0, 0, 0, 0, 0, 0];
            let mut dst = [0xff; 8];
            pipeline.forward(&ctx, &src, &mut dst).unwrap();
            let mut expected: Vec<u8> = (1..=count).rev().chain([9, 9]).collect();
            expected.resize(8, 0);
            assert_eq!(dst[..], expected);
            let mut back = [0xff; 8];
            pipeline.backward(&ctx, &dst, &mut back).unwrap();
            assert_eq!(back, src);
            let (mut block, mut spare) = (dst, [0xff; 8]);
            pipeline.backward_between(&ctx, &mut block, &mut spare).unwrap();
            assert_eq!(if pipeline.backward_steps().is_multiple_of(2) { block } else { spare }, src);
        }
    }

    #[test]
    fn filters_without_a_way_back_are_left_out_of_it() {
        let ctx = BlockContext::new(1);
        let mut pipeline =
            Pipeline::new(&slots(&[(161, 1), (160, 2), (161, 3)]), &registry(), &PluginParams::default()).unwrap();
        assert!(pipeline.is_lossy() && !pipeline.backward_is_identity());
        let mut dst = [0xff; 4];
        pipeline.backward(&ctx, &[2, 7, 7, 7], &mut dst).unwrap();
        assert_eq!(dst, [7, 7, 7, 0]);
        pipeline.set(&slots(&[(161, 1)]), &registry(), &PluginParams::default()).unwrap();
        assert!(pipeline.backward_is_identity());
        pipeline.backward(&ctx, &[1, 2, 3, 4], &mut dst).unwrap();
        assert_eq!(dst, [1, 2, 3, 4]);
    }

    #[test]
    fn a_pipeline_that_cannot_be_set_is_empty() {
        let mut pipeline = Pipeline::new(&slots(&[(160, 1)]), &registry(), &PluginParams::default()).unwrap();
        let error = pipeline.set(&slots(&[(160, 1), (170, 0)]), &registry(), &PluginParams::default()).unwrap_err();
        assert!(matches!(error, PipelineError::Registry { slot: 1, .. }));
        assert!(pipeline.is_empty());
        pipeline.set(&slots(&[(160, 1)]), &registry(), &PluginParams::default()).unwrap();
        assert!(!pipeline.is_empty());
    }

    #[test]
    fn six_slots() {
        assert!(FilterSlots::from_list(&[(FilterId::SHUFFLE, 0); 7]).is_none());
        let slots =
            FilterSlots::from_list(&[(FilterId::SHUFFLE, 0), (FilterId::NONE, 0), (FilterId::DELTA, 1)]).unwrap();
        let active: Vec<_> = slots.active().map(|(slot, filter)| (slot, filter.id, filter.meta)).collect();
        assert_eq!(active, [(0, FilterId::SHUFFLE, 0), (2, FilterId::DELTA, 1)]);
        assert!(slots.contains(FilterId::DELTA) && !slots.contains(FilterId::BITSHUFFLE));
        assert_eq!((slots.last(4), FilterSlots::NONE.last(4)), (FilterId::DELTA, FilterId::NONE));
    }

    #[test]
    fn shuffle_leaves_single_bytes_as_they_are() {
        for (meta, typesize, last) in [(0, 4, FilterId::SHUFFLE), (0, 1, FilterId::DELTA), (1, 4, FilterId::DELTA)] {
            let slots = FilterSlots::from_list(&[(FilterId::DELTA, 0), (FilterId::SHUFFLE, meta)]).unwrap();
            assert_eq!(slots.last(typesize), last);
        }
        assert_eq!(FilterSlots::from_list(&[(FilterId::SHUFFLE, 2)]).unwrap().last(1), FilterId::SHUFFLE);
    }
}
