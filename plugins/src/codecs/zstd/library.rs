//! Zstandard by its own library.

use oxiblosc_core::FilterId;
use oxiblosc_core::codec::{Codec, CodecContext, CodecError};
use zstd::zstd_safe::zstd_sys::ZSTD_ErrorCode;
use zstd::zstd_safe::{self, CCtx, CDict, CParameter, DCtx, DDict, ErrorCode, ResetDirective};

use crate::codecs::sample::{different_triples, is_noise_of, sample};

/// The level with which C-Blosc2 compresses against a dictionary, whatever the requested level: the gain comes from the
/// dictionary, and a prepared one can serve all levels.
const DICT_LEVEL: i32 = 1;

/// The codec `zstd`. Levels 1..=8 are Zstandard's 1, 3, 5, .. 15; 9 is its highest, 22; see `fitted` and `by_variety` for
/// what is different on some data. Noise gets a low level from 7 on.
///
/// An instance keeps its contexts and, as long as the dictionary stays the same, the tables prepared from it.
#[derive(Default)]
pub struct Zstd {
    /// For Zstandard's own parameters, and with dictionaries.
    plain: Compressor,
    /// For other ones: streams of both kinds may take turns, and a context whose parameters change clears its tables.
    fitted: Compressor,
    /// For samples.
    quick: Compressor,
    dctx: Option<DCtx<'static>>,
    cdict: Prepared<CDict<'static>>,
    ddict: Prepared<DDict<'static>>,
}

impl Clone for Zstd {
    /// An instance with its own contexts, allocated on first use.
    fn clone(&self) -> Self {
        Self::default()
    }
}

/// Pieces of a sample.
const PIECES: usize = 4;
/// The longest piece.
const MOST_PIECE: usize = 512;
/// A sample is one part in this many of the stream, at most, and takes some hundredths of its time.
const SAMPLE_PART: usize = 8;
/// A shorter stream is too short for a sample, and is compressed with Zstandard's own parameters.
const LEAST_SAMPLED: usize = 4096;

/// From this level on the variety of a stream is looked at, for `by_variety` and for noise.
const DEEP: u8 = 6;
/// From this level on noise is looked for: the levels below are through it nearly as soon as one knows.
const SLOW_IN_NOISE: u8 = 7;
/// At this level there is time to see whether all of a stream shrinks to one part in [`REGULAR`], which samples do not tell
/// where the same comes back after more bytes than a piece has, as in columns of regular times.
const SLOWEST: u8 = 9;
/// See [`SLOWEST`].
const REGULAR: usize = 16;
/// Zstandard's level for noise. Higher ones take up to 70 times as long for it, and find as little: what the codes of
/// its bytes save is the same.
const NOISE_LEVEL: i32 = 3;

/// Zstandard's level for ours.
fn inner_level(level: u8) -> i32 {
    match level {
        // 0 only occurs for chunks of variable-length blocks, which cannot be stored: -1 is fast.
        0..=8 => 2 * i32::from(level) - 1,
        _ => zstd_safe::max_c_level(),
    }
}

/// Streams up to this length get other parameters from Zstandard, with a finder that looks closer.
const SHORT: usize = 256 << 10;

/// Parameters, and the variety from which on they are used: those of the last step that is not above it.
type Steps = &'static [(usize, &'static [CParameter])];

