//! The real program, run as its users run it.

mod damage;
mod failures;
mod info;
mod plugins;
mod program;
mod round_trips;
mod vectors;
