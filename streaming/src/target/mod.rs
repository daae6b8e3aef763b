//! Where a frame goes.
//!
//! The header of a frame holds its totals, which are known only at the end. What a place offers decides how they get
//! into the first bytes:
//!
//! | target | how the header is made right |
//! |---|---|
//! | [`FileTarget`] | written over at the end, then the file gets its name |
//! | [`SeekTarget`] | written over at the end, in any `AsyncWrite + AsyncSeek` |
//! | [`SpoolTarget`] | the frame is kept (memory, then a temporary file) and copied out at the end, into any `AsyncWrite` |
//! | [`MemoryTarget`] | written over at the end, in a `Vec<u8>` |
//! | [`OpenTarget`] | not at all: the frame is open-ended until it is sealed, in any `AsyncWrite` |
//! | `ObjectTarget` | an object: the first part of the upload is held back and sent last (feature `object_store`) |
//! | [`SparseTarget`] | a directory: each chunk is a file, and the header is in the last one |
//! | [`PlaceTarget`] | the same in any place, such as memory ([`MemoryDirectory`](crate::sparse::MemoryDirectory)) or objects under a common prefix |

mod file;
mod gather;
mod memory;
mod offer;
mod open;
mod seek;
mod spool;

use std::io;
use std::task::{Context, Poll};

use bytes::Bytes;
use oxiblosc_core::frame::{FrameError, FrameHeader};

pub use file::FileTarget;
#[cfg(feature = "object_store")]
pub(crate) use gather::Gather;
pub use memory::MemoryTarget;
pub(crate) use offer::{Refusal, poll_offer};
pub use open::OpenTarget;
pub use seek::SeekTarget;
pub use spool::SpoolTarget;

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
/// - **All or nothing in the answer.** A target that answers [`poll_append`](Target::poll_append) with `Pending` or with an
///   error has taken no byte; one that has taken any answers `Ready(Ok)`. What does not fit, fails or has to wait after
///   the first byte is for the next call to say. Callers check it, and give the frame up when a target breaks the rule:
///   two counts of the same bytes would go apart, and the frame would lack some.
/// - **State lives in the target.** Every method may return `Pending` and be called again any time later; nothing may
///   depend on a future being kept. Bytes that were not accepted are offered again unchanged. More bytes may be
///   appended after a flush that was not awaited; but once [`poll_commit`](Target::poll_commit) has been called, it is
///   called with the same header until it succeeds, and then only [`poll_close`](Target::poll_close). Instead of
///   anything, [`poll_abort`](Target::poll_abort) may be called.
/// - **Errors leave the target usable.** After an error the same call may be made again and goes on where the failed
///   one stopped: accepted bytes are neither lost nor repeated. When a target cannot keep that promise, it must go on
///   returning errors.
/// - **Atomicity.** Before [`poll_commit`](Target::poll_commit) is `Ready(Ok)`, no reader that checks totals takes
///   what is there for a complete frame. A target that knows how many bytes it has taken refuses a header that speaks of
///   more or fewer, rather than publish a frame that lacks some.
/// - **Dropping** a target that is not committed leaves the frame unfinished; it must not block.
pub trait Target {
    /// Accepts bytes that follow all earlier ones, by taking them from the front of `bytes`: at least one of them
    /// when it is `Ready(Ok)`, unless there are none, and not one when it is `Pending` or an error. `part` says what they
    /// belong to.
    fn poll_append(&mut self, cx: &mut Context<'_>, part: Part, bytes: &mut Bytes) -> Poll<io::Result<()>>;

    /// Waits until all accepted bytes have been passed on as far as they can be before the frame is final.
    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Makes the frame final: `header` replaces the provisional header, of the same length. Called after everything
    /// has been appended; afterwards the bytes are at their place and flushed.
    fn poll_commit(&mut self, cx: &mut Context<'_>, header: &Bytes) -> Poll<io::Result<()>>;

    /// Whether the frame is to be a sparse one. Then each chunk comes as the bytes of a file of its own
    /// ([`Part::File`]), which ends where those of the next one begin; there is no tail, and what is committed is the
    /// whole index file. The provisional header comes first, for targets that keep it to recover the frame from; others
    /// take it and forget it.
    fn is_sparse(&self) -> bool {
        false
    }

    /// Whether readers may look at the frame while it grows. It then carries the promise that its chunks lie in order
    /// and are all stored ([`Sequential`](oxiblosc_core::frame::Sequential)), and its provisional header says all that
    /// is known: such a frame can be followed, and recovered when its writer dies.
    fn is_open_ended(&self) -> bool {
        false
    }

    /// Closes what lies underneath, after the frame is final.
    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Gives the frame up and removes what can be removed (a temporary file, the parts of an upload).
    fn poll_abort(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let _ = cx;
        Poll::Ready(Ok(()))
    }
}

/// Most bytes handed to a writer at once: one in memory copies all that it is given, on the thread that polls.
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

            fn is_sparse(&self) -> bool {
                (**self).is_sparse()
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

/// What a run of bytes of a frame belongs to. Most targets need not know.
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

/// Makes sure that `header` is the final one of a contiguous frame of which `taken` bytes have come, no more and no
/// fewer. Bytes that are no frame at all, such as a single chunk, are their caller's business.
pub(crate) fn check_whole(header: &[u8], taken: u64) -> io::Result<()> {
    let refused = |message| Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    if taken < header.len() as u64 {
        return refused("a header was committed before one was appended".into());
    }
    match FrameHeader::parse(header) {
        Ok(header) if header.frame_len == taken => Ok(()),
        Ok(header) => {
            let message = format!("the frame is to have {} bytes, the target has {taken}", header.frame_len);
            refused(format!("{message}: it would not be readable and is not made final"))
        }
        Err(FrameError::TooShort { .. } | FrameError::Magic { .. }) => Ok(()),
        Err(error) => refused(format!("the header to be committed is not valid: {error}")),
    }
}
