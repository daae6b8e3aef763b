//! One buffer, one chunk.

use oxiblosc_core::chunk::{ChunkContext, ChunkDecoder, ChunkEncoder, ChunkError, ChunkHeader, EncodeParams};
use oxiblosc_core::{Executor, Registry};

/// Compresses a buffer of up to 2 GiB into one chunk, its blocks spread over the workers of `executor`. The chunk is
/// the same for any number of workers, and what `blosc2.decompress2` of python-blosc2 takes.
///
/// # Errors
/// When codec or filters are not linked into the program, or do not accept the parameters; when the buffer is too long.
pub fn compress(data: &[u8], params: &EncodeParams, executor: &dyn Executor) -> Result<Vec<u8>, ChunkError> {
    compress_with(data, params, linked()?, executor)
}

/// As [`compress`], with the codecs and filters of `registry`.
///
/// # Errors
/// As [`compress`].
pub fn compress_with(
    data: &[u8],
    params: &EncodeParams,
    registry: &Registry,
    executor: &dyn Executor,
) -> Result<Vec<u8>, ChunkError> {
    ChunkEncoder::new(&params.clone().standalone(), registry)?.encode(data, &ChunkContext::default(), executor)
}

/// Decodes a chunk of Blosc2 or Blosc 1, its blocks spread over the workers of `executor`.
///
/// # Errors
/// When the chunk is damaged, or needs a codec or filter that is not linked into the program.
pub fn decompress(chunk: &[u8], executor: &dyn Executor) -> Result<Vec<u8>, ChunkError> {
    decompress_with(chunk, linked()?, executor)
}

/// As [`decompress`], with the codecs and filters of `registry`.
///
/// # Errors
/// As [`decompress`].
pub fn decompress_with(chunk: &[u8], registry: &Registry, executor: &dyn Executor) -> Result<Vec<u8>, ChunkError> {
    // Less than 2 GiB, which is what the format allows a chunk to be. The pages are not touched until they are filled.
    let mut data = vec![0; ChunkHeader::parse(chunk)?.nbytes];
    ChunkDecoder::new(registry).decode_into(chunk, &ChunkContext::default(), &mut data, executor)?;
    Ok(data)
}

/// Everything that is linked into the program, including the built-in plugins.
fn linked() -> Result<&'static Registry, ChunkError> {
    oxiblosc_plugins::link();
    Ok(Registry::linked()?)
}
