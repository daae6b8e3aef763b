//! Run lengths, as a codec of oxiblosc. Programs that use it say `use rle as _;` or call [`link`].

use oxiblosc_core::codec::{Codec, CodecContext, CodecError, CodecTraits};
use oxiblosc_core::{CodecId, register_codec};

/// The id that chunks name. 160 to 255 are free for everyone: choose another one for your codec.
pub const RLE: CodecId = CodecId(200);

register_codec!(RLE, "rle", CodecTraits::PLAIN, || Box::new(Rle));

/// Does nothing; a call keeps the linker from leaving this crate out.
pub fn link() {}

/// Stores each run of up to 255 equal bytes as its length and the byte.
#[derive(Clone)]
struct Rle;

impl Codec for Rle {
    fn compress(&mut self, _: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<Option<usize>, CodecError> {
        let mut len = 0;
        for run in src.chunk_by(|a, b| a == b).flat_map(|run| run.chunks(255)) {
            // `None` says that the result does not fit. The stream is then stored as it is.
            let Some(pair) = dst.get_mut(len..len + 2) else { return Ok(None) };
            pair.copy_from_slice(&[run.len() as u8, run[0]]);
            len += 2;
        }
        Ok(Some(len))
    }

    fn decompress(&mut self, _: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<usize, CodecError> {
        let mut len = 0;
        for (i, pair) in src.chunks(2).enumerate() {
            let &[count, byte] = pair else {
                return Err(CodecError::Corrupt { offset: 2 * i, reason: "half a run" });
            };
            let (expected, found) = (dst.len(), len + usize::from(count));
            let Some(run) = dst.get_mut(len..found) else { return Err(CodecError::Length { expected, found }) };
            run.fill(byte);
            len = found;
        }
        // The caller compares this with the length of `dst`.
        Ok(len)
    }
}