/// For levels 6 to 8, whose search goes deep: the parameters by how many triples of bytes differ in a sample, in percent.
///
/// The fewer places have the same bytes, the sooner all of them have been compared. The steps stand where the parameters
/// cost at most 0.5 % of size on nearly all of 49 data sets. Between 80 and 90 percent, matches are so rare that the best of
/// the latest ones is as good as what the binary trees of levels 7 and 8 find; above, those that are left are far away, and
/// only the trees find them.
fn by_variety(level: u8, filter: FilterId, len: usize) -> Steps {
    use CParameter::{SearchLog, Strategy};
    use zstd_safe::Strategy::ZSTD_lazy2;
    const FULL: &[CParameter] = &[];
    const S3: &[CParameter] = &[SearchLog(3)];
    const S4: &[CParameter] = &[SearchLog(4)];
    const S5: &[CParameter] = &[SearchLog(5)];
    const LATEST: &[CParameter] = &[Strategy(ZSTD_lazy2), SearchLog(6)];
    match (level, filter, len > SHORT) {
        (6, FilterId::NONE, _) => &[(60, S5), (80, S4)],
        (6, FilterId::SHUFFLE, _) => &[(25, S5), (70, S4)],
        (6, FilterId::BITSHUFFLE, _) => &[(25, S5), (40, S4)],
        (6, FilterId::BYTEDELTA, _) => &[(25, S5), (80, S4)],
        (7, FilterId::NONE, true) => &[(70, LATEST), (90, FULL)],
        (7, FilterId::SHUFFLE | FilterId::BYTEDELTA, true) => &[(80, LATEST), (90, FULL)],
        (7, FilterId::BITSHUFFLE, true) => &[(40, S3)],
        (8, FilterId::NONE, true) => &[(50, S4), (70, LATEST), (90, S4)],
        (8, FilterId::NONE, false) => &[(50, S4)],
        (8, FilterId::SHUFFLE | FilterId::BYTEDELTA, true) => &[(25, S5), (50, S4), (80, LATEST), (90, S4)],
        (8, FilterId::SHUFFLE | FilterId::BYTEDELTA, false) => &[(25, S5), (50, S4)],
        (8, FilterId::BITSHUFFLE, _) => &[(25, S4)],
        _ => &[],
    }
}

/// Other parameters for data on which Zstandard's own choice for a level takes longer than it gains.
struct Fitted {
    parameters: &'static [CParameter],
    /// A stream whose sample shrinks by this factor is compressed with Zstandard's own parameters.
    repetitive: usize,
}

/// For levels 1, 4, 5 and 9: the parameters with which filtered data becomes as small within one percent (on 46 data
/// sets), in two thirds to nine tenths of the time.
///
/// Zstandard's levels are tuned for text, where every match saves something. The byte planes of filtered numbers are
/// noise with few matches in it, which are long, or so regular that the first one found is as good as any other. Where
/// nearly everything repeats, though, they make the result up to twice as long; see [`Zstd::repetitive`].
fn fitted(ctx: &CodecContext<'_>) -> Option<Fitted> {
    use CParameter::{MinMatch, SearchLog, Strategy, TargetLength};
    use zstd_safe::Strategy::ZSTD_lazy;
    let split = ctx.streams > 1;
    let (parameters, repetitive): (&[CParameter], _) = match (ctx.level_or_default(), ctx.filter) {
        // A sample would take too much of the time here, and little is lost without. At level 2 it takes all that the fast
        // search of byte planes gains, and more of short ones. (After shuffle alone it would cost columns of times 1 to 2 %.)
        (1, FilterId::BYTEDELTA) => (&[MinMatch(7)], usize::MAX),
        (4, FilterId::SHUFFLE) if split => (&[Strategy(ZSTD_lazy)], 6),
        (4, FilterId::BYTEDELTA) if split => (&[Strategy(ZSTD_lazy)], 4),
        (5, FilterId::SHUFFLE) if split => (&[Strategy(ZSTD_lazy), SearchLog(4)], 8),
        // In bit planes of eight-byte items, integers would then lack matches of four, and others need the full search; in
        // those of single bytes, text would.
        (5, FilterId::BITSHUFFLE) if (2..8).contains(&ctx.block.typesize) => (&[MinMatch(5), SearchLog(3)], 8),
        (5, FilterId::BYTEDELTA) if split => (&[MinMatch(5), SearchLog(4)], 8),
        (5, FilterId::SHUFFLE | FilterId::BYTEDELTA) => (&[Strategy(ZSTD_lazy)], 8),
        (9, FilterId::SHUFFLE | FilterId::BITSHUFFLE | FilterId::BYTEDELTA) => (&[SearchLog(6), TargetLength(128)], 8),
        _ => return None,
    };
    Some(Fitted { parameters, repetitive })
}

