//! Which combinations of codec, level and filters to try.

use bytes::Bytes;
use oxiblosc::chunk::{ChunkContext, ChunkDecoder, ChunkEncoder, ChunkError, EncodeParams};
use oxiblosc::pipeline::FilterSlots;
use oxiblosc::plugin::PluginName;
use oxiblosc::registry::{CodecInfo, FilterInfo};
use oxiblosc::{CodecId, FilterId, Inline, Registry};

use super::array::ArraySample;
use crate::error::one_line;
use crate::needs::is_builtin;

const LEVELS: [u8; 3] = [1, 5, 9];
/// Combinations of the filters of Blosc that are always tried, by the size of items.
const USUAL_FOR_BYTES: &[&[FilterId]] = &[&[], &[FilterId::BITSHUFFLE], &[FilterId::DELTA]];
const USUAL_FOR_ITEMS: &[&[FilterId]] = &[
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
/// Bytes on which other filters have to show that they are worth trying.
const TRIAL: usize = 256 << 10;
/// The most combinations with other filters: each takes as long as a usual one.
const MOST_OTHERS: usize = 12;

/// A combination to be tried.
#[derive(Clone)]
pub(super) struct Candidate {
    pub(super) codec: CodecId,
    pub(super) codec_name: &'static str,
    pub(super) codec_meta: u8,
    pub(super) level: u8,
    pub(super) filters: FilterSlots,
    pub(super) filter_names: Vec<&'static str>,
    /// It is tried on an array.
    pub(super) of_array: bool,
    /// Decoded bytes of a block and of a chunk, if they are not left to the encoder.
    pub(super) block_size: Option<usize>,
    pub(super) chunk_size: Option<usize>,
}

/// A codec, a filter or a combination that is not tried.
pub(super) struct Skipped {
    pub(super) what: String,
    pub(super) reason: String,
}

/// What to try, and what not.
pub(super) struct Choice {
    pub(super) candidates: Vec<Candidate>,
    /// Without built-in plugins.
    pub(super) skipped: Vec<Skipped>,
}

/// Every lossless codec that can encode, at three levels, with the usual lossless filters for items of this size and with
/// those others that make the beginning of the sample smaller.
///
/// The pieces of the sample have no shape. Codecs for arrays are tried without filters on `array`, if there is one; filters
/// for arrays are left out. If so many `mantissa_bits` of floats are enough, filters that drop the others are tried as well.
pub(super) fn candidates(
    sample: &[Bytes],
    array: Option<&ArraySample>,
    typesize: usize,
    mantissa_bits: Option<u8>,
    registry: &Registry,
) -> Choice {
    let trial = Trial::new(sample, typesize, registry);
    let mut skipped = Vec::new();
    let mut codecs = Vec::new();
    let mut of_arrays = Vec::new();
    for info in registry.codecs().map(|entry| entry.info()) {
        let reason = match info.traits {
            traits if !traits.encode => Some("it only reads".to_owned()),
            traits if traits.needs_array && !traits.lossy && array.is_some() => {
                match array.ok_or_else(String::new).and_then(|array| for_array(info, array, typesize, registry)) {
                    Ok(found) => of_arrays.extend(found),
                    Err(reason) => skip(&mut skipped, info.plugin(), reason),
                }
                continue;
            }
            traits => unfit(traits.lossy, traits.needs_array)
                .or_else(|| trial.encoded_len(info, &Filters::default()).err().map(|error| one_line(&error))),
        };
        match reason {
            Some(reason) => skip(&mut skipped, info.plugin(), reason),
            None => codecs.push(info),
        }
    }
    let usual = if typesize == 1 { USUAL_FOR_BYTES } else { USUAL_FOR_ITEMS };
    let mut filters: Vec<Filters> =
        usual.iter().filter_map(|ids| Filters::of_ids(ids, typesize, 0, registry)).collect();
    if let Some(codec) = codecs.first() {
        filters.extend(others(&trial, codec, &mut skipped));
    }
    if let Some(bits) = mantissa_bits {
        filters.extend(LOSSY.iter().filter_map(|ids| Filters::of_ids(ids, typesize, bits, registry)));
    }
    let mut candidates = Vec::new();
    for codec in codecs {
        for filters in &filters {
            candidates.extend(LEVELS.map(|level| Candidate::new(codec, filters, level)));
        }
    }
    candidates.extend(of_arrays);
    Choice { candidates, skipped }
}

/// A codec for arrays, with the meta bytes with which it compresses this one.
///
/// # Errors
/// Why it does not, with any of them.
fn for_array(
    codec: &CodecInfo,
    array: &ArraySample,
    typesize: usize,
    registry: &Registry,
) -> Result<Vec<Candidate>, String> {
    let with = |codec_meta, level| Candidate {
        codec_meta,
        of_array: true,
        ..Candidate::new(codec, &Filters::default(), level)
    };
    // The side of cells in NDLZ. Nothing says which bytes others take, but for the one that is the default.
    let metas: &[u8] = if codec.id == CodecId::NDLZ { &[4, 8] } else { &[0] };
    let mut found = Vec::new();
    let mut reason = "it does not take this array".to_owned();
    for &meta in metas {
        let trial = array.encode(with(meta, LEVELS[0]).params(typesize), registry);
        match trial.and_then(|encoded| array.decode(&encoded, registry)) {
            Ok(_) => found.extend(LEVELS.map(|level| with(meta, level))),
            Err(error) => reason = error,
        }
    }
    if found.is_empty() { Err(reason) } else { Ok(found) }
}

/// Combinations with filters that are not usual, the best first. Nothing says where in a pipeline such a filter belongs,
/// so it is tried alone, and before and behind each filter that groups the bytes of items.
fn others(trial: &Trial<'_>, codec: &CodecInfo, skipped: &mut Vec<Skipped>) -> Vec<Filters> {
    let usual = |id| [USUAL_FOR_BYTES, USUAL_FOR_ITEMS].iter().copied().flatten().any(|ids| ids.contains(&id));
    let infos = || trial.registry.filters().map(|entry| entry.info());
    let fits = |info: &&FilterInfo| unfit(info.traits.lossy, info.traits.needs_array).is_none();
    // On single bytes there is nothing to group.
    let grouping: Vec<&FilterInfo> = match trial.typesize {
        1 => Vec::new(),
        _ => infos().filter(fits).filter(|info| info.traits.groups_bytes).collect(),
    };
    let mut found = Vec::new();
    for info in infos().filter(|info| !usual(info.id)) {
        if let Some(reason) = unfit(info.traits.lossy, info.traits.needs_array) {
            skip(skipped, info.plugin(), reason);
            continue;
        }
        let mut ways = vec![(vec![], vec![info])];
        if !info.traits.groups_bytes {
            ways.extend(
                grouping
                    .iter()
                    .flat_map(|&group| [vec![info, group], vec![group, info]].map(|with| (vec![group], with))),
            );
        }
        let mut reason = "it does not make this data smaller".to_owned();
        let before = found.len();
        for (without, with) in ways {
            let with = Filters::new(&with, trial.typesize);
            match (trial.encoded_len(codec, &Filters::new(&without, trial.typesize)), trial.encoded_len(codec, &with)) {
                (Ok(without), Ok(len)) if len < without => found.push((len, with)),
                (_, Err(error)) => reason = one_line(&error),
                _ => {}
            }
        }
        if found.len() == before {
            skip(skipped, info.plugin(), reason);
        }
    }
    found.sort_by_key(|(len, _)| *len);
    found.into_iter().map(|(_, filters)| filters).take(MOST_OTHERS).collect()
}

/// Why a plugin cannot be compared with the others.
fn unfit(lossy: bool, needs_array: bool) -> Option<String> {
    match (lossy, needs_array) {
        (true, _) => Some("it is lossy".to_owned()),
        (_, true) => Some("it needs the shape of an array".to_owned()),
        _ => None,
    }
}

fn skip(skipped: &mut Vec<Skipped>, plugin: PluginName, reason: String) {
    // Who has not added a plugin need not be told.
    if !is_builtin(plugin) {
        skipped.push(Skipped { what: plugin.to_string(), reason });
    }
}

/// A combination of filters.
#[derive(Clone)]
struct Filters {
    slots: FilterSlots,
    names: Vec<&'static str>,
}

impl Default for Filters {
    fn default() -> Self {
        Self { slots: FilterSlots::NONE, names: Vec::new() }
    }
}

impl Filters {
    fn new(infos: &[&FilterInfo], typesize: usize) -> Self {
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
            None => Self::default(),
        }
    }

    /// `None` when the registry does not have them all.
    fn of_ids(ids: &[FilterId], typesize: usize, mantissa_bits: u8, registry: &Registry) -> Option<Self> {
        let infos: Option<Vec<_>> = ids.iter().map(|&id| registry.filter(id).ok().map(|entry| entry.info())).collect();
        Some(Self::keeping(&infos?, typesize, mantissa_bits))
    }
}

