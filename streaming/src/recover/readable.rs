//! Recovering a frame that opens, whose chunks may be damaged.

use bytes::Bytes;
use oxiblosc_core::Inline;
use oxiblosc_core::chunk::{ChunkHeader, SpecialKind};
use oxiblosc_core::frame::{BitshuffleAge, ChunkEntry, Frame, FrameLayout, FrameParams, FrameType};

use super::assemble::{RecoveryCount, without_checksums, write_specials};
use super::block_kind::BlockKind;
use super::chunk_checker::is_known;
use super::error::RecoverError;
use super::found::{Found, Recovered};
use super::reconcile::reconcile_header;
use super::work_limit::WorkLimit;
use crate::edit::{ChunkOutput, CopiedLayers, DecodedOutput, EditError, encodable, with_layers_of};
use crate::error::ReadError;
use crate::reader::FrameReader;
use crate::sink::{Summary, WriteOptions};
use crate::source::RangeSource;
use crate::target::Target;

/// Whether the first chunk has the chunk size of the header. If not, either may be damaged; a scan for the chunks tells
/// which. (Only for contiguous frames in the current layout.)
pub(super) async fn agrees<S: RangeSource>(frame: &Frame, source: &S) -> bool {
    if frame.header().layout != FrameLayout::Current
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
    budget: &mut WorkLimit,
    target: &mut T,
) -> Result<Recovered, RecoverError>
where
    S: RangeSource + 'static,
    T: Target,
{
    let frame = reader.frame();
    let unused_bytes = source.size().await?.saturating_sub(frame.frame_len());
    let mut params = FrameParams::from_frame(frame);
    let layers = params.metalayers.clone();
    let damaged_array = reconcile_header(&mut params, &lens(frame));
    let mut whole =
        ReadableFrame { reader, source, plain: damaged_array.is_some(), budget, totals: RecoveryCount::default() };
    if damaged_array.is_some() && whole.needs_layer().await? {
        // The layer is wrong about the array but right about its blocks.
        (params.metalayers, whole.plain) = (layers, false);
    }
    let (summary, lost_vlmetalayers) = if frame.bitshuffle_age() != BitshuffleAge::ByChunk {
        whole.encode_again(params, target).await?
    } else {
        params.sequential &= target.frame_type() == FrameType::Contiguous;
        let mut output = ChunkOutput::new(&params, reader.registry(), target)?;
        output.copy_encoded_vlmetalayers(&without_checksums(&frame.trailer().vlmetalayers))?;
        whole.copy(&params, &mut output).await?;
        whole.budget.check_time()?;
        whole.totals.check_not_empty(frame.nchunks() > 0)?;
        (output.finish().await?, false)
    };
    let missing = whole.totals.missing(reader.registry());
    let RecoveryCount { chunks, nbytes, lost, replaced, unchecked, .. } = whole.totals;
    Ok(Recovered {
        found: Found::Whole,
        chunks,
        nbytes,
        lost_nbytes: Some(lost),
        replaced,
        unchecked,
        missing,
        unused_bytes,
        in_order: true,
        damaged_array,
        lost_vlmetalayers,
        summary,
    })
}

/// The lengths of the chunks, and how many have each.
fn lens(frame: &Frame) -> Vec<(u64, u64)> {
    let Some(last) = frame.nchunks().checked_sub(1) else { return Vec::new() };
    // Chunks of variable length do not form an array.
    let len = |i| frame.chunk_len(i).unwrap_or(0) as u64;
    if last == 0 { vec![(len(0), 1)] } else { vec![(len(0), last), (len(last), 1)] }
}

/// A frame that is copied.
struct ReadableFrame<'w, S> {
    reader: &'w FrameReader<S>,
    source: &'w S,
    /// Whether the frame stops being an array: chunks must decode without its shape.
    plain: bool,
    budget: &'w mut WorkLimit,
    totals: RecoveryCount,
}

/// What was saved of a chunk.
enum ChunkOutcome {
    /// Its bytes, and their decoded length.
    Saved { encoded: Bytes, nbytes: u64, checked: bool },
    /// The number of decoded bytes lost.
    Lost(u64),
}

