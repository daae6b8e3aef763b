//! Valid data of all kinds, lengths and settings.

use oxiblosc_core::FilterId;
use oxiblosc_core::codec::Codec;

use super::super::case::Case;
use super::super::clones::side_by_side;
use super::super::input::{self, Kind};
use super::super::promise::{Broken, Promise, same};
use super::CodecRun;
use super::calls::{Buffers, Stream, compress};

const KEPT: [Promise; 6] =
    [Promise::Accepts, Promise::Claims, Promise::Written, Promise::Calls, Promise::Restores, Promise::Room];

/// Streams that are kept to be cut and damaged are at most this long, and there are at most so many.
const STREAM: usize = 3000;
const DECODED: usize = 5000;
const STREAMS: usize = 4;
/// And so many longer ones.
const LONG_STREAMS: usize = 3;

impl CodecRun {
    /// Streams that somebody else has made.
    pub(super) fn known(&mut self, known: &[(Vec<u8>, Vec<u8>)]) {
        for (bytes, decoded) in known {
            let case = self.with_version(Case::new("a known stream", 1, 0));
            let back = self.restore(&mut *self.instance(), &case, bytes, decoded.len(), Buffers::holding(0x55));
            let verdict = back.and_then(|back| same(Promise::Restores, decoded, &back, "a known stream"));
            self.session.verdict(Promise::Restores, verdict);
            self.streams.push(Stream { case, bytes: bytes.clone(), decoded: decoded.clone() });
        }
    }

    pub(super) fn with_version(&self, mut case: Case) -> Case {
        case.stream.version = self.entry.info().traits.version;
        case
    }

    pub(super) fn ordinary(&mut self, may_never_compress: bool) {
        let mut worn = self.instance();
        let mut smaller = false;
        let mut streams = Vec::new();
        let mut number = 0;
        let rounds = if self.session.settings.thorough { self.levels.len() } else { 1 };
        for round in 0..rounds {
            self.session.main_cases(|case, src| {
                let mut case = self.with_version(case);
                case.stream.level = self.levels[(number + round) % self.levels.len()];
                number += 1;
                self.split(&mut case, number);
                let made = self.deep(&mut worn, &case, &src);
                smaller |= made.as_ref().is_some_and(|stream| stream.bytes.len() < src.len());
                if let Some(stream) = made
                    && (16..STREAM).contains(&stream.bytes.len())
                    && (stream.decoded.len() <= DECODED || self.session.is_array())
                    && streams.len() < STREAMS
                    && streams.iter().all(|known: &Stream| known.case.name != stream.case.name)
                {
                    streams.push(stream);
                }
            });
        }
        self.session.wide_cases(|case, src| {
            let mut case = self.with_version(case);
            number += 1;
            self.split(&mut case, number);
            self.deep(&mut worn, &case, &src);
        });
        // The lowest level is the quickest, and one long input is for the highest.
        let (low, high) = (self.levels.iter().min().copied(), self.levels.iter().max().copied());
        let mut first = true;
        self.session.large_cases(|case, src| {
            let mut case = self.with_version(case);
            case.stream.level = if std::mem::take(&mut first) { high.unwrap_or(9) } else { low.unwrap_or(1) };
            if !self.once(&case, &src) {
                // What nearly every codec compresses.
                let (runs, src) = self.session.case(Kind::Runs, src.len(), case.typesize, case.meta);
                let stream = case.stream.clone();
                self.once(&Case { stream, ..runs }, &src);
            }
        });
        // Such streams are the shortest that there are.
        for len in [1usize, 2, 8, 40] {
            if self.session.is_array() {
                break;
            }
            let typesize = self.session.main_typesizes()[0];
            let (case, src) = self.session.case(Kind::Constant, len, typesize, self.session.settings.metas[0]);
            if let Some(stream) = self.deep(&mut worn, &self.with_version(case), &src) {
                streams.push(stream);
            }
        }
        self.streams.extend(streams);
        self.session.tried(&[Promise::Compresses]);
        if !smaller && !may_never_compress {
            let detail = "no stream of any kind or length got smaller, so that nothing was checked; \
                          if that is as it should be, say `may_never_compress`";
            self.session.breaks(Broken::new(Promise::Compresses, detail));
        }
    }

