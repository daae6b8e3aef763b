//! Reading a range of decoded bytes: only the blocks it touches, in as few rounds as possible.

use std::iter::Peekable;
use std::ops::Range;

use bytes::{Bytes, BytesMut};
use futures::future::try_join_all;
use futures::stream::{self, StreamExt, TryStreamExt};
use oxiblosc_core::chunk::{BlockMap, ChunkHeader, MapProgress};
use oxiblosc_core::frame::FrameError;

use super::cache::Parts;
use super::decoding::Encoded;
use super::options::FAR_AWAY;
use super::pieces::Piece;
use super::shared::Shared;
use crate::error::ReadError;
use crate::source::RangeSource;
use crate::sparse::address;

/// Block size to expect when the header of the frame does not say one: the number of block starts to ask for.
const LIKELY_BLOCK: usize = 16 << 10;
/// Encoded bytes that are asked for in one round.
const GROUP_BYTES: u64 = 8 << 20;
/// Parts of chunks that are asked for in one round.
const GROUP_PIECES: usize = 1024;
/// Rounds under way at a time.
const GROUPS_AT_ONCE: usize = 4;
/// A block map takes its first bytes, then its block starts, then its dictionary; then come the blocks.
const MAX_ROUNDS: usize = 6;

/// A part of a chunk, and where it is to be decoded to.
type Request = (Piece, BytesMut);

/// What is wanted of a chunk.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted<'a> {
    pub(crate) chunk: u64,
    /// Which of its decoded bytes: ranges in ascending order.
    pub(crate) ranges: &'a [Range<usize>],
    /// How many decoded bytes it has.
    pub(crate) chunk_len: usize,
}

/// What a part needs next, relative to the frame.
enum Step {
    /// The first bytes of the chunk.
    Prefix(Range<u64>),
    /// All bytes of the chunk.
    Chunk(Range<u64>),
    /// Bytes of these blocks.
    Blocks { map: BlockMap, known: Vec<(usize, Bytes)>, wanted: Vec<(usize, Range<u64>)> },
    /// Nothing more.
    Ready(Encoded),
}

impl<S: RangeSource> Shared<S> {
    /// The decoded bytes of `range`.
    pub(super) async fn bytes(&self, range: Range<u64>) -> Result<Bytes, ReadError> {
        let nbytes = self.frame.nbytes();
        if range.start > range.end || range.end > nbytes {
            return Err(ReadError::OutOfRange { what: "bytes", start: range.start, end: range.end, len: nbytes });
        }
        let out = zeroed(range.end - range.start)?;
        let pieces = self.starts().await?.pieces(range).peekable();
        let groups = Groups { shared: self, pieces, out };
        let mut groups = stream::iter(groups).map(|group| self.read_group(group)).buffered(GROUPS_AT_ONCE);
        let mut whole = BytesMut::new();
        while let Some(parts) = groups.try_next().await? {
            // The parts were split off one buffer: putting them together again copies nothing.
            parts.into_iter().for_each(|part| whole.unsplit(part));
        }
        Ok(whole.freeze())
    }

    async fn read_group(&self, group: Vec<Request>) -> Result<Vec<BytesMut>, ReadError> {
        let wanted = group.iter().map(|(piece, _)| Wanted {
            chunk: piece.chunk,
            ranges: std::slice::from_ref(&piece.within),
            chunk_len: piece.chunk_len,
        });
        let found = self.fetch_parts(&wanted.collect::<Vec<_>>()).await?;
        let jobs = group.into_iter().zip(found).map(|((piece, dst), encoded)| async move {
            let ctx = self.frame.chunk_context(piece.chunk);
            let job = self.decoding.decode_part(encoded, piece.within, ctx, dst);
            self.decoded(piece.chunk, job.await)
        });
        try_join_all(jobs).await
    }

