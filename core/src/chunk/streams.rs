//! Decodes the streams of a block: all of them, or as little of them as a part of the block takes.

use std::ops::Range;

use super::ChunkError;
use super::block_decoder::Codecs;
use super::check::resized;
use super::error::StreamError;
use super::header::VERSION_BLOSC1;
use super::map::{BlockMap, WORD};
use super::plan::{BLOSC1_MAX_STREAMS, BLOSC1_MIN_STREAM};
use crate::codec::{Codec, CodecContext};
use crate::filter::{BlockContext, FilterPart};
use crate::id::CodecId;

/// The streams of one block.
pub(super) struct Streams<'a> {
    pub(super) codecs: &'a mut Codecs,
    pub(super) map: &'a BlockMap,
    pub(super) context: BlockContext<'a>,
    pub(super) dict: Option<&'a [u8]>,
    pub(super) span: &'a [u8],
}

/// A stream, as its length word describes it.
enum EncodedStream<'a> {
    /// The byte that all of it is.
    Run(u8),
    /// The stream itself.
    Stored(&'a [u8]),
    /// The output of the codec.
    Coded(&'a [u8]),
}

impl<'a> Streams<'a> {
    /// Decodes the whole block.
    pub(super) fn decode(&mut self, dst: &mut [u8]) -> Result<(), ChunkError> {
        if self.map.header().has_vl_blocks() {
            return self.decode_vl(dst);
        }
        let (count, other) = self.counts(dst.len());
        match (self.decode_split(count, dst), other) {
            (Err(error), Some(other)) => self.decode_split(other, dst).map_err(|_| error),
            (result, _) => result,
        }
    }

    /// How many streams the block has, and how many it may have if that does not fit.
    ///
    /// Blosc2 splits every block but a short last one into as many streams as an item has bytes, unless the "do not
    /// split" flag is set. Blosc 1 also leaves large types and small blocks whole, and its releases before 1.11 did
    /// not know the flag, so that it is clear in chunks that were never split. Under "always split", though, later
    /// ones wrote what the rule of Blosc2 reads.
    fn counts(&self, len: usize) -> (usize, Option<usize>) {
        let header = self.map.header();
        let typesize = self.context.typesize;
        if !header.is_split() || self.context.last_short || typesize == 1 {
            return (1, None);
        }
        let splits_in_blosc1 = typesize <= BLOSC1_MAX_STREAMS && len / typesize >= BLOSC1_MIN_STREAM;
        if header.version <= VERSION_BLOSC1 && !splits_in_blosc1 { (1, Some(typesize)) } else { (typesize, None) }
    }

    fn decode_split(&mut self, count: usize, dst: &mut [u8]) -> Result<(), ChunkError> {
        let len = dst.len() / count;
        if len * count != dst.len() || len == 0 {
            return Err(self.error(0, 0, StreamError::Split { block_len: dst.len(), streams: count }));
        }
        let mut pos = 0;
        for (stream, dst) in dst.chunks_exact_mut(len).enumerate() {
            let start = pos;
            pos += self.decode_stream(stream, count, start, dst).map_err(|e| self.error(stream, start, e))?;
        }
        Ok(())
    }

    /// Decodes the stream at `start` of the span and returns how many bytes of the span it takes.
    fn decode_stream(
        &mut self,
        stream: usize,
        streams: usize,
        start: usize,
        dst: &mut [u8],
    ) -> Result<usize, StreamError> {
        let (encoded, taken) = self.stream_at(start, dst.len())?;
        match encoded {
            EncodedStream::Run(byte) => dst.fill(byte),
            EncodedStream::Stored(bytes) => dst.copy_from_slice(bytes),
            EncodedStream::Coded(bytes) => self.decompress(stream, streams, bytes, dst)?,
        }
        Ok(taken)
    }

    /// The stream of `len` decoded bytes at `start` of the span, and how many bytes of the span it takes.
    fn stream_at(&self, start: usize, len: usize) -> Result<(EncodedStream<'a>, usize), StreamError> {
        let span = self.span;
        let rest = &span[start.min(span.len())..];
        let (word, rest) = rest.split_first_chunk::<WORD>().ok_or(StreamError::Truncated {
            what: "length word",
            expected: WORD,
            found: rest.len(),
        })?;
        let word = i32::from_le_bytes(*word);
        let Ok(found) = usize::try_from(word) else {
            // "csize < 0: the stream is a run of one byte, whose value is -csize; a token follows, bit 0 of which says
            // that it is a run." There is no other kind of token.
            let byte = u8::try_from(word.unsigned_abs()).map_err(|_| StreamError::Size { found: word })?;
            let token = *rest.first().ok_or(StreamError::Truncated { what: "run token", expected: 1, found: 0 })?;
            if token & 1 == 0 {
                return Err(StreamError::Token { found: token });
            }
            return Ok((EncodedStream::Run(byte), WORD + 1));
        };
        let payload =
            rest.get(..found).ok_or(StreamError::Truncated { what: "stream", expected: found, found: rest.len() })?;
        let encoded = match found {
            0 => EncodedStream::Run(0),
            found if found == len => EncodedStream::Stored(payload),
            _ => EncodedStream::Coded(payload),
        };
        Ok((encoded, WORD + found))
    }

    /// Decodes the bytes `range` of the block into `dst`, without the streams that do not hold any of them. Returns false
    /// if that is not possible. `prefix` is for what comes before the range in its stream.
    pub(super) fn decode_range(
        &mut self,
        range: Range<usize>,
        dst: &mut [u8],
        prefix: &mut Vec<u8>,
    ) -> Result<bool, ChunkError> {
        let block = self.map.block_bytes(self.context.block).unwrap_or_default();
        let (count, other) = self.counts(block.len());
        let len = block.len() / count;
        if other.is_some() || len * count != block.len() || len == 0 || range.end > block.len() {
            return Ok(false);
        }
        let (mut pos, mut rest) = (0, dst);
        for stream in 0..count {
            let start = pos;
            let here =
                range.start.clamp(stream * len, (stream + 1) * len)..range.end.clamp(stream * len, (stream + 1) * len);
            let (part, tail) = std::mem::take(&mut rest).split_at_mut(here.len());
            rest = tail;
            let within = here.start - stream * len..here.end - stream * len;
            let failed = |this: &Self, source| this.error(stream, start, source);
            let (encoded, taken) = self.stream_at(start, len).map_err(|e| failed(self, e))?;
            pos += taken;
            match encoded {
                _ if within.is_empty() => {}
                EncodedStream::Run(byte) => part.fill(byte),
                EncodedStream::Stored(bytes) => part.copy_from_slice(&bytes[within]),
                EncodedStream::Coded(bytes) => {
                    let decoded = self
                        .codec(stream, count)
                        .and_then(|codec| self.decompress_part(codec, bytes, len, within, part, prefix));
                    if !decoded.map_err(|e| failed(self, e))? {
                        return Ok(false);
                    }
                }
            }
            if here.end == range.end {
                break;
            }
        }
        Ok(true)
    }

    /// Decodes the pieces of `part` to their places in `dst`, which is as long as the block. If the streams need not be
    /// `whole`, those that hold none of it are left out, and the others end where the part does if the codec stops early.
    /// Returns false if the number of streams is not certain.
    pub(super) fn decode_part(&mut self, part: &FilterPart, dst: &mut [u8], whole: bool) -> Result<bool, ChunkError> {
        let (count, other) = self.counts(dst.len());
        let len = dst.len() / count;
        if other.is_some() || len * count != dst.len() || len == 0 {
            return Ok(false);
        }
        let mut pos = 0;
        for (stream, dst) in dst.chunks_exact_mut(len).enumerate() {
            let start = pos;
            let covers = stream * len..(stream + 1) * len;
            let pieces = part.pieces().filter(|piece| piece.start < covers.end && piece.end > covers.start);
            let within = pieces.fold(len..0, |within, piece| {
                let (first, end) = (piece.start.max(covers.start), piece.end.min(covers.end));
                within.start.min(first - covers.start)..within.end.max(end - covers.start)
            });
            let (encoded, taken) = self.stream_at(start, len).map_err(|e| self.error(stream, start, e))?;
            pos += taken;
            match encoded {
                EncodedStream::Run(byte) if !within.is_empty() => dst[within].fill(byte),
                EncodedStream::Stored(bytes) if !within.is_empty() => {
                    dst[within.clone()].copy_from_slice(&bytes[within]);
                }
                EncodedStream::Coded(bytes) if whole || !within.is_empty() => {
                    let range = if whole { 0..len } else { within };
                    let decoded = self.decompress_least(stream, count, bytes, range, dst);
                    decoded.map_err(|e| self.error(stream, start, e))?;
                }
                _ => {}
            }
        }
        Ok(true)
    }

    /// Decodes at least the bytes `range` of the stream `src` to their places in `dst`, which is as long as the stream.
    fn decompress_least(
        &mut self,
        stream: usize,
        streams: usize,
        src: &[u8],
        range: Range<usize>,
        dst: &mut [u8],
    ) -> Result<(), StreamError> {
        let (id, context) = self.codec(stream, streams)?;
        let (traits, len) = (self.codecs.get(id)?.info.traits, dst.len());
        let range = if traits.ranges { range } else { 0..range.end };
        if range != (0..len) && (traits.ranges || traits.prefixes) {
            let part = &mut dst[range.clone()];
            let expected = part.len();
            let decode = |codec: &mut dyn Codec| codec.decompress_range(&context, src, range, len, part);
            if self.codecs.run(id, &context, expected, decode)? {
                return Ok(());
            }
        }
        self.decompress(stream, streams, src, dst)
    }

    /// Decodes the bytes `range` of the stream `src`, which decodes to `len` bytes, into `dst`; false if the codec wants to
    /// decode all of them.
    fn decompress_part(
        &mut self,
        (id, context): (CodecId, CodecContext<'_>),
        src: &[u8],
        len: usize,
        range: Range<usize>,
        dst: &mut [u8],
        prefix: &mut Vec<u8>,
    ) -> Result<bool, StreamError> {
        let expected = dst.len();
        if range == (0..len) {
            return self.codecs.run(id, &context, expected, |codec| codec.decompress(&context, src, dst).map(Some));
        }
        let traits = self.codecs.get(id)?.info.traits;
        if traits.ranges {
            let decode = |codec: &mut dyn Codec| codec.decompress_range(&context, src, range, len, dst);
            return self.codecs.run(id, &context, expected, decode);
        }
        if !traits.prefixes || range.end == len {
            return Ok(false);
        }
        let Ok(prefix) = resized(prefix, range.end) else { return Ok(false) };
        let decode = |codec: &mut dyn Codec| codec.decompress_range(&context, src, 0..range.end, len, prefix);
        let decoded = self.codecs.run(id, &context, range.end, decode)?;
        dst.copy_from_slice(&prefix[range]);
        Ok(decoded)
    }

    /// A block of variable length is one stream: its decoded length, then either that many raw bytes or the output of
    /// the codec. There are no runs.
    fn decode_vl(&mut self, dst: &mut [u8]) -> Result<(), ChunkError> {
        let decode = |this: &mut Self, dst: &mut [u8]| {
            let (word, payload) = this.span.split_first_chunk::<WORD>().ok_or(StreamError::Truncated {
                what: "length word",
                expected: WORD,
                found: this.span.len(),
            })?;
            let word = i32::from_le_bytes(*word);
            if usize::try_from(word) != Ok(dst.len()) {
                return Err(StreamError::BlockLength { expected: dst.len(), found: word });
            }
            if payload.len() == dst.len() {
                dst.copy_from_slice(payload);
                return Ok(());
            }
            this.decompress(0, 1, payload, dst)
        };
        decode(self, dst).map_err(|e| self.error(0, 0, e))
    }

    fn decompress(&mut self, stream: usize, streams: usize, src: &[u8], dst: &mut [u8]) -> Result<(), StreamError> {
        let (id, context) = self.codec(stream, streams)?;
        let expected = dst.len();
        self.codecs.run(id, &context, expected, |codec| codec.decompress(&context, src, dst).map(Some))?;
        Ok(())
    }

    /// The codec of the chunk, and what it is told of a stream.
    fn codec(&self, stream: usize, streams: usize) -> Result<(CodecId, CodecContext<'a>), StreamError> {
        let header = self.map.header();
        let code = header.codec_format();
        let id = CodecId::from_format_code(code, header.udcodec).ok_or(StreamError::Format { code })?;
        let context = CodecContext {
            block: self.context,
            level: None,
            version: header.codec_version,
            meta: header.codec_meta,
            stream,
            streams,
            filter: header.filters.last(header.typesize.into()),
            dict: self.dict,
        };
        Ok((id, context))
    }

    fn error(&self, stream: usize, start: usize, source: StreamError) -> ChunkError {
        let block = self.context.block;
        ChunkError::Stream { block, stream, offset: self.map.span(block).start + start, source }
    }
}
