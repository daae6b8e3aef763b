//! Where a frame goes.
//!
//! The header of a frame holds its totals, which are known only at the end. How they get into the first bytes depends
//! on the target:
//!
//! | target | how the header is made right |
//! |---|---|
//! | [`FileTarget`] | written over at the end, then the file gets its name |
//! | [`SeekTarget`] | written over at the end, in any `AsyncWrite + AsyncSeek` |
//! | [`SpoolTarget`] | the frame is kept (memory, then a temporary file) and copied out at the end, into any `AsyncWrite` |
//! | [`MemoryTarget`] | written over at the end, in a `Vec<u8>` |
//! | [`OpenTarget`] | not at all: the frame is open-ended until it is sealed, in any `AsyncWrite` |
//! | `ObjectTarget` | an object: the first part of the upload is held back and sent last, or, where a store takes parts in order only, the frame is kept as by [`SpoolTarget`] (feature `object_store`) |
//! | [`SparseTarget`] | a directory: each chunk is a file, and the header is in the last one |
//! | [`ProgressTarget`] | as the target that it counts for does |
//! | [`PlaceTarget`] | the same in any place, such as memory ([`MemoryDirectory`](crate::sparse::MemoryDirectory)) or objects under a common prefix |

mod append_buffer;
mod file;
mod memory;
mod offer;
mod open;
mod progress;
mod seek;
mod spool;
mod spool_buffer;

use std::io;
use std::task::{Context, Poll};

use bytes::Bytes;
use oxiblosc_core::frame::{FrameError, FrameHeader, FrameType};

#[cfg(feature = "object_store")]
pub(crate) use append_buffer::AppendBuffer;
pub use file::FileTarget;
pub use memory::MemoryTarget;
pub(crate) use offer::{OfferError, poll_offer};
pub use open::OpenTarget;
pub use progress::ProgressTarget;
pub use seek::SeekTarget;
pub use spool::SpoolTarget;
#[cfg(feature = "object_store")]
pub(crate) use spool_buffer::{SpoolBuffer, SpooledBytes};

#[cfg(feature = "object_store")]
pub use crate::object::ObjectTarget;
pub use crate::sparse::{PlaceTarget, SparseTarget};