    /// The bytes that parts of chunks are decoded from, in as few rounds as possible.
    pub(crate) async fn fetch_parts(&self, wanted: &[Wanted<'_>]) -> Result<Vec<Encoded>, ReadError> {
        let mut steps = wanted.iter().map(|part| self.first_step(part)).collect::<Result<Vec<_>, _>>()?;
        for _ in 0..MAX_ROUNDS {
            let ranges: Vec<Range<u64>> = steps.iter().flat_map(Step::ranges).collect();
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
        let ready = |(part, step): (&Wanted<'_>, Step)| match step {
            Step::Ready(encoded) => Ok(encoded),
            _ => Err(self.changed(part.chunk)),
        };
        wanted.iter().zip(steps).map(ready).collect()
    }

    fn first_step(&self, part: &Wanted<'_>) -> Result<Step, ReadError> {
        let Some(span) = self.stored_span(part.chunk)? else {
            return Ok(Step::Ready(Encoded::Chunk(self.special(part.chunk)?)));
        };
        let known = match self.cache.get(part.chunk) {
            Some(Parts::Chunk(chunk)) => return Ok(Step::Ready(Encoded::Chunk(chunk))),
            Some(Parts::Blocks(map, blocks)) => Some((map, blocks)),
            None => None,
        };
        let wanted: usize = part.ranges.iter().map(Range::len).sum();
        let (stored, cost) = (span.end - span.start, self.reads().request_cost().max(1));
        // Single blocks take a request for where they are, and far away one for each run of them. They are worth it when
        // each of those takes the place of enough bytes; half of a chunk never is.
        let runs_pay = cost <= FAR_AWAY || part.ranges.len() as u64 <= (stored / cost).max(1);
        if self.checked || stored < cost || wanted > part.chunk_len / 2 || !runs_pay {
            return Ok(Step::Chunk(span));
        }
        if let Some((map, blocks)) = known {
            return self.blocks_step(part, map, span.start, |block, _| blocks.get(&block).cloned());
        }
        let items = self.decoding.geometry.as_ref().and_then(|geometry| geometry.block_items());
        let array_block = items.and_then(|items| usize::try_from(items).ok()?.checked_mul(self.frame.typesize()));
        let block_size = match (self.frame.header().block_size as usize, array_block) {
            (0, Some(block_size)) if block_size > 0 => block_size,
            (0, _) => LIKELY_BLOCK,
            (block_size, _) => block_size,
        };
        let prefix = ChunkHeader::EXTENDED_LEN + 4 * part.chunk_len.div_ceil(block_size);
        Ok(Step::Prefix(span.start..span.end.min(span.start.saturating_add(prefix as u64))))
    }

    /// What comes after `step`, whose bytes are the next ones of `found`.
    fn next_step(
        &self,
        part: &Wanted<'_>,
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
                        let bytes = self.check(chunk, bytes.slice(..len))?;
                        self.cache.put(chunk, Parts::Chunk(bytes.clone()));
                        Step::Ready(Encoded::Chunk(bytes))
                    }
                    len => Step::Chunk(span.start..span.start + len as u64),
                }
            }
            Step::Prefix(span) => {
                let prefix = bytes()?;
                match BlockMap::parse(&prefix).map_err(|e| self.decode_error(chunk, e))? {
                    MapProgress::Ready(map) => {
                        let in_prefix = |_, span: Range<usize>| (span.end <= prefix.len()).then(|| prefix.slice(span));
                        self.blocks_step(part, map, span.start, in_prefix)?
                    }
                    MapProgress::NeedPrefix(len) => {
                        // A chunk that ends before its block starts do would have us read past the section.
                        if prefix.len() >= ChunkHeader::EXTENDED_LEN {
                            let exact = self.exact(chunk, &prefix, &span)?;
                            if len > exact {
                                return Ok(Step::Chunk(span.start..span.start + exact as u64));
                            }
                        }
                        Step::Prefix(span.start..span.start + len as u64)
                    }
                }
            }
            Step::Blocks { map, mut known, wanted } => {
                let cbytes = map.header().cbytes as u64;
                let blocks = wanted.into_iter().map(|(block, range)| match bytes()? {
                    bytes if bytes.len() as u64 == range.end - range.start => Ok((block, bytes)),
                    // Only the file of a chunk can be too short.
                    short => {
                        let found = address::in_file(&range).1.start + short.len() as u64;
                        Err(FrameError::ChunkFile { chunk, expected: cbytes, found }.into())
                    }
                });
                let blocks = blocks.collect::<Result<Vec<_>, ReadError>>()?;
                known.extend(blocks);
                known.sort_unstable_by_key(|&(block, _)| block);
                self.ready(chunk, map, known)
            }
        })
    }

    /// Which blocks of a chunk at `start` of the frame are needed, beside those that are `known`.
    fn blocks_step(
        &self,
        part: &Wanted<'_>,
        map: BlockMap,
        start: u64,
        known: impl Fn(usize, Range<usize>) -> Option<Bytes>,
    ) -> Result<Step, ReadError> {
        let chunk = part.chunk;
        self.frame.check_chunk(chunk, map.header())?;
        let cbytes = map.header().cbytes;
        if map.header().has_vl_blocks() {
            return Ok(Step::Chunk(start..start + cbytes as u64));
        }
        let mut blocks = Vec::new();
        for range in part.ranges {
            blocks.extend(map.blocks_of_bytes(range.clone()).map_err(|e| self.decode_error(chunk, e))?);
        }
        blocks.dedup();
        let first = blocks.first().is_some_and(|&first| first > 0) && blocks.iter().any(|&b| map.needs_reference(b));
        let (mut here, mut wanted) = (Vec::new(), Vec::new());
        for block in first.then_some(0).into_iter().chain(blocks) {
            let span = map.span(block);
            match known(block, span.clone()) {
                _ if span.is_empty() => {}
                Some(bytes) => here.push((block, bytes)),
                None => wanted.push((block, start + span.start as u64..start + span.end as u64)),
            }
        }
        Ok(match wanted.is_empty() {
            true => self.ready(chunk, map, here),
            false => Step::Blocks { map, known: here, wanted },
        })
    }

    fn ready(&self, chunk: u64, map: BlockMap, blocks: Vec<(usize, Bytes)>) -> Step {
        if self.cache.limit() > 0 {
            // Copies, so that what was read around the blocks is not kept.
            let copies = blocks.iter().map(|(block, bytes)| (*block, Bytes::copy_from_slice(bytes)));
            self.cache.put(chunk, Parts::Blocks(map.clone(), copies.collect()));
        }
        Step::Ready(Encoded::Blocks { map, blocks })
    }
}

