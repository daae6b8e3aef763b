//! How to search, and the search as a whole.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use oxiblosc::{Pool, Registry, plugins};

use crate::array::ArraySample;
use crate::budget::{Budget, part};
use crate::choice::Chooser;
use crate::error::TuneError;
use crate::meter::{Failed, Meter};
use crate::probe::Probe;
use crate::purpose::Purpose;
use crate::sample::Sample;
use crate::search::{Found, Search, SizeLimits};
use crate::skipped::{Skipped, Subject};
use crate::steps::{Steps, Stopped, TuneProgress};
use crate::threads;
use crate::tolerance::Tolerance;
use crate::tuned::Tuned;

/// How to search.
#[derive(Clone)]
pub struct TuneOptions {
    registry: Option<Registry>,
    pool: Pool,
    levels: Vec<u8>,
    budget: Option<Duration>,
    max_error: Option<f64>,
    sizes: bool,
    thread_counts: Vec<usize>,
}

impl Default for TuneOptions {
    fn default() -> Self {
        Self {
            registry: None,
            pool: Pool::inline(),
            levels: vec![1, 5, 9],
            budget: None,
            max_error: None,
            sizes: true,
            thread_counts: threads::counts(),
        }
    }
}

impl TuneOptions {
    /// Levels 1, 5 and 9 of all linked codecs, lossless, on one thread, for as long as it takes.
    pub fn new() -> Self {
        Self::default()
    }

    /// The codecs and filters to try; by default all that are linked.
    pub fn registry(mut self, registry: &Registry) -> Self {
        self.registry = Some(registry.clone());
        self
    }

    /// The threads that the blocks of a chunk are spread over; by default the calling thread does all work.
    pub fn pool(mut self, pool: &Pool) -> Self {
        self.pool = pool.clone();
        self
    }

    /// The compression levels to try.
    pub fn levels(mut self, levels: impl Into<Vec<u8>>) -> Self {
        self.levels = levels.into();
        self.levels.sort_unstable();
        self.levels.dedup();
        self
    }

    /// About how long the search may take; by default as long as it takes to try everything. A small budget is for a
    /// part of the sample and for low levels, and what is unlikely to end in time is not begun. One combination is tried
    /// in any case.
    pub fn budget(mut self, budget: Duration) -> Self {
        self.budget = Some(budget);
        self
    }

    /// Lets floats of 4 or 8 bytes change by this part of themselves at most, more than 0 and less than 1, and tries the
    /// filter `trunc_prec` as well.
    pub fn max_error(mut self, part: f64) -> Self {
        self.max_error = Some(part);
        self
    }

    /// Whether other sizes of blocks and chunks are tried for the best combinations; by default they are. Arrays choose
    /// blocks and chunks by their shapes.
    pub fn sizes(mut self, sizes: bool) -> Self {
        self.sizes = sizes;
        self
    }

    /// The numbers of threads for [`Measurement::threads`](crate::Measurement::threads); by default 1, 2, 4 and so on up
    /// to the number of processors. With none of them, or a single one, nothing is measured for it.
    pub fn thread_counts(mut self, counts: impl Into<Vec<usize>>) -> Self {
        self.thread_counts = counts.into();
        self.thread_counts.retain(|count| *count > 0);
        self
    }

    /// Tries combinations on the sample, on this thread, until all are tried or the budget is used up.
    ///
    /// # Errors
    /// The sample is empty, the options contradict it, or no combination works.
    pub fn tune(&self, sample: &Sample) -> Result<Tuned, TuneError> {
        self.tune_watched(sample, |_| ControlFlow::Continue(()))
    }

    /// As [`tune`](Self::tune), and calls `watch` often: before and after each combination, and before each piece of a
    /// sample, which takes less than a second with common codecs. [`ControlFlow::Break`] stops the search.
    ///
    /// # Errors
    /// As [`tune`](Self::tune), and [`TuneError::Stopped`].
    pub fn tune_watched(
        &self,
        sample: &Sample,
        watch: impl Fn(TuneProgress) -> ControlFlow<()>,
    ) -> Result<Tuned, TuneError> {
        let begin = Instant::now();
        self.tune_by(sample, &watch, &Budget::new(self.budget, &|| begin.elapsed()))
    }