/// A place that a frame is written to.
///
/// Bytes arrive in the order of the file: the header (provisional: its length is final, its totals are not), the
/// chunks by number, and the tail (index and trailer). One last call brings the final header and makes the frame
/// valid.
///
/// # Contract
/// - **All or nothing in the answer.** A target that returns `Pending` or an error from
///   [`poll_append`](Target::poll_append) has taken no bytes; one that has taken any returns `Ready(Ok)`. If it fails
///   or has to wait after the first byte, the next call reports that. Callers check this, and abandon the frame if a
///   target breaks the rule: the two sides would count bytes differently, and the frame would lack some.
/// - **State lives in the target.** Every method may return `Pending` and be called again at any time later; nothing
///   may depend on a future being kept. Bytes that were not accepted are offered again unchanged. More bytes may be
///   appended after a flush that was not awaited; but once [`poll_commit`](Target::poll_commit) has been called, it is
///   called with the same header until it succeeds, and then only [`poll_close`](Target::poll_close).
///   [`poll_abort`](Target::poll_abort) may be called at any time instead.
/// - **Errors leave the target usable.** After an error the call may be repeated and continues where the failed one
///   stopped: accepted bytes are neither lost nor repeated. A target that cannot keep that promise must keep returning
///   errors.
/// - **Atomicity.** Before [`poll_commit`](Target::poll_commit) is `Ready(Ok)`, no reader that checks totals takes the
///   bytes for a complete frame. A target that knows how many bytes it has taken refuses a header with another total,
///   rather than publish a frame that lacks some.
/// - **Dropping** a target that is not committed leaves the frame unfinished; it must not block.
pub trait Target {
    /// Accepts bytes that follow all earlier ones, by taking them from the front of `bytes`: at least one if it returns
    /// `Ready(Ok)` (unless there are none), and none if it returns `Pending` or an error. `part` says what they belong
    /// to.
    fn poll_append(&mut self, cx: &mut Context<'_>, part: Part, bytes: &mut Bytes) -> Poll<io::Result<()>>;

    /// Waits until all accepted bytes have been passed on as far as possible before the commit.
    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Commits the frame: `header` replaces the provisional header, which has the same length. Called after everything
    /// has been appended; afterwards all bytes are in place and flushed.
    fn poll_commit(&mut self, cx: &mut Context<'_>, header: &Bytes) -> Poll<io::Result<()>>;

    /// Which kind of frame is written here. Of a sparse one, each chunk arrives as a separate file ([`Part::File`]),
    /// which ends where the next one begins; there is no tail, and the commit gets the whole index file. The provisional
    /// header comes first, for targets that keep it for recovery; others discard it.
    fn frame_type(&self) -> FrameType {
        FrameType::Contiguous
    }

    /// Whether readers may read the frame while it grows. It then promises that its chunks are in order and all stored
    /// ([`Sequential`](oxiblosc_core::frame::Sequential)), and its provisional header holds all that is known: such a
    /// frame can be followed, and recovered if its writer dies.
    fn is_open_ended(&self) -> bool {
        false
    }

    /// Closes the underlying writer, after the commit.
    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Abandons the frame and removes what can be removed (a temporary file, the parts of an upload).
    fn poll_abort(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let _ = cx;
        Poll::Ready(Ok(()))
    }
}

/// The most bytes given to a writer at a time: one in memory copies everything it is given, on the polling thread.
const AT_ONCE: usize = 1 << 20;

macro_rules! forward {
    ($($wrapper:ty),*) => {$(
        impl<T: Target + ?Sized> Target for $wrapper {
            fn poll_append(&mut self, cx: &mut Context<'_>, part: Part, bytes: &mut Bytes) -> Poll<io::Result<()>> {
                (**self).poll_append(cx, part, bytes)
            }

            fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                (**self).poll_flush(cx)
            }

            fn poll_commit(&mut self, cx: &mut Context<'_>, header: &Bytes) -> Poll<io::Result<()>> {
                (**self).poll_commit(cx, header)
            }

            fn frame_type(&self) -> FrameType {
                (**self).frame_type()
            }

            fn is_open_ended(&self) -> bool {
                (**self).is_open_ended()
            }

            fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                (**self).poll_close(cx)
            }

            fn poll_abort(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                (**self).poll_abort(cx)
            }
        }
    )*};
}

forward!(Box<T>, &mut T);

/// The part of a frame that bytes belong to. Most targets need not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Part {
    /// The provisional header.
    Header,
    /// The chunk with this number.
    Chunk(u64),
    /// The chunk file with this number, in a sparse frame.
    File(u32),
    /// Index and trailer.
    Tail,
}

impl Part {
    pub(crate) fn is_chunk(self) -> bool {
        matches!(self, Self::Chunk(_) | Self::File(_))
    }
}

/// Checks that `header` is the final one of a contiguous frame of exactly `taken` bytes. Bytes that are not a frame at
/// all, such as a single chunk, are the caller's business.
pub(crate) fn check_whole(header: &[u8], taken: u64) -> io::Result<()> {
    let refused = |message| Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    if taken < header.len() as u64 {
        return refused("a header was committed before one was appended".into());
    }
    match FrameHeader::parse(header) {
        Ok(header) if header.frame_len == taken => Ok(()),
        Ok(header) => {
            let message = format!("the header says {} bytes, the target has {taken}", header.frame_len);
            refused(format!("{message}: the frame would not be readable and is not committed"))
        }
        Err(FrameError::TooShort { .. } | FrameError::Magic { .. }) => Ok(()),
        Err(error) => refused(format!("the header to be committed is not valid: {error}")),
    }
}
