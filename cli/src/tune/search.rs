//! Which combinations to measure, in which order, and when to stop.

use std::time::{Duration, Instant};

use super::candidates::{Candidate, Skipped};
use super::measure::Measurement;
use super::purpose::Purpose;

/// Sizes of blocks that are tried for the best combinations, besides the one that the encoder chooses.
pub(super) const BLOCK_SIZES: [usize; 5] = [8 << 10, 32 << 10, 128 << 10, 256 << 10, 1 << 20];
/// Sizes of chunks that are tried, besides the pieces of the sample.
pub(super) const CHUNK_SIZES: [usize; 1] = [256 << 10];
/// For each purpose, so many of the best combinations are tried with other sizes.
const REFINED: usize = 4;

/// A search for the best combinations.
pub(super) struct Search {
    /// About how long it may take.
    pub(super) budget: Option<Duration>,
    /// Larger blocks than this make no difference.
    pub(super) most_block: usize,
    pub(super) typesize: usize,
    /// What is not tried anyway.
    pub(super) skipped: Vec<Skipped>,
}

impl Search {
    /// Measures all candidates, and then the best for each purpose with other sizes of blocks and chunks. Trying all sizes
    /// with all candidates would take ten times as long, and finds hardly anything better: a test compares the two.
    ///
    /// With a budget, combinations of low levels come first, and a third of the time is for the sizes. At least one is
    /// measured.
    pub(super) fn run(
        mut self,
        mut candidates: Vec<Candidate>,
        mut measure: impl FnMut(Candidate) -> Result<Measurement, String>,
    ) -> (Vec<Measurement>, Vec<Skipped>) {
        let begin = Instant::now();
        let is_over = |part: f64| self.budget.is_some_and(|budget| begin.elapsed() > budget.mul_f64(part));
        if self.budget.is_some() {
            candidates.sort_by_key(|candidate| candidate.level);
        }
        let mut results: Vec<Measurement> = Vec::new();
        let mut not_tried = 0;
        let mut skipped = std::mem::take(&mut self.skipped);
        let mut tried = |candidate: Candidate, results: &mut Vec<Measurement>| {
            let what = candidate.options(self.typesize);
            match measure(candidate) {
                Ok(result) => results.push(result),
                Err(reason) => skipped.push(Skipped { what, reason }),
            }
        };
        for candidate in candidates {
            if !results.is_empty() && is_over(2.0 / 3.0) {
                not_tried += 1;
            } else {
                tried(candidate, &mut results);
            }
        }
        // Chunks first: they say which blocks fit.
        for sizes in [Sizes::Chunks, Sizes::Blocks] {
            for candidate in best(&results) {
                for candidate in self.with_sizes(&candidate, sizes) {
                    if is_over(1.0) {
                        not_tried += 1;
                    } else {
                        tried(candidate, &mut results);
                    }
                }
            }
        }
        if let Some(budget) = self.budget.filter(|_| not_tried > 0) {
            let reason = format!("the budget of {} s is used up", budget.as_secs_f64());
            skipped.push(Skipped { what: format!("{not_tried} combinations"), reason });
        }
        (results, skipped)
    }

