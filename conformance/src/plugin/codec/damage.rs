//! Streams that no encoder made.

use std::ops::Range;

use oxiblosc_core::codec::{Codec, CodecError};

use super::super::case::Case;
use super::super::input::noise;
use super::super::promise::{Broken, Promise, Verdict, same};
use super::super::shrink::{describe, shrink};
use super::CodecRun;
use super::calls::{Buffers, Stream, decompress, found};
use crate::data::Random;

/// How a damaged stream is decompressed.
pub(super) enum DamagedCall {
    /// To so many bytes.
    Whole(usize),
    /// This range of so many bytes.
    Range(Range<usize>, usize),
}

impl DamagedCall {
    /// Bytes of the stream, decoded.
    fn len(&self) -> usize {
        match self {
            Self::Whole(len) | Self::Range(_, len) => *len,
        }
    }

    /// Bytes of the buffer.
    fn room(&self) -> usize {
        match self {
            Self::Whole(len) => *len,
            Self::Range(range, _) => range.len(),
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Whole(_) => "decompress",
            Self::Range(..) => "decompress_range",
        }
    }

    /// Calls the codec; a range that it does not decode is as good as an error.
    fn apply(&self, codec: &mut dyn Codec, case: &Case, bytes: &[u8], dst: &mut [u8]) -> Result<usize, CodecError> {
        let ctx = case.decoding(self.len());
        match self {
            Self::Whole(_) => codec.decompress(&ctx, bytes, dst),
            Self::Range(range, len) => Ok(codec.decompress_range(&ctx, bytes, range.clone(), *len, dst)?.unwrap_or(0)),
        }
    }
}

impl CodecRun {
    /// Whole streams with another decoded length, and parts of streams with the right one.
    pub(super) fn lengths_and_cuts(&self) {
        for stream in self.streams.iter().chain(&self.long_streams) {
            let Stream { case, bytes, decoded } = stream;
            let len = decoded.len();
            self.session.watch.says(Promise::Length, format!("  input: {}\n  with: {case}", describe(bytes)));
            for wrong in [len - 1, len + 1, len / 2, 2 * len + 100] {
                if wrong > 0 && wrong != len {
                    self.session.verdict(Promise::Length, self.wrong_length(stream, wrong));
                }
            }
            let last = bytes.len().saturating_sub(16);
            let spread = if self.session.settings.thorough { 1 } else { (last / 40).max(1) };
            for cut in (0..last).step_by(spread).chain(last..bytes.len()) {
                self.session.verdict(Promise::Cut, self.cut(stream, cut));
            }
        }
    }

    fn wrong_length(&self, Stream { case, bytes, decoded }: &Stream, len: usize) -> Verdict {
        let result = decompress(self.watch(), &mut *self.instance(), case, bytes, len, Buffers::holding(0x55));
        match result? {
            Err(_) => Ok(()),
            Ok(_) => {
                let detail = format!(
                    "a stream of {} bytes is claimed to decode to {len}\n  input: {}\n  with: {case}",
                    decoded.len(),
                    describe(bytes)
                );
                Err(Broken::new(Promise::Length, detail))
            }
        }
    }

    /// A stream without its end may decode to all bytes if they are right: the end need not hold any.
    fn cut(&self, Stream { case, bytes, decoded }: &Stream, cut: usize) -> Verdict {
        let stream = &bytes[..cut];
        let buffers = Buffers::holding(0x55);
        match decompress(self.watch(), &mut *self.instance(), case, stream, decoded.len(), buffers)? {
            Err(_) => Ok(()),
            Ok(back) => {
                let what = format!(
                    "{cut} of {} bytes are taken for the whole stream\n  input: {}\n  with: {case}\n  what comes back",
                    bytes.len(),
                    describe(stream)
                );
                same(Promise::Cut, decoded, &back, &what)
            }
        }
    }

