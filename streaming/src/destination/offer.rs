//! Offering bytes to a target, and checking its contract.

use std::io;
use std::task::{Context, Poll};

use bytes::Bytes;

use super::{Part, Target};
use crate::error::WriteError;

/// Why a target has not accepted bytes.
#[derive(Debug)]
pub(crate) enum OfferError {
    /// It failed, and the call may be repeated.
    Failed(io::Error),
    /// It broke its contract: it is no longer known which bytes it has.
    Broken(String),
}

impl From<OfferError> for WriteError {
    fn from(refusal: OfferError) -> Self {
        match refusal {
            OfferError::Failed(error) => Self::Target(error),
            OfferError::Broken(what) => Self::TargetContract { what },
        }
    }
}

impl From<OfferError> for io::Error {
    fn from(refusal: OfferError) -> Self {
        WriteError::from(refusal).into()
    }
}

/// Offers `bytes` to `target`, and returns the number of bytes that it has accepted, at least one unless there are
/// none.
///
/// Sinks and targets both count bytes. If a target took some and reported that it had not, or the other way round, the
/// counts would diverge, and the frame would lack bytes unnoticed.
pub(crate) fn poll_offer<T: Target + ?Sized>(
    target: &mut T,
    cx: &mut Context<'_>,
    part: Part,
    bytes: &mut Bytes,
) -> Poll<Result<usize, OfferError>> {
    let before = bytes.len();
    let answer = target.poll_append(cx, part, bytes);
    let broken = |what: String| Poll::Ready(Err(OfferError::Broken(what)));
    let Some(taken) = before.checked_sub(bytes.len()) else {
        return broken(format!("it was offered {before} bytes and left {}", bytes.len()));
    };
    match answer {
        Poll::Pending if taken == 0 => Poll::Pending,
        Poll::Pending => broken(format!("it took {taken} of {before} bytes and was not ready")),
        Poll::Ready(Err(error)) if taken == 0 => Poll::Ready(Err(OfferError::Failed(error))),
        Poll::Ready(Err(error)) => broken(format!("it took {taken} of {before} bytes and failed: {error}")),
        Poll::Ready(Ok(())) if taken == 0 && before > 0 => {
            let error = io::Error::new(io::ErrorKind::WriteZero, "the target accepts no more bytes");
            Poll::Ready(Err(OfferError::Failed(error)))
        }
        Poll::Ready(Ok(())) => Poll::Ready(Ok(taken)),
    }
}
