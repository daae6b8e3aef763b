//! Models of what threads share: the code of this crate itself, run under thousands of schedules.
//!
//! `.ci/models` runs them; `OXIBLOSC_SCHEDULES` says how many schedules each of them gets. Half of them are random, half
//! have a few changes of priority at random places, which finds what takes a thread that sleeps for long. When one fails,
//! its schedule is printed, and `shuttle::replay` runs it again.

mod buffers;
mod commit;
pub(crate) mod once;
mod pool;
mod queue;
pub(crate) mod workers;

use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::{Config, Runner};

/// The default number of schedules of a model.
const SCHEDULES: usize = 2000;

/// Changes of priority in a schedule.
const CHANGES: usize = 4;

/// Runs `model` under many schedules. A deadlock is a failure, a thread that waits when all others have ended too.
fn explore(name: &str, model: fn()) {
    let schedules =
        std::env::var("OXIBLOSC_SCHEDULES").map_or(SCHEDULES, |n| n.parse().expect("a number of schedules"));
    let mut config = Config::new();
    // Encoders keep tables on the stack.
    config.stack_size = 512 << 10;
    config.silence_warnings = true;
    let random = Runner::new(RandomScheduler::new(schedules.div_ceil(2)), config.clone()).run(model);
    let changing = Runner::new(PctScheduler::new(CHANGES, schedules / 2), config).run(model);
    println!("model {name}: schedules={}", random + changing);
}
