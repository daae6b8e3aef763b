//! The promises of a target.

use std::future::{Future, poll_fn};
use std::io;
use std::ops::Range;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Instant;

use bytes::Bytes;
use futures::Sink;
use futures::io::AsyncWriteExt;
use oxiblosc_core::Registry;
use oxiblosc_core::chunk::EncodeParams;
use oxiblosc_core::frame::{FrameType, SpecialPlacement};
use oxiblosc_core::pipeline::FilterSlots;
use oxiblosc_streaming::target::{Part, Target};
use oxiblosc_streaming::{FrameSink, Pool, ReadOptions, WriteError, WriteOptions, block_on};

use super::place::{PATIENCE, no_leftovers};
use super::size::take_until_full;
use super::{Faults, TargetKind, TestPlace};
use crate::data::Random;
use crate::report::Report;

/// Decoded bytes of a chunk in all frames of the suite.
const CHUNK: usize = 4096;
/// The most calls that are made to fail, one after the other.
const MOST_FAILURES: u64 = 200;

/// Checks a kind of target.
///
/// The promises are those of [`Target`]: every byte arrives once and in order, whichever calls are pending, fail, or
/// are dropped; nothing is a complete frame before the commit; aborting leaves nothing.
#[derive(Debug, Clone)]
pub struct TargetCheck<K> {
    name: String,
    pub(super) kind: K,
}

impl<K: TargetKind> TargetCheck<K> {
    /// A check of a kind of target, under this name.
    pub fn new(name: impl Into<String>, kind: K) -> Self {
        Self { name: name.into(), kind }
    }

    /// Checks every promise and reports which were kept.
    pub fn run(&self) -> Report {
        let mut report = Report::new(format!("target {:?}", self.name));
        for len in lengths() {
            report.check("frames of every length arrive", || self.arrives(len));
            report.check("pieces of any size may be offered", || self.pieces(len));
        }
        for seed in 0..24 {
            report.check("calls that are not ready lose nothing", || self.slow(seed));
        }
        self.failures(&mut report);
        report.check("nothing is there before the commit", || self.unfinished(Faults::none()));
        report.check("what is dropped leaves nothing", || self.given_up(false));
        report.check("what is aborted leaves nothing", || self.given_up(true));
        report.check("an abort may fail and be tried again", || self.failing_aborts());
        report.check("a frame that is there is not taken back", || self.settled());
        report.check("a target that is not ready holds the sink back", || self.back_pressure());
        report.check("the order of calls is checked", || self.commit_first());
        self.sizes(&mut report);
        report
    }

    fn arrives(&self, len: usize) -> Result<(), String> {
        let data = data(len);
        let (target, place) = self.kind.create(Faults::none());
        let mut sink = options().sink(target).map_err(text)?;
        let summary = block_on(async {
            sink.write_all(&data).await.map_err(text)?;
            sink.close().await.map_err(text)
        })?;
        expect("bytes in the summary", len as u64, summary.nbytes)?;
        expect("chunks in the summary", len.div_ceil(CHUNK) as u64, summary.chunks)?;
        decodes(&*place, &data)
    }

    fn pieces(&self, len: usize) -> Result<(), String> {
        let data = data(len);
        for most in [1, 7, 100, CHUNK, usize::MAX] {
            if most < 100 && len > 3 * CHUNK {
                continue;
            }
            let (target, place) = self.kind.create(Faults::none());
            let mut sink = options().sink(Pieces { target, most }).map_err(text)?;
            block_on(async {
                sink.write_all(&data).await.map_err(text)?;
                sink.close().await.map_err(text)
            })?;
            decodes(&*place, &data).map_err(|e| format!("in pieces of {most}: {e}"))?;
        }
        Ok(())
    }

