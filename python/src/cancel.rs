//! Asking work on another thread to stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::prelude::*;

/// Stops work that was started with it. Once cancelled, it stays so.
#[pyclass(frozen, module = "oxiblosc._oxiblosc")]
#[derive(Default)]
pub(crate) struct Cancel {
    flag: Arc<AtomicBool>,
}

#[pymethods]
impl Cancel {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Makes the work end with an error, within a twentieth of a second.
    fn cancel(&self) {
        self.flag.store(true, Ordering::Relaxed);
    }
}

impl Cancel {
    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.flag)
    }
}
