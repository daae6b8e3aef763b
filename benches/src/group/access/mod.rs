//! Groups `access` and `changes`: reading and writing parts of what is compressed.

mod array;
mod change;
mod file;
mod item;

use std::time::Duration;

use super::{Schedule, Session, Subject};
use crate::Result;
use crate::settings::{Codec, Filter, Settings};
use crate::workload::Role;

/// The most time for one race.
const RACE: Duration = Duration::from_millis(600);

/// Measures all accesses.
///
/// # Errors
/// When the data cannot be loaded; a case that fails is noted and passed over.
pub fn run(session: &mut Session, time: Duration) -> Result<()> {
    eprintln!("access");
    let mut schedule = Schedule::start(time, item::races(session.form) + file::RACES + array::races(session.form));
    item::run(session, &mut schedule)?;
    file::run(session, &mut schedule)?;
    array::run(session, &mut schedule)
}

/// How the files are compressed.
fn settings(typesize: usize) -> Settings {
    Settings { codec: Codec::Lz4, filter: Filter::Shuffle, level: 5, threads: 1, typesize, block_size: None }
}

/// What is measured on such files.
fn subject(workload: String) -> Subject {
    Subject { group: "access", workload, role: Role::Tuned, codec: "lz4", filter: "shuffle", level: 5, threads: 1 }
}

/// The same positions in every run: a linear congruential generator's upper bits, in `0..below`.
fn positions(below: usize) -> impl FnMut() -> usize {
    let mut state = 0x5eed_u64;
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // The upper 31 bits, scaled: no division, and no pattern of the low bits.
        ((state >> 33) as usize * below) >> 31
    }
}
