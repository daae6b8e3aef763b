//! How far long work is, and how it is ended early.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::{fmt, io};

/// How far some work is, and a way to end it from another thread. Clones are about the same work.
///
/// A future is cancelled by dropping it, and the caller of a writer knows what has been written. This is for all other
/// work: calls that return when everything is done, and those of [`blocking`](crate::blocking). It goes
/// - around the source or the target, as a [`ProgressSource`](crate::source::ProgressSource) or a
///   [`ProgressTarget`](crate::target::ProgressTarget), or
/// - into [`RecoverOptions::progress`](crate::recover::RecoverOptions::progress) and
///   [`EditOptions::progress`](crate::edit::EditOptions::progress), where files are opened for the caller.
///
/// ```
/// use oxiblosc_streaming::source::ProgressSource;
/// use oxiblosc_streaming::{ErrorKind, Progress, ReadOptions, blocking};
/// # use std::io::Write;
/// # use oxiblosc_streaming::WriteOptions;
/// # use oxiblosc_plugins as _;
/// # let mut writer = blocking::FrameWriter::in_memory(WriteOptions::default())?;
/// # writer.write_all(&[7; 1000])?;
/// # writer.finish()?;
/// # let frame: Vec<u8> = writer.into_bytes();
///
/// let progress = Progress::new();
/// let source = ProgressSource::new(frame, &progress);
/// let reader = blocking::FrameReader::with_options(source, ReadOptions::new())?;
/// assert!(reader.verify()?.is_good());
/// println!("{} of {} bytes", progress.done(), reader.frame().frame_len());
///
/// // From another thread, as a rule.
/// progress.cancel();
/// assert_eq!(reader.verify().unwrap_err().kind(), ErrorKind::Cancelled);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
pub struct Progress(Arc<ProgressState>);

#[derive(Default)]
struct ProgressState {
    done: AtomicU64,
    is_cancelled: AtomicBool,
    observer: Option<Box<dyn Fn(u64) + Send + Sync>>,
}

impl Progress {
    /// Nothing has been done.
    pub fn new() -> Self {
        Self::default()
    }

    /// As [`new`](Self::new). `observer` is called with the number of bytes of each step, on the thread that has done
    /// it, which waits: for an observer that may call [`cancel`](Self::cancel), and for those that draw.
    pub fn with_observer(observer: impl Fn(u64) + Send + Sync + 'static) -> Self {
        Self(Arc::new(ProgressState { observer: Some(Box::new(observer)), ..ProgressState::default() }))
    }

    /// Encoded bytes that have been read from the source, or passed to the target. Some are read twice, and others not
    /// at all: at the end these need not be as many as the frame has.
    pub fn done(&self) -> u64 {
        self.0.done.load(Ordering::Relaxed)
    }

    /// Makes the work end with an error of the kind [`Cancelled`](crate::ErrorKind::Cancelled), before it next reads or
    /// writes. What is finished by then stays finished. There is no way back.
    pub fn cancel(&self) {
        self.0.is_cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether [`cancel`](Self::cancel) has been called.
    pub fn is_cancelled(&self) -> bool {
        self.0.is_cancelled.load(Ordering::Relaxed)
    }

    /// More has been done.
    pub(crate) fn advance(&self, bytes: u64) {
        self.0.done.fetch_add(bytes, Ordering::Relaxed);
        if let Some(observer) = &self.0.observer {
            observer(bytes);
        }
    }

    /// # Errors
    /// When the work has been cancelled.
    pub(crate) fn check(&self) -> io::Result<()> {
        if self.is_cancelled() { Err(io::Error::other(Cancelled)) } else { Ok(()) }
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Progress").field("done", &self.done()).field("is_cancelled", &self.is_cancelled()).finish()
    }
}

/// The error of work that was cancelled.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("the work was cancelled")]
pub(crate) struct Cancelled;
