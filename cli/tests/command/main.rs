//! The real program, run as its users run it.

mod append;
mod arrays;
mod bench;
mod cat;
mod copy;
mod damage;
mod diff;
mod drawing;
#[path = "../../../conformance/tests/interop/environment.rs"]
mod environment;
mod failures;
mod help;
mod info;
mod info_schema;
mod integrity;
mod interop;
#[cfg(unix)]
mod interrupts;
mod missing_plugins;
mod open_ended;
mod outputs;
mod parts;
mod plugins;
mod program;
mod progress;
mod recompress;
mod round_trips;
#[cfg(feature = "serve")]
mod serve;
mod transport;
mod tune;
mod vectors;