/// The beginning of the sample, on which plugins are tried.
struct Trial<'a> {
    bytes: Bytes,
    typesize: usize,
    registry: &'a Registry,
}

impl<'a> Trial<'a> {
    fn new(sample: &[Bytes], typesize: usize, registry: &'a Registry) -> Self {
        let first = sample.iter().find(|piece| !piece.is_empty()).cloned().unwrap_or_default();
        let len = first.len().min((TRIAL / typesize).max(1) * typesize);
        Self { bytes: first.slice(..len), typesize, registry }
    }

    /// The encoded length at the lowest level.
    ///
    /// # Errors
    /// What the plugins say, when encoding or decoding.
    fn encoded_len(&self, codec: &CodecInfo, filters: &Filters) -> Result<usize, ChunkError> {
        let params = EncodeParams {
            codec: codec.id,
            level: LEVELS[0],
            typesize: self.typesize,
            filters: filters.slots,
            ..EncodeParams::default()
        };
        let context = ChunkContext::default();
        let chunk = ChunkEncoder::new(&params, self.registry)?.encode(&self.bytes, &context, &Inline)?;
        ChunkDecoder::new(self.registry).decode(&chunk, &context, &Inline)?;
        Ok(chunk.len())
    }
}

impl Candidate {
    fn new(codec: &CodecInfo, filters: &Filters, level: u8) -> Self {
        Self {
            codec: codec.id,
            codec_name: codec.name,
            codec_meta: 0,
            level,
            filters: filters.slots,
            filter_names: filters.names.clone(),
            of_array: false,
            block_size: None,
            chunk_size: None,
        }
    }