    /// Damaged streams.
    pub(super) fn damage(&self) {
        let _turn = self.session.watch.turn();
        let mut codec = self.instance();
        let mut random = Random::new(self.session.settings.seed ^ 0xda3a9e);
        let short = self.streams.iter().map(|stream| (stream, false));
        for (stream, is_long) in short.chain(self.long_streams.iter().map(|stream| (stream, true))) {
            let call = DamagedCall::Whole(stream.decoded.len());
            let mut tries = |bytes: &[u8]| self.damaged(&mut codec, &stream.case, bytes, &call);
            if is_long {
                for_some_damage(&stream.bytes, &mut random, self.session.settings.thorough, &mut tries);
            } else {
                for_each_damage(&stream.bytes, &mut random, self.session.settings.thorough, &mut tries);
            }
            // What damage leaves in an instance must not reach the next stream.
            let (bytes, len) = (&stream.bytes, stream.decoded.len());
            let again = self.restore(&mut *codec, &stream.case, bytes, len, Buffers::holding(0));
            let verdict =
                again.and_then(|again| same(Promise::Calls, &stream.decoded, &again, "after damaged streams"));
            self.session.verdict(Promise::Calls, verdict.map_err(|broken| broken.becomes(Promise::Calls)));
        }
        // Noise from the first byte on, for blocks of all shapes.
        let mut cases: Vec<(Case, usize)> = self.session.arrays().collect();
        let typesizes = self.session.main_typesizes();
        cases.extend(typesizes.into_iter().map(|typesize| (Case::new("noise", typesize, 0), 1000)));
        let rounds = if self.session.settings.thorough { 5000 } else { 600 };
        for round in 0..rounds {
            let (case, len) = &cases[round % cases.len()];
            let mut case = self.with_version(Case { name: "noise", ..case.clone() });
            case.meta = if round.is_multiple_of(4) { random.next_u64() as u8 } else { case.meta };
            let stream_len = random.below(if round.is_multiple_of(3) { 12 } else { 300 });
            let mut bytes = noise(&mut random, stream_len);
            if round.is_multiple_of(5) {
                // Small numbers mean more to most formats.
                bytes.iter_mut().for_each(|b| *b &= 0x0f);
            }
            let len = if round.is_multiple_of(7) { 1 + random.below(70_000) } else { *len };
            self.damaged(&mut codec, &case, &bytes, &DamagedCall::Whole(len));
        }
    }

    /// Decompresses something damaged. Errors and other bytes are fine.
    pub(super) fn damaged(&self, codec: &mut Box<dyn Codec>, case: &Case, bytes: &[u8], call: &DamagedCall) {
        if self.session.is_broken(Promise::Damage) && self.session.is_broken(Promise::Memory) {
            return;
        }
        self.session.tried(&[Promise::Damage, Promise::Time, Promise::Memory]);
        let Err(broken) = self.try_damaged(codec, case, bytes, call) else { return };
        *codec = self.instance();
        if self.session.is_broken(broken.promise) {
            return;
        }
        // What an instance has seen before may matter: then the input stays as long as it is.
        let mut again = |bytes: &[u8]| self.try_damaged(&mut self.instance(), case, bytes, call);
        let shrunk = shrink(broken.promise, bytes, false, &mut again);
        let (found, broken) = shrunk.unwrap_or_else(|| (bytes.to_vec(), broken));
        let from =
            if found.len() < bytes.len() { format!(", shrunk from {} bytes", bytes.len()) } else { String::new() };
        let input = describe(&found);
        let detail = format!("{}\n  input: {input}{from}\n  with: {case}, {}", broken.detail, decoded(call));
        self.session.breaks(Broken { detail, ..broken });
    }

    /// The same into buffers that hold something else.
    fn try_damaged(&self, codec: &mut Box<dyn Codec>, case: &Case, bytes: &[u8], call: &DamagedCall) -> Verdict {
        let what = format!("  input: {}\n  with: {case}, {}", describe(bytes), decoded(call));
        self.session.watch.says(Promise::Damage, what);
        self.session.watch.expect_bytes(call.len());
        let mut buffers = [0x00, 0xff].map(|stale| vec![stale; call.room()]);
        let tries = || buffers.each_mut().map(|dst| call.apply(&mut **codec, case, bytes, dst));
        let panicked = |panic| Broken::new(Promise::Damage, format!("{} panicked: {panic}", call.name()));
        let made = self.session.watch.measured(tries)?.map_err(panicked)?;
        let results: Result<Vec<_>, _> =
            made.into_iter().zip(&buffers).map(|(result, dst)| found(result, dst)).collect();
        match &results?[..] {
            [Ok(first), Ok(second)] => {
                same(Promise::Written, first, second, "a damaged stream, into a buffer with other bytes")
            }
            _ => Ok(()),
        }
    }
}