    fn slow(&self, seed: u64) -> Result<(), String> {
        let mut random = Random::new(seed);
        let data = data(random.below(8 * CHUNK));
        for polls in [1, 2, 5] {
            let faults = Faults::slow(2, [1, 700, usize::MAX][seed as usize % 3].max(1 + data.len() / 100), seed);
            let (target, place) = self.kind.create(faults);
            let pool = Pool::new([0, 2][seed as usize % 2]);
            let sink = options().pool(&pool).sink(target).map_err(text)?;
            let failures = write_with_retries(sink, &data, CHUNK, polls, &mut random)?;
            expect("failures", 0, failures).map_err(|e| format!("seed {seed}: {e}"))?;
            decodes(&*place, &data).map_err(|e| format!("seed {seed}, dropped after {polls} polls: {e}"))?;
        }
        // Once more with an executor that sleeps until it is woken.
        let (target, place) = self.kind.create(Faults::slow(2, 1000, seed));
        let mut sink = options().sink(target).map_err(text)?;
        in_time(async {
            sink.write_all(&data).await.map_err(text)?;
            sink.flush().await.map_err(text)?;
            sink.close().await.map_err(text)
        })??;
        decodes(&*place, &data).map_err(|e| format!("seed {seed}: {e}"))
    }

    /// Makes each call below the target fail, once and three times in a row.
    fn failures(&self, report: &mut Report) {
        let data = data(5 * CHUNK + 100);
        let run = |fails: Range<u64>| -> Result<(u64, u64), String> {
            let faults = Faults::failing(fails);
            let (target, place) = self.kind.create(faults.clone());
            let sink = options().pool(&Pool::inline()).sink(target).map_err(text)?;
            let failures = write_with_retries(sink, &data, CHUNK, 3, &mut Random::new(1))?;
            decodes(&*place, &data)?;
            Ok((faults.calls(), failures))
        };
        let name = "every call may fail and be made again";
        let calls = match run(0..0) {
            Ok((calls, _)) => calls,
            Err(error) => return report.check(name, || Err(error)),
        };
        let step = (calls / MOST_FAILURES).max(1);
        for call in (0..calls).step_by(step as usize) {
            for times in [1, 3] {
                report.check(name, || {
                    let (_, failures) = run(call..call + times).map_err(|e| format!("call {call} of {calls}: {e}"))?;
                    // Failures in the background may be reported as one.
                    if failures == 0 {
                        Err(format!("nobody is told that call {call} of {calls} failed"))
                    } else {
                        Ok(())
                    }
                });
            }
        }
    }

    /// Checks a frame that has all its bytes but no commit.
    fn unfinished(&self, faults: Faults) -> Result<(), String> {
        let (target, place) = self.kind.create(faults);
        let mut sink = options().sink(target).map_err(text)?;
        block_on(async {
            sink.write_all(&data(5 * CHUNK)).await.map_err(text)?;
            AsyncWriteExt::flush(&mut sink).await.map_err(text)
        })?;
        nothing(&*place)
    }

    fn given_up(&self, abort: bool) -> Result<(), String> {
        for len in [0, 100, CHUNK, 9 * CHUNK + 1] {
            for flush in [false, true] {
                let (target, place) = self.kind.create(Faults::none());
                let mut sink = options().sink(target).map_err(text)?;
                block_on(async {
                    sink.write_all(&data(len)).await.map_err(text)?;
                    if flush {
                        AsyncWriteExt::flush(&mut sink).await.map_err(text)?;
                    }
                    if abort { sink.abort().await.map_err(text) } else { Ok(()) }
                })?;
                if abort && block_on(sink.close()).is_ok() {
                    return Err("an aborted sink was closed".into());
                }
                drop(sink);
                no_leftovers(|| place.leftovers())?;
                nothing(&*place)?;
            }
        }
        Ok(())
    }

    fn failing_aborts(&self) -> Result<(), String> {
        for call in 0..64 {
            let faults = Faults::none();
            let (target, place) = self.kind.create(faults.clone());
            let mut sink = options().sink(target).map_err(text)?;
            block_on(async {
                sink.write_all(&data(9 * CHUNK)).await.map_err(text)?;
                AsyncWriteExt::flush(&mut sink).await.map_err(text)
            })?;
            let before = faults.calls();
            faults.fail(before + call);
            while let Err(error) = block_on(sink.abort()) {
                if !error.is_resumable() {
                    return Err(format!("the abort failed for good: {error}"));
                }
            }
            no_leftovers(|| place.leftovers())?;
            nothing(&*place)?;
            if faults.calls() <= before + call {
                break;
            }
        }
        Ok(())
    }