    /// The candidate with other sizes. Those of arrays follow from their shapes.
    fn with_sizes(&self, candidate: &Candidate, sizes: Sizes) -> Vec<Candidate> {
        if candidate.of_array {
            return Vec::new();
        }
        let whole = |size: usize| size / self.typesize > 0;
        match sizes {
            Sizes::Chunks => {
                let sizes = CHUNK_SIZES.iter().filter(|size| **size < self.most_block && whole(**size));
                sizes.map(|&size| Candidate { chunk_size: Some(size), ..candidate.clone() }).collect()
            }
            Sizes::Blocks => {
                let most = candidate.chunk_size.unwrap_or(usize::MAX).min(self.most_block);
                let sizes = BLOCK_SIZES.iter().filter(|size| **size <= most && whole(**size));
                sizes.map(|&size| Candidate { block_size: Some(size), ..candidate.clone() }).collect()
            }
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Sizes {
    Chunks,
    Blocks,
}

/// The best combinations for each purpose, each once.
fn best(results: &[Measurement]) -> Vec<Candidate> {
    let mut places: Vec<usize> = Vec::new();
    for purpose in Purpose::ALL {
        let mut order: Vec<usize> = (0..results.len()).collect();
        order.sort_by(|&a, &b| purpose.cost(&results[a]).total_cmp(&purpose.cost(&results[b])));
        places.extend(order.into_iter().take(REFINED));
    }
    places.sort_unstable();
    places.dedup();
    places.into_iter().map(|place| results[place].candidate.clone()).collect()
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use oxiblosc::chunk::{ChunkContext, ChunkEncoder};
    use oxiblosc::{CodecId, Inline, Registry};

    use super::super::candidates::candidates;
    use super::super::purpose::recommended;
    use super::*;

    /// Bytes of each data set: more than the default block, and little enough for an exhaustive search.
    const LEN: usize = 300_000;

    /// The middle of a real array, with the size of its items.
    fn real(name: &str, typesize: usize) -> (String, Bytes, usize) {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../conformance/data/arrays").join(name);
        let bytes = std::fs::read(path).expect("the array is in the repository");
        // The header of these files has 128 bytes.
        let start = 128 + (bytes.len() - 128 - LEN) / 2 / typesize * typesize;
        (name.to_owned(), Bytes::from(bytes).slice(start..start + LEN), typesize)
    }

    fn data_sets() -> Vec<(String, Bytes, usize)> {
        let mut state = 1_u64;
        let mut noise = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 40
        };
        let walk = (0..LEN / 8).scan(0_u64, |at, _| {
            *at += noise() % 1000;
            Some(*at)
        });
        let walk: Bytes = walk.flat_map(u64::to_le_bytes).collect();
        let sine: Bytes = (0..LEN / 4).flat_map(|i| ((i as f32 / 100.0).sin() * 1000.0).to_le_bytes()).collect();
        let words: Bytes =
            (0..LEN).map(|i| b"the quick brown fox jumps over the lazy dog "[(i * i / 700) % 44]).collect();
        vec![
            real("fmri.npy", 2),
            real("disparity.npy", 4),
            real("faces.npy", 8),
            real("astronaut.npy", 1),
            real("health.npy", 8),
            ("a walk".into(), walk, 8),
            ("a sine".into(), sine, 4),
            ("words".into(), words, 1),
        ]
    }

    /// The real size of the result, and times by a rule, so that the same search always finds the same.
    fn measured(
        candidate: Candidate,
        data: &Bytes,
        typesize: usize,
        registry: &Registry,
    ) -> Result<Measurement, String> {
        let mut encoder =
            ChunkEncoder::new(&candidate.params(typesize), registry).map_err(|error| error.to_string())?;
        let size = candidate.chunk_size.map_or(data.len(), |size| size / typesize * typesize);
        let mut cbytes = 0;
        for piece in data.chunks(size) {
            let chunk = encoder.encode(piece, &ChunkContext::default(), &Inline).map_err(|error| error.to_string())?;
            cbytes += chunk.len();
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
        Ok(Measurement { candidate, nbytes, cbytes, encode_seconds, decode_seconds })
    }

    #[test]
    fn nothing_is_much_better_than_what_is_recommended() {
        let registry = Registry::builtin().expect("they are linked");
        for (name, data, typesize) in data_sets() {
            let candidates = candidates(std::slice::from_ref(&data), None, typesize, None, registry).candidates;
            let search = Search { budget: None, most_block: data.len(), typesize, skipped: Vec::new() };
            let mut count = 0;
            let (found, skipped) = search.run(candidates.clone(), |candidate| {
                count += 1;
                measured(candidate, &data, typesize, registry)
            });
            assert!(skipped.is_empty(), "{name}");

            let search = Search { budget: None, most_block: data.len(), typesize, skipped: Vec::new() };
            let mut all = Vec::new();
            for candidate in candidates {
                let chunks = search.with_sizes(&candidate, Sizes::Chunks);
                for candidate in std::iter::once(candidate).chain(chunks) {
                    all.extend(search.with_sizes(&candidate, Sizes::Blocks));
                    all.push(candidate);
                }
            }
            assert!(all.len() > 3 * count, "{name}: {count} of {}", all.len());
            let all: Vec<_> = all
                .into_iter()
                .map(|candidate| measured(candidate, &data, typesize, registry).expect("it was tried before"))
                .collect();
            for ((purpose, found), (_, best)) in recommended(&found).zip(recommended(&all)) {
                let (found, best) = (purpose.cost(found), purpose.cost(best));
                assert!(found <= 1.1 * best, "{name}, for {}: {found} and {best}", purpose.name());
            }
        }
    }

    #[test]
    fn a_budget_is_kept() {
        let registry = Registry::builtin().expect("they are linked");
        let (_, data, typesize) = data_sets().swap_remove(0);
        let candidates = candidates(std::slice::from_ref(&data), None, typesize, None, registry).candidates;
        let most = candidates.len();
        for (budget, least) in [(Duration::ZERO, 1), (Duration::from_secs(3600), most)] {
            let search = Search { budget: Some(budget), most_block: data.len(), typesize, skipped: Vec::new() };
            let (found, skipped) = search.run(candidates.clone(), |candidate| {
                // Nothing is encoded, so that an hour is enough on any machine.
                let nbytes = data.len();
                Ok(Measurement { candidate, nbytes, cbytes: nbytes / 2, encode_seconds: 1.0, decode_seconds: 1.0 })
            });
            assert!(if budget.is_zero() { found.len() == least } else { found.len() > least });
            assert_eq!(found[0].candidate.level, 1, "what is fast comes first");
            assert_eq!(skipped.len(), usize::from(budget.is_zero()));
            assert!(skipped.iter().all(|skipped| skipped.reason.contains("budget")));
        }
    }
}
