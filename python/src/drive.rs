//! Running the library's futures for a Python caller.

use std::error::Error;
use std::future::Future;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, JoinHandle, Thread};
use std::time::{Duration, Instant};

use futures::channel::oneshot;
use oxiblosc::Progress;
use pyo3::prelude::*;

use crate::cancel::Cancel;
use crate::error;

/// How often work that takes longer looks for signals, calls back, and looks whether it is cancelled.
const TICK: Duration = Duration::from_millis(50);

/// What a caller wants to know, and may want, while work goes on.
#[derive(Default)]
pub(crate) struct Watch {
    cancel: Option<Arc<AtomicBool>>,
    progress: Option<(Py<PyAny>, Box<Count>)>,
}

/// What has been done, and how much there is to do as far as is known.
type Count = dyn Fn() -> (u64, u64) + Send + Sync;

impl Watch {
    pub(crate) fn cancelled_by(cancel: Option<&Bound<'_, Cancel>>) -> Self {
        Self { cancel: cancel.map(|cancel| cancel.get().flag()), progress: None }
    }

    /// Calls `callback(done, total)` now and then, in bytes.
    pub(crate) fn progress(self, callback: Option<Py<PyAny>>, done: &Progress, total: u64) -> Self {
        let done = done.clone();
        self.counting(callback, move || (done.done().min(total), total))
    }

    /// Calls `callback(done, total)` now and then, with what `count` says. At the end all is done.
    pub(crate) fn counting(
        mut self,
        callback: Option<Py<PyAny>>,
        count: impl Fn() -> (u64, u64) + Send + Sync + 'static,
    ) -> Self {
        let count: Box<Count> = Box::new(count);
        self.progress = callback.map(|callback| (callback, count));
        self
    }

    /// # Errors
    /// `KeyboardInterrupt`, what the callback raises, and the error of cancelled work.
    fn tick(&self) -> PyResult<()> {
        if self.cancel.as_ref().is_some_and(|cancel| cancel.load(Ordering::Relaxed)) {
            return Python::attach(|py| Err(error::cancelled(py)));
        }
        Python::attach(|py| {
            // Does nothing on threads other than the main one.
            py.check_signals()?;
            match self.progress.as_ref().map(|(callback, count)| (callback, count())) {
                // Callers divide by the total, which is 0 until it is known.
                Some((callback, (done, total))) if total > 0 => callback.call1(py, (done, total)).map(drop),
                _ => Ok(()),
            }
        })
    }

    /// The last call of a progress callback, after all has gone well.
    fn finished(&self, py: Python<'_>) -> PyResult<()> {
        match &self.progress {
            Some((callback, count)) => {
                let (_, total) = count();
                callback.call1(py, (total, total)).map(drop)
            }
            None => Ok(()),
        }
    }
}

/// Runs the future that `make` makes on this thread, with the interpreter detached, until it is done. A signal, such as
/// that of Ctrl-C, drops the future, and so ends its work.
///
/// # Errors
/// That of the future, as a Python exception, and what a signal handler raises.
pub(crate) fn drive<T, E, F>(py: Python<'_>, watch: &Watch, make: impl FnOnce() -> F + Send) -> PyResult<T>
where
    T: Send,
    E: Error + Send + Sync + 'static,
    F: Future<Output = Result<T, E>>,
{
    let done = py.detach(|| run(watch, make()));
    let done = done?.map_err(|e| error::raise(py, e))?;
    watch.finished(py)?;
    Ok(done)
}

/// The same for work that blocks, on a thread of its own. A signal cancels `progress`, which the work must heed, and
/// waits for its end.
pub(crate) fn drive_blocking<T, E>(
    py: Python<'_>,
    watch: &Watch,
    progress: &Progress,
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> PyResult<T>
where
    T: Send + 'static,
    E: Error + From<io::Error> + Send + Sync + 'static,
{
    let (sender, receiver) = oneshot::channel();
    drive(py, watch, || async {
        // Nobody waits for the result of cancelled work.
        let thread = thread::Builder::new().spawn(move || drop(sender.send(work())))?;
        let _ending = Ending { progress: progress.clone(), thread: Some(thread) };
        receiver.await.unwrap_or_else(|_| Err(io::Error::other("the work panicked").into()))
    })
}

/// Ends work on another thread when it is dropped.
struct Ending {
    progress: Progress,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Ending {
    fn drop(&mut self) {
        self.progress.cancel();
        // If it has panicked, that has been reported.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn run<F: Future>(watch: &Watch, future: F) -> PyResult<F::Output> {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut cx = Context::from_waker(&waker);
    let mut next = Instant::now() + TICK;
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut cx) {
            return Ok(output);
        }
        thread::park_timeout(TICK);
        if Instant::now() >= next {
            watch.tick()?;
            next = Instant::now() + TICK;
        }
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.unpark();
    }
}