impl<S: RangeSource + 'static> ReadableFrame<'_, S> {
    /// Whether there is a chunk that decodes with the metalayer of the array and not without it.
    async fn needs_layer(&mut self) -> Result<bool, RecoverError> {
        let frame = self.reader.frame();
        let mut next = 0;
        while next < frame.nchunks() {
            let i = next;
            next = frame.run_of(i).end;
            let Ok(encoded) = self.reader.encoded_chunk(i).await else { continue };
            let mut holds = async |plain| {
                self.plain = plain;
                self.check(i, &encoded).await.map(|checked| checked.is_ok())
            };
            let needs = !holds(true).await? && holds(false).await?;
            self.plain = true;
            if needs {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Copies the chunks as they are.
    async fn copy<T: Target>(
        &mut self,
        params: &FrameParams,
        output: &mut ChunkOutput<'_, T>,
    ) -> Result<(), RecoverError> {
        let reader = self.reader;
        let frame = reader.frame();
        let mut blocks = BlockKind::new(&params.encode, frame.header().vl_blocks, reader.registry(), reader.limits());
        let mut next = 0;
        while next < frame.nchunks() {
            let chunks = frame.run_of(next);
            next = chunks.end;
            let count = chunks.end - chunks.start;
            match self.examine(chunks.start).await? {
                ChunkOutcome::Saved { encoded, nbytes, checked } => {
                    if let Ok(ChunkEntry::Special(kind)) = frame.entry(chunks.start) {
                        self.totals.save(chunks, nbytes, checked, &encoded);
                        write_specials(output, &mut blocks, kind, nbytes, count, self.budget).await?;
                        continue;
                    }
                    let context = frame.chunk_context(chunks.start);
                    let Some(encoded) = blocks.fit(encoded, &context, self.budget)? else {
                        self.totals.lose(chunks, nbytes);
                        write_specials(output, &mut blocks, SpecialKind::Zero, nbytes, count, self.budget).await?;
                        continue;
                    };
                    self.totals.save(chunks.clone(), nbytes, checked, &encoded);
                    for _ in chunks {
                        self.budget.write(encoded.len() as u64)?;
                        output.push(encoded.clone()).await?;
                    }
                }
                ChunkOutcome::Lost(nbytes) => {
                    self.totals.lose(chunks, nbytes);
                    write_specials(output, &mut blocks, SpecialKind::Zero, nbytes, count, self.budget).await?;
                }
            }
        }
        Ok(())
    }

    /// The bytes of chunks of 2019 have another meaning in current frames: they must be encoded again. Also returns
    /// whether there are variable-length metalayers that could not be.
    async fn encode_again<T: Target>(
        &mut self,
        params: FrameParams,
        target: &mut T,
    ) -> Result<(Summary, bool), RecoverError> {
        let reader = self.reader;
        let frame = reader.frame();
        let params = encodable(params.encode, reader.registry());
        let CopiedLayers { options, lost, .. } =
            with_layers_of(reader, WriteOptions::new(params).registry(reader.registry())).await?;
        let mut output = DecodedOutput::new(options, &reader.limits(), target)?;
        let mut next = 0;
        while next < frame.nchunks() {
            let chunks = frame.run_of(next);
            next = chunks.end;
            let fate = self.examine(chunks.start).await?;
            for i in chunks {
                match &fate {
                    ChunkOutcome::Saved { encoded, nbytes, .. } => {
                        self.budget.decode(*nbytes)?;
                        self.totals.save(i..i + 1, *nbytes, true, encoded);
                        let job = reader.shared.decoding.decode(encoded.clone(), frame.chunk_context(i));
                        let decoded = reader.shared.decoded(i, job.await).map_err(EditError::from)?;
                        output.push(decoded).await?;
                    }
                    ChunkOutcome::Lost(nbytes) => {
                        self.budget.decode(*nbytes)?;
                        self.totals.lose(i..i + 1, *nbytes);
                        output.push_zeros(*nbytes).await?;
                    }
                }
            }
        }
        self.budget.check_time()?;
        self.totals.check_not_empty(frame.nchunks() > 0)?;
        Ok((output.finish().await?, lost.is_some()))
    }

    /// Examines a chunk.
    async fn examine(&mut self, i: u64) -> Result<ChunkOutcome, RecoverError> {
        let (reader, frame) = (self.reader, self.reader.frame());
        let error = match reader.encoded_chunk(i).await {
            Ok(encoded) => match self.check(i, &encoded).await? {
                Ok((nbytes, checked)) => return Ok(ChunkOutcome::Saved { encoded, nbytes, checked }),
                Err(error) => error,
            },
            // The source failed, not the chunk.
            Err(ReadError::Source(error)) => return Err(error.into()),
            // Nor is a chunk lost that somebody has replaced meanwhile.
            Err(ReadError::Replaced(replaced)) => return Err(std::io::Error::from(replaced).into()),
            Err(ReadError::ChunkFile { source, .. })
                if !matches!(source.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::UnexpectedEof) =>
            {
                return Err(source.into());
            }
            Err(error) => error,
        };
        if i + 1 == frame.nchunks()
            && let Some((encoded, nbytes)) = self.last_of_other_length().await?
        {
            return Ok(ChunkOutcome::Saved { encoded, nbytes, checked: true });
        }
        // Without a common length only its own header shows how long it was.
        let len = match frame.chunk_len(i) {
            Some(len) => Some(len),
            None => reader.encoded_chunk(i).await.ok().and_then(|c| Some(ChunkHeader::parse(&c).ok()?.nbytes)),
        };
        match len {
            Some(len) if len > 0 => Ok(ChunkOutcome::Lost(len as u64)),
            _ => Err(EditError::from(error).into()),
        }
    }

    /// The decoded length of a chunk, and whether it was decoded; or what is wrong with it.
    async fn check(&mut self, i: u64, encoded: &Bytes) -> Result<Result<(u64, bool), ReadError>, RecoverError> {
        let (shared, frame) = (&self.reader.shared, self.reader.frame());
        if frame.is_sparse() {
            self.budget.read(encoded.len() as u64);
        }
        // It may decode to something other than what was written, and must not get a valid checksum.
        if let Err(error) = frame.check_chunk_bytes(i, encoded) {
            return Ok(Err(error.into()));
        }
        let header = match ChunkHeader::parse(encoded) {
            Ok(header) => header,
            Err(error) => return Ok(Err(shared.decode_error(i, error))),
        };
        let plain = header.is_stored() || header.special().is_some();
        if !plain && !is_known(&header, self.reader.registry()) && frame.bitshuffle_age() == BitshuffleAge::ByChunk {
            return Ok(Ok((header.nbytes as u64, false)));
        }
        self.budget.decode(if plain { 0 } else { header.nbytes as u64 })?;
        let context = frame.chunk_context(i);
        let checked = if self.plain {
            self.reader.decoder().check(encoded, &context, &Inline).map_err(|error| shared.decode_error(i, error))
        } else {
            shared.decoded(i, shared.decoding.check(encoded.clone(), context, false).await)
        };
        Ok(checked.map(|nbytes| (nbytes as u64, true)))
    }

    /// The last chunk, if it decodes and only the total in the header of the frame contradicts its length.
    async fn last_of_other_length(&mut self) -> Result<Option<(Bytes, u64)>, RecoverError> {
        let (reader, frame) = (self.reader, self.reader.frame());
        let Some(i) = frame.nchunks().checked_sub(1) else { return Ok(None) };
        let Ok(Some(span)) = frame.span(i) else { return Ok(None) };
        let at = span.start;
        let Ok(head) = self.source.read_range(at..at + ChunkHeader::EXTENDED_LEN as u64).await else { return Ok(None) };
        let Ok(header) = ChunkHeader::parse(&head) else { return Ok(None) };
        let fits = reader.chunk_size().is_none_or(|full| (1..=full).contains(&header.nbytes));
        if frame.chunk_len(i) == Some(header.nbytes) || !fits {
            // Something else is wrong with it.
            return Ok(None);
        }
        let Ok(encoded) = self.source.read_range(at..at + header.cbytes as u64).await else { return Ok(None) };
        self.budget.decode(header.nbytes as u64)?;
        let checked = reader.decoder().check(&encoded, &frame.chunk_context(i), &Inline);
        Ok(checked.ok().map(|nbytes| (encoded, nbytes as u64)))
    }
}
