//! Blocks that no `forward` made.

use std::sync::Arc;

use oxiblosc_core::filter::Filter;
use oxiblosc_core::nd::Geometry;

use super::super::case::Case;
use super::super::input::noise;
use super::super::promise::{Broken, Promise, Verdict, same};
use super::super::shrink::{describe, shrink};
use super::FilterRun;
use super::calls::Direction;
use crate::data::Random;

impl FilterRun {
    pub(super) fn damage(&self) {
        let _turn = self.session.watch.turn();
        let mut filter = self.instance();
        let mut random = Random::new(self.session.settings.seed ^ 0xda3a9e);
        let thorough = self.session.settings.thorough;

        // Blocks that forward made, with every value of their first bytes.
        for (case, src) in self.samples().into_iter().take(if thorough { 32 } else { 4 }) {
            let len = if self.session.is_array() { src.len() } else { src.len().min(200) };
            let stored = self.fresh(Direction::Forward, &case, &src[..len]).unwrap_or_else(|_| src[..len].to_vec());
            let mut damaged = stored.clone();
            for at in (0..16.min(len)).chain([len / 2, len - 1]) {
                for value in 0..=u8::MAX {
                    damaged[at] = value;
                    self.damaged(&mut filter, &case, &damaged);
                }
                damaged[at] = stored[at];
            }
            for width in [2, 4, 8] {
                for at in 0..len.saturating_sub(width).min(32) {
                    damaged[at..][..width].fill(0xff);
                    self.damaged(&mut filter, &case, &damaged);
                    damaged[at..][..width].copy_from_slice(&stored[at..][..width]);
                }
            }
        }

        // Noise: type sizes that the author left out, too, since a file may have any.
        for round in 0..if thorough { 20_000 } else { 2500 } {
            let typesize = 1 + random.below(if round % 2 == 0 { 16 } else { 255 });
            let meta = random.next_u64() as u8;
            let len = 1 + random.below([20, 300, 300, 3000][round % 4]);
            let mut case = Case::new("noise", typesize, meta);
            let mut src = noise(&mut random, len);
            if round % 5 == 0 {
                src.iter_mut().for_each(|b| *b &= 0x0f);
            }
            if round % 3 == 0 {
                case.item_size = [None, Some(300), Some(1 << 20), Some(usize::MAX / 2)][round / 3 % 4];
                case.typesize = if round % 2 == 0 { 1 } else { case.typesize };
            }
            if self.entry.info().traits.needs_array && round % 8 != 0 {
                // Shapes that the block does not have.
                let extents: Vec<u32> = (0..1 + random.below(8)).map(|_| 1 + random.below(9) as u32).collect();
                case.geometry = Some(Arc::new(Geometry {
                    shape: extents.iter().map(|&n| u64::from(n) * 2).collect(),
                    chunk_shape: extents.clone(),
                    block_shape: extents,
                }));
            }
            if self.entry.info().traits.needs_reference && round % 2 == 0 {
                case.block = 1;
                case.reference = Some(noise(&mut random, len).into());
            }
            self.damaged(&mut filter, &case, &src);
        }

        // What damage leaves in an instance must not reach the next block.
        for (case, src) in self.samples().into_iter().take(4) {
            let Ok((stored, restored)) = self.quick_trip(&case, &src) else { continue };
            let mut again = vec![0; src.len()];
            let result = self.watch().call(|| Direction::Backward.apply(&mut *filter, &case, &stored, &mut again));
            let verdict = match result {
                Ok(Ok(())) => same(Promise::Calls, &restored, &again, "backward, after damaged blocks"),
                Ok(Err(error)) => Err(Broken::new(Promise::Calls, format!("after damaged blocks: {error}"))),
                Err(panic) => Err(Broken::new(Promise::Calls, format!("after damaged blocks: panicked: {panic}"))),
            };
            self.session.verdict(Promise::Calls, verdict);
        }
    }

    /// Restores something damaged. Errors and other bytes are fine.
    fn damaged(&self, filter: &mut Box<dyn Filter>, case: &Case, src: &[u8]) {
        self.session.tried(&[Promise::Damage, Promise::Time, Promise::Memory]);
        let Err(broken) = self.try_damaged(filter, case, src) else { return };
        *filter = self.instance();
        if self.session.is_broken(broken.promise) {
            return;
        }
        // What an instance has seen before may matter: then the input stays as long as it is.
        let mut again = |src: &[u8]| self.try_damaged(&mut self.instance(), case, src);
        let keep_len = case.geometry.is_some();
        let shrunk = shrink(broken.promise, src, keep_len, &mut again);
        let (found, broken) = shrunk.unwrap_or_else(|| (src.to_vec(), broken));
        let from = if found.len() < src.len() { format!(", shrunk from {} bytes", src.len()) } else { String::new() };
        let detail = format!("{}\n  input: {}{from}\n  with: {case}", broken.detail, describe(&found));
        self.session.breaks(Broken { detail, ..broken });
    }

    /// The same into buffers that hold something else.
    fn try_damaged(&self, filter: &mut Box<dyn Filter>, case: &Case, src: &[u8]) -> Verdict {
        self.session.watch.says(Promise::Damage, format!("  input: {}\n  with: {case}", describe(src)));
        self.session.watch.expect_bytes(src.len());
        let mut buffers = [0x00, 0xff].map(|stale| vec![stale; src.len()]);
        let tries = || buffers.each_mut().map(|dst| Direction::Backward.apply(&mut **filter, case, src, dst).is_ok());
        let panicked = |panic| Broken::new(Promise::Damage, format!("backward panicked: {panic}"));
        match self.session.watch.measured(tries)?.map_err(panicked)? {
            [true, true] => {
                same(Promise::Written, &buffers[0], &buffers[1], "backward, into a buffer with other bytes")
            }
            _ => Ok(()),
        }
    }
}
