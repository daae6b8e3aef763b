//! What belongs to this process: its worker threads, which a forked child does not have.

use std::collections::HashMap;
use std::mem;
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use oxiblosc::Pool;
use pyo3::prelude::*;

use crate::error;

struct Pools {
    process: u32,
    /// By the number of threads; 0 for one for each processor.
    by_threads: Option<HashMap<usize, Pool>>,
}

static POOLS: Mutex<Pools> = Mutex::new(Pools { process: 0, by_threads: None });

/// The process that has used an object store first.
static REMOTE: AtomicU32 = AtomicU32::new(0);

/// The pool of this process with `threads` workers; one for each processor if it is 0 or not given. With one the work is
/// done on the calling thread.
pub(crate) fn pool(threads: Option<usize>) -> Pool {
    let threads = threads.unwrap_or(0);
    let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    let here = process::id();
    if pools.process != here {
        // The threads of these have stayed with the parent: nobody may wait for them.
        mem::forget(pools.by_threads.take());
        pools.process = here;
    }
    let make = || match threads {
        0 => Pool::per_processor(),
        1 => Pool::inline(),
        n => Pool::new(n),
    };
    pools.by_threads.get_or_insert_default().entry(threads).or_insert_with(make).clone()
}

/// Says that this process uses an object store.
///
/// # Errors
/// When its parent has used one: the threads for requests are shared by all stores, and a forked child has none.
pub(crate) fn use_remote(py: Python<'_>) -> PyResult<()> {
    let here = process::id();
    match REMOTE.compare_exchange(0, here, Ordering::Relaxed, Ordering::Relaxed) {
        Err(first) if first != here => Err(error::after_fork(py, "an object store")),
        _ => Ok(()),
    }
}
