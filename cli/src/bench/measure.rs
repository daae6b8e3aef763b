//! Timing.

use std::hint::black_box;
use std::thread;
use std::time::Instant;

use bytes::Bytes;
use oxiblosc::nd::Selection;
use oxiblosc::{Pool, ReadOptions, Registry, blocking};

use super::data::Data;
use crate::error::CliError;

/// Each measurement is repeated at least this often.
const LEAST_ROUNDS: u32 = 3;
/// Items that are read in a round.
const ITEMS: u64 = 1000;

/// What a measurement has shown.
pub(super) struct Timing {
    /// Of the fastest round.
    pub(super) seconds: f64,
    pub(super) rounds: u32,
}

impl Timing {
    /// Bytes per second.
    pub(super) fn rate(&self, bytes: u64) -> f64 {
        bytes as f64 / self.seconds
    }
}

/// Measurements with a number of threads.
pub(super) struct Bench<'a> {
    pub(super) data: &'a Data,
    pub(super) threads: usize,
    pub(super) registry: &'a Registry,
    /// How long each is repeated.
    pub(super) seconds: f64,
}

impl Bench<'_> {
    /// Repeats some work, and returns its last result with the time of the fastest round.
    fn time<T>(&self, mut work: impl FnMut() -> Result<T, CliError>) -> Result<(T, Timing), CliError> {
        let begin = Instant::now();
        let mut timing = Timing { seconds: f64::INFINITY, rounds: 0 };
        loop {
            let round = Instant::now();
            let result = work()?;
            // A clock that does not advance must not make a speed infinite.
            timing.seconds = timing.seconds.min(round.elapsed().as_secs_f64().max(1e-9));
            timing.rounds += 1;
            if timing.rounds >= LEAST_ROUNDS && begin.elapsed().as_secs_f64() >= self.seconds {
                return Ok((result, timing));
            }
        }
    }

    fn pool(&self) -> Pool {
        if self.threads == 1 { Pool::inline() } else { Pool::new(self.threads) }
    }

    fn failed<E: std::error::Error + Send + Sync + 'static>(&self) -> impl Fn(E) -> CliError {
        |error| CliError::data(&self.data.name)(error)
    }

    /// Copies the data, each thread a part of it.
    pub(super) fn memcpy(&self) -> Timing {
        let source = &self.data.bytes[..];
        // Every page is touched before the clock runs.
        let mut target = vec![1; source.len()];
        let part = source.len().div_ceil(self.threads).max(1);
        let copied = self.time(|| {
            match self.threads {
                1 => target.copy_from_slice(source),
                _ => thread::scope(|scope| {
                    for (to, from) in target.chunks_mut(part).zip(source.chunks(part)) {
                        scope.spawn(|| to.copy_from_slice(from));
                    }
                }),
            }
            black_box(&mut target);
            Ok(())
        });
        // The work does not fail.
        copied.map_or(Timing { seconds: f64::INFINITY, rounds: 0 }, |(_, timing)| timing)
    }

    /// Compresses the data into a frame in memory.
    pub(super) fn compress(&self) -> Result<(Bytes, Timing), CliError> {
        let pool = self.pool();
        self.time(|| match self.data.array_options(self.registry, &pool) {
            Some(options) => {
                let mut writer = blocking::NdWriter::in_memory(options).map_err(self.failed())?;
                writer.push(self.data.bytes.clone()).map_err(self.failed())?;
                writer.finish().map_err(self.failed())?;
                Ok(Bytes::from(writer.into_bytes()))
            }
            None => {
                let options = self.data.frame_options(self.registry, &pool);
                let mut writer = blocking::FrameWriter::in_memory(options).map_err(self.failed())?;
                writer.push(self.data.bytes.clone()).map_err(self.failed())?;
                writer.finish().map_err(self.failed())?;
                Ok(Bytes::from(writer.into_bytes()))
            }
        })
    }

    fn open(&self, frame: &Bytes) -> Result<blocking::FrameReader<Bytes>, CliError> {
        let options = ReadOptions::new().pool(&self.pool()).registry(self.registry);
        blocking::FrameReader::with_options(frame.clone(), options).map_err(self.failed())
    }

    /// Decompresses all of the frame.
    pub(super) fn decompress(&self, frame: &Bytes) -> Result<Timing, CliError> {
        let reader = self.open(frame)?;
        let array = match self.data.is_array() {
            true => Some(blocking::NdArray::from_frame(&reader).map_err(self.failed())?),
            false => None,
        };
        let (decoded, timing) = self.time(|| match &array {
            Some(array) => Ok(array.read(&Selection::all()).map_err(self.failed())?.into_bytes()),
            None => Ok(reader.bytes(0..reader.nbytes()).map_err(self.failed())?),
        })?;
        // Lossy filters do not give back what they got.
        let lossless = self
            .data
            .params
            .filters
            .active()
            .all(|(_, slot)| self.registry.filter(slot.id).is_ok_and(|entry| !entry.info().traits.lossy))
            && self.registry.codec(self.data.params.codec).is_ok_and(|entry| !entry.info().traits.lossy);
        if lossless && decoded[..] != self.data.bytes[..] {
            return Err(CliError::data(&self.data.name)("what was decoded is not what was encoded"));
        }
        Ok(timing)
    }

    /// Reads single items at random, and returns the time of one.
    pub(super) fn item(&self, frame: &Bytes) -> Result<Timing, CliError> {
        let reader = self.open(frame)?;
        let array = match self.data.is_array() {
            true => Some(blocking::NdArray::from_frame(&reader).map_err(self.failed())?),
            false => None,
        };
        let (_, shape) = self.data.items();
        let mut state = 1_u64;
        // The high bits of a linear congruential generator: the same items in each run of the program.
        let mut below = |len: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % len.max(1)
        };
        let (_, timing) = self.time(|| {
            for _ in 0..ITEMS {
                let index: Vec<u64> = shape.iter().map(|&len| below(len)).collect();
                match &array {
                    Some(array) => {
                        // Lossless: lengths of an array fit 63 bits.
                        let index: Vec<i64> = index.iter().map(|&at| at as i64).collect();
                        black_box(array.item(&index).map_err(self.failed())?);
                    }
                    None if shape[0] == 0 => {}
                    None => {
                        black_box(reader.items(index[0]..index[0] + 1).map_err(self.failed())?);
                    }
                }
            }
            Ok(())
        })?;
        Ok(Timing { seconds: timing.seconds / ITEMS as f64, ..timing })
    }
}
