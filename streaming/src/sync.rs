//! Synchronization primitives: those of the standard library, and rayon's workers.
//!
//! The models (see `models`) are compiled with `--cfg shuttle` and get counterparts that let a scheduler explore every
//! step. Code run by the models takes its locks, atomics and threads from here.

#[cfg(not(all(test, shuttle)))]
pub(crate) use {
    rayon_core as workers,
    std::sync::{Mutex, MutexGuard, OnceLock, atomic},
    std::thread,
};

#[cfg(all(test, shuttle))]
pub(crate) use {
    crate::models::{once::OnceLock, workers},
    shuttle::sync::{Mutex, MutexGuard, atomic},
    shuttle::thread,
};
