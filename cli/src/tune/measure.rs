//! Timing combinations one after the other.

use std::time::{Duration, Instant};

use bytes::Bytes;
use oxiblosc::chunk::{ChunkContext, ChunkDecoder, ChunkEncoder, ChunkError};
use oxiblosc::{Pool, Registry};

use super::array::{ArraySample, Encoded};
use super::candidates::Candidate;
use crate::error::one_line;

/// Shorter work is repeated: clocks and caches make short times unreliable.
const LEAST: Duration = Duration::from_millis(10);
/// The most repetitions, whatever the clock says.
const MOST_ROUNDS: u32 = 20;
/// A combination that takes longer than this for the whole sample is measured on fewer pieces of it.
pub(super) const LONGEST: Duration = Duration::from_secs(10);

/// The result of trying a combination.
pub(super) struct Measurement {
    pub(super) candidate: Candidate,
    pub(super) nbytes: usize,
    pub(super) cbytes: usize,
    pub(super) encode_seconds: f64,
    pub(super) decode_seconds: f64,
}

/// How combinations are measured.
pub(super) struct Meter<'a> {
    pub(super) typesize: usize,
    pub(super) registry: &'a Registry,
    /// What the blocks of a chunk are spread over.
    pub(super) pool: Pool,
    /// When a combination is measured on fewer pieces.
    pub(super) longest: Duration,
    /// By how much of itself a float may change.
    pub(super) max_error: Option<f64>,
}

impl Meter<'_> {
    /// Compresses and decompresses the sample.
    ///
    /// # Errors
    /// What the plugins say, in one line; also when the data does not come back as it was, or near enough.
    pub(super) fn measure(&self, candidate: Candidate, sample: &[Bytes]) -> Result<Measurement, String> {
        let failed = |error: ChunkError| one_line(&error);
        let mut encoder = ChunkEncoder::new(&candidate.params(self.typesize), self.registry).map_err(failed)?;
        let mut decoder = ChunkDecoder::new(self.registry);
        let context = ChunkContext::default();
        let size = candidate.chunk_size.map_or(usize::MAX, |size| (size / self.typesize).max(1) * self.typesize);
        let cut: Vec<Bytes> = sample
            .iter()
            .flat_map(|piece| {
                (0..piece.len()).step_by(size).map(|at| piece.slice(at..piece.len().min(at.saturating_add(size))))
            })
            .collect();
        let mut chunks = Vec::new();
        let mut pieces = cut.len();
        let encode_seconds = time(|| {
            chunks.clear();
            let begin = Instant::now();
            for piece in &cut[..pieces] {
                chunks.push(encoder.encode(piece, &context, &self.pool)?);
                if begin.elapsed() > self.longest {
                    break;
                }
            }
            pieces = chunks.len();
            Ok(())
        })
        .map_err(failed)?;
        let cut = &cut[..pieces];
        let mut decoded = vec![0; cut.iter().map(Bytes::len).max().unwrap_or(0)];
        let decode_seconds = time(|| {
            chunks.iter().zip(cut).try_for_each(|(chunk, piece)| {
                decoder.decode_into(chunk, &context, &mut decoded[..piece.len()], &self.pool)
            })
        })
        .map_err(failed)?;
        for (chunk, piece) in chunks.iter().zip(cut) {
            decoder.decode_into(chunk, &context, &mut decoded[..piece.len()], &self.pool).map_err(failed)?;
            self.check(piece, &decoded[..piece.len()])?;
        }
        let (nbytes, cbytes) = (cut.iter().map(Bytes::len).sum(), chunks.iter().map(Vec::len).sum());
        Ok(Measurement { candidate, nbytes, cbytes, encode_seconds, decode_seconds })
    }

    /// Writes and reads the sample as an array, on this thread. This takes longer than the codec alone: items are put into
    /// the order of blocks and back.
    ///
    /// # Errors
    /// As [`measure`](Self::measure).
    pub(super) fn measure_array(&self, candidate: Candidate, sample: &ArraySample) -> Result<Measurement, String> {
        let params = candidate.params(self.typesize);
        let mut encoded = Encoded::default();
        let encode_seconds = time(|| {
            encoded = sample.encode(params.clone(), self.registry)?;
            Ok::<_, String>(())
        })?;
        let mut decoded = Vec::new();
        let decode_seconds = time(|| {
            decoded = sample.decode(&encoded, self.registry)?;
            Ok::<_, String>(())
        })?;
        self.check(&sample.data, &decoded)?;
        let (nbytes, cbytes) = (sample.data.len(), encoded.cbytes);
        Ok(Measurement { candidate, nbytes, cbytes, encode_seconds, decode_seconds })
    }

    /// Whether data came back as they may.
    fn check(&self, before: &[u8], after: &[u8]) -> Result<(), String> {
        if before == after {
            return Ok(());
        }
        match self.max_error {
            Some(most) if before.len() == after.len() && is_near(before, after, self.typesize, most) => Ok(()),
            Some(_) => Err("it changes items by more than --max-error".to_owned()),
            None => Err("it does not give back the data that it was given".to_owned()),
        }
    }
}