fn decoded(call: &DamagedCall) -> String {
    match call {
        DamagedCall::Whole(len) => format!("{len} bytes decoded"),
        DamagedCall::Range(range, len) => format!("bytes {range:?} of {len} decoded"),
    }
}

/// Calls `tries` with damaged versions of `bytes`: every value of the first bytes and of some others, lost, repeated and
/// foreign parts, and several damages at once.
pub(in super::super) fn for_each_damage(
    bytes: &[u8],
    random: &mut Random,
    thorough: bool,
    tries: &mut dyn FnMut(&[u8]),
) {
    let (exhausted, others) = if thorough { (64, 64) } else { (16, 4) };
    let head = bytes.len().min(exhausted);
    let mut places: Vec<usize> = (0..head).collect();
    places.extend((0..others).map(|_| random.below(bytes.len().max(1))));
    places.extend((bytes.len().saturating_sub(4))..bytes.len());
    let mut damaged = bytes.to_vec();
    for at in places {
        if at >= bytes.len() {
            continue;
        }
        for value in 0..=u8::MAX {
            damaged[at] = value;
            tries(&damaged);
        }
        damaged[at] = bytes[at];
    }
    for at in 0..bytes.len().min(400) {
        for value in [0x00, 0xff, bytes[at].wrapping_add(1)] {
            damaged[at] = value;
            tries(&damaged);
        }
        damaged[at] = bytes[at];
    }
    for at in 0..bytes.len().min(40) {
        // Numbers of two and four bytes.
        for width in [2, 4] {
            let to = bytes.len().min(at + width);
            damaged[at..to].fill(0xff);
            tries(&damaged);
            damaged[at..to].copy_from_slice(&bytes[at..to]);
        }
        tries(&bytes[at..]);
        tries(&[&bytes[..at], &bytes[(at + 1).min(bytes.len())..]].concat());
        tries(&[&bytes[..at], &bytes[at / 2..]].concat());
        tries(&[&bytes[..at], &noise(random, 20)].concat());
    }
    tries(&[bytes, bytes].concat());
    for _ in 0..if thorough { 20_000 } else { 500 } {
        let mut damaged = bytes.to_vec();
        for _ in 0..1 + random.below(6) {
            if let Some(at) = (!damaged.is_empty()).then(|| random.below(damaged.len())) {
                damaged[at] =
                    if random.below(2) == 0 { random.next_u64() as u8 } else { damaged[at] ^ 1 << random.below(8) };
            }
        }
        if random.below(8) == 0 {
            damaged.truncate(random.below(damaged.len() + 1));
        }
        tries(&damaged);
    }
}

/// Calls `tries` with damaged versions of a long stream: values of the first bytes and of bytes all over it, parts that are
/// lost, repeated and foreign.
fn for_some_damage(bytes: &[u8], random: &mut Random, thorough: bool, tries: &mut dyn FnMut(&[u8])) {
    let places = if thorough { 400 } else { 40 };
    let mut damaged = bytes.to_vec();
    for at in (0..bytes.len().min(8)).chain((0..places).map(|_| random.below(bytes.len()))) {
        for value in [0x00, 0xff, bytes[at].wrapping_add(1)] {
            damaged[at] = value;
            tries(&damaged);
        }
        damaged[at] = bytes[at];
    }
    for _ in 0..places / 4 {
        let at = random.below(bytes.len());
        let to = bytes.len().min(at + 4);
        damaged[at..to].fill(0xff);
        tries(&damaged);
        damaged[at..to].copy_from_slice(&bytes[at..to]);
        tries(&bytes[..at]);
        tries(&bytes[at..]);
        tries(&[&bytes[..at], &bytes[at + 1..]].concat());
        tries(&[&bytes[..at], &bytes[at / 2..]].concat());
        let more = 20 + random.below(1000);
        tries(&[&bytes[..at], &noise(random, more)].concat());
    }
}
