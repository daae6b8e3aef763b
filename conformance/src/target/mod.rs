//! Checking the promises of a target.

mod check;
mod fault;
mod place;
mod size;

pub use check::TargetCheck;
pub use fault::{Faults, Faulty};
pub use place::{TargetKind, TestPlace, no_leftovers};
