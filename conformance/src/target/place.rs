//! A kind of target under test, and the places it writes to.

use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use oxiblosc_streaming::source::RangeSource;
use oxiblosc_streaming::target::Target;

use super::Faults;

/// A kind of target under test: makes targets at new places.
///
/// ```
/// use std::sync::{Arc, Mutex};
/// use std::task::{Context, Poll, ready};
/// use bytes::Bytes;
/// use oxiblosc_conformance::target::{Faults, TargetCheck, TargetKind, TestPlace};
/// use oxiblosc_streaming::source::RangeSource;
/// use oxiblosc_streaming::target::{Part, Target};
/// # use oxiblosc as _;
/// # use std::io;
///
/// /// A target of one's own: bytes that others can see once they are complete.
/// struct Board { bytes: Vec<u8>, public: Arc<Mutex<Option<Vec<u8>>>>, faults: Faults }
///
/// impl Target for Board {
///     fn poll_append(&mut self, cx: &mut Context<'_>, _: Part, bytes: &mut Bytes) -> Poll<io::Result<()>> {
///         ready!(self.faults.poll(cx))?;
///         self.bytes.extend_from_slice(&std::mem::take(bytes));
///         Poll::Ready(Ok(()))
///     }
///     fn poll_commit(&mut self, cx: &mut Context<'_>, header: &Bytes) -> Poll<io::Result<()>> {
///         ready!(self.faults.poll(cx))?;
///         // There is nothing to replace before the first header has been appended.
///         let place = self.bytes.get_mut(..header.len()).ok_or(io::ErrorKind::InvalidInput)?;
///         place.copy_from_slice(header);
///         *self.public.lock().unwrap() = Some(self.bytes.clone());
///         Poll::Ready(Ok(()))
///     }
///     # fn poll_flush(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> { Poll::Ready(Ok(())) }
///     # fn poll_close(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> { Poll::Ready(Ok(())) }
///     // ...
/// }
///
/// struct Boards;
///
/// impl TargetKind for Boards {
///     type Target = Board;
///     fn create(&self, faults: Faults) -> (Board, Box<dyn TestPlace>) {
///         let public = Arc::new(Mutex::new(None));
///         let board = Board { bytes: Vec::new(), public: Arc::clone(&public), faults };
///         (board, Box::new(move || public.lock().unwrap().clone().map(Bytes::from)))
///     }
/// }
///
/// TargetCheck::new("board", Boards).run().assert_passed();
/// ```
pub trait TargetKind {
    /// The target.
    type Target: Target;

    /// A target at a new place, and the place. The implementation below the target asks `faults` before each operation.
    fn create(&self, faults: Faults) -> (Self::Target, Box<dyn TestPlace>);

    /// How many bytes a target may hold when nothing below it accepts bytes; `None` if it may hold all, like a target
    /// that buffers the frame until it is complete.
    fn holds(&self) -> Option<usize> {
        None
    }

    /// Bytes of the largest frame that is written: 64 MiB. Fewer for a kind of target that is configured to work in far
    /// smaller steps than usual, and takes longer accordingly.
    fn largest(&self) -> usize {
        64 << 20
    }
}

/// The place of one target, as readers see it.
pub trait TestPlace {
    /// The frame at this place; `None` if there is none.
    fn frame(&self) -> Option<Box<dyn RangeSource>>;

    /// Everything there that is not part of a frame: temporary files, parts of uploads.
    fn leftovers(&self) -> Vec<String> {
        Vec::new()
    }
}

impl<F: Fn() -> Option<Bytes>> TestPlace for F {
    fn frame(&self) -> Option<Box<dyn RangeSource>> {
        self().map(|bytes| Box::new(bytes) as Box<dyn RangeSource>)
    }
}

/// The time in which background work of a target must complete.
pub(super) const PATIENCE: Duration = Duration::from_secs(120);

/// Waits until a target has removed everything but its frame, some of it in the background.
///
/// # Errors
/// What is still there after two minutes.
pub fn no_leftovers(leftovers: impl Fn() -> Vec<String>) -> Result<(), String> {
    let end = Instant::now() + PATIENCE;
    loop {
        let left = leftovers();
        if left.is_empty() {
            return Ok(());
        }
        if Instant::now() > end {
            return Err(format!("left behind: {}", left.join(", ")));
        }
        thread::sleep(Duration::from_millis(5));
    }
}
