//! Which combinations to measure, in which order, and when to stop.

use crate::budget::{Budget, part};
use crate::candidate::Candidate;
use crate::choice::Choice;
use crate::costs::Costs;
use crate::measurement::Measurement;
use crate::meter::Failed;
use crate::purpose::Purpose;
use crate::sample::Sample;
use crate::skipped::{Skipped, Subject};
use crate::steps::{Steps, Stopped};

/// Sizes of blocks that are tried for the best combinations, besides the one that the encoder chooses.
pub(crate) const BLOCK_SIZES: [usize; 5] = [8 << 10, 32 << 10, 128 << 10, 256 << 10, 1 << 20];
/// Sizes of chunks that are tried, besides the pieces of the sample.
pub(crate) const CHUNK_SIZES: [usize; 2] = [256 << 10, 512 << 10];
/// A size of chunks is tried if the sample has this many of them.
const SEVERAL: usize = 4;
/// For each purpose, so many of the best combinations are tried with other sizes of blocks and of chunks.
const REFINED_BLOCKS: usize = 4;
const REFINED_CHUNKS: usize = 1;

/// A search for the best combinations.
pub(crate) struct Search<'a> {
    pub(crate) budget: Budget<'a>,
    pub(crate) steps: &'a Steps<'a>,
    pub(crate) limits: SizeLimits,
    /// Whether other sizes of blocks and chunks are tried at all.
    pub(crate) sizes: bool,
}

/// Which sizes a sample can show something about.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SizeLimits {
    typesize: usize,
    /// Larger blocks make no difference, and larger chunks cannot be made.
    longest_piece: usize,
    nbytes: usize,
}

/// What has been found.
pub(crate) struct Found {
    pub(crate) results: Vec<Measurement>,
    pub(crate) skipped: Vec<Skipped>,
    pub(crate) costs: Costs,
}

impl Search<'_> {
    /// Measures all candidates, and then the best for each purpose with other sizes of chunks and blocks. Trying all sizes
    /// with all candidates would take ten times as long, and finds hardly anything better: a test compares the two.
    ///
    /// With a budget, combinations of low levels come first, and only what is likely to end in time is tried. At least one
    /// is measured.
    pub(crate) fn run(
        &self,
        choice: Choice,
        mut measure: impl FnMut(&Candidate) -> Result<Measurement, Failed>,
    ) -> Result<Found, Stopped> {
        let Choice { mut candidates, skipped, costs } = choice;
        if self.budget.whole.is_some() {
            candidates.sort_by_key(|candidate| candidate.level);
        }
        let mut found = Found { results: Vec::new(), skipped, costs };
        let mut not_tried = self.try_all(candidates, part::COMBINATIONS, &mut found, &mut measure)?;
        if self.sizes {
            // Chunks first: they say which blocks fit.
            let chunks = best(&found.results, REFINED_CHUNKS);
            let chunks = chunks.iter().flat_map(|candidate| self.limits.with_chunks(candidate)).collect();
            not_tried += self.try_all(chunks, part::SIZES, &mut found, &mut measure)?;
            let blocks = best(&found.results, REFINED_BLOCKS);
            let blocks = blocks.iter().flat_map(|candidate| self.limits.with_blocks(candidate)).collect();
            not_tried += self.try_all(blocks, part::SIZES, &mut found, &mut measure)?;
        }
        if let Some(whole) = self.budget.whole.filter(|_| not_tried > 0) {
            found.skipped.push(Skipped::for_lack_of_time(Subject::Combinations(not_tried), whole));
        }
        Ok(found)
    }

    /// Measures what there is time for, and returns how many of the candidates there was none for.
    fn try_all(
        &self,
        candidates: Vec<Candidate>,
        part: f64,
        found: &mut Found,
        measure: &mut impl FnMut(&Candidate) -> Result<Measurement, Failed>,
    ) -> Result<usize, Stopped> {
        self.steps.plan(candidates.len());
        let mut not_tried = 0;
        for candidate in candidates {
            if found.results.is_empty() || self.budget.fits(found.costs.estimate(&candidate), part) {
                let begin = self.budget.now();
                match measure(&candidate) {
                    Ok(result) => found.results.push(result),
                    Err(Failed::Stopped) => return Err(Stopped),
                    Err(Failed::Reason(reason)) => found.skipped.push(Skipped::combination(candidate.clone(), reason)),
                }
                found.costs.record(&candidate, self.budget.now().saturating_sub(begin));
            } else {
                not_tried += 1;
            }
            self.steps.step()?;
        }
        Ok(not_tried)
    }
}

