//! Reading a range of decoded bytes: only the blocks it touches, in as few round trips as possible.

use std::iter::Peekable;
use std::ops::Range;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use futures::future::try_join_all;
use futures::stream::{self, TryStreamExt};
use oxiblosc_core::chunk::{BlockMap, ChunkHeader, MapProgress};
use oxiblosc_core::frame::FrameError;

use super::cache::CachePolicy;
use super::chunk_offsets::ChunkPart;
use super::in_flight::{BoundedFutures, Task};
use super::inner::{ReadAhead, ReaderInner};
use super::options::FAR_AWAY;
use super::part::{EncodedPart, PartBytes};
use super::stored_range::StoredRange;
use crate::error::ReadError;
use crate::source::RangeSource;

/// The block size to expect if the header of the frame has none; it gives the number of block starts to read.
const LIKELY_BLOCK: usize = 16 << 10;
/// Encoded bytes that are requested in one round.
const GROUP_BYTES: u64 = 8 << 20;
/// Parts of chunks that are requested in one round.
const GROUP_PIECES: usize = 1024;
/// Rounds in flight at a time.
const GROUPS_AT_ONCE: usize = 4;
/// A block map takes its first bytes, then its block starts, then its dictionary; the blocks follow.
const MAX_ROUNDS: usize = 6;

/// A part of a chunk, and the buffer to decode it into.
type Request = (ChunkPart, BytesMut);

/// The bytes wanted of a chunk.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PartRequest<'a> {
    pub(crate) chunk: u64,
    /// Ranges of its decoded bytes in ascending order.
    pub(crate) ranges: &'a [Range<usize>],
    /// How many decoded bytes it has.
    pub(crate) chunk_len: usize,
}

/// What a part needs next.
enum Step {
    /// The first bytes of the chunk.
    Prefix(StoredRange),
    /// All bytes of the chunk.
    Chunk(StoredRange),
    /// Bytes of these blocks, relative to the chunk.
    Blocks {
        span: StoredRange,
        map: Arc<BlockMap>,
        known: Vec<(usize, Bytes)>,
        decoded: Vec<(usize, Bytes)>,
        wanted: Vec<(usize, Range<u64>)>,
    },
    /// Nothing more.
    Ready(PartBytes),
}

