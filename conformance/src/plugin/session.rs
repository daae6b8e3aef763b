//! A check that is under way.

use std::sync::Arc;

use super::case::Case;
use super::input::{self, Kind};
use super::promise::{Broken, Promise, Verdict};
use super::settings::Settings;
use super::shrink::{describe, shrink};
use super::watch::{Watch, locked};
use crate::data;

/// A check that is under way: its settings, and where results go.
pub(super) struct Session {
    pub(super) settings: Settings,
    pub(super) watch: Arc<Watch>,
}

impl Session {
    pub(super) fn is_broken(&self, promise: Promise) -> bool {
        locked(&self.watch.report).is_broken(promise.name())
    }

    /// Counts a case for each of these promises.
    pub(super) fn tried(&self, promises: &[Promise]) {
        let mut report = locked(&self.watch.report);
        promises.iter().for_each(|promise| report.tried_cases(promise.name(), 1));
    }

    pub(super) fn note(&self, note: String) {
        locked(&self.watch.report).note(note);
    }

    /// Records a failure without an input.
    pub(super) fn breaks(&self, broken: Broken) {
        locked(&self.watch.report).breaks(broken.promise.name(), broken.detail);
    }

    /// Runs a case that has no input to shrink.
    pub(super) fn verdict(&self, promise: Promise, verdict: Verdict) {
        self.tried(&[promise]);
        if let Err(broken) = verdict {
            self.breaks(broken);
        }
    }

    /// Records the verdict on a case. If it is the first failure of its promise, `again` tries smaller inputs on fresh
    /// instances.
    pub(super) fn settle(
        &self,
        promises: &[Promise],
        case: &Case,
        input: &[u8],
        verdict: Verdict,
        again: &mut dyn FnMut(&[u8]) -> Verdict,
    ) {
        self.tried(promises);
        let Err(broken) = verdict else { return };
        let promise = broken.promise;
        if self.is_broken(promise) {
            return;
        }
        let keep_len = case.geometry.is_some();
        let (found, broken, how) = match shrink(promise, input, keep_len, again) {
            Some((found, broken)) => (found, broken, "shrunk from"),
            None => (input.to_vec(), broken, "which a fresh instance takes:"),
        };
        let detail = format!(
            "{}\n  input: {}, {how} {} bytes of {}\n  with: {case}",
            broken.detail,
            describe(&found),
            input.len(),
            case.name
        );
        self.breaks(Broken { promise, detail });
    }

