//! The groups of measurements.

pub mod access;
pub mod chunk;
pub mod command;
pub mod filter;
pub mod limit;
pub mod set;
pub mod stream;
pub mod thread;

use std::time::{Duration, Instant};

use crate::Result;
use crate::matrix::{Form, Only};
use crate::peer::c::CBlosc2;
use crate::race::{self, Lane, Pace, Times, race};
use crate::report::{Report, Row};
use crate::workload::Role;

/// What all groups share.
pub struct Session {
    /// C-Blosc2.
    pub c: CBlosc2,
    /// How much to measure.
    pub form: Form,
    /// What of it, in chunks.
    pub only: Only,
    /// Which time to take.
    pub clock: race::Clock,
    /// What the generated data and the drawn settings follow from.
    pub seed: u64,
    /// What has been measured.
    pub report: Report,
    /// What went wrong. If anything did, the program fails at its end.
    pub failures: Vec<String>,
}

/// What is measured, apart from the peer.
#[derive(Debug, Clone)]
pub struct Subject {
    /// Group in the report.
    pub group: &'static str,
    /// The data, and what else tells this row from its neighbours.
    pub workload: String,
    /// What the data may be used for.
    pub role: Role,
    /// Codec, or `-`.
    pub codec: &'static str,
    /// Filter, or `-`.
    pub filter: &'static str,
    /// Compression level; 0 where there is none.
    pub level: u8,
    /// Threads of both sides.
    pub threads: usize,
}

impl Session {
    /// Times the lanes, and adds a row for each one after the first, which is ours. A round handles `bytes` decoded
    /// bytes.
    ///
    /// # Errors
    /// Those of the lanes.
    pub fn measure(
        &mut self,
        subject: &Subject,
        bytes: usize,
        pace: Pace,
        lanes: &mut [Lane<'_>],
        mut size_ratio: impl FnMut(usize) -> f64,
    ) -> Result<()> {
        let times: Times = race(lanes, pace, self.clock)?;
        let mbps = |lane| bytes as f64 / 1e6 / times.median(lane);
        for (peer, lane) in lanes.iter().enumerate().skip(1) {
            self.report.push(Row {
                group: subject.group.into(),
                workload: subject.workload.clone(),
                role: subject.role,
                codec: subject.codec.into(),
                filter: subject.filter.into(),
                level: subject.level,
                threads: subject.threads,
                ours_mbps: mbps(0),
                peer: lane.name.into(),
                peer_mbps: mbps(peer),
                speed_ratio: times.speed_ratio(0, peer),
                size_ratio: size_ratio(peer),
            });
        }
        Ok(())
    }

    /// Notes what could not be measured, and goes on.
    pub fn note(&mut self, subject: &Subject, result: Result<()>) {
        if let Err(e) = result {
            let message = format!("{subject:?}: {e}");
            eprintln!("{message}");
            self.failures.push(message);
        }
    }
}

/// Deals out the time of a group, so that it ends in time on slow machines too.
#[derive(Debug)]
pub struct Schedule {
    end: Instant,
    /// What is left of the weights.
    left: u32,
    /// When there is no time left for the fewest rounds that mean something.
    too_late: Instant,
}

impl Schedule {
    /// `time` for `races` races of the same weight, from now on.
    pub fn start(time: Duration, races: usize) -> Self {
        Self::weighed(time, u32::try_from(races).unwrap_or(u32::MAX))
    }

    /// `time` for races whose weights add up to `sum`, from now on.
    pub fn weighed(time: Duration, sum: u32) -> Self {
        let end = Instant::now() + time;
        Self { end, left: sum.max(1), too_late: end + time / 10 }
    }

    /// As [`next_of`](Schedule::next_of), of weight 1.
    pub fn next(&mut self, most: Duration) -> Pace {
        self.next_of(1, most)
    }

    /// How long the next race, of this weight, may take: its share of what is left, but no more than `most`. If earlier
    /// races have left time over, it may take three times as long to get nine rounds. (On a busy machine the median of
    /// a few says little.) There are at least three rounds, so that there is a median; far behind schedule, one has to
    /// do.
    pub fn next_of(&mut self, weight: u32, most: Duration) -> Pace {
        let now = Instant::now();
        let weight = weight.clamp(1, self.left.max(1));
        let share = self.end.saturating_duration_since(now).mul_f64(f64::from(weight) / f64::from(self.left.max(1)));
        self.left = self.left.saturating_sub(weight);
        let budget = most.min(share);
        let min_rounds = if now > self.too_late { 1 } else { 3 };
        Pace { budget, good_rounds: 9, patience: share.min(3 * budget), min_rounds, max_rounds: 201 }
    }
}
