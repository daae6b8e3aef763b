//! Decoding a part of a stream.

use std::ops::Range;

use oxiblosc_core::codec::Codec;

use super::super::case::Case;
use super::super::promise::{Broken, Promise, Verdict};
use super::super::shrink::describe;
use super::CodecRun;
use super::calls::Stream;
use super::damage::{DamagedCall, for_each_damage};
use crate::data::Random;

/// Ranges that are tried where none are declared.
const FEW: usize = 8;

/// What was found out about a codec.
#[derive(Default)]
struct Seen {
    tried: usize,
    decoded: usize,
}

impl CodecRun {
    /// Ranges of whole, cut and damaged streams.
    pub(super) fn ranges(&self) {
        let traits = self.entry.info().traits;
        let mut seen = Seen::default();
        let mut streams = self.streams.clone();
        self.session.sample_cases(|case, src| streams.extend(self.stream(self.with_version(case), src)));
        let mut random = Random::new(self.session.settings.seed ^ 0x7a9e5);
        for stream in &streams {
            let len = stream.decoded.len();
            let what = format!("  input: {}\n  with: {}", describe(&stream.bytes), stream.case);
            self.session.watch.says(Promise::Ranges, what);
            let mut used = self.instance();
            // A codec that does not declare ranges has to decode none of them, and a few show that.
            let count = if traits.ranges || traits.prefixes { usize::MAX } else { FEW };
            for range in ranges(len, &mut random, self.session.settings.thorough).into_iter().take(count) {
                let verdict = self.range(&mut used, stream, &range, &mut seen);
                if verdict.is_err() {
                    used = self.instance();
                }
                self.session.verdict(Promise::Ranges, verdict);
            }
            self.session.verdict(Promise::Calls, self.whole_after_ranges(&mut *used, stream));
        }
        if !traits.ranges && !traits.prefixes {
            return;
        }
        if seen.tried > 0 && seen.decoded == 0 {
            let detail = "declared, but no range of any stream was decoded: `decompress_range` always returns `None`";
            self.session.breaks(Broken::new(Promise::Ranges, detail));
        }
        if seen.decoded > 0 {
            self.damaged_ranges(&mut random);
        }
    }

    /// Whether the codec says that it decodes this range.
    fn declares(&self, range: &Range<usize>) -> bool {
        let traits = self.entry.info().traits;
        traits.ranges || traits.prefixes && range.start == 0
    }

    fn stream(&self, case: Case, src: Vec<u8>) -> Option<Stream> {
        if !self.entry.info().traits.encode {
            return None;
        }
        let bytes = self.quick_trip(&case, &src).ok()??;
        let back = self.restore(&mut *self.instance(), &case, &bytes, src.len(), super::calls::Buffers::holding(0));
        Some(Stream { case, bytes, decoded: back.ok()? })
    }

    /// One range of a stream that the codec made, into buffers that hold something else.
    fn range(&self, used: &mut Box<dyn Codec>, stream: &Stream, range: &Range<usize>, seen: &mut Seen) -> Verdict {
        let Stream { case, bytes, decoded } = stream;
        let broken = |detail: String| {
            let input = describe(bytes);
            let detail = format!("range {range:?} of {}: {detail}\n  input: {input}\n  with: {case}", decoded.len());
            Err(Broken::new(Promise::Ranges, detail))
        };
        self.watch().expect_bytes(decoded.len());
        let expected = &decoded[range.clone()];
        for (stale, fresh) in [(0x00, false), (0xff, true), (0x55, false)] {
            let mut new = fresh.then(|| self.instance());
            let codec = new.as_mut().unwrap_or(used);
            let mut dst = vec![stale; range.len()];
            let ctx = case.decoding(decoded.len());
            let call = || codec.decompress_range(&ctx, bytes, range.clone(), decoded.len(), &mut dst);
            let made = match self.watch().call(call) {
                Err(panic) => return broken(format!("decompress_range panicked: {panic}")),
                Ok(Err(error)) => return broken(format!("decompress_range failed: {error}")),
                Ok(Ok(made)) => made,
            };
            seen.tried += 1;
            let Some(found) = made else { continue };
            if !self.declares(range) {
                return broken("not declared, but decompress_range decodes it".into());
            }
            if found != range.len() {
                return broken(format!("decompress_range claims {found} bytes, expected {}", range.len()));
            }
            if let Some(at) = (0..dst.len()).find(|&at| dst[at] != expected[at]) {
                let detail = format!("byte {at} of it is {:#04x}, expected {:#04x}", dst[at], expected[at]);
                return broken(detail);
            }
            seen.decoded += usize::from(!range.is_empty());
        }
        Ok(())
    }