impl SizeLimits {
    pub(crate) fn of(sample: &Sample) -> Self {
        Self { typesize: sample.typesize(), longest_piece: sample.longest_piece(), nbytes: sample.len() }
    }

    /// The candidate with other sizes of chunks. Those of arrays follow from their shapes.
    pub(crate) fn with_chunks(self, candidate: &Candidate) -> impl Iterator<Item = Candidate> {
        let most = if candidate.of_array { 0 } else { self.longest_piece.min(self.nbytes / SEVERAL + 1) };
        let fits = move |size: &usize| *size < most && self.has_items(*size);
        let candidate = candidate.clone();
        CHUNK_SIZES.into_iter().filter(fits).map(move |size| Candidate { chunk_size: Some(size), ..candidate.clone() })
    }

    /// The candidate with other sizes of blocks.
    pub(crate) fn with_blocks(self, candidate: &Candidate) -> impl Iterator<Item = Candidate> {
        let most = if candidate.of_array { 0 } else { candidate.chunk_size.unwrap_or(usize::MAX) };
        let fits = move |size: &usize| *size <= most.min(self.longest_piece) && self.has_items(*size);
        let candidate = candidate.clone();
        BLOCK_SIZES.into_iter().filter(fits).map(move |size| Candidate { block_size: Some(size), ..candidate.clone() })
    }

    fn has_items(self, size: usize) -> bool {
        size >= self.typesize
    }
}

