//! Trains the dictionary of a chunk.
//!
//! Source: chunk format document, dictionary section; the sizes are those of C-Blosc2. Readers take any dictionary.

use super::ChunkError;
use super::block_encoder::{BlockEncoder, repeated};
use super::plan::Blocking;
use crate::plugin_params::PluginParams;
use crate::registry::Registry;

/// The largest dictionary that C-Blosc2 reads.
pub(crate) const MAX_LEN: usize = 32 << 10;
/// A dictionary smaller than this is not worth its bytes.
const MIN_LEN: usize = 256;
/// A dictionary takes at most this fraction of the chunk.
const FRACTION: usize = 20;
/// Zstandard's trainer wants several samples.
const MIN_SAMPLES: usize = 8;

/// Trains a dictionary on the filtered bytes of a chunk. `None` if the chunk is too small, or the codec finds nothing
/// that the streams have in common.
pub(crate) fn train(
    plan: &Blocking,
    worker: &mut BlockEncoder,
    registry: &Registry,
    params: &PluginParams,
    filtered: &[u8],
) -> Result<Option<Vec<u8>>, ChunkError> {
    let nbytes = filtered.len();
    let max_len = MAX_LEN.min(nbytes / FRACTION);
    let (count, sample_len) = if plan.vl {
        // Samples of the mean length stand for blocks of any length.
        let count = plan.block_count();
        let mean = nbytes / count;
        (count, if count < MIN_SAMPLES || mean < 16 { 0 } else { mean })
    } else {
        let count = MIN_SAMPLES.max(plan.block_count() * plan.streams(plan.blocksize));
        (count, nbytes / count / 16)
    };
    if max_len < MIN_LEN || sample_len == 0 || repeated(filtered).is_some() {
        return Ok(None);
    }
    let dict = worker.train_dict(registry, params, filtered, (sample_len, count), max_len)?;
    // A plugin that ignores `max_len` must not lead to a chunk that no reader accepts.
    Ok(dict.filter(|dict| (1..=max_len).contains(&dict.len())))
}
