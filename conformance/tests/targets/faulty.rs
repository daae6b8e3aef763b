//! Targets that break one promise each. The suite must find every one of them.

use std::io;
use std::mem;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use bytes::Bytes;
use oxiblosc::target::{Part, Target};
use oxiblosc_conformance::Report;
use oxiblosc_conformance::target::{Faults, TargetCheck, TargetKind, TestPlace};

/// What is wrong with a target, with pieces of at least [`LARGE`] bytes alone: with small ones all of them are right.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fault {
    None,
    /// Takes a part of a piece and is not ready, because a write is under way.
    TakesAndWaits,
    /// The same when what lies under it is not ready.
    TakesAndWaitsWhenSlow,
    /// Takes a part of a piece and fails.
    TakesAndFails,
    /// Fails when it has written a piece, which it is then offered again.
    Repeats,
    /// Loses the last byte of every whole 256 KiB of a piece.
    LosesBytes,
    /// Writes the second of two pieces before the first.
    Reorders,
}

const LARGE: usize = 256 << 10;

struct Wrong {
    bytes: Vec<u8>,
    public: Arc<Mutex<Option<Bytes>>>,
    faults: Faults,
    fault: Fault,
    /// A write is said to be under way.
    busy: bool,
    kept_back: Bytes,
}

impl Wrong {
    fn write(&mut self, piece: &[u8]) {
        if self.fault == Fault::LosesBytes {
            // What is written in parts of 256 KiB, the last byte of each left out.
            for part in piece.chunks(LARGE) {
                let lost = usize::from(part.len() == LARGE);
                self.bytes.extend_from_slice(&part[..part.len() - lost]);
            }
        } else {
            self.bytes.extend_from_slice(piece);
        }
    }
}

impl Target for Wrong {
    fn poll_append(&mut self, cx: &mut Context<'_>, _: Part, bytes: &mut Bytes) -> Poll<io::Result<()>> {
        let answer = self.faults.poll(cx);
        let (large, half) = (bytes.len() >= LARGE, bytes.len() / 2);
        match (self.fault, answer) {
            (Fault::TakesAndWaits, Poll::Ready(Ok(()))) if large && !mem::replace(&mut self.busy, true) => {
                let piece = bytes.split_to(half);
                self.write(&piece);
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            (Fault::TakesAndWaitsWhenSlow, Poll::Pending) | (Fault::TakesAndFails, Poll::Ready(Err(_))) if large => {
                let piece = bytes.split_to(half);
                self.write(&piece);
                return match self.fault {
                    Fault::TakesAndFails => Poll::Ready(Err(io::Error::other("disk full"))),
                    _ => Poll::Pending,
                };
            }
            (Fault::Repeats, Poll::Ready(Err(error))) if large => {
                self.write(&bytes.clone());
                return Poll::Ready(Err(error));
            }
            (_, Poll::Pending) => return Poll::Pending,
            (_, Poll::Ready(Err(error))) => return Poll::Ready(Err(error)),
            (_, Poll::Ready(Ok(()))) => {}
        }
        self.busy = false;
        let piece = mem::take(bytes);
        if self.fault == Fault::Reorders && large && self.kept_back.is_empty() {
            self.kept_back = piece;
            return Poll::Ready(Ok(()));
        }
        self.write(&piece);
        let first = mem::take(&mut self.kept_back);
        self.write(&first);
        Poll::Ready(Ok(()))
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.faults.poll(cx)
    }

    fn poll_commit(&mut self, cx: &mut Context<'_>, header: &Bytes) -> Poll<io::Result<()>> {
        match self.faults.poll(cx) {
            Poll::Ready(Ok(())) => {}
            other => return other,
        }
        let Some(place) = self.bytes.get_mut(..header.len()) else {
            return Poll::Ready(Err(io::ErrorKind::InvalidInput.into()));
        };
        place.copy_from_slice(header);
        *self.public.lock().unwrap() = Some(Bytes::copy_from_slice(&self.bytes));
        Poll::Ready(Ok(()))
    }

    fn poll_close(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

struct Kind(Fault);

impl TargetKind for Kind {
    type Target = Wrong;

    fn create(&self, faults: Faults) -> (Wrong, Box<dyn TestPlace>) {
        let public = Arc::new(Mutex::new(None));
        let target = Wrong {
            bytes: Vec::new(),
            public: Arc::clone(&public),
            faults,
            fault: self.0,
            busy: false,
            kept_back: Bytes::new(),
        };
        (target, Box::new(move || public.lock().unwrap().clone()))
    }

    fn holds(&self) -> Option<usize> {
        Some(0)
    }
}

fn run(fault: Fault) -> Report {
    let report = TargetCheck::new(format!("{fault:?}"), Kind(fault)).run();
    println!("{report}");
    report
}

#[test]
fn one_without_faults_passes() {
    run(Fault::None).assert_passed();
}

/// The suite finds the fault, and by the promise that it breaks.
fn found(fault: Fault, promise: &str) {
    let report = run(fault);
    assert!(report.broken().any(|broken| broken == promise), "not found: {fault:?}\n{report}");
}

#[test]
fn one_that_takes_bytes_and_is_not_ready() {
    found(Fault::TakesAndWaits, "frames of megabytes arrive, and nothing is held after a flush");
    found(Fault::TakesAndWaitsWhenSlow, "calls that are not ready lose nothing of large chunks");
}

#[test]
fn one_that_takes_bytes_and_fails() {
    found(Fault::TakesAndFails, "every call may fail and be made again, with large chunks");
}

#[test]
fn one_that_repeats_bytes_after_an_error() {
    found(Fault::Repeats, "every call may fail and be made again, with large chunks");
}

#[test]
fn one_that_loses_bytes() {
    found(Fault::LosesBytes, "a frame of 64 MiB arrives");
}

#[test]
fn one_that_reorders() {
    found(Fault::Reorders, "a frame of 64 MiB arrives");
}
