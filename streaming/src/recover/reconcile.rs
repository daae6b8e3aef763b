//! Reconciling the header of a frame with its chunks, as either may be damaged.

use oxiblosc_core::frame::FrameParams;
use oxiblosc_core::nd::{ArrayMeta, FrameSizes, NdError};

/// Corrects the sizes in `params` where the chunks show that they are damaged; `lens` are runs of chunks of the same
/// decoded length. The metalayer of an array that does not match the chunks is removed, so that the result opens as a
/// plain frame; the reason is returned.
pub(super) fn reconcile_header(params: &mut FrameParams, lens: &[(u64, u64)]) -> Option<NdError> {
    if params.chunk_size > 0 && !have_common_length(lens, params.chunk_size as u64) {
        // Lossless: the length of a chunk.
        params.chunk_size =
            lens.first().filter(|&&(len, _)| have_common_length(lens, len)).map_or(0, |&(len, _)| len as usize);
    }
    let error = match ArrayMeta::find(&params.metalayers)? {
        Ok(meta) => reconcile_array(&meta, params, lens).err()?,
        Err(error) => error,
    };
    for name in [ArrayMeta::NAME, ArrayMeta::LEGACY_NAME] {
        params.metalayers.remove(name);
    }
    Some(error)
}

/// Whether all chunks have this length, except the last, which may be shorter.
fn have_common_length(lens: &[(u64, u64)], len: u64) -> bool {
    lens.split_last().is_none_or(|(&(last, times), others)| {
        (last == len || (times == 1 && last < len)) && others.iter().all(|&(other, _)| other == len)
    })
}

/// If the frame and the metalayer disagree, the one that matches the chunks is right.
fn reconcile_array(meta: &ArrayMeta, params: &mut FrameParams, lens: &[(u64, u64)]) -> Result<(), NdError> {
    let sizes = FrameSizes {
        typesize: params.encode.typesize as u64,
        chunksize: params.chunk_size as u64,
        blocksize: params.encode.block_size.unwrap_or(0) as u64,
        nchunks: count(lens),
    };
    let Err(error) = meta.tiling(&sizes) else { return Ok(()) };
    let Some(item_size) = meta.dtype_item_size() else { return Err(error) };
    let tiling = meta.geometry.clone().tile(item_size)?;
    let chunk_bytes = tiling.chunk_bytes();
    if tiling.chunk_count() != count(lens) || lens.iter().any(|&(len, _)| len != chunk_bytes as u64) {
        return Err(error);
    }
    params.encode.typesize = item_size;
    params.encode.block_size = Some(tiling.block_bytes());
    params.chunk_size = chunk_bytes;
    Ok(())
}

fn count(lens: &[(u64, u64)]) -> u64 {
    lens.iter().map(|(_, times)| times).sum()
}
