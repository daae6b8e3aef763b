//! Compares the speed of several ways to do the same work on a machine that is busy with other things, too.
//!
//! One measurement of one implementation says little on a shared machine: clock rates, caches and neighbours change from
//! second to second. So the contestants run in turns, a piece of work each, A B A B ..., and what counts is the
//! median of the ratios of neighbouring turns: whatever slows the machine down slows both sides of a pair.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use crate::Result;
use crate::synthetic::Random;

/// Which time is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Clock {
    /// The time that passes.
    #[default]
    Wall,
    /// The time that processors spend on this process, all threads together: says nothing about how well threads are
    /// used, but is much the same on a machine that is busy with other things.
    Cpu,
}

impl Clock {
    /// Seconds since some moment.
    pub fn now(self) -> f64 {
        match self {
            Self::Wall => {
                static START: LazyLock<Instant> = LazyLock::new(Instant::now);
                START.elapsed().as_secs_f64()
            }
            #[cfg(unix)]
            Self::Cpu => {
                let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
                time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
            }
            #[cfg(not(unix))]
            Self::Cpu => Self::Wall.now(),
        }
    }
}

/// One contestant: does the work of the round whose number it is given.
pub struct Lane<'a> {
    /// Whose work this is.
    pub name: &'static str,
    run: Box<dyn FnMut(usize) -> Result<()> + 'a>,
    optional: bool,
}

impl<'a> Lane<'a> {
    /// A contestant that runs in every round.
    pub fn new(name: &'static str, run: impl FnMut(usize) -> Result<()> + 'a) -> Self {
        Self { name, run: Box::new(run), optional: false }
    }

    /// A contestant that drops out when it has used up its share of the time: peers that are much slower must not
    /// keep the others from being measured well. One round is always run.
    pub fn optional(mut self) -> Self {
        self.optional = true;
        self
    }
}

/// How long a race may take.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// Rounds go on until this is used up ...
    pub budget: Duration,
    /// ... but there are at least this many, if they do not take longer than this,
    pub good_rounds: usize,
    /// see there,
    pub patience: Duration,
    /// ... or else at least this many,
    pub min_rounds: usize,
    /// ... and at most this many.
    pub max_rounds: usize,
}

impl Pace {
    fn is_over(&self, round: usize, elapsed: Duration) -> bool {
        let least = if elapsed < self.patience { self.good_rounds } else { self.min_rounds };
        round >= self.max_rounds.max(1) || (round >= least && elapsed >= self.budget)
    }
}

/// Seconds that each contestant took in each round; `None` where it had dropped out.
#[derive(Debug, Clone)]
pub struct Times(Vec<Vec<Option<f64>>>);

/// Runs the contestants in turns, whose order changes from round to round (see `order`).
///
/// # Errors
/// The first error of any contestant ends the race.
pub fn race(lanes: &mut [Lane<'_>], pace: Pace, clock: Clock) -> Result<Times> {
    let mut times: Vec<Vec<Option<f64>>> = vec![Vec::new(); lanes.len()];
    let mut used = vec![Duration::ZERO; lanes.len()];
    let share = pace.budget / u32::try_from(lanes.len().max(1)).unwrap_or(u32::MAX);
    let start = Instant::now();
    for round in 0.. {
        if pace.is_over(round, start.elapsed()) {
            break;
        }
        for i in order(lanes.len(), round) {
            if lanes[i].optional && round > 0 && used[i] >= share {
                times[i].push(None);
                continue;
            }
            let (turn, begin) = (Instant::now(), clock.now());
            (lanes[i].run)(round)?;
            times[i].push(Some(clock.now() - begin));
            used[i] += turn.elapsed();
        }
    }
    Ok(Times(times))
}

/// The order in which `count` contestants take their turns in a round.
///
/// Each begins in turn, the others follow in any order, and the next round goes backwards. So all are the first as often, who
/// finds the data of the round in no cache, and also the first of those who read the same data: not all of them do.
fn order(count: usize, round: usize) -> Vec<usize> {
    let pair = round / 2;
    let mut order: Vec<usize> = (0..count).collect();
    order.swap(0, pair % count.max(1));
    let mut random = Random::seeded(pair as u64);
    for last in (2..count).rev() {
        order.swap(last, 1 + random.below(last));
    }
    if !round.is_multiple_of(2) {
        order.reverse();
    }
    order
}

impl Times {
    /// Median seconds of a round of contestant `lane`.
    pub fn median(&self, lane: usize) -> f64 {
        median(self.0[lane].iter().flatten().copied().collect())
    }

    /// How many times as fast as `peer` contestant `ours` is: the median over the rounds that both ran.
    pub fn speed_ratio(&self, ours: usize, peer: usize) -> f64 {
        let pairs = self.0[ours].iter().zip(&self.0[peer]);
        median(pairs.filter_map(|(o, p)| Some((*p)? / (*o)?)).collect())
    }

    /// How many rounds `lane` ran.
    pub fn rounds(&self, lane: usize) -> usize {
        self.0[lane].iter().flatten().count()
    }
}

/// The middle value, or the mean of the two middle ones; NaN for none.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => values[n / 2],
        n => (values[n / 2 - 1] + values[n / 2]) / 2.0,
    }
}

