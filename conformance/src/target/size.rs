//! The promises of a target at the sizes of real frames.
//!
//! Small frames fit into the buffers of targets and into one write. Whether bytes are counted once and in order while a
//! write is in progress or fails shows only beyond that.

use std::pin::Pin;
use std::sync::OnceLock;
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use futures::Sink;
use futures::io::{AsyncWrite, AsyncWriteExt};
use oxiblosc_streaming::target::Target;
use oxiblosc_streaming::{FrameSink, Pool, block_on};

use super::check::{TargetCheck, decodes, expect, options, text, write_with_retries};
use super::{Faults, TargetKind};
use crate::data::Random;
use crate::report::Report;

/// Bytes of the largest frame of the suite, of which there is one.
const LARGEST: usize = 64 << 20;
/// Bytes of the other large ones.
const LARGE: usize = 6 << 20;
/// Decoded bytes of a chunk: some around 256 KiB with their header of 32 bytes, a common size of file writes, and some
/// far from it. Not powers of two, so that nothing fits by chance.
const CHUNKS: [usize; 5] = [60_004, (256 << 10) - 32, (256 << 10) + 4, 1_000_000, 4_000_000];
/// The number of calls below the target that are made to fail while a large frame is written.
const FAILURES: u64 = 12;

impl<K: TargetKind> TargetCheck<K> {
    pub(super) fn sizes(&self, report: &mut Report) {
        let largest = self.kind.largest().min(LARGEST);
        report.check("a frame of 64 MiB arrives", || self.arrives_flushed(largest, 1_000_000));
        for chunk in CHUNKS.into_iter().filter(|chunk| 7 * chunk <= largest) {
            report.check("frames of megabytes arrive, and nothing is held after a flush", || {
                self.arrives_flushed(LARGE.min(largest), chunk)
            });
            for seed in 0..2 {
                report
                    .check("calls that are not ready lose nothing of large chunks", || self.slow_at_size(chunk, seed));
            }
            report.check("as much may be in flight after a flush as before", || self.depth_after_flush(chunk));
        }
        self.failures_at_size(report);
    }

    fn arrives_flushed(&self, len: usize, chunk: usize) -> Result<(), String> {
        let data = &noise()[..len];
        let (target, place) = self.kind.create(Faults::none());
        let mut sink = options().chunk_size(chunk).pool(&Pool::new(2)).sink(target).map_err(text)?;
        block_on(async {
            let mut written = 0;
            for part in data.chunks(len / 3) {
                sink.write_all(part).await.map_err(text)?;
                sink.flush().await.map_err(text)?;
                written += part.len();
                expect("bytes held after a flush", written % chunk, sink.held_bytes())?;
            }
            let summary = sink.close().await.map_err(text)?;
            expect("bytes in the summary", len as u64, summary.nbytes)?;
            expect("bytes held after the end", 0, sink.held_bytes())
        })
        .map_err(|e| format!("chunks of {chunk}: {e}"))?;
        decodes(&*place, data).map_err(|e| format!("chunks of {chunk}: {e}"))
    }

    fn slow_at_size(&self, chunk: usize, seed: u64) -> Result<(), String> {
        let data = &noise()[..(3 * chunk).max(1_200_000).min(self.kind.largest()) + 17];
        let faults = Faults::slow(2, [100_000, usize::MAX][seed as usize % 2], seed);
        let (target, place) = self.kind.create(faults);
        let sink = options().chunk_size(chunk).pool(&Pool::new(2)).sink(target).map_err(text)?;
        let name = |e| format!("chunks of {chunk}, seed {seed}: {e}");
        let failures = write_with_retries(sink, data, chunk, 3, &mut Random::new(seed)).map_err(name)?;
        expect("failures", 0, failures).and_then(|()| decodes(&*place, data)).map_err(name)
    }

