//! What threads share and where they wait: the standard library's, and rayon's workers.
//!
//! The models (see `models`) are compiled with `--cfg shuttle` and get twins of these that hand every step to a scheduler
//! which explores. Code that the models run takes its locks, atomics and threads from here.

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
