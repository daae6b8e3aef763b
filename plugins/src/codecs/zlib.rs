//! Zlib: a zlib stream (RFC 1950) around deflate (RFC 1951).
//!
//! Source: chunk format document, codec 4; the wrapper is zlib's, neither gzip's nor bare deflate.

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};
use oxiblosc_core::codec::{Codec, CodecContext, CodecError, CodecTraits};
use oxiblosc_core::{CodecId, register_codec};

register_codec!(CodecId::ZLIB, "zlib", CodecTraits::PLAIN.high_ratio(), || Box::new(Zlib::default()));

/// The codec `zlib`. The level is deflate's own, 1..=9.
///
/// An instance keeps its deflate and inflate states and resets them between streams: setting one up costs more than
/// coding a short stream.
#[derive(Default)]
pub struct Zlib {
    deflate: Option<(u8, Compress)>,
    inflate: Option<Decompress>,
}

impl Clone for Zlib {
    /// An instance with states of its own, made when they are first needed.
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Codec for Zlib {
    fn compress(&mut self, ctx: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<Option<usize>, CodecError> {
        let level = ctx.level.min(9);
        let state = match &mut self.deflate {
            Some((of, state)) if *of == level => {
                state.reset();
                state
            }
            slot => &mut slot.insert((level, Compress::new(Compression::new(level.into()), true))).1,
        };
        match state.compress(src, dst, FlushCompress::Finish) {
            Ok(Status::StreamEnd) => Ok(Some(state.total_out() as usize)),
            // The output is full before the stream ends.
            Ok(Status::Ok | Status::BufError) => Ok(None),
            Err(e) => Err(CodecError::Library { library: "zlib", message: e.to_string() }),
        }
    }

    fn decompress(&mut self, _: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<usize, CodecError> {
        let state = match &mut self.inflate {
            Some(state) => {
                state.reset(true);
                state
            }
            slot => slot.insert(Decompress::new(true)),
        };
        let expected = dst.len();
        let mut status = inflate(state, src, dst)?;
        if status != Status::StreamEnd && state.total_out() as usize == expected {
            // The data is complete, but the end-of-block code and the checksum may not have been looked at. One byte
            // of room lets inflate go on, and tells a stream that is too long from one that is cut short.
            let rest = src.get(state.total_in() as usize..).unwrap_or_default();
            status = inflate(state, rest, &mut [0])?;
        }
        let found = state.total_out() as usize;
        if found != expected && (found > expected || status == Status::StreamEnd) {
            return Err(CodecError::Length { expected, found });
        }
        match status {
            // Bytes after the end of the stream are tolerated, as C-Blosc2 does.
            Status::StreamEnd => Ok(found),
            _ => Err(CodecError::Corrupt { offset: state.total_in() as usize, reason: "zlib stream ends too early" }),
        }
    }
}

fn inflate(state: &mut Decompress, src: &[u8], dst: &mut [u8]) -> Result<Status, CodecError> {
    state
        .decompress(src, dst, FlushDecompress::Finish)
        .map_err(|_| CodecError::Corrupt { offset: state.total_in() as usize, reason: "not a valid zlib stream" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codecs::testing;

    #[test]
    fn round_trips() {
        testing::round_trips::<Zlib>(&[1, 5, 9], None);
    }

    #[test]
    fn survives_damage() {
        testing::survives_damage::<Zlib>(None);
    }
}