/// The geometric mean; NaN for none.
pub fn geomean(values: &[f64]) -> f64 {
    (values.iter().map(|v| v.ln()).sum::<f64>() / values.len() as f64).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_of_even_and_odd_counts() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median(Vec::new()).is_nan());
    }

    #[test]
    fn the_geometric_mean_of_reciprocals_is_one() {
        assert!((geomean(&[4.0, 0.25]) - 1.0).abs() < 1e-12);
        assert!(geomean(&[]).is_nan());
    }

    #[test]
    fn ratios_come_from_rounds_that_both_ran() {
        // The machine was ten times slower in the second round: the pairs do not notice. In the third one the peer was
        // out.
        let times = Times(vec![vec![Some(1.0), Some(10.0), Some(5.0)], vec![Some(2.0), Some(20.0), None]]);
        assert_eq!(times.speed_ratio(0, 1), 2.0);
        assert_eq!(times.rounds(0), 3);
        assert_eq!(times.rounds(1), 2);
    }

    #[test]
    fn both_clocks_go_forward() {
        for clock in [Clock::Wall, Clock::Cpu] {
            let begin = clock.now();
            let sum = (0..1_000_000u64).map(std::hint::black_box).sum::<u64>();
            assert!(clock.now() > begin, "{clock:?} {sum}");
        }
    }

    #[test]
    fn more_rounds_when_they_are_cheap() {
        let (budget, patience) = (Duration::from_secs(1), Duration::from_secs(3));
        let pace = Pace { budget, good_rounds: 9, patience, min_rounds: 3, max_rounds: 20 };
        assert!(!pace.is_over(15, Duration::from_millis(900)));
        assert!(pace.is_over(20, Duration::from_millis(900)));
        assert!(!pace.is_over(8, Duration::from_secs(2)));
        assert!(pace.is_over(9, Duration::from_secs(2)));
        assert!(!pace.is_over(2, Duration::from_secs(100)));
        assert!(pace.is_over(3, Duration::from_secs(100)));
    }

    #[test]
    fn everybody_is_as_often_before_all_others_and_before_all_but_one() {
        const ROUNDS: usize = 6000;
        for count in 1..=5 {
            let (mut first, mut first_but) = (vec![0; count], vec![vec![0; count]; count]);
            for round in 0..ROUNDS {
                let order = order(count, round);
                first[order[0]] += 1;
                for (without, first) in first_but.iter_mut().enumerate() {
                    order.iter().find(|&&lane| lane != without).into_iter().for_each(|&lane| first[lane] += 1);
                }
            }
            let even = |times: usize, among: usize| times.abs_diff(ROUNDS / among) < ROUNDS / among / 8;
            assert!(first.iter().all(|&times| even(times, count)), "{first:?}");
            for (without, first) in first_but.iter().enumerate().filter(|_| count > 1) {
                let mut others = first.iter().enumerate().filter(|(lane, _)| *lane != without);
                assert!(others.all(|(_, &times)| even(times, count - 1)), "without {without}: {first:?}");
            }
        }
    }

    #[test]
    fn turns_alternate_and_slow_guests_drop_out() {
        let log = std::cell::RefCell::new(Vec::new());
        let (budget, patience) = (Duration::ZERO, Duration::ZERO);
        let pace = Pace { budget, good_rounds: 9, patience, min_rounds: 3, max_rounds: 9 };
        let mut lanes = [
            Lane::new("a", |round| {
                log.borrow_mut().push(('a', round));
                Ok(())
            }),
            Lane::new("b", |round| {
                log.borrow_mut().push(('b', round));
                Ok(())
            })
            .optional(),
        ];
        let times = race(&mut lanes, pace, Clock::Wall).unwrap();
        assert_eq!(times.rounds(0), 3);
        assert_eq!(times.rounds(1), 1);
        assert_eq!(*log.borrow(), [('a', 0), ('b', 0), ('a', 1), ('a', 2)]);
    }
}