    /// The levels that are not checked in depth.
    pub(super) fn other_levels(&self) {
        for level in (1..=9).filter(|level| !self.levels.contains(level)) {
            let mut each = |case: Case, src: Vec<u8>| {
                let mut case = self.with_version(case);
                case.stream.level = level;
                self.once(&case, &src);
            };
            self.session.sample_cases(&mut each);
            if !self.session.is_array() {
                let (typesizes, meta) = (self.session.main_typesizes(), self.session.settings.metas[0]);
                let long = [(Kind::Text, 5000), (Kind::Mixed, 65_536), (Kind::Runs, 100_003), (Kind::Floats, 20_000)];
                for (i, (kind, len)) in long.into_iter().enumerate() {
                    let typesize = typesizes[(usize::from(level) + i) % typesizes.len()];
                    let (case, src) = self.session.case(kind, len, typesize, meta);
                    each(case, src);
                }
            }
        }
    }

    /// Streams that are longer than those that are damaged everywhere, if the codec makes such.
    pub(super) fn make_long_streams(&mut self) {
        if self.session.is_array() {
            return;
        }
        let typesizes = self.session.main_typesizes();
        let inputs = [
            (Kind::Mixed, 30_000),
            (Kind::Runs, 300_000),
            (Kind::Text, 60_000),
            (Kind::Floats, 60_000),
            (Kind::Mixed, 300_000),
        ];
        for (i, (kind, len)) in inputs.into_iter().enumerate() {
            let meta = self.session.settings.metas[i % self.session.settings.metas.len()];
            let (case, src) = self.session.case(kind, len, typesizes[i % typesizes.len()], meta);
            let case = self.with_version(case);
            self.says(Promise::Restores, &case, src.len());
            // What goes wrong here has been found with other inputs of these kinds.
            let Ok(Some(bytes)) = self.quick_trip(&case, &src) else { continue };
            let back = self.restore(&mut *self.instance(), &case, &bytes, src.len(), Buffers::holding(0));
            if let Ok(decoded) = back
                && bytes.len() >= STREAM
                && self.long_streams.len() < LONG_STREAMS
            {
                self.long_streams.push(Stream { case, bytes, decoded });
            }
        }
    }

    /// Every other case is a stream of a split block.
    fn split(&self, case: &mut Case, number: usize) {
        if number.is_multiple_of(2) && !self.session.is_array() {
            case.stream.count = case.typesize;
            case.stream.number = number / 2 % case.typesize;
            case.stream.filter = [FilterId::SHUFFLE, FilterId::BITSHUFFLE][number / 2 % 2];
        }
    }

    /// Compares instances, buffers and rooms.
    fn deep(&self, worn: &mut Box<dyn Codec>, case: &Case, src: &[u8]) -> Option<Stream> {
        self.says(Promise::Restores, case, src.len());
        let result = self.round_trip(&mut **worn, case, src).and_then(|made| {
            self.rooms(case, src)?;
            Ok(made)
        });
        let (made, verdict) = match result {
            Ok(made) => (made, Ok(())),
            Err(broken) => {
                // Whatever state it is in now.
                *worn = self.instance();
                (None, Err(broken))
            }
        };
        let mut used = None;
        self.session.settle(&KEPT, case, src, verdict, &mut |src| {
            // An instance that has seen another input, as the one had that failed.
            let used = used.get_or_insert_with(|| self.instance());
            self.round_trip(&mut **used, case, src).and_then(|_| self.rooms(case, src))
        });
        if self.lossy() {
            self.session.tried(&[Promise::Tolerance]);
        }
        made.map(|(bytes, decoded)| Stream { case: case.clone(), bytes, decoded })
    }

