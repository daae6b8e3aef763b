//! A cell that is filled once: the standard library's, with a lock of the scheduler's around the filling.

use shuttle::sync::Mutex;

/// The twin of [`std::sync::OnceLock`]. Waiting for another thread to fill it is visible to the scheduler.
pub(crate) struct OnceLock<T> {
    value: std::sync::OnceLock<T>,
    filling: Mutex<()>,
}

impl<T> OnceLock<T> {
    pub(crate) fn new() -> Self {
        Self { value: std::sync::OnceLock::new(), filling: Mutex::new(()) }
    }

    pub(crate) fn get_or_init(&self, init: impl FnOnce() -> T) -> &T {
        let _filling = self.filling.lock();
        self.value.get_or_init(init)
    }
}