    pub(super) fn params(&self, typesize: usize) -> EncodeParams {
        EncodeParams {
            codec: self.codec,
            codec_meta: self.codec_meta,
            level: self.level,
            typesize,
            filters: self.filters,
            block_size: self.block_size,
            ..EncodeParams::default()
        }
    }

    /// The options of `oxiblosc compress` for this combination.
    pub(super) fn options(&self, typesize: usize) -> String {
        let mut options = format!("--codec {} --level {}", self.codec_name, self.level);
        if self.codec_meta != 0 {
            options += &format!(" --codec-meta {}", self.codec_meta);
        }
        let filters = self.filters.active().zip(&self.filter_names);
        let filters: Vec<_> = filters
            .map(|((_, slot), name)| if slot.meta == 0 { (*name).to_owned() } else { format!("{name}={}", slot.meta) })
            .collect();
        for filter in if filters.is_empty() { vec!["none".to_owned()] } else { filters } {
            options += &format!(" --filter {filter}");
        }
        if typesize != 1 {
            options += &format!(" --typesize {typesize}");
        }
        for (option, size) in [("--block-size", self.block_size), ("--chunk-size", self.chunk_size)] {
            if let Some(size) = size {
                options += &format!(" {option} {size}");
            }
        }
        options
    }
}

#[cfg(test)]
mod tests {
    use oxiblosc::codec::{Codec, CodecContext, CodecError, CodecTraits};
    use oxiblosc::filter::{BlockContext, Filter, FilterError, FilterTraits};
    use oxiblosc::provider;
    use oxiblosc::registry::CodecInfo;

    use super::*;

    /// Subtracts from each item what `of` says about its number, so that some data becomes all zeros; or fails.
    #[derive(Clone)]
    struct Ramp {
        step: u16,
        fails: bool,
    }

    impl Filter for Ramp {
        fn forward(&mut self, _: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
            if self.fails {
                return Err(FilterError::Other("not today".into()));
            }
            dst.copy_from_slice(src);
            for (i, item) in dst.as_chunks_mut::<2>().0.iter_mut().enumerate() {
                *item = u16::from_le_bytes(*item).wrapping_sub((i as u16).wrapping_mul(self.step)).to_le_bytes();
            }
            Ok(())
        }

