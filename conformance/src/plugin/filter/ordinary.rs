//! Valid blocks of all kinds, lengths and settings.

use oxiblosc_core::filter::Filter;

use super::super::case::Case;
use super::super::clones::side_by_side;
use super::super::input;
use super::super::promise::{Broken, Promise, Verdict, same};
use super::FilterRun;
use super::calls::{Buffers, Direction, apply};

const KEPT: [Promise; 4] = [Promise::Accepts, Promise::Written, Promise::Calls, Promise::Restores];
const KEPT_LOSSY: [Promise; 5] =
    [Promise::Accepts, Promise::Written, Promise::Calls, Promise::Tolerance, Promise::Loss];

impl FilterRun {
    fn kept(&self) -> &'static [Promise] {
        if self.entry.info().traits.lossy { &KEPT_LOSSY } else { &KEPT }
    }

    pub(super) fn ordinary(&self) {
        let mut worn = self.instance();
        let mut number = 0;
        let mut deep = |case: Case, src: Vec<u8>| {
            let case = self.with_reference(case, src.len(), number);
            number += 1;
            self.deep(&mut worn, &case, &src);
        };
        self.session.main_cases(&mut deep);
        self.session.wide_cases(&mut deep);
        self.session.large_cases(|case, src| {
            number += 1;
            let case = self.with_reference(case, src.len(), number);
            self.says(Promise::Restores, &case, src.len());
            let again = |src: &[u8]| self.quick_trip(&case, src).map(|_| ());
            self.session.settle(self.kept(), &case, &src, again(&src), &mut { again });
        });
    }

    pub(super) fn says(&self, promise: Promise, case: &Case, len: usize) {
        self.session.watch.says(promise, format!("  input: {len} bytes of {}\n  with: {case}", case.name));
    }

    fn deep(&self, worn: &mut Box<dyn Filter>, case: &Case, src: &[u8]) {
        self.says(Promise::Restores, case, src.len());
        let verdict = self.round_trip(&mut **worn, case, src);
        if verdict.is_err() {
            // Whatever state it is in now.
            *worn = self.instance();
        }
        let mut used = None;
        self.session.settle(self.kept(), case, src, self.allow_unknown(case, verdict), &mut |src| {
            let used = used.get_or_insert_with(|| self.instance());
            self.round_trip(&mut **used, case, src)
        });
    }

    /// A filter may refuse items of which it does not know the size.
    fn allow_unknown(&self, case: &Case, verdict: Verdict) -> Verdict {
        match verdict {
            Err(broken) if broken.promise == Promise::Accepts && case.item_size.is_none() => {
                if broken.detail.contains("panicked") { Err(broken) } else { Ok(()) }
            }
            verdict => verdict,
        }
    }

    pub(super) fn samples(&self) -> Vec<(Case, Vec<u8>)> {
        let mut cases = Vec::new();
        self.session.sample_cases(|case, src| {
            let case = self.with_reference(case, src.len(), cases.len() + 1);
            cases.push((case, src));
        });
        cases
    }

    /// Slices at every address.
    pub(super) fn alignment(&self) {
        for (case, src) in self.samples().iter().take(6) {
            let mut filter = self.instance();
            for (src_offset, dst_offset) in input::alignments() {
                let buffers = Buffers { stale: 0, src_offset, dst_offset };
                let mut again = |src: &[u8]| -> Verdict {
                    let Ok((stored, restored)) = self.quick_trip(case, src) else { return Ok(()) };
                    let at = format!("source {src_offset} and destination {dst_offset} bytes after a multiple of 64");
                    for (direction, input, expected) in
                        [(Direction::Forward, src, &stored), (Direction::Backward, &stored, &restored)]
                    {
                        let moved = apply(self.watch(), &mut *filter, direction, case, input, buffers);
                        let moved = moved.map_err(|broken| broken.becomes(Promise::Alignment))?;
                        same(Promise::Alignment, expected, &moved, &format!("{}, {at}", direction.name()))?;
                    }
                    Ok(())
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
        let mut inputs = self.samples();
        let mut expected = Vec::new();
        inputs.retain(|(case, src)| match self.quick_trip(case, src) {
            Ok((stored, restored)) => {
                expected.push([stored, restored].concat());
                true
            }
            Err(_) => false,
        });
        if inputs.len() < 2 {
            return;
        }
        let prototype = self.instance();
        self.session.watch.says(Promise::Clones, "clones on several threads".into());
        let verdict = side_by_side(
            self.watch(),
            &expected,
            || prototype.clone(),
            |filter, i| {
                let (case, src) = &inputs[i];
                let [mut stored, mut restored] = [0, 0].map(|_| vec![0; src.len()]);
                Direction::Forward.apply(&mut **filter, case, src, &mut stored).map_err(|e| e.to_string())?;
                Direction::Backward.apply(&mut **filter, case, &stored, &mut restored).map_err(|e| e.to_string())?;
                Ok([stored, restored].concat())
            },
        );
        self.session.verdict(Promise::Clones, verdict);
    }

    /// A filter that is only read fails when it is asked to filter.
    pub(super) fn refuses(&self) {
        let (case, src) = self.session.case(input::Kind::Text, 1000, 4, self.session.settings.metas[0]);
        let mut dst = vec![0; src.len()];
        let mut filter = self.instance();
        let verdict = match self.watch().call(|| Direction::Forward.apply(&mut *filter, &case, &src, &mut dst)) {
            Ok(Err(_)) => Ok(()),
            Ok(Ok(())) => Err("forward works".to_owned()),
            Err(panic) => Err(format!("forward panicked: {panic}")),
        };
        self.session.verdict(Promise::DecodeOnly, verdict.map_err(|what| Broken::new(Promise::DecodeOnly, what)));
    }
}
