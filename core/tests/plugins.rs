//! Plugins that use what built-in ones use, and plugins that misbehave.

mod support;

use std::sync::{Arc, Mutex};

use oxiblosc_core::chunk::{ChunkContext, ChunkDecoder, ChunkEncoder, ChunkError, EncodeParams, SplitMode};
use oxiblosc_core::codec::{Codec, CodecContext, CodecError, CodecTraits};
use oxiblosc_core::filter::{ArrayBlock, BlockContext, Filter, FilterError, FilterTraits};
use oxiblosc_core::nd::Geometry;
use oxiblosc_core::pipeline::{FilterSlots, Pipeline};
use oxiblosc_core::plugin_params::PluginParams;
use oxiblosc_core::registry::{Claim, CodecInfo, FilterInfo};
use oxiblosc_core::{Chain, CodecId, Executor, FilterId, Inline, Registry, provider};
use support::{Threads, data, linked, map, slots};

type Apply = fn(&BlockContext<'_>, &[u8], &mut [u8]);

/// A filter of two functions.
#[derive(Clone)]
struct Made(Apply, Apply);

impl Filter for Made {
    fn forward(&mut self, ctx: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
        self.0(ctx, src, dst);
        Ok(())
    }

    fn backward(&mut self, ctx: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
        self.1(ctx, src, dst);
        Ok(())
    }
}

type Compress = fn(&CodecContext<'_>, &[u8], &mut [u8]) -> Result<Option<usize>, CodecError>;

/// A codec that keeps the first byte, for blocks that count up from there; `None` for others, unless told otherwise.
#[derive(Clone)]
struct Counting(Compress);

fn count_up(_: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<Option<usize>, CodecError> {
    let counts = src.windows(2).all(|pair| pair[1] == pair[0].wrapping_add(1));
    Ok(counts.then(|| dst[0] = src[0]).map(|()| 1))
}

impl Codec for Counting {
    fn compress(&mut self, ctx: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<Option<usize>, CodecError> {
        self.0(ctx, src, dst)
    }

    fn decompress(&mut self, _: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<usize, CodecError> {
        assert!(src[0] != 0xEE, "a byte that nobody expects");
        let mut value = src[0];
        for d in dst.iter_mut() {
            *d = value;
            value = value.wrapping_add(1);
        }
        Ok(dst.len())
    }
}

fn with_filter(id: u8, claim: Claim, traits: FilterTraits, filter: Made) -> Registry {
    let mut registry = linked().clone();
    let name = if id == 1 { "shuffle" } else { "made" };
    let info = FilterInfo::new(FilterId(id), name, traits, provider!()).claiming(claim);
    registry.add_filter(info, Box::new(filter)).unwrap();
    registry
}

fn with_codec(traits: CodecTraits, codec: impl Codec + 'static) -> Registry {
    let mut registry = linked().clone();
    let info = CodecInfo::new(CodecId(200), "counting", traits, provider!());
    registry.add_codec(info, Box::new(codec)).unwrap();
    registry
}

fn xor(_: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) {
    dst.iter_mut().zip(src).for_each(|(d, s)| *d = s ^ 0x5A);
}

fn round_trip(registry: &Registry, params: &EncodeParams, src: &[u8], ctx: &ChunkContext<'_>) -> Vec<u8> {
    let executors: [&dyn Executor; 2] = [&Inline, &Threads(3)];
    let chunks =
        executors.map(|executor| ChunkEncoder::new(params, registry).unwrap().encode(src, ctx, executor).unwrap());
    assert_eq!(chunks[0], chunks[1]);
    for executor in executors {
        assert!(ChunkDecoder::new(registry).decode(&chunks[0], ctx, executor).unwrap() == src);
    }
    chunks[0].clone()
}

#[test]
fn a_constant_that_a_filter_turns_into_zeros_comes_back() {
    let whole = |id| EncodeParams { filters: FilterSlots::single(FilterId(id)), ..EncodeParams::default() };
    for (id, claim) in [(1, Claim::Override), (7, Claim::Builtin), (40, Claim::Assigned), (200, Claim::User)] {
        let registry = with_filter(id, claim, FilterTraits::LOSSLESS, Made(xor, xor));
        for len in [1, 31, 32, 33, 4095, 100_000] {
            for byte in [0x5A, 0, 1] {
                round_trip(&registry, &whole(id), &vec![byte; len], &ChunkContext::default());
            }
        }
    }
    // A filter that says so has its chunks of zeros stored as a header.
    fn double(_: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) {
        dst.iter_mut().zip(src).for_each(|(d, s)| *d = s.rotate_left(1));
    }
    fn halve(_: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) {
        dst.iter_mut().zip(src).for_each(|(d, s)| *d = s.rotate_right(1));
    }
    let registry = with_filter(200, Claim::User, FilterTraits::LOSSLESS.keeping_zeros(), Made(double, halve));
    assert_eq!(round_trip(&registry, &whole(200), &[0; 100_000], &ChunkContext::default()).len(), 32);
}

#[test]
fn a_filter_may_use_the_first_block_of_the_chunk() {
    fn against_first(ctx: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) {
        assert_eq!(ctx.reference.is_some(), ctx.block > 0);
        match ctx.reference {
            Some(first) => dst.iter_mut().zip(src).zip(first).for_each(|((d, s), f)| *d = s ^ f),
            None => dst.copy_from_slice(src),
        }
    }
    let made = Made(against_first, against_first);
    let registry = with_filter(200, Claim::User, FilterTraits::LOSSLESS.with_reference(), made);
    let mut src = data(1, 5000);
    src = [&src[..], &src, &src, &src[..700]].concat();
    for filters in [slots(&[(FilterId(200), 0)]), slots(&[(FilterId(200), 0), (FilterId::SHUFFLE, 0)])] {
        let params = EncodeParams { typesize: 4, filters, block_size: Some(5000), ..EncodeParams::default() };
        let chunk = round_trip(&registry, &params, &src, &ChunkContext::default());
        assert!(chunk.len() < src.len() / 2, "later blocks are runs of zeros, with these filters");

        let map = map(&chunk).unwrap();
        assert!(map.needs_reference(1, &registry) && !map.needs_reference(0, &registry));
        assert_eq!(map.blocks_needed(11_000..11_001, &registry).unwrap().collect::<Vec<_>>(), [0, 2]);
        let mut decoder = ChunkDecoder::new(&registry);
        let items = decoder.decode_items(&chunk, 2600..2700, &ChunkContext::default()).unwrap();
        assert!(items == src[4 * 2600..4 * 2700]);
        let error = decoder.decode_block(&map, 1, &chunk[map.span(1)], None, &ChunkContext::default()).unwrap_err();
        assert!(matches!(error, ChunkError::Reference { block: 1, .. }), "{error}");
    }
}

#[test]
fn a_filter_that_groups_bytes_has_its_blocks_split() {
    let params = EncodeParams {
        typesize: 8,
        filters: FilterSlots::single(FilterId(200)),
        split: SplitMode::Auto,
        ..EncodeParams::default()
    };
    let src = data(1, 100_000);
    let copy: Apply = |_, src, dst| dst.copy_from_slice(src);
    for (traits, split) in [(FilterTraits::LOSSLESS, false), (FilterTraits::LOSSLESS.grouping_bytes(), true)] {
        let registry = with_filter(200, Claim::User, traits, Made(copy, copy));
        let chunk = round_trip(&registry, &params, &src, &ChunkContext::default());
        assert_eq!(map(&chunk).unwrap().header().is_split(), split);
    }
}

/// What a plugin is told of a block, but for what tells reading from writing.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Clone)]
struct Told {
    block: usize,
    stream: Option<(usize, usize)>,
    typesize: usize,
    item_size: Option<usize>,
    offset: Option<usize>,
    last_short: bool,
    nd: Option<(Vec<u32>, Vec<u32>)>,
    meta: u8,
    version: u8,
}

impl Told {
    fn block(ctx: &BlockContext<'_>) -> Self {
        Self {
            block: ctx.block,
            stream: None,
            typesize: ctx.typesize,
            item_size: ctx.item_size,
            offset: ctx.offset,
            last_short: ctx.last_short,
            nd: ctx.nd.map(|ArrayBlock { chunk_shape, block_shape }| (chunk_shape.to_vec(), block_shape.to_vec())),
            meta: ctx.meta,
            version: 0,
        }
    }
}

/// A filter and a codec that write down what they are told.
#[derive(Clone, Default)]
struct Listener {
    told: Arc<Mutex<[Vec<Told>; 2]>>,
}

impl Listener {
    fn note(&self, reading: bool, told: Told) {
        self.told.lock().unwrap()[usize::from(reading)].push(told);
    }
}

impl Filter for Listener {
    fn forward(&mut self, ctx: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
        self.note(false, Told::block(ctx));
        dst.copy_from_slice(src);
        Ok(())
    }

    fn backward(&mut self, ctx: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
        self.note(true, Told::block(ctx));
        dst.copy_from_slice(src);
        Ok(())
    }
}

impl Codec for Listener {
    fn compress(&mut self, ctx: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<Option<usize>, CodecError> {
        assert_eq!(ctx.level, Some(4));
        let stream = Some((ctx.stream, ctx.streams));
        self.note(false, Told { stream, meta: ctx.meta, version: ctx.version, ..Told::block(&ctx.block) });
        dst[0] = src[0];
        Ok(Some(1))
    }

    fn decompress(&mut self, ctx: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<usize, CodecError> {
        assert_eq!(ctx.level, None);
        let stream = Some((ctx.stream, ctx.streams));
        self.note(true, Told { stream, meta: ctx.meta, version: ctx.version, ..Told::block(&ctx.block) });
        dst.fill(src[0]);
        Ok(dst.len())
    }
}

#[test]
fn what_a_plugin_is_told_is_the_same_on_write_and_read() {
    let before = Geometry { shape: vec![0, 60], chunk_shape: vec![10, 60], block_shape: vec![5, 20] };
    let after = Geometry { shape: vec![50, 60], ..before.clone() };
    for (typesize, item_size, known) in [
        (1, None, None),
        (1, Some(1), Some(1)),
        (8, None, Some(8)),
        (255, None, Some(255)),
        (300, None, None),
        (300, Some(300), Some(300)),
    ] {
        for nd in [false, true] {
            for (split, vl) in [(SplitMode::Never, false), (SplitMode::Always, false), (SplitMode::Never, true)] {
                let listener = Listener::default();
                let mut registry = with_codec(CodecTraits::PLAIN.with_version(3), listener.clone());
                let info = FilterInfo::new(FilterId(200), "listener", FilterTraits::LOSSLESS, provider!());
                registry.add_filter(info, Box::new(listener.clone())).unwrap();
                let params = EncodeParams {
                    typesize,
                    level: 4,
                    codec: CodecId(200),
                    codec_meta: 9,
                    split,
                    filters: slots(&[(FilterId(200), 5)]),
                    block_size: Some(12_000),
                    ..EncodeParams::default()
                };
                let mut ctx = ChunkContext::numbered(7);
                ctx.item_size = item_size;
                ctx.nd = nd.then_some(&before);
                let mut encoder = ChunkEncoder::new(&params, &registry).unwrap();
                let src = data(0, 60_150);
                let chunk = if vl {
                    encoder.encode_blocks(&[&src[..2000], &src[2000..2100], &src[2100..]], &ctx, &Inline).unwrap()
                } else {
                    encoder.encode(&src, &ctx, &Inline).unwrap()
                };
                // Since then rows were appended, and chunks inserted before this one.
                ctx.number = Some(1);
                ctx.nd = nd.then_some(&after);
                ChunkDecoder::new(&registry).decode(&chunk, &ctx, &Inline).unwrap();

                let mut told = listener.told.lock().unwrap();
                told.iter_mut().for_each(|told| told.sort());
                assert!(!told[0].is_empty() && told[0] == told[1], "{told:#?}");
                assert!(told[0].iter().all(|told| told.item_size == known && told.offset.is_none() == vl), "{told:#?}");
                assert!(told[0].iter().all(|told| told.stream.is_none() || (told.version, told.meta) == (3, 9)));
            }
        }
    }
}

#[test]
fn a_codec_that_reports_an_impossible_length_is_an_error() {
    let src = data(0, 1000);
    for found in [0, 1001, usize::MAX] {
        let make: fn(usize) -> Compress = |found| match found {
            0 => |_, _, _| Ok(Some(0)),
            usize::MAX => |_, _, _| Ok(Some(usize::MAX)),
            _ => |_, _, dst| Ok(Some(dst.len() + 1)),
        };
        let registry = with_codec(CodecTraits::PLAIN, Counting(make(found)));
        let params = EncodeParams { codec: CodecId(200), filters: FilterSlots::NONE, ..EncodeParams::default() };
        let mut encoder = ChunkEncoder::new(&params, &registry).unwrap();
        let error = encoder.encode(&src, &ChunkContext::default(), &Inline).unwrap_err();
        let ChunkError::Encode { block: 0, codec, source, .. } = &error else { panic!("{error}") };
        assert!(codec.id == 200 && matches!(source, CodecError::Written { room: 1000, .. }), "{source}");
        let text = Chain(&error).to_string();
        for part in ["block 0", "\"counting\"", "id 200", concat!("oxiblosc-core ", env!("CARGO_PKG_VERSION"))] {
            assert!(text.contains(part), "{text}");
        }
    }
}

#[test]
fn a_panic_of_a_plugin_is_an_error_and_the_next_chunk_goes_on() {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let picky: Compress = |ctx, src, dst| if src[0] == 13 { panic!("no thirteen") } else { count_up(ctx, src, dst) };
    let fragile: Apply = |_, src, dst| if src[0] == 42 { panic!("no answer") } else { dst.copy_from_slice(src) };
    let mut registry = with_codec(CodecTraits::PLAIN, Counting(picky));
    let info = FilterInfo::new(FilterId(200), "fragile", FilterTraits::LOSSLESS, provider!());
    registry.add_filter(info, Box::new(Made(fragile, fragile))).unwrap();
    let params = EncodeParams { codec: CodecId(200), filters: slots(&[(FilterId(200), 0)]), ..EncodeParams::default() };
    let counting = |first: u8| (0..10_000).map(|i| first.wrapping_add(i as u8)).collect::<Vec<u8>>();
    let ctx = ChunkContext::default();
    let executors: [&dyn Executor; 2] = [&Inline, &Threads(3)];
    for executor in executors {
        let mut encoder = ChunkEncoder::new(&params, &registry).unwrap();
        let mut decoder = ChunkDecoder::new(&registry);
        for (first, message) in [(13, "no thirteen"), (42, "no answer")] {
            let error = encoder.encode(&counting(first), &ctx, executor).unwrap_err();
            assert!(Chain(&error).to_string().contains(&format!("panicked: {message}")), "{}", Chain(&error));
            let good = encoder.encode(&counting(1), &ctx, executor).unwrap();
            assert!(decoder.decode(&good, &ctx, executor).unwrap() == counting(1));

            // What panics while reading: a stream with a byte that the codec does not expect, or a filter.
            let mut bad = good.clone();
            let at = map(&good).unwrap().span(0).start + 4;
            bad[at] = if first == 13 { 0xEE } else { 42 };
            let error = decoder.decode(&bad, &ctx, executor).unwrap_err();
            assert!(Chain(&error).to_string().contains("panicked: "), "{}", Chain(&error));
            assert!(decoder.decode(&good, &ctx, executor).unwrap() == counting(1));
        }
    }
    std::panic::set_hook(hook);
}

#[test]
fn a_later_version_of_a_codec_is_refused() {
    let params = EncodeParams { codec: CodecId(200), filters: FilterSlots::NONE, ..EncodeParams::default() };
    let src: Vec<u8> = (0..1000).map(|i| i as u8).collect();
    let [old, new] = [1, 2].map(|version| with_codec(CodecTraits::PLAIN.with_version(version), Counting(count_up)));
    let ctx = ChunkContext::default();
    let [by_old, by_new] =
        [&old, &new].map(|registry| ChunkEncoder::new(&params, registry).unwrap().encode(&src, &ctx, &Inline).unwrap());
    assert_eq!((by_old[1], by_new[1]), (1, 2));
    assert!(ChunkDecoder::new(&new).decode(&by_old, &ctx, &Inline).unwrap() == src);
    let error = ChunkDecoder::new(&old).decode(&by_new, &ctx, &Inline).unwrap_err();
    assert!(Chain(&error).to_string().contains("version 2"), "{}", Chain(&error));
}

#[test]
fn the_dictionary_error_names_the_codecs_that_have_them() {
    let registry = with_codec(CodecTraits::PLAIN.with_dict(), Counting(count_up));
    let params = EncodeParams { codec: CodecId::ZLIB, use_dict: true, ..EncodeParams::default() };
    let error = ChunkEncoder::new(&params, &registry).err().unwrap().to_string();
    assert!(error.contains("lz4, lz4hc, zstd, counting"), "{error}");
}

/// Pages of 100 bytes, each compressed on its own (by leaving out zeros at its end), with an index in front. It counts
/// the pages that it decodes.
#[derive(Clone, Default)]
struct Paged {
    pages: Arc<Mutex<usize>>,
    refuses: bool,
}

const PAGE: usize = 100;

impl Paged {
    fn page(&self, src: &[u8], page: usize, dst: &mut [u8]) -> Option<()> {
        *self.pages.lock().unwrap() += 1;
        let count = usize::from(*src.first()?);
        let start: usize = src.get(1..1 + page)?.iter().map(|&len| usize::from(len)).sum();
        let kept = src.get(1 + count..)?.get(start..)?.get(..usize::from(*src.get(1 + page)?))?;
        dst.fill(0);
        dst.get_mut(..kept.len())?.copy_from_slice(kept);
        Some(())
    }
}

impl Codec for Paged {
    fn compress(&mut self, _: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<Option<usize>, CodecError> {
        let kept = src.chunks(PAGE).map(|page| &page[..page.iter().rposition(|&b| b != 0).map_or(0, |last| last + 1)]);
        let mut out = vec![kept.len() as u8];
        out.extend(kept.clone().map(|page| page.len() as u8));
        kept.for_each(|page| out.extend(page));
        Ok(dst.get_mut(..out.len()).map(|dst| dst.copy_from_slice(&out)).map(|()| out.len()))
    }

    fn decompress(&mut self, _: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<usize, CodecError> {
        let done = dst.chunks_mut(PAGE).enumerate().try_for_each(|(page, dst)| self.page(src, page, dst));
        done.map(|()| dst.len()).ok_or(CodecError::Corrupt { offset: 0, reason: "a page is missing" })
    }

    fn decompress_range(
        &mut self,
        _: &CodecContext<'_>,
        src: &[u8],
        range: std::ops::Range<usize>,
        len: usize,
        dst: &mut [u8],
    ) -> Result<Option<usize>, CodecError> {
        assert!(range.len() == dst.len() && !range.is_empty() && range.end <= len && range.len() < len);
        if self.refuses {
            return Ok(None);
        }
        for page in range.start / PAGE..range.end.div_ceil(PAGE) {
            let mut whole = [0; PAGE];
            let bytes = page * PAGE..len.min((page + 1) * PAGE);
            self.page(src, page, &mut whole[..bytes.len()])
                .ok_or(CodecError::Corrupt { offset: 0, reason: "a page is missing" })?;
            let wanted = range.start.max(bytes.start)..range.end.min(bytes.end);
            dst[wanted.start - range.start..wanted.end - range.start]
                .copy_from_slice(&whole[wanted.start - bytes.start..wanted.end - bytes.start]);
        }
        Ok(Some(dst.len()))
    }
}

#[test]
fn a_codec_that_decodes_ranges_decodes_no_more_than_is_asked_for() {
    // Half of each page is zeros; the third block is a run, and the fourth has pages of nothing else.
    let mut src: Vec<u8> = data(0, 20_350)
        .chunks(50)
        .enumerate()
        .flat_map(|(i, half)| if i % 2 == 0 { half.to_vec() } else { vec![0; half.len()] })
        .collect();
    src[8000..12_000].fill(0);
    src[12_500..15_000].fill(0);
    let forward_only: Apply = |_, src, dst| dst.copy_from_slice(src);
    let mut random = support::Random(1);
    for (filter, split) in [
        (None, SplitMode::Never),
        (None, SplitMode::Always),
        (Some(FilterTraits::FORWARD_ONLY), SplitMode::Never),
        (Some(FilterTraits::LOSSLESS), SplitMode::Never),
    ] {
        for refuses in [false, true] {
            let paged = Paged { refuses, ..Paged::default() };
            let mut registry = with_codec(CodecTraits::PLAIN.with_ranges(), paged.clone());
            if let Some(traits) = filter {
                let info = FilterInfo::new(FilterId(200), "made", traits, provider!());
                registry.add_filter(info, Box::new(Made(forward_only, forward_only))).unwrap();
            }
            let params = EncodeParams {
                typesize: 4,
                codec: CodecId(200),
                filters: filter.map_or(FilterSlots::NONE, |_| FilterSlots::single(FilterId(200))),
                split,
                block_size: Some(4000),
                ..EncodeParams::default()
            };
            let ctx = ChunkContext::default();
            let chunk = round_trip(&registry, &params, &src, &ctx);
            let map = map(&chunk).unwrap();
            let mut decoder = ChunkDecoder::new(&registry);
            let ranges = filter.is_none_or(|traits| traits.forward_only);
            assert_eq!(decoder.decodes_ranges(&map), ranges);
            for _ in 0..500 {
                let start = random.below(src.len() / 4);
                let end = start + random.below((src.len() / 4 - start).min(300));
                *paged.pages.lock().unwrap() = 0;
                let items = decoder.decode_items(&chunk, start..end, &ctx).unwrap();
                assert!(items == src[4 * start..4 * end], "{start}..{end}");
                let touched = (4 * end).div_ceil(PAGE) - 4 * start / PAGE;
                let pages = *paged.pages.lock().unwrap();
                assert!(!ranges || refuses || pages <= touched, "{pages} pages for {start}..{end}");
            }
        }
    }
}

#[test]
fn items_of_a_shuffled_block_take_their_bytes_of_each_plane() {
    let src: Vec<u8> = data(0, 20_350);
    let mut random = support::Random(2);
    for refuses in [false, true] {
        let paged = Paged { refuses, ..Paged::default() };
        let registry = with_codec(CodecTraits::PLAIN.with_ranges(), paged.clone());
        for filter in [FilterId::SHUFFLE, FilterId::BITSHUFFLE] {
            let params = EncodeParams {
                typesize: 4,
                codec: CodecId(200),
                filters: FilterSlots::single(filter),
                split: SplitMode::Always,
                // A plane of bits has five pages.
                block_size: Some(16_000),
                ..EncodeParams::default()
            };
            let ctx = ChunkContext::default();
            // Zeros at the end of each page, so that no stream is stored.
            let planes = data(0, 16_000).chunks(50).enumerate().fold(Vec::new(), |mut all, (i, half)| {
                all.extend(half.iter().map(|byte| if i % 2 == 0 { *byte } else { 0 }));
                all
            });
            let mut decoded = vec![0; planes.len()];
            let mut filters = Pipeline::new(&params.filters, &registry, &PluginParams::default()).unwrap();
            filters.backward(&BlockContext::new(4), &planes, &mut decoded).unwrap();
            decoded.extend_from_slice(&src[16_000..]);
            let chunk = round_trip(&registry, &params, &decoded, &ctx);
            let mut decoder = ChunkDecoder::new(&registry);
            assert!(decoder.decodes_ranges(&map(&chunk).unwrap()));
            for _ in 0..300 {
                let start = random.below(3900);
                let end = start + 1 + random.below(100);
                *paged.pages.lock().unwrap() = 0;
                let items = decoder.decode_items(&chunk, start..end, &ctx).unwrap();
                assert!(items == decoded[4 * start..4 * end], "{start}..{end}");
                let touched = match filter {
                    FilterId::SHUFFLE => end.div_ceil(PAGE) - start / PAGE,
                    // From the first of the eight planes of a stream to the last one.
                    _ => (7 * 500 + end.div_ceil(8)).div_ceil(PAGE) - start / 8 / PAGE,
                };
                let pages = *paged.pages.lock().unwrap();
                assert!(refuses || pages <= 4 * touched, "{pages} pages for {start}..{end}, {touched} of each stream");
                assert!(!refuses || pages == 4 * 40, "{pages}");
            }
        }
    }
}
