//! Timing combinations one after the other.

use std::time::{Duration, Instant};

use bytes::Bytes;
use oxiblosc::chunk::{ChunkContext, ChunkDecoder, ChunkEncoder, ChunkError, EncodeParams};
use oxiblosc::pipeline::FilterSlots;
use oxiblosc::{CodecId, FilterId, IdRange, Inline, Registry};

const LEVELS: [u8; 3] = [1, 5, 9];
/// Shorter work is repeated: clocks and caches make short times unreliable.
const LEAST: Duration = Duration::from_millis(10);
/// The most repetitions, whatever the clock says.
const MOST_ROUNDS: u32 = 20;

/// A combination to be tried.
pub(super) struct Candidate {
    codec: CodecId,
    pub(super) codec_name: &'static str,
    pub(super) level: u8,
    filters: FilterSlots,
    pub(super) filter_names: Vec<&'static str>,
}

/// The result of trying it.
pub(super) struct Measurement {
    pub(super) candidate: Candidate,
    pub(super) nbytes: usize,
    cbytes: usize,
    encode_seconds: f64,
    decode_seconds: f64,
}

/// Every codec of Blosc that can encode, at three levels, with the lossless filters that suit the size of the items.
pub(super) fn candidates(typesize: usize, registry: &Registry) -> Vec<Candidate> {
    const FOR_BYTES: &[&[FilterId]] = &[&[], &[FilterId::BITSHUFFLE], &[FilterId::DELTA]];
    const FOR_ITEMS: &[&[FilterId]] = &[
        &[],
        &[FilterId::SHUFFLE],
        &[FilterId::BITSHUFFLE],
        &[FilterId::DELTA, FilterId::SHUFFLE],
        &[FilterId::SHUFFLE, FilterId::BYTEDELTA],
    ];
    let mut found = Vec::new();
    for codec in registry.codecs().map(|entry| entry.info()) {
        if codec.id.range() != IdRange::Blosc || !codec.traits.encode {
            continue;
        }
        for ids in if typesize == 1 { FOR_BYTES } else { FOR_ITEMS } {
            let infos: Option<Vec<_>> = ids.iter().map(|&id| registry.filter(id).ok().map(|e| e.info())).collect();
            let Some(infos) = infos else { continue };
            // Byte delta needs the distance of the streams of the shuffle: the type size.
            let meta = |id| if id == FilterId::BYTEDELTA { typesize as u8 } else { 0 };
            let slots: Vec<_> = ids.iter().map(|&id| (id, meta(id))).collect();
            let Some(filters) = FilterSlots::from_list(&slots) else { continue };
            for level in LEVELS {
                let filter_names = infos.iter().map(|info| info.name).collect();
                found.push(Candidate { codec: codec.id, codec_name: codec.name, level, filters, filter_names });
            }
        }
    }
    found
}

/// Compresses and decompresses the sample on this thread.
pub(super) fn measure(
    candidate: Candidate,
    sample: &[Bytes],
    typesize: usize,
    registry: &Registry,
) -> Result<Measurement, ChunkError> {
    let params = EncodeParams {
        codec: candidate.codec,
        level: candidate.level,
        typesize,
        filters: candidate.filters,
        ..EncodeParams::default()
    };
    let mut encoder = ChunkEncoder::new(&params, registry)?;
    let mut decoder = ChunkDecoder::new(registry);
    let context = ChunkContext::default();
    let mut chunks = Vec::new();
    let encode_seconds = time(|| {
        chunks.clear();
        for piece in sample {
            chunks.push(encoder.encode(piece, &context, &Inline)?);
        }
        Ok(())
    })?;
    let mut decoded = vec![0; sample.iter().map(Bytes::len).max().unwrap_or(0)];
    let decode_seconds = time(|| {
        chunks
            .iter()
            .zip(sample)
            .try_for_each(|(chunk, piece)| decoder.decode_into(chunk, &context, &mut decoded[..piece.len()], &Inline))
    })?;
    let (nbytes, cbytes) = (sample.iter().map(Bytes::len).sum(), chunks.iter().map(Vec::len).sum());
    Ok(Measurement { candidate, nbytes, cbytes, encode_seconds, decode_seconds })
}

/// Seconds that some work takes: the minimum of as many rounds as fit into a short time.
fn time(mut work: impl FnMut() -> Result<(), ChunkError>) -> Result<f64, ChunkError> {
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

impl Candidate {
    /// The options of `oxiblosc compress` for this combination.
    pub(super) fn options(&self, typesize: usize) -> String {
        let mut options = format!("--codec {} --level {}", self.codec_name, self.level);
        let filters = self.filters.active().zip(&self.filter_names);
        let filters: Vec<_> = filters
            .map(|((_, slot), name)| if slot.meta == 0 { (*name).to_owned() } else { format!("{name}={}", slot.meta) })
            .collect();
        for filter in if filters.is_empty() { vec!["none".to_owned()] } else { filters } {
            options += &format!(" --filter {filter}");
        }
        if typesize == 1 { options } else { format!("{options} --typesize {typesize}") }
    }
}