    /// What ranges leave in an instance must not reach the next stream.
    fn whole_after_ranges(&self, used: &mut dyn Codec, Stream { case, bytes, decoded }: &Stream) -> Verdict {
        let back = self.restore(used, case, bytes, decoded.len(), super::calls::Buffers::holding(0x55));
        let becomes = |broken: Broken| broken.becomes(Promise::Calls);
        super::super::promise::same(Promise::Calls, decoded, &back.map_err(becomes)?, "decompress, after ranges")
    }

    /// Cut and damaged streams. A part that is not there must not be made up; otherwise errors and other bytes are fine.
    fn damaged_ranges(&self, random: &mut Random) {
        let _turn = self.session.watch.turn();
        let mut codec = self.instance();
        for stream in self.streams.iter().filter(|stream| stream.decoded.len() > 2) {
            let Stream { case, bytes, decoded } = stream;
            let len = decoded.len();
            let mut some = vec![0..1, 0..len / 2 + 1, len / 3..len / 2 + 1, len - 1..len];
            some.retain(|range| self.declares(range));
            for cut in (0..bytes.len()).step_by((bytes.len() / 40).max(1)) {
                for range in &some {
                    self.session.verdict(Promise::Cut, self.cut_range(stream, cut, range));
                }
            }
            let mut turn = 0;
            for_each_damage(bytes, random, false, &mut |bytes| {
                turn += 1;
                // The length comes from the file, too.
                let len = if turn % 5 == 0 { len * 2 + turn % 70_000 } else { len };
                let last = if self.declares(&(1..2)) { len - 2..len } else { 0..len - 1 };
                let range = if turn % 5 == 0 { last } else { some[turn % some.len()].clone() };
                self.damaged(&mut codec, case, bytes, &DamagedCall::Range(range, len));
            });
        }
    }

    fn cut_range(&self, Stream { case, bytes, decoded }: &Stream, cut: usize, range: &Range<usize>) -> Verdict {
        let mut dst = vec![0x55; range.len()];
        let ctx = case.decoding(decoded.len());
        let mut codec = self.instance();
        let call = || codec.decompress_range(&ctx, &bytes[..cut], range.clone(), decoded.len(), &mut dst);
        let what = |detail: String| {
            let input = describe(&bytes[..cut]);
            format!("range {range:?} of {cut} of {} bytes: {detail}\n  input: {input}\n  with: {case}", bytes.len())
        };
        match self.watch().call(call) {
            Err(panic) => Err(Broken::new(Promise::Damage, what(format!("decompress_range panicked: {panic}")))),
            Ok(Err(_) | Ok(None)) => Ok(()),
            Ok(Ok(Some(found))) if found != dst.len() => {
                Err(Broken::new(Promise::Claims, what(format!("decompress_range claims {found} bytes"))))
            }
            Ok(Ok(Some(_))) if dst == decoded[range.clone()] => Ok(()),
            Ok(Ok(Some(_))) => Err(Broken::new(Promise::Cut, what("other bytes come back, and no error".into()))),
        }
    }
}

/// Ranges of a stream of `len` bytes: nothing, both ends, all but a byte, across the places where formats have boundaries,
/// and some by chance. Readers ask neither for nothing nor for all of it, but a caller may.
fn ranges(len: usize, random: &mut Random, thorough: bool) -> Vec<Range<usize>> {
    let mut ranges = vec![0..0, len / 2..len / 2, len..len, 0..1, len - 1..len, 0..len - 1, 1..len, 0..len];
    for at in [2, 4, 8, 16, 64, 255, 256, 1024, 4096, 65_536, len / 2, len * 2 / 3] {
        ranges.extend([at.saturating_sub(1)..at + 1, at..at + 1, at..at + 40, at / 2..at + 300]);
    }
    for _ in 0..if thorough { 400 } else { 12 } {
        let start = random.below(len);
        ranges.push(start..start + 1 + random.below(len - start));
    }
    ranges.retain(|range| range.end <= len);
    ranges
}