    fn settled(&self) -> Result<(), String> {
        let data = data(3 * CHUNK + 1);
        let (target, place) = self.kind.create(Faults::none());
        let mut sink = options().sink(target).map_err(text)?;
        block_on(async {
            sink.write_all(&data).await.map_err(text)?;
            let summary = sink.close().await.map_err(text)?;
            expect("summary of the second close", summary, sink.close().await.map_err(text)?)?;
            sink.abort().await.map_err(text)?;
            decodes(&*place, &data)
        })?;
        drop(sink);
        no_leftovers(|| place.leftovers())?;
        decodes(&*place, &data)
    }

    fn back_pressure(&self) -> Result<(), String> {
        let Some(holds) = self.kind.holds() else { return Ok(()) };
        let faults = Faults::none();
        faults.block(true);
        let (target, place) = self.kind.create(faults.clone());
        let mut sink = options().chunks_in_flight(4).sink(target).map_err(text)?;
        let mut random = Random::new(3);
        let most = holds + 16 * CHUNK;
        let data: Vec<u8> = (0..most + CHUNK).map(|_| random.next_u64() as u8).collect();
        let taken = take_until_full(&mut sink, &data)?;
        if taken > most {
            return Err(format!("{taken} bytes were taken though nothing got through, expected at most {most}"));
        }
        faults.block(false);
        let failures = write_with_retries(sink, &data[taken..], CHUNK, 50, &mut random)?;
        expect("failures", 0, failures)?;
        decodes(&*place, &data)
    }

    fn commit_first(&self) -> Result<(), String> {
        let (mut target, place) = self.kind.create(Faults::none());
        if target.frame_type() == FrameType::Sparse {
            return Ok(());
        }
        let header = Bytes::from(vec![0; 100]);
        if block_on(poll_fn(|cx| target.poll_commit(cx, &header))).is_ok() {
            return Err("a header was committed before one was appended".into());
        }
        nothing(&*place)
    }
}

/// Chunks of 4 KiB, stored: the suite needs no plugin.
pub(super) fn options() -> WriteOptions {
    let params = EncodeParams { level: 0, typesize: 4, filters: FilterSlots::NONE, ..EncodeParams::default() };
    let options = WriteOptions::new(params).chunk_size(CHUNK).registry(&Registry::empty());
    options.special(SpecialPlacement::Stored).pool(&Pool::new(1))
}

/// Bytes that differ from chunk to chunk; the third chunk is zeros.
fn data(len: usize) -> Vec<u8> {
    let mut random = Random::new(len as u64);
    (0..len).map(|i| if i / CHUNK == 2 { 0 } else { random.next_u64() as u8 }).collect()
}

fn lengths() -> impl Iterator<Item = usize> {
    let around = |n: usize| [n - 1, n, n + 1];
    [0, 1, 2, 31, 32, 33].into_iter().chain([1, 2, 3, 9].into_iter().flat_map(move |n| around(n * CHUNK)))
}

/// Writes `data` in pieces of up to three times `piece` bytes, retries whatever fails, and drops every future after
/// `polls` polls. Returns the number of failures.
pub(super) fn write_with_retries<T: Target>(
    mut sink: FrameSink<T>,
    data: &[u8],
    piece: usize,
    polls: usize,
    random: &mut Random,
) -> Result<u64, String> {
    let mut failures = 0;
    let mut failed = |error: &dyn std::error::Error, resumable: bool| {
        failures += 1;
        if resumable && failures < 1000 { Ok(()) } else { Err(format!("failed for good: {error}")) }
    };
    let end = Instant::now() + PATIENCE;
    let mut rest = data;
    while !rest.is_empty() {
        if Instant::now() > end {
            return Err(format!("{} bytes are still not written after {PATIENCE:?}", rest.len()));
        }
        let n = rest.len().min(1 + random.below(3 * piece));
        match random.below(3) {
            0 => match poll_and_drop(polls, sink.write(&rest[..n])) {
                Some(Ok(n)) => rest = &rest[n..],
                Some(Err(error)) => failed(&error, may_be_repeated(&error))?,
                None => {}
            },
            1 => match poll_and_drop(polls, poll_fn(|cx| Pin::new(&mut sink).poll_ready(cx))) {
                Some(Ok(())) => {
                    Pin::new(&mut sink).start_send(Bytes::copy_from_slice(&rest[..n])).map_err(text)?;
                    rest = &rest[n..];
                }
                Some(Err(error)) => failed(&error, error.is_resumable())?,
                None => {}
            },
            _ => {
                if let Some(Err(error)) = poll_and_drop(polls, sink.flush()) {
                    failed(&error, error.is_resumable())?;
                }
            }
        }
    }
    loop {
        if Instant::now() > end {
            return Err(format!("the sink is still not closed after {PATIENCE:?}"));
        }
        match poll_and_drop(polls, sink.close()) {
            Some(Ok(_)) => return Ok(failures),
            Some(Err(error)) => failed(&error, error.is_resumable())?,
            None => {}
        }
    }
}

