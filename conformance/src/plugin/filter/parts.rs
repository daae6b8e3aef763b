//! Undoing a part of a block.

use std::ops::Range;

use super::super::case::Case;
use super::super::promise::{Broken, Promise, Verdict, same};
use super::FilterRun;
use super::calls::Direction;
use crate::data::Random;

/// Ranges by chance of each block.
const RANGES: usize = 12;

impl FilterRun {
    /// Parts of blocks are what the whole blocks have there, and there are some exactly if that is declared.
    pub(super) fn parts(&self) {
        let declared = self.entry.info().traits.parts;
        let mut random = Random::new(self.session.settings.seed ^ 0x9a275);
        let mut found = 0;
        for (case, src) in self.samples() {
            let Ok((stored, restored)) = self.quick_trip(&case, &src) else { continue };
            let mut ranges = vec![0..1, src.len() - 1..src.len(), 0..src.len() / 2 + 1, src.len() / 2..src.len()];
            for _ in 0..RANGES {
                let start = random.below(src.len());
                ranges.push(start..start + 1 + random.below((src.len() - start).min(3 * case.typesize)));
            }
            for range in ranges {
                let verdict = self.part(&case, (&stored, &restored), &range, declared, &mut found);
                self.session.verdict(Promise::Ranges, verdict);
            }
        }
        if declared && found == 0 {
            let detail = "declared, but no part of any block was undone alone: `part` always returns `None`";
            self.session.breaks(Broken::new(Promise::Ranges, detail));
        }
    }

    fn part(
        &self,
        case: &Case,
        (stored, restored): (&[u8], &[u8]),
        range: &Range<usize>,
        declared: bool,
        found: &mut usize,
    ) -> Verdict {
        let len = stored.len();
        let broken =
            |what: String| Broken::new(Promise::Ranges, format!("bytes {range:?} of {len}: {what}\n  with: {case}"));
        let mut filter = self.instance();
        let ctx = case.block(len);
        let part = self.watch().call(|| filter.part(&ctx, len, range.clone()));
        let Some(part) = part.map_err(|panic| broken(format!("part panicked: {panic}")))? else { return Ok(()) };
        if !declared {
            return Err(broken("not declared, but `part` says what they are made of".into()));
        }
        if !part.fits(len, range) {
            return Err(broken(format!("they cannot be made of {part:?}")));
        }
        let gathered: Vec<u8> = part.pieces().flat_map(|piece| &stored[piece]).copied().collect();
        let mut undone = vec![0x55; gathered.len()];
        match self.watch().call(|| filter.backward(&ctx, &gathered, &mut undone)) {
            Err(panic) => Err(broken(format!("{} of a part panicked: {panic}", Direction::Backward.name()))),
            Ok(Err(error)) => Err(broken(format!("{} of a part failed: {error}", Direction::Backward.name()))),
            Ok(Ok(())) => {
                *found += 1;
                same(Promise::Ranges, &restored[part.bytes], &undone, "a part").map_err(|b| broken(b.detail))
            }
        }
    }
}
