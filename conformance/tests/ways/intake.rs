//! Sinks as their producers see them: bytes go in through one of the interfaces, failures are tried again, and
//! futures are dropped.

use std::future::{Future, poll_fn};
use std::io::Write;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use futures::Sink;
use futures::io::AsyncWriteExt;
use oxiblosc::nd::{ArrayError, NdSink};
use oxiblosc::{FrameSink, Summary, WriteError, block_on, blocking};
use oxiblosc_conformance::data::Random;

use crate::case::{Case, Door, Fault};
use crate::payload::Payload;
use crate::place::BoxTarget;

/// Errors in a row after which a caller gives up on a place that fails for good.
const PATIENCE: usize = 5;
/// Errors in a row that no place has that recovers.
const HOPELESS: usize = 200;

/// An error as a caller looks at it.
#[derive(Debug)]
pub(crate) struct Failure {
    /// Whether the sink goes on if the call is repeated.
    resumable: bool,
    text: String,
}

impl From<std::io::Error> for Failure {
    /// An error of the target, which does not stay, unless an error of the sink is inside.
    fn from(error: std::io::Error) -> Self {
        let stays = error.get_ref().is_some_and(|inner| {
            inner.is::<ArrayError>() || inner.downcast_ref().is_some_and(|error: &WriteError| !error.is_resumable())
        });
        Self { resumable: !stays, text: error.to_string() }
    }
}

impl From<WriteError> for Failure {
    fn from(error: WriteError) -> Self {
        Self { resumable: error.is_resumable(), text: error.to_string() }
    }
}

impl From<ArrayError> for Failure {
    fn from(error: ArrayError) -> Self {
        let resumable = matches!(&error, ArrayError::Write(error) if error.is_resumable());
        Self { resumable, text: error.to_string() }
    }
}

/// A sink or a writer.
pub(crate) trait Intake {
    fn write(&mut self, bytes: &[u8]) -> impl Future<Output = Result<usize, Failure>>;
    fn ready(&mut self) -> impl Future<Output = Result<(), Failure>>;
    fn take(&mut self, bytes: Bytes) -> Result<(), Failure>;
    fn flush(&mut self) -> impl Future<Output = Result<(), Failure>>;
    fn close(&mut self) -> impl Future<Output = Result<Summary, Failure>>;
}

macro_rules! sink {
    ($sink:ty, |$summary:ident| $frame:expr) => {
        impl Intake for $sink {
            async fn write(&mut self, bytes: &[u8]) -> Result<usize, Failure> {
                Ok(AsyncWriteExt::write(self, bytes).await?)
            }

            async fn ready(&mut self) -> Result<(), Failure> {
                Ok(poll_fn(|cx| Pin::new(&mut *self).poll_ready(cx)).await?)
            }

            fn take(&mut self, bytes: Bytes) -> Result<(), Failure> {
                Ok(Pin::new(self).start_send(bytes)?)
            }

            async fn flush(&mut self) -> Result<(), Failure> {
                Ok(self.flush().await?)
            }

            async fn close(&mut self) -> Result<Summary, Failure> {
                let $summary = self.close().await?;
                Ok($frame)
            }
        }
    };
}

sink!(FrameSink<BoxTarget>, |summary| summary);
sink!(NdSink<BoxTarget>, |summary| summary.frame);

macro_rules! writer {
    ($writer:ty, |$summary:ident| $frame:expr) => {
        impl Intake for $writer {
            async fn write(&mut self, bytes: &[u8]) -> Result<usize, Failure> {
                Ok(Write::write(self, bytes)?)
            }

            async fn ready(&mut self) -> Result<(), Failure> {
                Ok(())
            }

            fn take(&mut self, bytes: Bytes) -> Result<(), Failure> {
                Ok(self.push(bytes)?)
            }

            async fn flush(&mut self) -> Result<(), Failure> {
                Ok(Write::flush(self)?)
            }

            async fn close(&mut self) -> Result<Summary, Failure> {
                let $summary = self.finish()?;
                Ok($frame)
            }
        }
    };
}

writer!(blocking::FrameWriter<BoxTarget>, |summary| summary);
writer!(blocking::NdWriter<BoxTarget>, |summary| summary.frame);

/// What became of it.
pub(crate) enum Outcome {
    /// All bytes have been taken, and the sink is closed.
    Closed(Summary),
    /// The place fails for good, and the caller has had enough of it.
    GivenUp { all_taken: bool },
}

/// Writes the whole payload as the case says, and closes the sink. Counts the errors that it gets.
pub(crate) fn fill(
    sink: &mut impl Intake,
    case: &Case,
    payload: &Payload,
    errors: &mut usize,
) -> Result<Outcome, String> {
    let mut random = Random::new(case.seed);
    // Whether to go on after an error.
    let mut go_on = |failure: &Failure| {
        *errors += 1;
        match case.fault {
            _ if !failure.resumable => Err(format!("failed for good: {}", failure.text)),
            Fault::Always if *errors >= PATIENCE => Ok(false),
            _ if *errors >= HOPELESS => Err(format!("failed {errors} times, at last: {}", failure.text)),
            _ => Ok(true),
        }
    };
    let len = payload.len();
    let mut at = 0;
    // What has been made of the payload and not been taken.
    let mut piece = Bytes::new();
    while at < len {
        if piece.is_empty() {
            let wanted = case.piece_at(at, len) as u64;
            piece = payload.bytes(at..at + wanted).into();
        }
        let both = matches!(case.door, Door::Blocking) && random.below(2) == 0;
        let result = if matches!(case.door, Door::Send) || both {
            match attempt(case, sink.ready()) {
                Some(Ok(())) => {
                    let len = piece.len();
                    match sink.take(piece.clone()) {
                        Ok(()) => Some(Ok(len)),
                        Err(failure) => Some(Err(failure)),
                    }
                }
                Some(Err(failure)) => Some(Err(failure)),
                None => None,
            }
        } else {
            attempt(case, sink.write(&piece))
        };
        match result {
            Some(Ok(taken)) => {
                at += taken as u64;
                let _ = piece.split_to(taken);
            }
            Some(Err(failure)) if !go_on(&failure)? => return Ok(Outcome::GivenUp { all_taken: false }),
            _ => {}
        }
        if random.below(40) == 0
            && let Some(Err(failure)) = attempt(case, sink.flush())
            && !go_on(&failure)?
        {
            return Ok(Outcome::GivenUp { all_taken: at == len });
        }
    }
    loop {
        match attempt(case, sink.close()) {
            Some(Ok(summary)) => return Ok(Outcome::Closed(summary)),
            Some(Err(failure)) if !go_on(&failure)? => return Ok(Outcome::GivenUp { all_taken: true }),
            _ => {}
        }
    }
}

/// Awaits a future, or polls it a few times and drops it.
fn attempt<T>(case: &Case, future: impl Future<Output = T>) -> Option<T> {
    let Some(polls) = case.polls() else { return Some(block_on(future)) };
    let mut future = pin!(future);
    let mut cx = Context::from_waker(Waker::noop());
    for poll in 0..polls {
        if let Poll::Ready(output) = future.as_mut().poll(&mut cx) {
            return Some(output);
        }
        // Others have the processor to do what is waited for.
        if poll == 0 { std::thread::yield_now() } else { std::thread::sleep(Duration::from_micros(20)) }
    }
    None
}