impl Zstd {
    /// The context for a stream without a dictionary. `room` is overwritten.
    fn compressor(
        &mut self,
        ctx: &CodecContext<'_>,
        src: &[u8],
        room: &mut [u8],
    ) -> Result<&mut CCtx<'static>, CodecError> {
        let level = ctx.level_or_default();
        let variety = if level >= DEEP { different_triples(src) } else { 0 };
        if level >= SLOW_IN_NOISE && is_noise_of(src, ctx.block.typesize, variety) {
            return self.fitted.prepare(NOISE_LEVEL, &[]);
        }
        let steps = by_variety(level, ctx.filter, src.len());
        let parameters = if steps.is_empty() {
            match fitted(ctx) {
                None => &[],
                Some(fitted) if self.repetitive(src, fitted.repetitive)? => &[],
                Some(_) if level >= SLOWEST && self.regular(src, room)? => &[],
                Some(fitted) => fitted.parameters,
            }
        } else {
            steps.iter().rfind(|(from, _)| *from <= variety).map_or(&[][..], |step| step.1)
        };
        let compressor = if parameters.is_empty() { &mut self.plain } else { &mut self.fitted };
        compressor.prepare(inner_level(level), parameters)
    }

    /// Whether all of `src` shrinks to one part in [`REGULAR`] at once. This ends where it has taken so much, and is cheap
    /// for all other data.
    fn regular(&mut self, src: &[u8], room: &mut [u8]) -> Result<bool, CodecError> {
        let least = room.len().min(src.len() / REGULAR);
        Ok(self.quick.prepare(1, &[])?.compress2(&mut room[..least], src).is_ok())
    }

    /// Whether a sample of `src` shrinks by this factor.
    fn repetitive(&mut self, src: &[u8], factor: usize) -> Result<bool, CodecError> {
        const ROOM: usize = PIECES * MOST_PIECE;
        if factor == usize::MAX {
            return Ok(false);
        }
        if src.len() < LEAST_SAMPLED {
            return Ok(true);
        }
        let piece = (src.len() / (PIECES * SAMPLE_PART)).min(MOST_PIECE);
        let mut pieces = [0; ROOM];
        let sample = sample(src, piece, &mut pieces[..PIECES * piece]);
        let mut room = [0; ROOM];
        Ok(self.quick.prepare(1, &[])?.compress2(&mut room[..sample.len() / factor], sample).is_ok())
    }
}

/// A context, and the level and parameters that it is set to.
#[derive(Default)]
struct Compressor {
    cctx: Option<CCtx<'static>>,
    set_to: Option<(i32, &'static [CParameter])>,
}

impl Compressor {
    fn cctx(&mut self) -> Result<&mut CCtx<'static>, CodecError> {
        get_or_try_init(&mut self.cctx, CCtx::try_create)
    }

