//! What a filter declares, and what its author says of it.

use std::sync::Arc;

use super::super::case::Case;
use super::super::input::Kind;
use super::super::promise::{Broken, Promise, Verdict, same};
use super::super::session::Session;
use super::FilterRun;
use super::calls::Direction;

impl FilterRun {
    /// Compares what becomes of a block in two cases, both ways.
    fn as_in(&self, promise: Promise, base: &Case, here: &Case, src: &[u8]) -> Verdict {
        let Ok((stored, restored)) = self.quick_trip(base, src) else { return Ok(()) };
        for (direction, input, expected) in
            [(Direction::Forward, src, &stored), (Direction::Backward, &stored, &restored)]
        {
            let found = self.fresh(direction, here, input).map_err(|broken| broken.becomes(promise))?;
            same(promise, expected, &found, &format!("{}, with: {here}\n  compared with: {base}", direction.name()))?;
        }
        Ok(())
    }

    /// The place of a block. A positional filter has to restore the data all the same.
    pub(super) fn position(&self) {
        let positional = self.entry.info().traits.positional;
        for (case, src) in self.samples() {
            // With a reference it is a later block; the first one may be another matter.
            for (block, offset) in Session::PLACES {
                let here = Case { block, offset, ..case.clone() };
                let again = |src: &[u8]| {
                    if positional {
                        self.quick_trip(&here, src).map(|_| ())
                    } else {
                        self.as_in(Promise::Position, &case, &here, src)
                    }
                };
                self.session.settle(&[Promise::Position], &here, &src, again(&src), &mut { again });
            }
        }
    }

    /// The reference is used exactly if that is declared.
    pub(super) fn reference(&self) {
        let declared = self.entry.info().traits.needs_reference;
        let mut used = false;
        for (case, src) in self.samples() {
            let with = |kind: Kind| {
                let reference: Arc<[u8]> = kind.fill(src.len() + 5, case.typesize, 77).into();
                Case { block: 2, offset: Some(2 * src.len()), reference: Some(reference), ..case.clone() }
            };
            if declared {
                let stored =
                    [Kind::Noise, Kind::Text].map(|kind| self.fresh(Direction::Forward, &with(kind), &src).ok());
                used |= stored[0] != stored[1];
                // The first block has none.
                let first = Case { block: 0, offset: Some(0), reference: None, ..case.clone() };
                let again = |src: &[u8]| self.quick_trip(&first, src).map(|_| ());
                self.session.settle(&[Promise::Reference], &first, &src, again(&src), &mut { again });
            } else {
                let here = with(Kind::Noise);
                let base = Case { reference: None, ..here.clone() };
                let again = |src: &[u8]| self.as_in(Promise::Reference, &base, &here, src);
                self.session.settle(&[Promise::Reference], &here, &src, again(&src), &mut { again });
            }
        }
        if declared && !used {
            let detail = "declared, but another reference makes no difference";
            self.session.breaks(Broken::new(Promise::Reference, detail));
        }
    }

