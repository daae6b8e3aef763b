//! What more threads give.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use oxiblosc::chunk::{ChunkContext, ChunkDecoder, ChunkEncoder, ChunkError};
use oxiblosc::{Executor, Inline, Pool};

use crate::array::ArraySample;
use crate::candidate::Candidate;
use crate::meter::{Failed, Meter};

/// The speeds that a combination reaches with some threads.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct ThreadSpeed {
    /// The number of threads.
    pub threads: usize,
    /// Decoded bytes per second, when compressing.
    pub encode_speed: f64,
    /// Decoded bytes per second, when decompressing.
    pub decode_speed: f64,
}

/// Chunks for each thread, at least: with one, the slowest would be waited for.
const CHUNKS_PER_THREAD: usize = 2;
/// Of slow combinations only so much is done.
const LONGEST: Duration = Duration::from_secs(1);

/// 1, 2, 4 and so on, and as many as there are processors.
pub(crate) fn counts() -> Vec<usize> {
    up_to(thread::available_parallelism().map_or(1, NonZeroUsize::get))
}

fn up_to(most: usize) -> Vec<usize> {
    let mut counts: Vec<usize> = (0..usize::BITS).map(|bit| 1 << bit).take_while(|count| *count < most).collect();
    counts.push(most);
    counts
}

impl Meter<'_> {
    /// Compresses and decompresses on so many threads, a chunk on each, as sinks and readers of frames do. Pieces are used
    /// more than once where there are fewer than threads.
    pub(crate) fn measure_threads(
        &self,
        candidate: &Candidate,
        sample: &[Bytes],
        threads: usize,
    ) -> Result<ThreadSpeed, Failed> {
        let pool = pool(threads);
        let cut = self.cut(candidate, sample);
        let count = cut.len().max(CHUNKS_PER_THREAD * threads);
        let pieces: Vec<&Bytes> = cut.iter().cycle().take(count).collect();
        let most = cut.iter().map(Bytes::len).max().unwrap_or(0);
        let encoder = || ChunkEncoder::new(&candidate.params(), self.registry).map(Mutex::new);
        let encoders = (0..threads).map(|_| encoder()).collect::<Result<Vec<_>, _>>()?;
        let decoders: Vec<_> =
            (0..threads).map(|_| Mutex::new((ChunkDecoder::new(self.registry), vec![0; most]))).collect();
        let chunks: Vec<Mutex<Vec<u8>>> = pieces.iter().map(|_| Mutex::default()).collect();
        let context = ChunkContext::default();

        let longest = LONGEST.min(self.longest);
        let mut encoded = 0;
        let encode_seconds = self.time(|| {
            self.steps.check()?;
            encoded = spread(&pool, pieces.len(), longest, |worker, number| {
                *lock(&chunks[number]) = lock(&encoders[worker]).encode(pieces[number], &context, &Inline)?;
                Ok(())
            })?;
            Ok(())
        })?;
        let mut decoded = 0;
        let decode_seconds = self.time(|| {
            self.steps.check()?;
            decoded = spread(&pool, encoded, longest, |worker, number| {
                let (decoder, buffer) = &mut *lock(&decoders[worker]);
                let buffer = &mut buffer[..pieces[number].len()];
                decoder.decode_into(&lock(&chunks[number]), &context, buffer, &Inline)
            })?;
            Ok(())
        })?;
        let nbytes = |count| pieces[..count].iter().map(|piece| piece.len()).sum::<usize>() as f64;
        let (encode_speed, decode_speed) = (nbytes(encoded) / encode_seconds, nbytes(decoded) / decode_seconds);
        Ok(ThreadSpeed { threads, encode_speed, decode_speed })
    }

    /// The same with an array.
    pub(crate) fn measure_array_threads(
        &self,
        candidate: &Candidate,
        sample: &ArraySample,
        threads: usize,
    ) -> Result<ThreadSpeed, Failed> {
        let (_, encode, decode) = self.time_array(candidate, sample, &pool(threads))?;
        let nbytes = sample.data.len() as f64;
        Ok(ThreadSpeed { threads, encode_speed: nbytes / encode, decode_speed: nbytes / decode })
    }
}

fn pool(threads: usize) -> Pool {
    // With one the caller does the work.
    if threads == 1 { Pool::inline() } else { Pool::new(threads) }
}

/// Has workers do what has the numbers up to `count`, in order, until all is done or it has taken long enough. Returns how
/// much has been done.
///
/// # Errors
/// The first one of the work.
fn spread(
    pool: &Pool,
    count: usize,
    longest: Duration,
    work: impl Fn(usize, usize) -> Result<(), ChunkError> + Sync,
) -> Result<usize, ChunkError> {
    let (next, failed, begin) = (AtomicUsize::new(0), Mutex::new(None), Instant::now());
    pool.run(pool.workers(), &|worker| {
        // The first one is always done.
        while next.load(Ordering::Relaxed) == 0 || begin.elapsed() < longest {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                break;
            }
            if let Err(error) = work(worker, number) {
                lock(&failed).get_or_insert(error);
                break;
            }
        }
    });
    match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(error) => Err(error),
        // Whoever has taken a number has done what it stands for.
        None => Ok(next.into_inner().min(count)),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_two_and_all_processors() {
        let counts: Vec<_> = [1, 2, 3, 4, 12].into_iter().map(up_to).collect();
        assert_eq!(counts, [vec![1], vec![1, 2], vec![1, 2, 3], vec![1, 2, 4], vec![1, 2, 4, 8, 12]]);
    }

    #[test]
    fn work_is_spread_and_errors_come_back() {
        for threads in [1, 3] {
            let seen: Vec<_> = (0..100).map(|_| AtomicUsize::new(0)).collect();
            let done = spread(&pool(threads), seen.len(), LONGEST, |worker, number| {
                assert!(worker < threads);
                seen[number].fetch_add(1, Ordering::Relaxed);
                Ok(())
            });
            assert_eq!(done.expect("no errors"), 100);
            assert!(seen.iter().all(|count| count.load(Ordering::Relaxed) == 1));

            let failed = spread(&pool(threads), 100, LONGEST, |_, number| match number {
                50 => Err(oxiblosc::decompress(&[], &Inline).expect_err("no chunk")),
                _ => Ok(()),
            });
            assert!(failed.is_err());

            // Whatever the time, there is something to divide by it.
            let done = spread(&pool(threads), 100, Duration::ZERO, |_, _| Ok(()));
            assert!((1..=100).contains(&done.expect("no errors")));
        }
    }
}