/// Whether no float has changed by more than this part of itself.
fn is_near(before: &[u8], after: &[u8], typesize: usize, most: f64) -> bool {
    let float = |item: &[u8]| match *item {
        [a, b, c, d] => Some(f64::from(f32::from_le_bytes([a, b, c, d]))),
        [a, b, c, d, e, f, g, h] => Some(f64::from_le_bytes([a, b, c, d, e, f, g, h])),
        _ => None,
    };
    before.chunks(typesize).zip(after.chunks(typesize)).all(|(a, b)| match (float(a), float(b)) {
        _ if a == b => true,
        (Some(a), Some(b)) => a.is_nan() && b.is_nan() || (a - b).abs() <= most * a.abs(),
        _ => false,
    })
}

/// Seconds that some work takes: the minimum of as many rounds as fit into a short time.
fn time<E>(mut work: impl FnMut() -> Result<(), E>) -> Result<f64, E> {
    let begin = Instant::now();
    let mut least = f64::INFINITY;
    for _ in 0..MOST_ROUNDS {
        let round = Instant::now();
        work()?;
        // A clock that does not advance must not make a speed infinite.
        least = least.min(round.elapsed().as_secs_f64().max(1e-9));
        if begin.elapsed() > LEAST {
            break;
        }
    }
    Ok(least)
}

impl Measurement {
    pub(super) fn ratio(&self) -> f64 {
        self.nbytes as f64 / self.cbytes as f64
    }

    /// Decoded bytes per second.
    pub(super) fn encode_speed(&self) -> f64 {
        self.nbytes as f64 / self.encode_seconds
    }

    /// Decoded bytes per second.
    pub(super) fn decode_speed(&self) -> f64 {
        self.nbytes as f64 / self.decode_seconds
    }

    /// Seconds to compress the sample, transfer it at `speed` (in bytes per second), and decompress it.
    pub(super) fn seconds_through(&self, speed: f64) -> f64 {
        self.encode_seconds + self.cbytes as f64 / speed + self.decode_seconds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_floats() {
        let bytes = |items: &[f32]| items.iter().flat_map(|item| item.to_le_bytes()).collect::<Vec<_>>();
        let near = |a: &[f32], b: &[f32]| is_near(&bytes(a), &bytes(b), 4, 0.01);
        assert!(near(&[1.0, -100.0, 0.0, f32::INFINITY], &[1.005, -99.5, 0.0, f32::INFINITY]));
        assert!(near(&[f32::NAN], &[-f32::NAN]));
        assert!(!near(&[1.0], &[1.02]) && !near(&[0.0], &[1e-30]) && !near(&[f32::NAN], &[f32::INFINITY]));
        // An incomplete item at the end is none that may change.
        assert!(is_near(&[1, 2], &[1, 2], 4, 0.01) && !is_near(&[1, 2], &[1, 3], 4, 0.01));
    }
}
