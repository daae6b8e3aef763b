//! Timing combinations one after the other.

use std::time::{Duration, Instant};

use bytes::Bytes;
use oxiblosc::chunk::{ChunkContext, ChunkDecoder, ChunkEncoder, ChunkError};
use oxiblosc::{Inline, Registry};

use super::array::{ArraySample, Encoded};
use super::candidates::Candidate;
use crate::error::one_line;

/// Shorter work is repeated: clocks and caches make short times unreliable.
const LEAST: Duration = Duration::from_millis(10);
/// The most repetitions, whatever the clock says.
const MOST_ROUNDS: u32 = 20;
/// A combination that takes longer than this for the whole sample is measured on fewer pieces of it.
const LONGEST: Duration = Duration::from_secs(10);

/// The result of trying a combination.
pub(super) struct Measurement {
    pub(super) candidate: Candidate,
    pub(super) nbytes: usize,
    cbytes: usize,
    encode_seconds: f64,
    decode_seconds: f64,
}

/// Compresses and decompresses the sample on this thread.
///
/// # Errors
/// What the plugins say, in one line; also when the data does not come back as it was.
pub(super) fn measure(
    candidate: Candidate,
    sample: &[Bytes],
    typesize: usize,
    registry: &Registry,
) -> Result<Measurement, String> {
    let failed = |error: ChunkError| one_line(&error);
    let mut encoder = ChunkEncoder::new(&candidate.params(typesize), registry).map_err(failed)?;
    let mut decoder = ChunkDecoder::new(registry);
    let context = ChunkContext::default();
    let mut chunks = Vec::new();
    let mut pieces = sample.len();
    let encode_seconds = time(|| {
        chunks.clear();
        let begin = Instant::now();
        for piece in &sample[..pieces] {
            chunks.push(encoder.encode(piece, &context, &Inline)?);
            if begin.elapsed() > LONGEST {
                break;
            }
        }
        pieces = chunks.len();
        Ok(())
    })
    .map_err(failed)?;
    let sample = &sample[..pieces];
    let mut decoded = vec![0; sample.iter().map(Bytes::len).max().unwrap_or(0)];
    let decode_seconds = time(|| {
        chunks
            .iter()
            .zip(sample)
            .try_for_each(|(chunk, piece)| decoder.decode_into(chunk, &context, &mut decoded[..piece.len()], &Inline))
    })
    .map_err(failed)?;
    for (chunk, piece) in chunks.iter().zip(sample) {
        decoder.decode_into(chunk, &context, &mut decoded[..piece.len()], &Inline).map_err(failed)?;
        if decoded[..piece.len()] != **piece {
            return Err("it does not give back the data that it was given".to_owned());
        }
    }
    let (nbytes, cbytes) = (sample.iter().map(Bytes::len).sum(), chunks.iter().map(Vec::len).sum());
    Ok(Measurement { candidate, nbytes, cbytes, encode_seconds, decode_seconds })
}

/// Writes and reads the sample as an array, on this thread. This takes longer than the codec alone: items are put into the
/// order of blocks and back.
///
/// # Errors
/// As [`measure`].
pub(super) fn measure_array(
    candidate: Candidate,
    sample: &ArraySample,
    typesize: usize,
    registry: &Registry,
) -> Result<Measurement, String> {
    let params = candidate.params(typesize);
    let mut encoded = Encoded::default();
    let encode_seconds = time(|| {
        encoded = sample.encode(params.clone(), registry)?;
        Ok::<_, String>(())
    })?;
    let mut decoded = Vec::new();
    let decode_seconds = time(|| {
        decoded = sample.decode(&encoded, registry)?;
        Ok::<_, String>(())
    })?;
    if decoded != sample.data {
        return Err("it does not give back the data that it was given".to_owned());
    }
    let (nbytes, cbytes) = (sample.data.len(), encoded.cbytes);
    Ok(Measurement { candidate, nbytes, cbytes, encode_seconds, decode_seconds })
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