    /// Compresses into less room than the data takes.
    fn rooms(&self, case: &Case, src: &[u8]) -> Result<(), Broken> {
        if src.len() > 5000 {
            return Ok(());
        }
        for room in [0, 1, 2, src.len() / 4, src.len() / 2] {
            let described = |broken: Broken| match broken.promise {
                Promise::Claims => broken,
                _ => {
                    let detail = format!("with room for {room} bytes: {}", broken.detail);
                    Broken::new(Promise::Room, detail)
                }
            };
            let made = compress(self.watch(), &mut *self.instance(), case, src, room, Buffers::holding(0xff));
            if let Some(packed) = made.map_err(described)? {
                let back = self.restore(&mut *self.instance(), case, &packed, src.len(), Buffers::holding(0));
                back.and_then(|back| self.compare(case, src, &back)).map_err(described)?;
            }
        }
        Ok(())
    }

    /// Without comparing instances. `false` if nothing came of it, because the codec did not make a stream.
    fn once(&self, case: &Case, src: &[u8]) -> bool {
        self.says(Promise::Restores, case, src.len());
        let result = self.quick_trip(case, src);
        let made = !matches!(result, Ok(None));
        self.session
            .settle(&KEPT[..5], case, src, result.map(|_| ()), &mut |src| self.quick_trip(case, src).map(|_| ()));
        made
    }

    fn says(&self, promise: Promise, case: &Case, len: usize) {
        self.session.watch.says(promise, format!("  input: {len} bytes of {}\n  with: {case}", case.name));
    }

    /// Slices at every address.
    pub(super) fn alignment(&self) {
        let mut cases = Vec::new();
        self.session.sample_cases(|case, src| cases.push((self.with_version(case), src)));
        let cases = cases.iter().take(4);
        for (case, src) in cases {
            let (mut encoder, mut decoder) = (self.instance(), self.instance());
            for (src_offset, dst_offset) in input::alignments() {
                let buffers = Buffers { stale: 0, src_offset, dst_offset };
                let mut again = |src: &[u8]| {
                    let plain = self.quick_trip(case, src);
                    let Ok(Some(plain)) = plain else { return Ok(()) };
                    let becomes = |broken: Broken| broken.becomes(Promise::Alignment);
                    let moved =
                        compress(self.watch(), &mut *encoder, case, src, src.len(), buffers).map_err(becomes)?;
                    let at = format!("source {src_offset} and destination {dst_offset} bytes after a multiple of 64");
                    let moved = moved.unwrap_or_default();
                    same(Promise::Alignment, &plain, &moved, &format!("compress, {at}"))?;
                    let back = self.restore(&mut *decoder, case, &plain, src.len(), buffers).map_err(becomes)?;
                    let plain = self.restore(&mut *self.instance(), case, &plain, src.len(), Buffers::holding(0))?;
                    same(Promise::Alignment, &plain, &back, &format!("decompress, {at}"))
                };
                let verdict = again(src);
                let failed = verdict.is_err();
                self.session.settle(&[Promise::Alignment], case, src, verdict, &mut again);
                if failed {
                    return;
                }
            }
        }
    }

    /// Clones on several threads, each with another input.
    pub(super) fn clones(&self) {
        let mut inputs = Vec::new();
        let mut expected = Vec::new();
        self.session.sample_cases(|case, src| {
            let case = self.with_version(case);
            if let Ok(Some(packed)) = self.quick_trip(&case, &src)
                && let Ok(back) = self.restore(&mut *self.instance(), &case, &packed, src.len(), Buffers::holding(0))
            {
                expected.push([packed, back].concat());
                inputs.push((case, src));
            }
        });
        if inputs.len() < 2 {
            return self.session.note("clones were not tried: the codec compresses nothing that is for them".into());
        }
        let prototype = self.instance();
        self.session.watch.says(Promise::Clones, "clones on several threads".into());
        let verdict = side_by_side(
            self.watch(),
            &expected,
            || prototype.clone(),
            |codec, i| {
                let (case, src) = &inputs[i];
                let mut packed = vec![0; src.len()];
                let n = codec.compress(&case.encoding(src.len()), src, &mut packed).map_err(|e| e.to_string())?;
                packed.truncate(n.unwrap_or(0));
                let mut back = vec![0; src.len()];
                codec.decompress(&case.decoding(src.len()), &packed, &mut back).map_err(|e| e.to_string())?;
                Ok([packed, back].concat())
            },
        );
        self.session.verdict(Promise::Clones, verdict);
    }
}
