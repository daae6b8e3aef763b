//! Timing combinations one after the other.

use std::time::{Duration, Instant};

use bytes::Bytes;
use oxiblosc::chunk::{ChunkContext, ChunkDecoder, ChunkEncoder, ChunkError};
use oxiblosc::{Chain, Pool, Registry};

use crate::array::{ArraySample, Encoded};
use crate::candidate::Candidate;
use crate::measurement::Measurement;
use crate::sample::whole_items;
use crate::steps::{Steps, Stopped};
use crate::tolerance::Tolerance;

/// The most repetitions of short work, whatever the clock says.
const MOST_ROUNDS: u32 = 20;

/// How combinations are measured.
pub(crate) struct Meter<'a> {
    pub(crate) typesize: usize,
    pub(crate) registry: &'a Registry,
    /// What the blocks of a chunk are spread over.
    pub(crate) pool: &'a Pool,
    /// Shorter work is repeated.
    pub(crate) least: Duration,
    /// When a combination is measured on fewer pieces.
    pub(crate) longest: Duration,
    /// By how much of itself a float may change.
    pub(crate) tolerance: Option<Tolerance>,
    pub(crate) steps: &'a Steps<'a>,
}

/// Why there is no measurement.
#[derive(Debug)]
pub(crate) enum Failed {
    /// What the plugins say; or the data did not come back as they were, or near enough.
    Reason(String),
    Stopped,
}

impl From<Stopped> for Failed {
    fn from(Stopped: Stopped) -> Self {
        Self::Stopped
    }
}

impl From<ChunkError> for Failed {
    fn from(error: ChunkError) -> Self {
        Self::Reason(Chain(&error).to_string())
    }
}

impl From<String> for Failed {
    fn from(reason: String) -> Self {
        Self::Reason(reason)
    }
}

impl Meter<'_> {
    /// Compresses and decompresses the pieces of a sample.
    pub(crate) fn measure(&self, candidate: &Candidate, sample: &[Bytes]) -> Result<Measurement, Failed> {
        let mut encoder = ChunkEncoder::new(&candidate.params(), self.registry)?;
        let mut decoder = ChunkDecoder::new(self.registry);
        let context = ChunkContext::default();
        let cut = self.cut(candidate, sample);
        let mut chunks = Vec::new();
        let mut pieces = cut.len();
        let encode_seconds = self.time(|| {
            chunks.clear();
            let begin = Instant::now();
            for piece in &cut[..pieces] {
                self.steps.check()?;
                chunks.push(encoder.encode(piece, &context, self.pool)?);
                if begin.elapsed() > self.longest {
                    break;
                }
            }
            pieces = chunks.len();
            Ok(())
        })?;
        let cut = &cut[..pieces];
        let mut decoded = vec![0; cut.iter().map(Bytes::len).max().unwrap_or(0)];
        let decode_seconds = self.time(|| {
            chunks.iter().zip(cut).try_for_each(|(chunk, piece)| {
                self.steps.check()?;
                Ok(decoder.decode_into(chunk, &context, &mut decoded[..piece.len()], self.pool)?)
            })
        })?;
        for (chunk, piece) in chunks.iter().zip(cut) {
            self.steps.check()?;
            decoder.decode_into(chunk, &context, &mut decoded[..piece.len()], self.pool)?;
            self.check(piece, &decoded[..piece.len()])?;
        }
        let (nbytes, cbytes) = (cut.iter().map(Bytes::len).sum(), chunks.iter().map(Vec::len).sum());
        Ok(Measurement::new(candidate.clone(), nbytes, cbytes, encode_seconds, decode_seconds))
    }

    /// Writes and reads the sample as an array, on this thread. This takes longer than the codec alone: items are put into
    /// the order of blocks and back.
    pub(crate) fn measure_array(&self, candidate: &Candidate, sample: &ArraySample) -> Result<Measurement, Failed> {
        let (encoded, encode, decode) = self.time_array(candidate, sample, &Pool::inline())?;
        Ok(Measurement::new(candidate.clone(), sample.data.len(), encoded.cbytes, encode, decode))
    }

    /// The array, and the seconds to write and to read it.
    pub(crate) fn time_array(
        &self,
        candidate: &Candidate,
        sample: &ArraySample,
        pool: &Pool,
    ) -> Result<(Encoded, f64, f64), Failed> {
        let mut encoded = Encoded::default();
        let encode_seconds = self.time(|| {
            self.steps.check()?;
            encoded = sample.encode(candidate.params(), self.registry, pool)?;
            Ok(())
        })?;
        let mut decoded = Vec::new();
        let decode_seconds = self.time(|| {
            self.steps.check()?;
            decoded = sample.decode(&encoded, self.registry, pool)?;
            Ok(())
        })?;
        self.check(&sample.data, &decoded)?;
        Ok((encoded, encode_seconds, decode_seconds))
    }

    /// The sample in chunks of the candidate.
    pub(crate) fn cut(&self, candidate: &Candidate, sample: &[Bytes]) -> Vec<Bytes> {
        let size = candidate.chunk_size.map_or(usize::MAX, |size| whole_items(size, self.typesize));
        let chunks = |piece: &Bytes| {
            let piece = piece.clone();
            (0..piece.len()).step_by(size).map(move |at| piece.slice(at..piece.len().min(at.saturating_add(size))))
        };
        sample.iter().flat_map(chunks).collect()
    }

    /// Whether data came back as they may.
    fn check(&self, before: &[u8], after: &[u8]) -> Result<(), Failed> {
        let reason = match self.tolerance {
            _ if before == after => return Ok(()),
            Some(tolerance) if tolerance.allows(before, after, self.typesize) => return Ok(()),
            Some(_) => "it changes items by more than is allowed",
            None => "it does not give back the data that it was given",
        };
        Err(Failed::Reason(reason.to_owned()))
    }

    /// Seconds that some work takes: the minimum of as many rounds as fit into a short time.
    pub(crate) fn time(&self, mut work: impl FnMut() -> Result<(), Failed>) -> Result<f64, Failed> {
        let begin = Instant::now();
        let mut shortest = f64::INFINITY;
        for _ in 0..MOST_ROUNDS {
            let round = Instant::now();
            work()?;
            // A clock that does not advance must not make a speed infinite.
            shortest = shortest.min(round.elapsed().as_secs_f64().max(1e-9));
            if begin.elapsed() > self.least {
                break;
            }
        }
        Ok(shortest)
    }
}
