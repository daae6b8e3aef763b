//! Models of what threads share: the code of this crate itself, run under thousands of schedules.
//!
//! `.ci/models` runs them; `OXIBLOSC_SCHEDULES` says how many schedules each of them gets. Half of them are random, half
//! have a few changes of priority at random places, which finds what takes a thread that sleeps for long. When one fails,
//! its schedule is printed, and `shuttle::replay` runs it again.

mod budget;
mod buffers;
mod commit;
mod driven;
pub(crate) mod once;
mod pool;
mod queue;
mod requests;
mod watch;
pub(crate) mod workers;

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::{Config, MaxSteps, Runner};

use self::watch::Watch;

/// The default number of schedules of a model.
const SCHEDULES: usize = 20_000;

/// Changes of priority in a schedule.
const CHANGES: usize = 4;

/// The limit on steps in a schedule. The longest have a few hundred; one that reaches the limit is a livelock.
const STEPS: usize = 50_000;

/// Runs `model` under many schedules. A deadlock is a failure, a thread that waits when all others have ended too.
fn explore(name: &'static str, model: fn()) {
    let schedules =
        std::env::var("OXIBLOSC_SCHEDULES").map_or(SCHEDULES, |n| n.parse().expect("a number of schedules"));
    // The schedulers read this variable, too.
    let seed = std::env::var("SHUTTLE_RANDOM_SEED")
        .map_or_else(|_| RandomState::new().hash_one(name), |seed| seed.parse().expect("a seed"));
    let mut config = Config::new();
    // Encoders keep tables on the stack.
    config.stack_size = 512 << 10;
    config.max_steps = MaxSteps::FailAfter(STEPS);
    config.silence_warnings = true;

    let started = Arc::new(AtomicUsize::new(0));
    let _watch = Watch::begin(name, seed, Arc::clone(&started));
    let model = move || {
        started.fetch_add(1, Ordering::Relaxed);
        model();
    };
    let random = RandomScheduler::new_from_seed(seed, schedules.div_ceil(2));
    let random = Runner::new(random, config.clone()).run(model.clone());
    let changing = PctScheduler::new_from_seed(seed, CHANGES + 1, schedules / 2);
    let changing = Runner::new(changing, config).run(model);
    println!("model {name}: schedules={}", random + changing);
}