impl Step {
    fn ranges(&self) -> Vec<Range<u64>> {
        match self {
            Self::Prefix(range) | Self::Chunk(range) => vec![range.clone()],
            Self::Blocks { wanted, .. } => wanted.iter().map(|(_, range)| range.clone()).collect(),
            Self::Ready(_) => Vec::new(),
        }
    }
}

/// Parts that are asked for together, each with its piece of the output.
struct Groups<'a, S, I: Iterator<Item = Piece>> {
    shared: &'a Shared<S>,
    pieces: Peekable<I>,
    out: BytesMut,
}

impl<S: RangeSource, I: Iterator<Item = Piece>> Iterator for Groups<'_, S, I> {
    type Item = Vec<Request>;

    fn next(&mut self) -> Option<Vec<Request>> {
        let mut group = Vec::new();
        let mut bytes = 0;
        while bytes < GROUP_BYTES
            && group.len() < GROUP_PIECES
            && let Some(piece) = self.pieces.next()
        {
            // An entry that makes no sense is an error when the group is read.
            let span = self.shared.stored_span(piece.chunk).ok().flatten();
            bytes += span.map_or(0, |s| (s.end - s.start).min(piece.within.len() as u64));
            let dst = self.out.split_to(piece.within.len());
            group.push((piece, dst));
        }
        (!group.is_empty()).then_some(group)
    }
}

/// A buffer of `len` zeros, or an error where the system has no such memory.
pub(crate) fn zeroed(len: u64) -> Result<BytesMut, ReadError> {
    let limit = || ReadError::Limit { what: "the range asked for", needed: len, limit: isize::MAX as u64 };
    let len = usize::try_from(len).map_err(|_| limit())?;
    // `zeroed` gets pages that the system has already cleared, but aborts the process where there are none: ask first.
    Vec::<u8>::new().try_reserve_exact(len).map_err(|_| limit())?;
    Ok(BytesMut::zeroed(len))
}