    /// The shapes of blocks to check: arrays, or none and hence any length.
    pub(super) fn arrays(&self) -> impl Iterator<Item = (Case, usize)> + '_ {
        self.settings.geometries.iter().flat_map(|(geometry, typesize)| {
            let items: usize = geometry.block_shape.iter().map(|&n| n as usize).product();
            self.settings.metas.iter().map(move |&meta| {
                let mut case = Case::new("", *typesize, meta);
                case.geometry = Some(Arc::clone(geometry));
                (case, items * typesize)
            })
        })
    }

    pub(super) fn is_array(&self) -> bool {
        !self.settings.geometries.is_empty()
    }

    /// The type sizes to check in depth.
    pub(super) fn main_typesizes(&self) -> Vec<usize> {
        self.settings.typesizes.clone().unwrap_or_else(|| vec![1, 2, 3, 4, 7, 8, 12, 16, 24, 255])
    }

    /// The type sizes to check at all.
    pub(super) fn all_typesizes(&self) -> Vec<usize> {
        self.settings.typesizes.clone().unwrap_or_else(|| input::typesizes().collect())
    }

    /// Whether items that are wider than the type size can be are for this plugin.
    pub(super) fn wide_items(&self) -> &'static [Option<usize>] {
        if self.settings.typesizes.as_ref().is_none_or(|sizes| sizes.contains(&1)) { &input::WIDE_ITEMS } else { &[] }
    }

    /// A case without an array, and with the input of one kind.
    pub(super) fn case(&self, kind: Kind, len: usize, typesize: usize, meta: u8) -> (Case, Vec<u8>) {
        (Case::new(kind.name(), typesize, meta), kind.fill(len, typesize, self.settings.seed))
    }

    /// Everything that is compared in depth: each with its input. The type sizes take turns.
    pub(super) fn main_cases(&self, mut each: impl FnMut(Case, Vec<u8>)) {
        let rounds = if self.settings.thorough { 8 } else { 1 };
        for round in 0..rounds {
            let seed = self.settings.seed.wrapping_add(round);
            for (case, len) in self.arrays() {
                for kind in Kind::ALL {
                    each(Case { name: kind.name(), ..case.clone() }, kind.fill(len, case.typesize, seed));
                }
            }
            if self.is_array() {
                continue;
            }
            let typesizes = self.main_typesizes();
            for (m, &meta) in self.settings.metas.iter().enumerate() {
                for (t, &typesize) in typesizes.iter().enumerate() {
                    let lengths = data::lengths(typesize);
                    for (i, len) in lengths.into_iter().enumerate() {
                        for (k, kind) in Kind::ALL.into_iter().enumerate() {
                            // Each length and kind meets each type size only in a thorough run.
                            let turn = (i + k + m) % typesizes.len() == t;
                            if self.settings.thorough || turn {
                                each(Case::new(kind.name(), typesize, meta), kind.fill(len, typesize, seed));
                            }
                        }
                    }
                }
            }
        }
    }

    /// Type sizes and item sizes that are rare, each with two inputs.
    pub(super) fn wide_cases(&self, mut each: impl FnMut(Case, Vec<u8>)) {
        if self.is_array() {
            return;
        }
        let sizes = self.all_typesizes().into_iter().map(|size| (size, Some(size)));
        let wide = self.wide_items().iter().map(|&size| (1, size));
        for (i, (typesize, item_size)) in sizes.chain(wide).enumerate() {
            let meta = self.settings.metas[i % self.settings.metas.len()];
            let item = item_size.unwrap_or(typesize);
            for (kind, len) in [(Kind::Mixed, 9 * item + 3), (Kind::Noise, 8 * item), (Kind::Integers, 33 * item + 1)] {
                let (case, src) = self.case(kind, len, typesize, meta);
                each(Case { item_size, ..case }, src);
            }
        }
    }

    /// Long inputs.
    pub(super) fn large_cases(&self, mut each: impl FnMut(Case, Vec<u8>)) {
        if self.is_array() {
            return;
        }
        let typesizes = self.main_typesizes();
        for (i, len) in input::large().enumerate() {
            let meta = self.settings.metas[i % self.settings.metas.len()];
            let (case, src) = self.case(Kind::Mixed, len, typesizes[(i * 3 + 3) % typesizes.len()], meta);
            each(case, src);
        }
    }

    /// Some cases of moderate length, one for each meta byte and kind.
    pub(super) fn sample_cases(&self, mut each: impl FnMut(Case, Vec<u8>)) {
        let mut arrays = self.arrays().peekable();
        if arrays.peek().is_some() {
            for (case, len) in arrays {
                for kind in [Kind::Runs, Kind::Floats, Kind::Mixed] {
                    let src = kind.fill(len, case.typesize, self.settings.seed);
                    each(Case { name: kind.name(), ..case.clone() }, src);
                }
            }
            return;
        }
        let typesizes = self.main_typesizes();
        for (m, &meta) in self.settings.metas.iter().enumerate() {
            // The first are for codecs that compress little else.
            let kinds = [Kind::Runs, Kind::Constant, Kind::Mixed, Kind::Text, Kind::Runs, Kind::Integers];
            for (k, kind) in kinds.into_iter().enumerate() {
                let typesize = typesizes[(m + k) % typesizes.len()];
                let (case, src) = self.case(kind, 40 * typesize + 1000 + 3 * k, typesize, meta);
                each(case, src);
            }
        }
    }

    /// Places of a block in its chunk, other than the first.
    pub(super) const PLACES: [(usize, Option<usize>); 8] = [
        (1, Some(1 << 10)),
        (2, Some(1 << 16)),
        (7, Some(7)),
        (255, Some(255 << 12)),
        (256, Some(1 << 20)),
        (65_536, Some((1 << 31) - 1000)),
        (1, None),
        (100, None),
    ];
}
