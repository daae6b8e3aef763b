//! How much time there is, and how it is divided.

use std::time::Duration;

/// Says how much time has passed since some moment.
pub(crate) type Clock<'a> = &'a dyn Fn() -> Duration;

/// Bytes of the sample for each second of the budget. At this rate a hundred combinations of common speeds fit.
const SAMPLE_BYTES_PER_SECOND: f64 = (512 << 10) as f64;
/// Work that is shorter than this is repeated: clocks and caches make short times unreliable.
const LEAST: Duration = Duration::from_millis(10);
/// A combination that takes longer than this for the whole sample is measured on fewer pieces of it.
const LONGEST: Duration = Duration::from_secs(10);

/// Parts of the budget after which no further work of a kind begins.
pub(crate) mod part {
    /// Finding out which plugins work, and which filters help.
    pub(crate) const TRIALS: f64 = 0.25;
    /// Combinations without sizes.
    pub(crate) const COMBINATIONS: f64 = 2.0 / 3.0;
    /// Sizes of blocks and chunks.
    pub(crate) const SIZES: f64 = 0.9;
    /// Threads, which come last.
    pub(crate) const THREADS: f64 = 1.0;
}

/// The time that a search may take, if it is limited.
#[derive(Clone, Copy)]
pub(crate) struct Budget<'a> {
    clock: Clock<'a>,
    begin: Duration,
    pub(crate) whole: Option<Duration>,
}

impl<'a> Budget<'a> {
    /// The time begins now.
    pub(crate) fn new(whole: Option<Duration>, clock: Clock<'a>) -> Self {
        Self { clock, begin: clock(), whole }
    }

    pub(crate) fn now(&self) -> Duration {
        (self.clock)()
    }

    /// Whether work that takes about this long ends within the part of the budget.
    pub(crate) fn fits(&self, estimate: Duration, part: f64) -> bool {
        // What begins in the last moment of a part does not fit, even if nothing is known about it.
        self.whole.is_none_or(|whole| self.now().saturating_sub(self.begin) + estimate < whole.mul_f64(part))
    }

    /// How many bytes there is time for.
    pub(crate) fn sample_bytes(&self) -> usize {
        // Saturating.
        self.whole.map_or(usize::MAX, |whole| (whole.as_secs_f64() * SAMPLE_BYTES_PER_SECOND) as usize)
    }

    /// Work that is shorter than this is repeated.
    pub(crate) fn least(&self) -> Duration {
        self.whole.map_or(LEAST, |whole| LEAST.min(whole / 500))
    }

    /// A combination that takes longer than this is measured on fewer pieces.
    pub(crate) fn longest(&self) -> Duration {
        self.whole.map_or(LONGEST, |whole| LONGEST.min(whole / 10))
    }
}