        fn backward(&mut self, _: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
            dst.copy_from_slice(src);
            for (i, item) in dst.as_chunks_mut::<2>().0.iter_mut().enumerate() {
                *item = u16::from_le_bytes(*item).wrapping_add((i as u16).wrapping_mul(self.step)).to_le_bytes();
            }
            Ok(())
        }
    }

    /// Never finds anything to compress.
    #[derive(Clone)]
    struct Idle;

    impl Codec for Idle {
        fn compress(&mut self, _: &CodecContext<'_>, _: &[u8], _: &mut [u8]) -> Result<Option<usize>, CodecError> {
            Ok(None)
        }

        fn decompress(&mut self, _: &CodecContext<'_>, _: &[u8], _: &mut [u8]) -> Result<usize, CodecError> {
            Ok(0)
        }
    }

    fn sample() -> Vec<Bytes> {
        vec![(0..100_000u32).flat_map(|i| (i.wrapping_mul(7919) as u16).to_le_bytes()).collect()]
    }

    fn options(choice: &Choice) -> Vec<String> {
        choice.candidates.iter().map(|candidate| candidate.options(2)).collect()
    }

    #[test]
    fn built_in_plugins_are_tried_as_ever() {
        let registry = Registry::builtin().expect("they are linked");
        for (typesize, combinations) in [(1, 3), (2, 5)] {
            let choice = candidates(&sample(), None, typesize, None, registry);
            assert_eq!(choice.candidates.len(), 5 * combinations * LEVELS.len());
            assert!(choice.skipped.is_empty());
        }
    }

    #[test]
    fn what_somebody_adds_is_tried_if_it_can_help() {
        let builtin = Registry::builtin().expect("they are linked");
        let mut registry = builtin.clone();
        let mut filter = |id, name, traits, step, fails| {
            let info = FilterInfo::new(FilterId(id), name, traits, provider!());
            registry.add_filter(info, Box::new(Ramp { step, fails })).expect("a free id");
        };
        // This one makes all blocks alike, as 7919 is what the data grows by.
        filter(200, "ramp", FilterTraits::LOSSLESS, 7919, false);
        filter(201, "wrong_ramp", FilterTraits::LOSSLESS, 101, false);
        filter(202, "fails", FilterTraits::LOSSLESS, 0, true);
        filter(203, "loses", FilterTraits::LOSSY, 0, false);
        filter(204, "for_arrays", FilterTraits::LOSSLESS.for_arrays(), 0, false);
        let mut codec = |id, name, traits| {
            let info = CodecInfo::new(CodecId(id), name, traits, provider!());
            registry.add_codec(info, Box::new(Idle)).expect("a free id");
        };
        codec(200, "idle", CodecTraits::PLAIN);
        codec(201, "reads", CodecTraits::PLAIN.decode_only());
        codec(202, "lossy_codec", CodecTraits::PLAIN.lossy());

        let choice = candidates(&sample(), None, 2, None, &registry);
        let tried = options(&choice);
        let before = options(&candidates(&sample(), None, 2, None, builtin));
        assert!(before.iter().all(|usual| tried.contains(usual)));
        assert!(tried.contains(&"--codec idle --level 5 --filter shuffle --typesize 2".to_owned()));
        assert!(tried.contains(&"--codec zstd --level 9 --filter ramp --typesize 2".to_owned()));
        assert!(tried.contains(&"--codec lz4 --level 1 --filter ramp --filter shuffle --typesize 2".to_owned()));
        for unused in ["fails", "loses", "for_arrays", "reads", "lossy_codec"] {
            assert!(!tried.iter().any(|options| options.contains(unused)), "{unused}");
            let told = choice.skipped.iter().find(|skipped| skipped.what.contains(&format!("{unused:?}")));
            assert!(told.is_some_and(|skipped| skipped.what.contains("of oxiblosc-cli")), "{unused}");
        }
        let failure = choice.skipped.iter().find(|skipped| skipped.what.contains("fails"));
        assert!(failure.is_some_and(|skipped| skipped.reason.contains("not today")));
        // No more than there is time for.
        assert!(tried.len() <= 6 * (USUAL_FOR_ITEMS.len() + MOST_OTHERS) * LEVELS.len());
    }
}