/// So many of the best combinations for each purpose, each once.
fn best(results: &[Measurement], count: usize) -> Vec<Candidate> {
    let mut places: Vec<usize> = Vec::new();
    for purpose in Purpose::ALL {
        let mut order: Vec<usize> = (0..results.len()).collect();
        order.sort_by(|&a, &b| purpose.cost(&results[a]).total_cmp(&purpose.cost(&results[b])));
        places.extend(order.into_iter().take(count));
    }
    places.sort_unstable();
    places.dedup();
    places.into_iter().map(|place| results[place].candidate.clone()).collect()
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::ops::ControlFlow;
    use std::time::Duration;

    use bytes::Bytes;
    use oxiblosc::chunk::{ChunkContext, ChunkEncoder};
    use oxiblosc::{CodecId, Inline, Registry};

    use super::*;
    use crate::choice::Chooser;
    use crate::probe::Probe;
    use crate::steps::TuneProgress;
    use crate::test_data::data_sets;

    const GO_ON: &dyn Fn(TuneProgress) -> ControlFlow<()> = &|_| ControlFlow::Continue(());

    /// The real size of the result, and times by a rule, so that the same search always finds the same.
    fn measured(candidate: &Candidate, data: &Bytes, registry: &Registry) -> Result<Measurement, Failed> {
        let mut encoder = ChunkEncoder::new(&candidate.params(), registry)?;
        let size = candidate.chunk_size.map_or(data.len(), |size| size / candidate.typesize * candidate.typesize);
        let mut cbytes = 0;
        for piece in data.chunks(size) {
            cbytes += encoder.encode(piece, &ChunkContext::default(), &Inline)?.len();
        }
        // Bytes per second of each codec, in and out, as they are on usual machines.
        let (encode, decode) = match candidate.codec {
            CodecId::BLOSCLZ => (1.2e9, 3e9),
            CodecId::LZ4 => (1e9, 5e9),
            CodecId::LZ4HC => (1e8, 5e9),
            CodecId::ZLIB => (1.5e8, 6e8),
            _ => (6e8, 1.5e9),
        };
        let filters = 1.0 + candidate.filters.active().count() as f64 / 4.0;
        // Each block has a cost of its own, and large ones leave the cache.
        let block = candidate.block_size.unwrap_or(64 << 10) as f64;
        let blocks = 1.0 + 1000.0 / block + block / 2e6;
        let nbytes = data.len();
        let encode_seconds = nbytes as f64 / encode * f64::from(candidate.level) * filters * blocks;
        let decode_seconds = nbytes as f64 / decode * filters * blocks;
        Ok(Measurement::new(candidate.clone(), nbytes, cbytes, encode_seconds, decode_seconds))
    }

    fn choice(sample: &Sample, registry: &Registry) -> Choice {
        let chooser = Chooser {
            probe: Probe::new(sample, 1, registry),
            array: None,
            levels: &[1, 5, 9],
            mantissa_bits: None,
            budget: Budget::new(None, &|| Duration::ZERO),
            steps: &Steps::new(GO_ON),
        };
        chooser.choose(sample).expect("nobody stops it")
    }

    #[test]
    fn nothing_is_much_better_than_what_is_recommended() {
        let data_sets = data_sets();
        std::thread::scope(|scope| {
            for (name, data, typesize) in &data_sets {
                scope.spawn(|| compare_with_exhaustive_search(name, data, *typesize));
            }
        });
    }

    fn compare_with_exhaustive_search(name: &str, data: &Bytes, typesize: usize) {
        let registry = Registry::builtin().expect("they are linked");
        let sample = Sample::new(data, typesize);
        // As if there were more of it, so that other sizes of chunks are tried.
        let limits = SizeLimits { nbytes: 4 * data.len(), ..SizeLimits::of(&sample) };
        let candidates = choice(&sample, registry).candidates;
        let steps = Steps::new(GO_ON);
        let budget = Budget::new(None, &|| Duration::ZERO);
        let mut count = 0;
        let found = Search { budget, steps: &steps, limits, sizes: true }.run(choice(&sample, registry), |candidate| {
            count += 1;
            measured(candidate, data, registry)
        });
        let found = found.expect("nobody stops it").results;
        assert_eq!(found.len(), count, "{name}: all of them work");

        let mut all = Vec::new();
        for candidate in candidates {
            for candidate in limits.with_chunks(&candidate).chain([candidate.clone()]) {
                all.extend(limits.with_blocks(&candidate));
                all.push(candidate);
            }
        }
        assert!(all.len() > 3 * count, "{name}: {count} of {}", all.len());
        let all: Vec<_> = all
            .into_iter()
            .map(|candidate| measured(&candidate, data, registry).expect("it was tried before"))
            .collect();
        for purpose in Purpose::ALL {
            let best = all.iter().map(|result| purpose.cost(result)).min_by(f64::total_cmp).expect("some");
            let found = purpose.cost(&found[purpose.best(&found).expect("some")]);
            assert!(found <= 1.1 * best, "{name}, for {purpose}: {found} and {best}");
        }
    }

    /// What a combination takes on the clock of the tests.
    fn milliseconds(candidate: &Candidate) -> u64 {
        match candidate.level {
            1 => 10,
            5 => 40,
            _ => 400,
        }
    }

    /// Measures nothing, on a clock that only measurements move. Returns what was tried and how long it took.
    fn with_budget(budget: Option<Duration>) -> (Found, Duration) {
        let registry = Registry::builtin().expect("they are linked");
        let (_, data, typesize) = data_sets().swap_remove(0);
        let sample = Sample::new(&data, typesize);
        let now = Cell::new(Duration::from_secs(5));
        let clock = || now.get();
        let steps = Steps::new(GO_ON);
        let search =
            Search { budget: Budget::new(budget, &clock), steps: &steps, limits: SizeLimits::of(&sample), sizes: true };
        let mut choice = choice(&sample, registry);
        choice.costs = Costs::default();
        choice.skipped.clear();
        let found = search.run(choice, |candidate| {
            now.set(now.get() + Duration::from_millis(milliseconds(candidate)));
            let nbytes = data.len();
            Ok(Measurement::new(candidate.clone(), nbytes, nbytes / 2, 1.0, 1.0))
        });
        (found.expect("nobody stops it"), now.get() - Duration::from_secs(5))
    }

    #[test]
    fn a_budget_is_kept() {
        let (everything, _) = with_budget(None);
        assert!(everything.skipped.is_empty() && everything.results.len() > 75);
        let mut before = 0;
        for milliseconds in [0, 20, 100, 500, 1000, 3000, 10_000] {
            let budget = Duration::from_millis(milliseconds);
            let (found, took) = with_budget(Some(budget));
            assert_eq!(found.results[0].candidate.level, 1, "what is fast comes first");
            // The first combination is tried in any case; of any other it is known beforehand what it takes, but for the
            // first one of a codec and level.
            assert!(took <= budget.max(Duration::from_millis(10)), "{budget:?}: {took:?}");
            assert!(found.results.len() >= before, "{budget:?}: more time, fewer combinations");
            before = found.results.len();
            let [skipped] = &found.skipped[..] else { panic!("{budget:?}: {:?}", found.skipped) };
            assert!(matches!(skipped.subject, Subject::Combinations(_)), "{skipped:?}");
            assert_eq!(skipped.reason, format!("the budget of {} s is used up", budget.as_secs_f64()));
        }
        // An hour is enough for everything.
        let (found, _) = with_budget(Some(Duration::from_secs(3600)));
        assert_eq!(found.results.len(), everything.results.len());
        assert!(found.skipped.is_empty());
    }

    #[test]
    fn most_of_the_budget_is_used() {
        let budget = Duration::from_secs(3);
        let (_, took) = with_budget(Some(budget));
        assert!(took >= budget.mul_f64(0.7), "{took:?}");
    }

    #[test]
    fn whoever_watches_can_stop_it() {
        let registry = Registry::builtin().expect("they are linked");
        let (_, data, typesize) = data_sets().swap_remove(0);
        let sample = Sample::new(&data, typesize);
        let seen = Cell::new(0);
        let watch = |progress: TuneProgress| {
            seen.set(progress.done);
            if progress.done == 7 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let steps = Steps::new(&watch);
        let budget = Budget::new(None, &|| Duration::ZERO);
        let search = Search { budget, steps: &steps, limits: SizeLimits::of(&sample), sizes: true };
        let mut count = 0;
        let stopped = search.run(choice(&sample, registry), |candidate| {
            count += 1;
            measured(candidate, &data, registry)
        });
        assert!(stopped.is_err());
        assert_eq!((seen.get(), count), (7, 7));
    }

    #[test]
    fn sizes_are_those_that_the_sample_has() {
        let sizes = |bytes: usize, typesize: usize| {
            let sample = Sample::new(&vec![0; bytes], typesize);
            let limits = SizeLimits::of(&sample);
            let candidate = crate::test_data::candidate(1);
            let chunks = limits.with_chunks(&candidate).filter_map(|with| with.chunk_size).collect::<Vec<_>>();
            let blocks = limits.with_blocks(&candidate).filter_map(|with| with.block_size).collect::<Vec<_>>();
            (chunks, blocks)
        };
        assert_eq!(sizes(8 << 20, 4), (CHUNK_SIZES.to_vec(), BLOCK_SIZES.to_vec()));
        assert_eq!(sizes(1 << 20, 4), (vec![256 << 10], BLOCK_SIZES.to_vec()));
        assert_eq!(sizes(100_000, 4), (vec![], vec![8 << 10, 32 << 10]));
        assert_eq!(sizes(1 << 20, 200 << 10), (vec![256 << 10], vec![256 << 10]));
        let mut of_array = crate::test_data::candidate(1);
        of_array.of_array = true;
        let limits = SizeLimits::of(&Sample::new(&vec![0; 8 << 20], 4));
        assert_eq!(limits.with_chunks(&of_array).count() + limits.with_blocks(&of_array).count(), 0);
    }
}
