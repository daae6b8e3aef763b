//! A frame that opens, with chunks that may be damaged.

use bytes::Bytes;
use futures::SinkExt;
use oxiblosc_core::chunk::{ChunkDecoder, ChunkHeader, SpecialKind};
use oxiblosc_core::frame::{BitshuffleAge, Frame, FrameParams, FrameType, Layout};

use super::agree::agree;
use super::assemble::{Tally, special};
use super::error::RecoverError;
use super::found::{Found, Recovered};
use crate::edit::{EditError, Output, with_layers_of};
use crate::error::ReadError;
use crate::reader::FrameReader;
use crate::sink::WriteOptions;
use crate::source::RangeSource;
use crate::target::Target;

/// Whether the first chunk is as long as the header says chunks are. If it is not, either may be damaged: looking for
/// the chunks tells which. (That is for contiguous frames of today.)
pub(super) async fn agrees<S: RangeSource>(frame: &Frame, source: &S) -> bool {
    if frame.header().layout != Layout::Current
        || frame.header().frame_type != FrameType::Contiguous
        || frame.nchunks() == 0
    {
        return true;
    }
    let (Some(expected), Ok(Some(span))) = (frame.chunk_len(0), frame.span(0)) else { return true };
    let Ok(bytes) = source.read_range(span.start..span.start + ChunkHeader::EXTENDED_LEN as u64).await else {
        return true;
    };
    ChunkHeader::parse(&bytes).map_or(true, |header| header.nbytes == expected)
}

/// Copies the frame; chunks that do not decode become zeros.
pub(super) async fn recover<S, T>(
    reader: &FrameReader<S>,
    source: &S,
    target: &mut T,
) -> Result<Recovered, RecoverError>
where
    S: RangeSource + 'static,
    T: Target,
{
    let frame = reader.frame();
    let unused_bytes = source.size().await?.saturating_sub(frame.frame_len());
    let mut params = FrameParams::like(frame);
    // Chunks of variable length are none of an array.
    let lens: Vec<_> = (0..reader.nchunks()).map(|i| frame.chunk_len(i).unwrap_or(0) as u64).collect();
    let damaged_array = agree(&mut params, &lens);
    let whole = |tally: Tally, summary| Recovered {
        found: Found::Whole,
        chunks: tally.chunks,
        nbytes: tally.nbytes,
        lost_nbytes: Some(tally.lost),
        replaced: tally.replaced,
        unused_bytes,
        in_order: true,
        damaged_array,
        lost_vlmetalayers: false,
        summary,
    };
    let mut tally = Tally::default();
    if frame.bitshuffle_age() != BitshuffleAge::ByChunk {
        // Chunks of 2019 no longer mean the same in a frame of today: they must be encoded again.
        let options = WriteOptions::new(params.encode).registry(reader.registry());
        let mut sink = with_layers_of(reader, options).await?.sink(target).map_err(EditError::from)?;
        for i in 0..reader.nchunks() {
            let decoded = match save(reader, source, i, &mut tally).await? {
                Ok(saved) => saved.decoded,
                // Lossless: the length of a chunk.
                Err(lost) => vec![0; lost as usize].into(),
            };
            sink.feed(decoded).await.map_err(EditError::from)?;
        }
        let summary = sink.close().await.map_err(EditError::from)?;
        return Ok(whole(tally, summary));
    }
    params.sequential &= !target.is_sparse();
    let mut output = Output::new(&params, reader.registry(), target)?;
    output.copy_encoded_vlmetalayers(&frame.trailer().vlmetalayers)?;
    for i in 0..reader.nchunks() {
        let chunk = match save(reader, source, i, &mut tally).await? {
            Ok(saved) => saved.encoded,
            Err(lost) => special(SpecialKind::Zero, lost, params.encode.typesize),
        };
        output.push(chunk).await?;
    }
    let summary = output.finish().await?;
    Ok(whole(tally, summary))
}

/// A chunk that has been saved.
struct Saved {
    encoded: Bytes,
    decoded: Bytes,
}

/// The chunk, or how many bytes of it are lost.
async fn save<S>(
    reader: &FrameReader<S>,
    source: &S,
    i: u64,
    tally: &mut Tally,
) -> Result<Result<Saved, u64>, RecoverError>
where
    S: RangeSource + 'static,
{
    let error = match reader.chunk(i).await {
        Ok(decoded) => {
            let encoded = reader.encoded_chunk(i).await.map_err(EditError::from)?;
            match reader.frame().check_chunk_bytes(i, &encoded) {
                Ok(()) => {
                    tally.save(decoded.len() as u64);
                    return Ok(Ok(Saved { encoded, decoded }));
                }
                // It decodes, to something else than was written. Nothing must vouch for that.
                Err(error) => error.into(),
            }
        }
        // The place failed, not the chunk.
        Err(ReadError::Source(error)) => return Err(error.into()),
        Err(ReadError::ChunkFile { source, .. })
            if !matches!(source.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::UnexpectedEof) =>
        {
            return Err(source.into());
        }
        Err(error) => error,
    };
    if i + 1 == reader.nchunks()
        && let Some(saved) = last_of_other_length(reader, source).await
    {
        tally.save(saved.decoded.len() as u64);
        return Ok(Ok(saved));
    }
    // Without a common length only its own header tells how long it was.
    let len = match reader.frame().chunk_len(i) {
        Some(len) => Some(len),
        None => reader.encoded_chunk(i).await.ok().and_then(|c| Some(ChunkHeader::parse(&c).ok()?.nbytes)),
    };
    let Some(len) = len.filter(|&len| len > 0) else { return Err(EditError::from(error).into()) };
    tally.lose(i, len as u64);
    Ok(Err(len as u64))
}

/// The last chunk, if it holds and only the total in the header of the frame says that it should have another length.
async fn last_of_other_length<S: RangeSource + 'static>(reader: &FrameReader<S>, source: &S) -> Option<Saved> {
    let (frame, i) = (reader.frame(), reader.nchunks().checked_sub(1)?);
    let at = frame.span(i).ok()??.start;
    let head = source.read_range(at..at + ChunkHeader::EXTENDED_LEN as u64).await.ok()?;
    let header = ChunkHeader::parse(&head).ok()?;
    if frame.chunk_len(i) == Some(header.nbytes) {
        // Something else is wrong with it.
        return None;
    }
    let encoded = source.read_range(at..at + header.cbytes as u64).await.ok()?;
    let fits = reader.chunk_size().is_none_or(|full| (1..=full).contains(&header.nbytes));
    let decoded = ChunkDecoder::new(reader.registry())
        .with_limits(reader.limits())
        .decode(&encoded, &frame.chunk_context(i))
        .ok();
    decoded.filter(|_| fits).map(|decoded| Saved { encoded, decoded: decoded.into() })
}