    /// If a target counts wrongly, the sink assumes that it still holds bytes, and takes fewer.
    fn depth_after_flush(&self, chunk: usize) -> Result<(), String> {
        const IN_FLIGHT: usize = 3;
        if self.kind.holds().is_none() {
            return Ok(());
        }
        let faults = Faults::none();
        let (target, place) = self.kind.create(faults.clone());
        let limited = options().chunk_size(chunk).chunks_in_flight(IN_FLIGHT).bytes_in_flight(2 * IN_FLIGHT * chunk);
        let mut sink = limited.pool(&Pool::new(2)).sink(target).map_err(text)?;
        let data = &noise()[..7 * chunk];
        block_on(async {
            sink.write_all(&data[..4 * chunk]).await.map_err(text)?;
            sink.flush().await.map_err(text)
        })?;
        faults.block(true);
        let taken = take_until_full(&mut sink, &data[4 * chunk..])?;
        if taken < IN_FLIGHT * chunk {
            return Err(format!("after a flush {taken} bytes were taken, expected {IN_FLIGHT} chunks of {chunk}"));
        }
        faults.block(false);
        let rest = &data[4 * chunk + taken..];
        expect("failures", 0, write_with_retries(sink, rest, chunk, 50, &mut Random::new(1))?)?;
        decodes(&*place, data)
    }

    /// Makes some of the calls below the target fail, spread over a frame of large chunks.
    fn failures_at_size(&self, report: &mut Report) {
        let chunk = 600_000;
        let data = &noise()[..4 * chunk + 5];
        if self.kind.largest() < data.len() {
            return;
        }
        let run = |faults: Faults| -> Result<(u64, u64), String> {
            let (target, place) = self.kind.create(faults.clone());
            let sink = options().chunk_size(chunk).pool(&Pool::inline()).sink(target).map_err(text)?;
            let failures = write_with_retries(sink, data, chunk, 3, &mut Random::new(1))?;
            decodes(&*place, data)?;
            Ok((faults.calls(), failures))
        };
        let name = "every call may fail and be made again, with large chunks";
        // Writes accept only part, so that one chunk takes several.
        let faults = || Faults::slow(0, 100_000, 3);
        let calls = match run(faults()) {
            Ok((calls, _)) => calls,
            Err(error) => return report.check(name, || Err(error)),
        };
        for call in (0..calls).step_by((calls / FAILURES).max(1) as usize) {
            report.check(name, || {
                let failing = faults();
                failing.fail(call);
                match run(failing).map_err(|e| format!("call {call} of {calls}: {e}"))? {
                    (_, 0) => Err(format!("nobody is told that call {call} of {calls} failed")),
                    _ => Ok(()),
                }
            });
        }
    }
}

/// Offers `data` until no more of it is taken for a while. Returns the number of bytes taken.
pub(super) fn take_until_full<T: Target>(sink: &mut FrameSink<T>, data: &[u8]) -> Result<usize, String> {
    let (mut taken, mut idle) = (0, 0);
    let mut cx = Context::from_waker(Waker::noop());
    while idle < 50 && taken < data.len() {
        match Pin::new(&mut *sink).poll_write(&mut cx, &data[taken..]) {
            Poll::Ready(n) => {
                taken += n.map_err(text)?;
                idle = 0;
            }
            Poll::Pending => {
                idle += 1;
                thread::sleep(Duration::from_millis(2));
            }
        }
    }
    if taken < data.len() && Pin::new(sink).poll_ready(&mut cx).is_ready() {
        return Err("ready for more though nothing gets through".into());
    }
    Ok(taken)
}

/// Incompressible bytes, generated once.
fn noise() -> &'static [u8] {
    static NOISE: OnceLock<Vec<u8>> = OnceLock::new();
    NOISE.get_or_init(|| {
        let mut random = Random::new(64);
        (0..LARGEST / 8).flat_map(|_| random.next_u64().to_le_bytes()).collect()
    })
}
