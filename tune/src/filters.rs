//! Combinations of filters.

use oxiblosc::pipeline::FilterSlots;
use oxiblosc::registry::FilterInfo;
use oxiblosc::{FilterId, Registry};

/// Combinations of the filters of Blosc that are always tried, by the size of items.
const USUAL_FOR_BYTES: &[&[FilterId]] = &[&[], &[FilterId::BITSHUFFLE], &[FilterId::DELTA]];
pub(crate) const USUAL_FOR_ITEMS: &[&[FilterId]] = &[
    &[],
    &[FilterId::SHUFFLE],
    &[FilterId::BITSHUFFLE],
    &[FilterId::DELTA, FilterId::SHUFFLE],
    &[FilterId::SHUFFLE, FilterId::BYTEDELTA],
];
/// Combinations that lose precision, tried if that is allowed.
const LOSSY: &[&[FilterId]] = &[
    &[FilterId::TRUNC_PREC, FilterId::SHUFFLE],
    &[FilterId::TRUNC_PREC, FilterId::BITSHUFFLE],
    &[FilterId::TRUNC_PREC, FilterId::SHUFFLE, FilterId::BYTEDELTA],
];

/// A combination of filters.
#[derive(Clone)]
pub(crate) struct Filters {
    pub(crate) slots: FilterSlots,
    pub(crate) names: Vec<&'static str>,
}

impl Filters {
    pub(crate) fn none() -> Self {
        Self { slots: FilterSlots::NONE, names: Vec::new() }
    }

    pub(crate) fn new(infos: &[&FilterInfo], typesize: usize) -> Self {
        Self::keeping(infos, typesize, 0)
    }

    fn keeping(infos: &[&FilterInfo], typesize: usize, mantissa_bits: u8) -> Self {
        let meta = |id| match id {
            // It needs the distance of the streams of the shuffle: the type size.
            FilterId::BYTEDELTA => typesize as u8,
            FilterId::TRUNC_PREC => mantissa_bits,
            _ => 0,
        };
        let slots: Vec<_> = infos.iter().map(|info| (info.id, meta(info.id))).collect();
        match FilterSlots::from_list(&slots) {
            Some(slots) => Self { slots, names: infos.iter().map(|info| info.name).collect() },
            None => Self::none(),
        }
    }

    /// `None` when the registry does not have them all.
    fn of_ids(ids: &[FilterId], typesize: usize, mantissa_bits: u8, registry: &Registry) -> Option<Self> {
        let infos: Option<Vec<_>> = ids.iter().map(|&id| registry.filter(id).ok().map(|entry| entry.info())).collect();
        Some(Self::keeping(&infos?, typesize, mantissa_bits))
    }

    /// The combinations that are always tried on items of this size.
    pub(crate) fn usual(typesize: usize, registry: &Registry) -> impl Iterator<Item = Self> {
        let usual = if typesize == 1 { USUAL_FOR_BYTES } else { USUAL_FOR_ITEMS };
        usual.iter().filter_map(move |ids| Self::of_ids(ids, typesize, 0, registry))
    }

    /// The combinations that keep so many bits of the mantissa of floats.
    pub(crate) fn lossy(typesize: usize, mantissa_bits: u8, registry: &Registry) -> impl Iterator<Item = Self> {
        LOSSY.iter().filter_map(move |ids| Self::of_ids(ids, typesize, mantissa_bits, registry))
    }

    /// Whether a filter is part of a combination that is always tried on items of some size.
    pub(crate) fn is_usual(id: FilterId) -> bool {
        [USUAL_FOR_BYTES, USUAL_FOR_ITEMS].iter().copied().flatten().any(|ids| ids.contains(&id))
    }
}