impl<S: RangeSource + 'static> ReaderInner<S> {
    /// The decoded bytes of `range`.
    pub(super) async fn bytes(&self, range: Range<u64>) -> Result<Bytes, ReadError> {
        let nbytes = self.frame.nbytes();
        if range.start > range.end || range.end > nbytes {
            return Err(ReadError::OutOfRange { what: "bytes", start: range.start, end: range.end, len: nbytes });
        }
        // Only then is it known that the chunks have the lengths stated in the header.
        let starts = self.starts().await?;
        self.check_result_len(range.end - range.start).await?;
        let out = zeroed(range.end - range.start)?;
        let pieces = starts.pieces(range).peekable();
        let groups = Groups { shared: self, pieces, out };
        let groups = groups.map(|(bytes, group)| Task { bytes, work: self.read_group(group) });
        let limits = ReadAhead { chunks: GROUPS_AT_ONCE, bytes: usize::MAX };
        let mut groups = BoundedFutures::new(stream::iter(groups), limits, self.budget.as_ref());
        let mut whole = BytesMut::new();
        while let Some(parts) = groups.try_next().await? {
            // The parts were split off one buffer: putting them together again copies nothing.
            parts.into_iter().for_each(|part| whole.unsplit(part));
        }
        Ok(whole.freeze())
    }

    async fn read_group(&self, group: Vec<Request>) -> Result<Vec<BytesMut>, ReadError> {
        let wanted = group.iter().map(|(piece, _)| PartRequest {
            chunk: piece.chunk,
            ranges: std::slice::from_ref(&piece.within),
            chunk_len: piece.chunk_len,
        });
        let found = self.fetch_parts(&wanted.collect::<Vec<_>>()).await?;
        let jobs = group.into_iter().zip(found).map(|((piece, dst), part)| async move {
            let ctx = self.frame.chunk_context(piece.chunk);
            let job = self.decoding.decode_part(part, piece.within, ctx, dst);
            self.decoded(piece.chunk, job.await)
        });
        try_join_all(jobs).await
    }

    /// The bytes that parts of chunks are decoded from, in as few rounds as possible.
    pub(crate) async fn fetch_parts(&self, wanted: &[PartRequest<'_>]) -> Result<Vec<EncodedPart>, ReadError> {
        let keep = self.keep(wanted);
        let mut steps = wanted.iter().map(|part| self.first_step(part)).collect::<Result<Vec<_>, _>>()?;
        for _ in 0..MAX_ROUNDS {
            let ranges: Vec<StoredRange> = steps.iter().flat_map(Step::ranges).collect();
            if ranges.is_empty() {
                break;
            }
            let mut found = self.fetch(ranges).await?.into_iter();
            let mut next = Vec::with_capacity(steps.len());
            for (part, step) in wanted.iter().zip(steps) {
                next.push(self.next_step(part, step, &mut found)?);
            }
            steps = next;
        }
        let ready = |(part, step): (&PartRequest<'_>, Step)| match step {
            Step::Ready(encoded) => Ok(EncodedPart { encoded, keep }),
            _ => Err(self.changed(part.chunk)),
        };
        wanted.iter().zip(steps).map(ready).collect()
    }

    /// What to cache of these parts. Bytes that are used only once are not worth a copy.
    fn keep(&self, wanted: &[PartRequest<'_>]) -> CachePolicy {
        let limit = self.decoding.cache.limit();
        let sum = |lens: &dyn Fn(&PartRequest<'_>) -> usize| wanted.iter().map(lens).fold(0, usize::saturating_add);
        if limit == 0 || sum(&|part| part.ranges.iter().map(Range::len).sum()) > limit {
            CachePolicy::Nothing
        } else if self.source_ref().request_cost() > FAR_AWAY && sum(&|part| part.chunk_len) <= limit {
            // Decoding more than requested costs less than another request.
            CachePolicy::Whole
        } else {
            CachePolicy::Touched
        }
    }

    fn first_step(&self, part: &PartRequest<'_>) -> Result<Step, ReadError> {
        let Some(span) = self.stored_span(part.chunk)? else {
            return Ok(Step::Ready(PartBytes::Chunk(self.special(part.chunk)?)));
        };
        let mut known = None;
        if let Some(found) = self.decoding.cache.find(part.chunk, part.ranges) {
            let Some(map) = found.map else {
                let whole = found.blocks.into_iter().next();
                return whole
                    .map(|(_, decoded)| Step::Ready(PartBytes::Decoded(decoded)))
                    .ok_or_else(|| self.changed(part.chunk));
            };
            match self.blocks_step(part, map, &span, found.blocks, |_, _| None)? {
                Step::Blocks { map, decoded, .. } => known = Some((map, decoded)),
                ready => return Ok(ready),
            }
        }
        let wanted: usize = part.ranges.iter().map(Range::len).sum();
        let (stored, cost) = (span.len(), self.source_ref().request_cost().max(1));
        // Reading single blocks takes a request for the block starts and, from a remote source, one for each run of
        // blocks. That pays if each of them saves enough bytes; for more than half of a chunk it never does.
        let runs_pay = cost <= FAR_AWAY || part.ranges.len() as u64 <= (stored / cost).max(1);
        if self.checked || stored < cost || wanted > part.chunk_len / 2 || !runs_pay {
            return Ok(Step::Chunk(span));
        }
        if let Some((map, decoded)) = known {
            return self.blocks_step(part, map, &span, decoded, |_, _| None);
        }
        let items = self.decoding.geometry.as_ref().and_then(|geometry| geometry.block_items());
        let array_block = items.and_then(|items| usize::try_from(items).ok()?.checked_mul(self.frame.typesize()));
        let block_size = match (self.frame.header().block_size as usize, array_block) {
            (0, Some(block_size)) if block_size > 0 => block_size,
            (0, _) => LIKELY_BLOCK,
            (block_size, _) => block_size,
        };
        let prefix = ChunkHeader::EXTENDED_LEN + 4 * part.chunk_len.div_ceil(block_size);
        Ok(Step::Prefix(span.head(prefix as u64)))
    }

    /// The step after `step`, whose bytes are the next ones of `found`.
    fn next_step(
        &self,
        part: &PartRequest<'_>,
        step: Step,
        found: &mut impl Iterator<Item = Bytes>,
    ) -> Result<Step, ReadError> {
        let chunk = part.chunk;
        let mut bytes = || found.next().ok_or_else(|| self.changed(chunk));
        Ok(match step {
            Step::Ready(encoded) => Step::Ready(encoded),
            Step::Chunk(span) => {
                let bytes = bytes()?;
                match self.exact(chunk, &bytes, &span)? {
                    len if len <= bytes.len() => {
                        self.whole(chunk, len)?;
                        let bytes = self.check(chunk, bytes.slice(..len))?;
                        Step::Ready(PartBytes::Chunk(bytes))
                    }
                    len => Step::Chunk(span.within(0..len as u64)),
                }
            }
            Step::Prefix(span) => {
                let prefix = bytes()?;
                match BlockMap::parse(&prefix).map_err(|e| self.decode_error(chunk, e))? {
                    MapProgress::Ready(map) => {
                        let in_prefix = |_, span: Range<usize>| (span.end <= prefix.len()).then(|| prefix.slice(span));
                        self.blocks_step(part, Arc::new(map), &span, Vec::new(), in_prefix)?
                    }
                    MapProgress::NeedPrefix(len) => {
                        // A chunk that ends before its block starts do would make us read past the section.
                        if prefix.len() >= ChunkHeader::EXTENDED_LEN {
                            let exact = self.exact(chunk, &prefix, &span)?;
                            if len > exact {
                                return Ok(Step::Chunk(span.within(0..exact as u64)));
                            }
                        }
                        Step::Prefix(span.within(0..len as u64))
                    }
                }
            }
            Step::Blocks { map, mut known, decoded, wanted, .. } => {
                let cbytes = map.header().cbytes as u64;
                let blocks = wanted.into_iter().map(|(block, range)| match bytes()? {
                    bytes if bytes.len() as u64 == range.end - range.start => Ok((block, bytes)),
                    // Only the file of a chunk can be too short.
                    short => {
                        let found = range.start + short.len() as u64;
                        Err(FrameError::ChunkFile { chunk, expected: cbytes, found }.into())
                    }
                });
                let blocks = blocks.collect::<Result<Vec<_>, ReadError>>()?;
                known.extend(blocks);
                known.sort_unstable_by_key(|&(block, _)| block);
                Step::Ready(PartBytes::Blocks { map, blocks: known, decoded })
            }
        })
    }

    /// The blocks that are needed of a chunk at `span`, besides those already `decoded` and those whose bytes
    /// are `known`.
    fn blocks_step(
        &self,
        part: &PartRequest<'_>,
        map: Arc<BlockMap>,
        span: &StoredRange,
        decoded: Vec<(usize, Bytes)>,
        known: impl Fn(usize, Range<usize>) -> Option<Bytes>,
    ) -> Result<Step, ReadError> {
        let chunk = part.chunk;
        self.frame.check_chunk(chunk, map.header())?;
        self.whole(chunk, map.header().cbytes)?;
        let cbytes = map.header().cbytes;
        if map.header().has_vl_blocks() {
            return Ok(Step::Chunk(span.within(0..cbytes as u64)));
        }
        let is_decoded = |block: usize| decoded.binary_search_by_key(&block, |(number, _)| *number).is_ok();
        let mut blocks = Vec::new();
        for range in part.ranges {
            blocks.extend(map.blocks_of_bytes(range.clone()).map_err(|e| self.decode_error(chunk, e))?);
        }
        blocks.dedup();
        blocks.retain(|&block| !is_decoded(block));
        let first = blocks.first().is_some_and(|&first| first > 0)
            && !is_decoded(0)
            && blocks.iter().any(|&b| map.needs_reference(b, &self.decoding.registry));
        let (mut here, mut wanted) = (Vec::new(), Vec::new());
        for block in first.then_some(0).into_iter().chain(blocks) {
            let within = map.span(block);
            match known(block, within.clone()) {
                _ if within.is_empty() => {}
                Some(bytes) => here.push((block, bytes)),
                None => wanted.push((block, within.start as u64..within.end as u64)),
            }
        }
        Ok(match wanted.is_empty() {
            true => Step::Ready(PartBytes::Blocks { map, blocks: here, decoded }),
            false => Step::Blocks { span: span.clone(), map, known: here, decoded, wanted },
        })
    }
}

impl Step {
    fn ranges(&self) -> Vec<StoredRange> {
        match self {
            Self::Prefix(range) | Self::Chunk(range) => vec![range.clone()],
            Self::Blocks { span, wanted, .. } => wanted.iter().map(|(_, range)| span.within(range.clone())).collect(),
            Self::Ready(_) => Vec::new(),
        }
    }
}

/// Groups of parts that are requested together, each with its piece of the output.
struct Groups<'a, S, I: Iterator<Item = ChunkPart>> {
    shared: &'a ReaderInner<S>,
    pieces: Peekable<I>,
    out: BytesMut,
}

impl<S: RangeSource + 'static, I: Iterator<Item = ChunkPart>> Iterator for Groups<'_, S, I> {
    /// Together with the bytes fetched for them.
    type Item = (usize, Vec<Request>);

    fn next(&mut self) -> Option<(usize, Vec<Request>)> {
        let mut group = Vec::new();
        let mut bytes = 0u64;
        let mut stored = 0usize;
        while bytes < GROUP_BYTES
            && group.len() < GROUP_PIECES
            && let Some(piece) = self.pieces.next()
        {
            // An entry that makes no sense is an error when the group is read.
            let span = self.shared.stored_span(piece.chunk).ok().flatten();
            let len = span.map_or(0, |span| span.len());
            bytes += len.min(piece.within.len() as u64);
            stored = stored.saturating_add(usize::try_from(len).unwrap_or(usize::MAX));
            let dst = self.out.split_to(piece.within.len());
            group.push((piece, dst));
        }
        (!group.is_empty()).then_some((stored, group))
    }
}

/// A buffer of `len` zeros, or an error if there is not enough memory.
pub(crate) fn zeroed(len: u64) -> Result<BytesMut, ReadError> {
    let none = || ReadError::OutOfMemory { what: "the range asked for", bytes: len };
    let len = usize::try_from(len).map_err(|_| none())?;
    // `zeroed` gets pages that the system has already cleared, but aborts the process where there are none: ask first.
    Vec::<u8>::new().try_reserve_exact(len).map_err(|_| none())?;
    Ok(BytesMut::zeroed(len))
}
