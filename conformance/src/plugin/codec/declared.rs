//! What a codec declares, and what its author says of it.

use oxiblosc_core::codec::CodecError;

use super::super::case::Case;
use super::super::input::Kind;
use super::super::promise::{Broken, Promise, Verdict, same};
use super::super::session::Session;
use super::CodecRun;
use super::calls::{Buffers, compress};

impl CodecRun {
    fn samples(&self) -> Vec<(Case, Vec<u8>)> {
        let mut cases = Vec::new();
        self.session.sample_cases(|case, src| cases.push((self.with_version(case), src)));
        cases
    }

    fn pack(&self, case: &Case, src: &[u8]) -> Result<Vec<u8>, Broken> {
        let packed = compress(self.watch(), &mut *self.instance(), case, src, src.len(), Buffers::holding(0))?;
        Ok(packed.unwrap_or_default())
    }

    /// The place of a block, and of a stream in it. A positional codec has to restore the data all the same.
    pub(super) fn position(&self) {
        let positional = self.entry.info().traits.positional;
        for (case, src) in self.samples() {
            for (place, (block, offset)) in Session::PLACES.into_iter().enumerate() {
                let mut here = Case { block, offset, ..case.clone() };
                let mut base = case.clone();
                if !self.session.is_array() {
                    for (case, number) in [(&mut base, 0), (&mut here, place % 4)] {
                        (case.stream.number, case.stream.count) = (number, 4);
                    }
                }
                let again = |src: &[u8]| -> Verdict {
                    if positional {
                        return self.quick_trip(&here, src).map(|_| ());
                    }
                    let Ok(plain) = self.pack(&base, src) else { return Ok(()) };
                    let becomes = |broken: Broken| broken.becomes(Promise::Position);
                    let packed = self.pack(&here, src).map_err(becomes)?;
                    same(Promise::Position, &plain, &packed, "compress, as for the first block and stream")?;
                    if plain.is_empty() {
                        return Ok(());
                    }
                    let len = src.len();
                    let restore = |case| self.restore(&mut *self.instance(), case, &plain, len, Buffers::holding(0));
                    let Ok(expected) = restore(&base) else { return Ok(()) };
                    let back = restore(&here).map_err(becomes)?;
                    same(Promise::Position, &expected, &back, "decompress, as for the first block and stream")
                };
                self.session.settle(&[Promise::Position], &here, &src, again(&src), &mut { again });
            }
        }
    }

    /// A codec that declares `needs_array` uses the shape.
    pub(super) fn array(&self) {
        let needs_array = self.entry.info().traits.needs_array;
        if !self.session.is_array() {
            // Without a shape all of the cases before have passed, or have been reported.
            return self.session.tried(&[Promise::Array]);
        }
        let mut same = true;
        let mut error = None;
        for (case, src) in self.samples() {
            let with = self.quick_trip(&case, &src);
            let without = self.quick_trip(&Case { geometry: None, ..case }, &src);
            same &= with.is_err() || matches!((&with, &without), (Ok(a), Ok(b)) if a == b);
            error = error.or(without.err());
        }
        let verdict = match (needs_array, same, error) {
            (true, true, _) => Err("declared, but without an array the streams are the same".to_owned()),
            (false, _, Some(broken)) => Err(format!("not declared, but without an array {}", broken.detail)),
            _ => Ok(()),
        };
        self.session.verdict(Promise::Array, verdict.map_err(|what| Broken::new(Promise::Array, what)));
    }

    /// The meta bytes that the author lists make a difference, and the others work or are refused.
    pub(super) fn metas(&self) {
        let settings = &self.session.settings;
        let samples = self.samples();
        if settings.metas.len() > 1 && !settings.ignores_meta {
            let differs = samples.iter().any(|(case, src)| {
                let mut made = settings.metas.iter().map(|&meta| self.pack(&Case { meta, ..case.clone() }, src).ok());
                let first = made.next();
                made.any(|other| Some(other) != first)
            });
            let detail = "all meta bytes give the same streams; if that is as it should be, say `ignores_meta`";
            self.session
                .verdict(Promise::Metas, if differs { Ok(()) } else { Err(Broken::new(Promise::Metas, detail)) });
        }
        let count = if settings.thorough { samples.len() } else { 3 };
        for (case, src) in samples.iter().take(count) {
            for meta in 0..=u8::MAX {
                let case = Case { meta, ..case.clone() };
                let again = |src: &[u8]| -> Verdict {
                    let mut dst = vec![0; src.len()];
                    let mut codec = self.instance();
                    let made = self.watch().call(|| codec.compress(&case.encoding(src.len()), src, &mut dst));
                    match made {
                        Err(panic) => Err(Broken::new(Promise::EveryMeta, format!("compress panicked: {panic}"))),
                        Ok(Err(_) | Ok(None)) => Ok(()),
                        Ok(Ok(Some(n))) if (1..=dst.len()).contains(&n) => {
                            let (len, stale) = (src.len(), Buffers::holding(0x55));
                            let becomes = |broken: Broken| broken.becomes(Promise::EveryMeta);
                            let back = self.restore(&mut *codec, &case, &dst[..n], len, stale).map_err(becomes)?;
                            if self.lossy() { Ok(()) } else { same(Promise::EveryMeta, src, &back, "what comes back") }
                        }
                        Ok(Ok(Some(n))) => Err(Broken::new(Promise::EveryMeta, format!("compress claims {n} bytes"))),
                    }
                };
                self.session.watch.says(Promise::EveryMeta, format!("  with: {case}"));
                self.session.settle(&[Promise::EveryMeta], &case, src, again(src), &mut { again });
            }
        }
    }

    /// A lossy codec keeps something: two blocks of noise do not become one.
    pub(super) fn loss(&self) {
        if !self.lossy() {
            return;
        }
        for (case, src) in self.samples() {
            let other = Kind::Noise.fill(src.len(), case.typesize, self.session.settings.seed ^ 0xd1ff);
            let restored = [&src[..], &other].map(|src| {
                let packed = self.pack(&case, src).ok().filter(|packed| !packed.is_empty())?;
                self.restore(&mut *self.instance(), &case, &packed, src.len(), Buffers::holding(0)).ok()
            });
            let total = matches!(restored, [Some(ref a), Some(ref b)] if a == b);
            let detail =
                format!("{} bytes of {} and of noise come back as the same\n  with: {case}", src.len(), case.name);
            self.session.verdict(Promise::Loss, if total { Err(Broken::new(Promise::Loss, detail)) } else { Ok(()) });
        }
    }

    /// A codec that only reads.
    pub(super) fn decode_only(&self) {
        let (case, src) = self.session.case(Kind::Text, 1000, 4, self.session.settings.metas[0]);
        let mut dst = vec![0; src.len()];
        let mut codec = self.instance();
        let result = self.watch().call(|| codec.compress(&case.encoding(src.len()), &src, &mut dst));
        let verdict = match result {
            Ok(Err(CodecError::DecodeOnly)) => Ok(()),
            Ok(Err(error)) => Err(format!("compress fails with another error than `DecodeOnly`: {error}")),
            Ok(Ok(_)) => Err("compress works".to_owned()),
            Err(panic) => Err(format!("compress panicked: {panic}")),
        };
        self.session.verdict(Promise::DecodeOnly, verdict.map_err(|what| Broken::new(Promise::DecodeOnly, what)));
        if self.streams.is_empty() {
            self.session.note("there are no streams to decode: pass some to `known`".into());
        }
    }
}