/// Whether the error is one of the target, or a resumable one of the sink.
fn may_be_repeated(error: &io::Error) -> bool {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<WriteError>());
    inner.is_none_or(WriteError::is_resumable)
}

/// Polls `future` at most `polls` times and then drops it.
fn poll_and_drop<F: Future>(polls: usize, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut cx = Context::from_waker(Waker::noop());
    for _ in 0..polls {
        if let Poll::Ready(output) = future.as_mut().poll(&mut cx) {
            return Some(output);
        }
        thread::yield_now();
    }
    None
}

/// Runs `future` on this thread, which sleeps until it is woken.
fn in_time<F: Future>(future: F) -> Result<F::Output, String> {
    let mut future = pin!(future);
    let end = Instant::now() + PATIENCE;
    block_on(poll_fn(|cx| match future.as_mut().poll(cx) {
        Poll::Ready(output) => Poll::Ready(Ok(output)),
        Poll::Pending if Instant::now() > end => Poll::Ready(Err(format!("still not done after {PATIENCE:?}"))),
        Poll::Pending => Poll::Pending,
    }))
}

pub(super) fn decodes(place: &dyn TestPlace, expected: &[u8]) -> Result<(), String> {
    let source = place.frame().ok_or("there is no frame after the commit")?;
    let found = block_on(async {
        let reader = ReadOptions::new().registry(&Registry::empty()).pool(&Pool::inline()).open(source).await?;
        reader.bytes(0..reader.nbytes()).await
    });
    let found = found.map_err(|e| format!("what is there after the commit cannot be read: {e}"))?;
    if found == expected {
        return Ok(());
    }
    let at = found.iter().zip(expected).position(|(a, b)| a != b).unwrap_or(found.len().min(expected.len()));
    Err(format!("{} bytes arrived, expected {}; the first difference is at {at}", found.len(), expected.len()))
}

/// Checks that no reader finds a frame there.
fn nothing(place: &dyn TestPlace) -> Result<(), String> {
    let Some(source) = place.frame() else { return Ok(()) };
    match block_on(ReadOptions::new().registry(&Registry::empty()).pool(&Pool::inline()).open(source)) {
        Ok(reader) => Err(format!("a frame of {} bytes is there that was never committed", reader.nbytes())),
        Err(_) => Ok(()),
    }
}

pub(super) fn expect<T: PartialEq + std::fmt::Debug>(what: &str, expected: T, found: T) -> Result<(), String> {
    if expected == found { Ok(()) } else { Err(format!("{what}: {found:?}, expected {expected:?}")) }
}

pub(super) fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Offers bytes to a target a few at a time.
struct Pieces<T> {
    target: T,
    most: usize,
}

impl<T: Target> Target for Pieces<T> {
    fn poll_append(&mut self, cx: &mut Context<'_>, part: Part, bytes: &mut Bytes) -> Poll<io::Result<()>> {
        let mut piece = bytes.slice(..bytes.len().min(self.most));
        let before = piece.len();
        let result = self.target.poll_append(cx, part, &mut piece);
        let _ = bytes.split_to(before - piece.len());
        result
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.target.poll_flush(cx)
    }

    fn poll_commit(&mut self, cx: &mut Context<'_>, header: &Bytes) -> Poll<io::Result<()>> {
        self.target.poll_commit(cx, header)
    }

    fn frame_type(&self) -> FrameType {
        self.target.frame_type()
    }

    fn is_open_ended(&self) -> bool {
        self.target.is_open_ended()
    }

    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.target.poll_close(cx)
    }

    fn poll_abort(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.target.poll_abort(cx)
    }
}