    /// The context, set to this level of Zstandard and these parameters.
    fn prepare(&mut self, level: i32, parameters: &'static [CParameter]) -> Result<&mut CCtx<'static>, CodecError> {
        let cctx = get_or_try_init(&mut self.cctx, CCtx::try_create)?;
        // A list of parameters is identified by its address.
        if !self.set_to.is_some_and(|(of, list)| of == level && std::ptr::eq(list, parameters)) {
            self.set_to = None;
            let error = |code| library(zstd_safe::get_error_name(code));
            // Reset the session too: a stream that did not fit left it open, and parameters cannot be changed in an
            // open one.
            cctx.reset(ResetDirective::SessionAndParameters).map_err(error)?;
            cctx.set_parameter(CParameter::CompressionLevel(level)).map_err(error)?;
            for &parameter in parameters {
                cctx.set_parameter(parameter).map_err(error)?;
            }
            self.set_to = Some((level, parameters));
        }
        Ok(cctx)
    }
}

impl Codec for Zstd {
    fn compress(&mut self, ctx: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<Option<usize>, CodecError> {
        let result = match ctx.dict {
            None => self.compressor(ctx, src, dst)?.compress2(dst, src),
            Some(dict) => {
                let cctx = self.plain.cctx()?;
                let dict = self.cdict.get(dict, |bytes| CDict::try_create(bytes, DICT_LEVEL))?;
                cctx.compress_using_cdict(dst, src, dict)
            }
        };
        match result {
            Ok(written) => Ok(Some(written)),
            Err(code) if is(code, ZSTD_ErrorCode::ZSTD_error_dstSize_tooSmall) => Ok(None),
            Err(code) => Err(library(zstd_safe::get_error_name(code))),
        }
    }

    fn decompress(&mut self, ctx: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<usize, CodecError> {
        let dctx = get_or_try_init(&mut self.dctx, DCtx::try_create)?;
        let expected = dst.len();
        let result = match ctx.dict {
            None => dctx.decompress(dst, src),
            Some(dict) => dctx.decompress_using_ddict(dst, src, self.ddict.get(dict, DDict::try_create)?),
        };
        match result {
            Ok(found) if found == expected => Ok(found),
            Ok(found) => Err(CodecError::Length { expected, found }),
            // Zstandard reports no offset; the frame begins at 0.
            Err(code) => Err(CodecError::Corrupt { offset: 0, reason: zstd_safe::get_error_name(code) }),
        }
    }

    fn train_dict(
        &mut self,
        samples: &[u8],
        sample_len: usize,
        sample_count: usize,
        max_len: usize,
    ) -> Result<Option<Vec<u8>>, CodecError> {
        let total = sample_len.checked_mul(sample_count).filter(|&total| total > 0 && total <= samples.len());
        let Some(total) = total else {
            return Ok(None);
        };
        let mut dict = Vec::with_capacity(max_len);
        // Training fails if samples are too few, too short or have nothing in common: no dictionary then.
        match zstd_safe::train_from_buffer(&mut dict, &samples[..total], &vec![sample_len; sample_count]) {
            Ok(_) if !dict.is_empty() => Ok(Some(dict)),
            _ => Ok(None),
        }
    }
}

/// The tables prepared from a dictionary, with the bytes they were made from.
struct Prepared<T>(Option<(Vec<u8>, T)>);

impl<T> Default for Prepared<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> Prepared<T> {
    fn get(&mut self, bytes: &[u8], prepare: impl FnOnce(&[u8]) -> Option<T>) -> Result<&T, CodecError> {
        // Comparing 32 KiB costs far less than building tables from them. Comparing addresses would be wrong: another
        // dictionary may be at the same place.
        let kept = self.0.take().filter(|(of, _)| of == bytes);
        let entry = match kept {
            Some(entry) => entry,
            None => {
                let tables =
                    prepare(bytes).ok_or(CodecError::Corrupt { offset: 0, reason: "not a usable zstd dictionary" })?;
                (bytes.to_vec(), tables)
            }
        };
        Ok(&self.0.insert(entry).1)
    }
}

fn get_or_try_init<T>(slot: &mut Option<T>, init: impl FnOnce() -> Option<T>) -> Result<&mut T, CodecError> {
    match slot {
        Some(value) => Ok(value),
        None => Ok(slot.insert(init().ok_or_else(|| library("out of memory"))?)),
    }
}

fn is(code: ErrorCode, error: ZSTD_ErrorCode) -> bool {
    // Zstandard returns errors as the negated error number in an unsigned size.
    code == 0usize.wrapping_sub(error as usize)
}

fn library(message: &str) -> CodecError {
    CodecError::Library { library: "zstd", message: message.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codecs::testing;

    #[test]
    fn round_trips() {
        testing::round_trips::<Zstd>(&[1, 3, 5, 6, 7, 8, 9], None);
    }

    #[test]
    fn survives_damage() {
        testing::survives_damage::<Zstd>(None);
    }

    #[test]
    fn what_repeats_nearly_everywhere_is_as_small_as_by_the_library() {
        let mut random = testing::Random(5);
        let src: Vec<u8> = (0..60_000).map(|_| if random.below(300) == 0 { 255 } else { 0 }).collect();
        for (level, filter) in filtered(2..=9) {
            let (len, by_library) = lens(level, filter, &src);
            assert_eq!(len, by_library, "level {level} after {filter:?}");
        }
    }

    /// The upper bytes of a random walk, and noise; so many of either.
    fn planes(len: usize) -> Vec<u8> {
        let mut random = testing::Random(6);
        let mut value = 0u32;
        let walk = (0..len).map(|_| {
            value = value.wrapping_add(random.below(1 << 17) as u32).wrapping_sub(1 << 16);
            (value >> 16) as u8
        });
        let mut planes: Vec<u8> = walk.collect();
        planes.extend((0..len).map(|_| random.next() as u8));
        planes
    }

    #[test]
    fn byte_planes_are_as_small_as_by_the_library() {
        for planes in [planes(60_000), planes(SHORT)] {
            let deltas: Vec<u8> =
                (0..planes.len()).map(|i| planes[i].wrapping_sub(if i > 0 { planes[i - 1] } else { 0 })).collect();
            for (level, filter) in filtered(2..=9) {
                let src = if filter == FilterId::BYTEDELTA { &deltas } else { &planes };
                let (len, by_library) = lens(level, filter, src);
                assert!(
                    len <= by_library + by_library / 100,
                    "{len} and {by_library} bytes of {} at level {level} after {filter:?}",
                    src.len()
                );
            }
        }
    }

    #[test]
    fn regular_times_are_as_small_as_by_the_library() {
        let (len, by_library) = lens(9, FilterId::SHUFFLE, &testing::shuffled_times(1 << 17));
        assert_eq!(len, by_library);
    }

    #[test]
    fn steps_ascend_and_each_is_as_small_as_by_the_library() {
        let mut random = testing::Random(8);
        let mut varieties = std::collections::BTreeSet::new();
        let settings: Vec<_> = filtered(6..=8).chain((6..=8).map(|level| (level, FilterId::NONE))).collect();
        // Random letters, in which pieces repeat.
        for letters in [4, 6, 8, 10, 12, 14, 17, 20, 25, 40, 100] {
            let mut src: Vec<u8> = Vec::with_capacity(2 * SHORT);
            while src.len() < SHORT + 1000 {
                let len = 24 + random.below(400);
                if src.len() > len && random.below(4) == 0 {
                    let place = random.below(src.len() - len);
                    src.extend_from_within(place..place + len);
                } else {
                    src.extend((0..len).map(|_| random.below(letters) as u8));
                }
            }
            let variety = different_triples(&src);
            for &(level, filter) in &settings {
                let steps = by_variety(level, filter, src.len());
                assert!(steps.is_sorted_by(|a, b| a.0 < b.0), "level {level} after {filter:?}");
                varieties.insert((level, filter, steps.iter().filter(|(from, _)| *from <= variety).count()));
                let (len, by_library) = lens(level, filter, &src);
                assert!(
                    len <= by_library + by_library / 100,
                    "{len} and {by_library} bytes at level {level} after {filter:?}, variety {variety}"
                );
            }
        }
        let steps = |level, filter| by_variety(level, filter, 2 * SHORT).len();
        let missing = settings.iter().filter(|&&(l, f)| (1..=steps(l, f)).any(|n| !varieties.contains(&(l, f, n))));
        assert_eq!(missing.collect::<Vec<_>>(), Vec::<&(u8, FilterId)>::new(), "steps that no data had");
    }

    fn filtered(levels: std::ops::RangeInclusive<u8>) -> impl Iterator<Item = (u8, FilterId)> {
        levels.flat_map(|level| {
            [FilterId::SHUFFLE, FilterId::BITSHUFFLE, FilterId::BYTEDELTA].map(|filter| (level, filter))
        })
    }

    /// How long a stream of a block that was split is, and how long with the library's own parameters.
    fn lens(level: u8, filter: FilterId, src: &[u8]) -> (usize, usize) {
        let mut ctx = testing::context(level);
        (ctx.filter, ctx.streams) = (filter, 2);
        let mut dst = vec![0; src.len()];
        let by_library = zstd_safe::compress(&mut dst, src, inner_level(level)).expect("half of it shrinks");
        let packed = testing::compress(&mut Zstd::default(), &ctx, src).expect("half of it shrinks");
        let back = testing::decompress(&mut Zstd::default(), &ctx, &packed, src.len());
        assert!(back.is_ok_and(|back| back == src), "level {level} after {filter:?}");
        (packed.len(), by_library)
    }

    #[test]
    fn noise_is_as_small_as_by_the_library() {
        let mut random = testing::Random(5);
        let src: Vec<u8> = (0..60_000).map(|_| random.below(100) as u8).collect();
        assert!(is_noise_of(&src, 1, different_triples(&src)));
        for level in 7..=9 {
            let mut dst = vec![0; src.len()];
            let by_library = zstd_safe::compress(&mut dst, &src, inner_level(level)).expect("bytes have fewer bits");
            let len = testing::compress(&mut Zstd::default(), &testing::context(level), &src).expect("as above").len();
            assert!(len <= by_library + by_library / 200, "{len} and {by_library} bytes at level {level}");
        }
    }

    #[test]
    fn what_went_before_makes_no_difference() {
        let src: Vec<u8> = (0..100_000u32).map(|i| (i.wrapping_mul(i) >> 7) as u8).collect();
        let kinds = [(5, FilterId::NONE), (5, FilterId::BITSHUFFLE), (9, FilterId::BYTEDELTA), (1, FilterId::SHUFFLE)];
        let mut kept = Zstd::default();
        for (level, filter) in kinds.into_iter().cycle().take(9) {
            let mut ctx = testing::context(level);
            ctx.filter = filter;
            let packed = testing::compress(&mut kept, &ctx, &src);
            assert_eq!(packed, testing::compress(&mut Zstd::default(), &ctx, &src), "level {level} after {filter:?}");
            assert_eq!(testing::decompress(&mut kept, &ctx, &packed.unwrap(), src.len()).unwrap(), src);
        }
    }
}