    /// A filter that declares `needs_array` uses the shape, and one that does not works without it.
    pub(super) fn array(&self) {
        let needs_array = self.entry.info().traits.needs_array;
        if !self.session.is_array() {
            // Without a shape all of the cases before have passed, or have been reported.
            return self.session.tried(&[Promise::Array]);
        }
        let (mut alike, mut error) = (true, None);
        for (case, src) in self.samples() {
            let with = self.fresh(Direction::Forward, &case, &src);
            let without = self.fresh(Direction::Forward, &Case { geometry: None, ..case }, &src);
            alike &= with.is_err() || matches!((&with, &without), (Ok(a), Ok(b)) if a == b);
            error = error.or(without.err());
        }
        let verdict = match (needs_array, alike, error) {
            (true, true, _) => Err("declared, but without an array the result is the same".to_owned()),
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
                let forward = |&meta: &u8| self.fresh(Direction::Forward, &Case { meta, ..case.clone() }, src).ok();
                let mut made = settings.metas.iter().map(forward);
                let first = made.next();
                made.any(|other| Some(other) != first)
            });
            let detail = "all meta bytes give the same result; if that is as it should be, say `ignores_meta`";
            self.session
                .verdict(Promise::Metas, if differs { Ok(()) } else { Err(Broken::new(Promise::Metas, detail)) });
        }
        let lossy = self.entry.info().traits.lossy;
        let count = if settings.thorough { samples.len() } else { 3 };
        for (case, src) in samples.iter().take(count) {
            for meta in 0..=u8::MAX {
                let case = Case { meta, ..case.clone() };
                let again = |src: &[u8]| -> Verdict {
                    let mut stored = vec![0; src.len()];
                    let mut filter = self.instance();
                    match self.watch().call(|| Direction::Forward.apply(&mut *filter, &case, src, &mut stored)) {
                        Err(panic) => Err(Broken::new(Promise::EveryMeta, format!("forward panicked: {panic}"))),
                        Ok(Err(_)) => Ok(()),
                        Ok(Ok(())) => {
                            let becomes = |broken: Broken| broken.becomes(Promise::EveryMeta);
                            let back = self.fresh(Direction::Backward, &case, &stored).map_err(becomes)?;
                            if lossy { Ok(()) } else { same(Promise::EveryMeta, src, &back, "what comes back") }
                        }
                    }
                };
                self.says(Promise::EveryMeta, &case, src.len());
                self.session.settle(&[Promise::EveryMeta], &case, src, again(src), &mut { again });
            }
        }
    }

    /// A lossy filter keeps something: two blocks do not become one.
    pub(super) fn loss(&self) {
        if !self.entry.info().traits.lossy {
            return;
        }
        for (case, src) in self.samples() {
            let other = Kind::Noise.fill(src.len(), case.typesize, self.session.settings.seed ^ 0xd1ff);
            let restored = [&src[..], &other].map(|src| self.quick_trip(&case, src).ok());
            let total = matches!(&restored, [Some((_, a)), Some((_, b))] if a == b);
            let detail =
                format!("{} bytes of {} and of noise come back as the same\n  with: {case}", src.len(), case.name);
            self.session.verdict(Promise::Loss, if total { Err(Broken::new(Promise::Loss, detail)) } else { Ok(()) });
        }
    }

    /// Blocks of different lengths, with nothing in them.
    fn lengths(&self) -> Vec<(Case, usize)> {
        let mut cases: Vec<(Case, usize)> = self.session.arrays().collect();
        if !cases.is_empty() {
            return cases;
        }
        for &meta in &self.session.settings.metas {
            for typesize in self.session.main_typesizes() {
                for len in [1, typesize, 8 * typesize, 37 * typesize + 1, 5000, 70_003] {
                    cases.push((Case::new("zeros", typesize, meta), len));
                }
            }
        }
        cases
    }

    /// Zeros come of zeros, also where the reference is zeros, as it is then.
    pub(super) fn zeros(&self) {
        if !self.entry.info().traits.keeps_zeros {
            return;
        }
        for (case, len) in self.lengths() {
            let zeros = vec![0; len];
            let mut cases = vec![case.clone()];
            if self.entry.info().traits.needs_reference {
                let reference: Arc<[u8]> = zeros.clone().into();
                cases.push(Case { block: 1, offset: Some(len), reference: Some(reference), ..case });
            }
            for case in cases {
                let back = self.fresh(Direction::Backward, &case, &zeros);
                let verdict = back.and_then(|back| same(Promise::Zeros, &zeros, &back, "backward of zeros"));
                let described = |b: Broken| {
                    let detail = format!("{}\n  input: {len} zeros\n  with: {case}", b.detail);
                    Broken::new(Promise::Zeros, detail)
                };
                self.session.verdict(Promise::Zeros, verdict.map_err(described));
            }
        }
    }

    /// `backward` copies, whatever it gets.
    pub(super) fn forward_only(&self) {
        if !self.entry.info().traits.forward_only {
            return;
        }
        for (mut case, len) in self.lengths() {
            for kind in [Kind::Noise, Kind::Floats] {
                case.name = kind.name();
                let src = kind.fill(len, case.typesize, self.session.settings.seed);
                let again = |src: &[u8]| {
                    let back = self.fresh(Direction::Backward, &case, src);
                    let back = back.map_err(|broken| broken.becomes(Promise::ForwardOnly))?;
                    same(Promise::ForwardOnly, src, &back, "backward")
                };
                self.session.settle(&[Promise::ForwardOnly], &case, &src, again(&src), &mut { again });
            }
        }
    }
}