    fn tune_by(
        &self,
        sample: &Sample,
        watch: &dyn Fn(TuneProgress) -> ControlFlow<()>,
        budget: &Budget<'_>,
    ) -> Result<Tuned, TuneError> {
        if sample.is_empty() {
            return Err(TuneError::Empty);
        }
        let tolerance =
            self.max_error.map(|part| Tolerance::new(part, sample.typesize(), sample.dtype())).transpose()?;
        let nothing = |reason: &str| TuneError::NothingWorks { reason: reason.to_owned() };
        let Some(&lowest) = self.levels.first() else { return Err(nothing("there is no level to try")) };
        let linked = || {
            plugins::link();
            Registry::linked().cloned().map_err(|error| nothing(&oxiblosc::Chain(&error).to_string()))
        };
        let registry = self.registry.clone().map_or_else(linked, Ok)?;
        let sample = sample.clone().reduced(budget.sample_bytes());
        let array = sample.array_sample();
        let steps = Steps::new(watch);
        let chooser = Chooser {
            probe: Probe::new(&sample, lowest, &registry),
            array: array.as_ref(),
            levels: &self.levels,
            mantissa_bits: tolerance.map(|tolerance| tolerance.mantissa_bits(sample.typesize())),
            budget: *budget,
            steps: &steps,
        };
        let choice = chooser.choose(&sample)?;
        let meter = Meter {
            typesize: sample.typesize(),
            registry: &registry,
            pool: &self.pool,
            least: budget.least(),
            longest: budget.longest(),
            tolerance,
            steps: &steps,
        };
        let search = Search { budget: *budget, steps: &steps, limits: SizeLimits::of(&sample), sizes: self.sizes };
        let mut found = search.run(choice, |candidate| match &array {
            Some(array) if candidate.of_array => meter.measure_array(candidate, array),
            _ => meter.measure(candidate, &sample.pieces),
        })?;
        if found.results.is_empty() {
            return Err(nothing(why_nothing(&found.skipped)));
        }
        self.add_threads(&mut found, &meter, &sample, array.as_ref(), budget)?;
        Ok(Tuned::new(found.results, found.skipped))
    }

    /// Measures what is recommended with several numbers of threads.
    fn add_threads(
        &self,
        found: &mut Found,
        meter: &Meter<'_>,
        sample: &Sample,
        array: Option<&ArraySample>,
        budget: &Budget<'_>,
    ) -> Result<(), Stopped> {
        if self.thread_counts.len() < 2 {
            return Ok(());
        }
        let mut places: Vec<usize> = Purpose::ALL.iter().filter_map(|purpose| purpose.best(&found.results)).collect();
        places.sort_unstable();
        places.dedup();
        for place in places {
            let result = &mut found.results[place];
            for &threads in &self.thread_counts {
                if !budget.fits(found.costs.estimate(&result.candidate), part::THREADS) {
                    break;
                }
                let speed = match array {
                    Some(array) if result.candidate.of_array => {
                        meter.measure_array_threads(&result.candidate, array, threads)
                    }
                    _ => meter.measure_threads(&result.candidate, &sample.pieces, threads),
                };
                match speed {
                    Ok(speed) => result.threads.push(speed),
                    Err(Failed::Stopped) => return Err(Stopped),
                    // It worked before.
                    Err(Failed::Reason(_)) => break,
                }
            }
        }
        Ok(())
    }
}

/// Why no combination works: what the last one said, or else the first plugin.
fn why_nothing(skipped: &[Skipped]) -> &str {
    let combination = skipped.iter().rfind(|skipped| matches!(skipped.subject, Subject::Combination(_)));
    combination.or(skipped.first()).map_or("there is no codec to try", |skipped| &skipped.reason)
}
