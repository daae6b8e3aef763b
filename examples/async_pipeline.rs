//! An asynchronous pipeline: a reader into a [`FrameSink`](oxiblosc::FrameSink) over something that can only be written
//! from front to back, and out of the frame again as a stream of chunks.
//!
//! Any executor will do; here it is the one of the `futures` crate. Run it with
//! `cargo run --release --example async_pipeline`.

use std::error::Error;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures::executor::block_on;
use futures::io::{AsyncRead, AsyncWrite};
use futures::{StreamExt, TryStreamExt};
use oxiblosc::{CodecId, EncodeParams, FrameReader, Pool, ReadOptions, WriteOptions};

/// A sensor: this many 16-bit readings, in pieces of any length.
struct Sensor {
    at: u64,
    readings: u64,
}

impl Sensor {
    fn reading(i: u64) -> u16 {
        (20_000.0 + 3_000.0 * (i as f64 / 5_000.0).sin()) as u16 ^ (i * 2_654_435_761 % 4) as u16
    }
}

impl AsyncRead for Sensor {
    fn poll_read(mut self: Pin<&mut Self>, _: &mut Context<'_>, buf: &mut [u8]) -> Poll<io::Result<usize>> {
        let mut filled = 0;
        for item in buf.chunks_exact_mut(2).take((self.readings - self.at) as usize) {
            item.copy_from_slice(&Self::reading(self.at).to_le_bytes());
            self.at += 1;
            filled += 2;
        }
        Poll::Ready(Ok(filled))
    }
}

/// A pipe: takes a little at a time, is not ready every other time, and cannot seek.
#[derive(Default)]
struct Pipe {
    received: Vec<u8>,
    busy: bool,
}

impl AsyncWrite for Pipe {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.busy = !self.busy;
        if self.busy {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let taken = buf.len().min(60_000);
        self.received.extend_from_slice(&buf[..taken]);
        Poll::Ready(Ok(taken))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

async fn run() -> Result<(), Box<dyn Error>> {
    const READINGS: u64 = 8_000_000;
    let pool = Pool::per_processor();

    // In: reader -> chunks -> workers -> frame -> pipe. `copy` waits whenever the sink has enough in flight.
    let params = EncodeParams { codec: CodecId::LZ4, typesize: 2, ..EncodeParams::default() };
    let options = WriteOptions::new(params).pool(&pool).chunk_size(1 << 20).sequential(true);
    let mut sink = options.spooled(Pipe::default())?;
    let copied = futures::io::copy(Sensor { at: 0, readings: READINGS }, &mut sink).await?;
    let summary = sink.close().await?;
    assert_eq!((copied, summary.nbytes), (2 * READINGS, 2 * READINGS));
    println!(
        "in: {} bytes as {} chunks in {} bytes, {:.2} times smaller",
        summary.nbytes,
        summary.chunks,
        summary.frame_len,
        summary.ratio()
    );

    // Out: frame -> workers -> chunks in order.
    let frame = sink.into_target().into_inner().received;
    assert_eq!(frame.len() as u64, summary.frame_len);
    let reader: FrameReader<Vec<u8>> = ReadOptions::new().pool(&pool).open(frame).await?;
    let (count, highest) = reader
        .chunks()
        .map(|chunk| {
            let chunk = chunk?;
            let readings = chunk.as_chunks::<2>().0;
            let highest = readings.iter().map(|&reading| u16::from_le_bytes(reading)).max().unwrap_or(0);
            Ok::<_, oxiblosc::ReadError>((readings.len() as u64, highest))
        })
        .try_fold((0, 0), async |(count, highest), (more, other)| Ok((count + more, other.max(highest))))
        .await?;
    println!("out: {count} readings, the highest is {highest}");
    assert_eq!(count, READINGS);
    assert_eq!(Some(highest), (0..READINGS).map(Sensor::reading).max());

    // And a single one from the middle, for which only its block is decoded.
    let middle = reader.items(READINGS / 2..READINGS / 2 + 1).await?;
    assert_eq!(middle, Sensor::reading(READINGS / 2).to_le_bytes()[..]);
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    block_on(run())
}
