//! Run lengths.

use oxiblosc_core::codec::{Codec, CodecContext, CodecError};

/// Pairs of a count, 1 to 255, and the byte that is repeated. With codec meta 13 it panics, for those who want to see
/// what happens then.
#[derive(Debug, Clone)]
pub(crate) struct Rle;

impl Codec for Rle {
    fn compress(&mut self, ctx: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<Option<usize>, CodecError> {
        assert!(ctx.meta != 13, "thirteen on writing");
        let mut written = 0;
        for run in src.chunk_by(|a, b| a == b) {
            for part in run.chunks(255) {
                let Some(pair) = dst.get_mut(written..written + 2) else { return Ok(None) };
                // The part has at most 255 bytes.
                pair.copy_from_slice(&[part.len() as u8, part[0]]);
                written += 2;
            }
        }
        Ok(Some(written))
    }

    fn decompress(&mut self, ctx: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<usize, CodecError> {
        assert!(ctx.meta != 13, "thirteen on reading");
        let mut written = 0;
        for (i, pair) in src.chunks(2).enumerate() {
            let run = match *pair {
                [count, byte] => dst.get_mut(written..written + usize::from(count)).map(|run| (run, byte)),
                _ => None,
            };
            let Some((run, byte)) = run else {
                return Err(CodecError::Corrupt { offset: 2 * i, reason: "a run does not fit into the block" });
            };
            run.fill(byte);
            written += run.len();
        }
        Ok(written)
    }
}
