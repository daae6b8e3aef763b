//! Where the blocks of a chunk lie, as its first bytes say.

use std::ops::Range;

use super::header::{MAX_BLOCKSIZE, VERSION_BLOSC1};
use super::special::Fill;
use super::{ChunkError, ChunkHeader};
use crate::filter::BitshuffleRule;
use crate::registry::Registry;

/// The largest dictionary read: C-Blosc2 writes up to 32 KiB, its releases before 3.0 up to 128 KiB.
const MAX_DICT: usize = 128 << 10;

/// The bytes that hold the length of a stream, a dictionary or a variable-length block.
pub(crate) const WORD: usize = 4;

/// Where the blocks of a chunk lie and what is needed to decode any of them, made from the first bytes of the chunk.
///
/// A reader of remote data parses what it has with [`BlockMap::parse`], fetches more if told to, then fetches the
/// [`span`](BlockMap::span)s of the blocks it wants and passes each of them to
/// [`ChunkDecoder::decode_block_into`](super::ChunkDecoder::decode_block_into):
///
/// ```
/// # use oxiblosc_core::chunk::*;
/// # use oxiblosc_core::{Inline, Registry};
/// # let registry = Registry::empty();
/// # let data: Vec<u8> = (0..100u8).collect();
/// # let params = EncodeParams { level: 0, block_size: Some(32), ..EncodeParams::default() };
/// # let chunk = ChunkEncoder::new(&params, &registry)?.encode(&data, &ChunkContext::default(), &Inline)?;
/// # let fetch = |range: std::ops::Range<usize>| chunk[range].to_vec();
/// let mut prefix = fetch(0..32);
/// let map = loop {
///     match BlockMap::parse(&prefix)? {
///         MapProgress::Ready(map) => break map,
///         MapProgress::NeedPrefix(len) => prefix = fetch(0..len),
///     }
/// };
/// let block = map.blocks_of_bytes(40..50)?.start;
/// let reference = None; // the decoded block 0, when `map.needs_reference(block, &registry)`
/// let mut decoder = ChunkDecoder::new(&registry);
/// let decoded = decoder.decode_block(&map, block, &fetch(map.span(block)), reference, &ChunkContext::default())?;
/// assert_eq!(decoded, &data[32..64]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct BlockMap {
    header: ChunkHeader,
    body: BlockMapBody,
}

#[derive(Debug, Clone)]
pub(crate) enum BlockMapBody {
    /// Nothing is stored per block.
    Special(Fill),
    /// The data itself follows the header.
    Stored,
    /// Blocks of streams.
    Blocks {
        /// Start and end of every block, in block order.
        spans: Vec<(u32, u32)>,
        dict: Option<Vec<u8>>,
    },
}

/// The result of parsing the first bytes of a chunk.
#[derive(Debug, Clone)]
pub enum MapProgress {
    /// The map.
    Ready(BlockMap),
    /// This many bytes from the start of the chunk are needed.
    NeedPrefix(usize),
}

impl BlockMap {
    /// Parses the first bytes of a chunk, or tells how many of them are needed. A whole chunk is always enough.
    ///
    /// # Errors
    /// [`ChunkError::Invalid`] when a header field, a block start or the dictionary's size is out of its bounds;
    /// [`ChunkError::Lazy`] and [`ChunkError::Instrumented`] for the chunks that hold no data. A chunk that ends before
    /// [`ChunkHeader::cbytes`] is not noticed here, but when more is asked for than there is.
    pub fn parse(prefix: &[u8]) -> Result<MapProgress, ChunkError> {
        let header_len = match prefix.get(2) {
            // Only bytes 0..16 are needed to tell which of the two headers it is.
            _ if prefix.len() < ChunkHeader::MIN_LEN => return Ok(MapProgress::NeedPrefix(ChunkHeader::MIN_LEN)),
            Some(flags) if flags & 0x05 == 0x05 => ChunkHeader::EXTENDED_LEN,
            _ => ChunkHeader::MIN_LEN,
        };
        if prefix.len() < header_len {
            return Ok(MapProgress::NeedPrefix(header_len));
        }
        Self::with_header(ChunkHeader::parse(prefix)?, prefix)
    }

    /// The header of a whole chunk that holds data.
    #[inline]
    pub(crate) fn header_of_chunk(chunk: &[u8]) -> Result<ChunkHeader, ChunkError> {
        let header = ChunkHeader::parse(chunk)?;
        check_holds_data(&header)?;
        if header.cbytes > chunk.len() {
            return Err(ChunkError::Truncated {
                what: "chunk",
                offset: 0,
                expected: header.cbytes,
                found: chunk.len(),
            });
        }
        Ok(header)
    }

    /// The map of a whole chunk, whose header this is.
    pub(crate) fn of_chunk(header: ChunkHeader, chunk: &[u8]) -> Result<Self, ChunkError> {
        match Self::with_header(header, chunk)? {
            MapProgress::Ready(map) => Ok(map),
            MapProgress::NeedPrefix(expected) => {
                Err(ChunkError::Truncated { what: "chunk prefix", offset: 0, expected, found: chunk.len() })
            }
        }
    }

    fn with_header(header: ChunkHeader, prefix: &[u8]) -> Result<MapProgress, ChunkError> {
        check_holds_data(&header)?;
        if let Some(kind) = header.special() {
            return Ok(match Fill::parse(kind, &header, prefix) {
                Ok(fill) => MapProgress::Ready(Self { header, body: BlockMapBody::Special(fill) }),
                Err(needed) => MapProgress::NeedPrefix(needed),
            });
        }
        if header.is_stored() {
            return Ok(MapProgress::Ready(Self { header, body: BlockMapBody::Stored }));
        }
        if let Some(rounded) = rounded(&header) {
            match Self::with_blocks(rounded, prefix) {
                Ok(MapProgress::Ready(map)) if !map.begins_at_first_block() => {}
                Ok(progress) => return Ok(progress),
                Err(_) => {}
            }
        }
        Self::with_blocks(header, prefix)
    }

    fn with_blocks(header: ChunkHeader, prefix: &[u8]) -> Result<MapProgress, ChunkError> {
        let starts_end = header.block_starts_end();
        let (dict, body_start) = match dict(&header, starts_end, prefix)? {
            Ok(found) => found,
            Err(needed) => return Ok(MapProgress::NeedPrefix(needed)),
        };
        let Some(starts) = prefix.get(header.header_len()..starts_end) else {
            return Ok(MapProgress::NeedPrefix(starts_end));
        };
        let spans = spans(&header, starts, body_start)?;
        Ok(MapProgress::Ready(Self { header, body: BlockMapBody::Blocks { spans, dict } }))
    }

    /// Whether the first block directly follows what precedes the blocks, as in the chunks of every writer.
    fn begins_at_first_block(&self) -> bool {
        let BlockMapBody::Blocks { spans, dict } = &self.body else { return false };
        let dict_len = dict.as_ref().map_or(0, |dict| WORD + dict.len());
        let first = spans.iter().map(|&(start, _)| start as usize).min();
        first.is_none_or(|first| first == self.header.block_starts_end() + dict_len)
    }

    /// A map that does not know where blocks lie, for a caller who does. `None` unless there are blocks of streams.
    pub(crate) fn without_spans(header: ChunkHeader) -> Option<Self> {
        let plain = !header.is_lazy() && !header.is_instrumented() && !header.is_stored() && header.special().is_none();
        plain.then(|| Self { header, body: BlockMapBody::Blocks { spans: Vec::new(), dict: None } })
    }

    /// A map of known spans.
    pub(crate) fn from_parts(
        header: ChunkHeader,
        spans: Vec<(u32, u32)>,
        dict: Option<Vec<u8>>,
    ) -> Result<Self, ChunkError> {
        if header.is_instrumented() {
            return Err(ChunkError::Instrumented);
        }
        if header.has_dict() != dict.is_some() {
            let expected =
                if dict.is_some() { "bit 0 set with a dictionary" } else { "bit 0 clear without dictionary" };
            return Err(ChunkError::invalid("blosc2_flags", 31, expected, header.blosc2_flags));
        }
        let body = if header.is_stored() { BlockMapBody::Stored } else { BlockMapBody::Blocks { spans, dict } };
        Ok(Self { header, body })
    }

    /// The header of the chunk.
    pub fn header(&self) -> &ChunkHeader {
        &self.header
    }

    pub(crate) fn body(&self) -> &BlockMapBody {
        &self.body
    }

    /// How many blocks there are.
    pub fn block_count(&self) -> usize {
        self.header.block_count()
    }

    /// Which bytes of the chunk hold `block`: the stored data itself, or its streams (with whatever lies between them
    /// and the next block). Empty for special chunks, whose blocks need no bytes, and for blocks that do not exist.
    pub fn span(&self, block: usize) -> Range<usize> {
        match &self.body {
            BlockMapBody::Special(_) => 0..0,
            BlockMapBody::Stored => {
                let bytes = self.block_bytes(block).unwrap_or(0..0);
                let base = self.header.header_len();
                base + bytes.start..base + bytes.end
            }
            BlockMapBody::Blocks { spans, .. } => {
                spans.get(block).map_or(0..0, |&(start, end)| start as usize..end as usize)
            }
        }
    }

    /// Which bytes of the decoded chunk `block` covers; `None` for blocks of variable length, whose lengths are in
    /// their spans ([`BlockMap::decoded_len`]), and for blocks that do not exist.
    pub fn block_bytes(&self, block: usize) -> Option<Range<usize>> {
        if self.header.has_vl_blocks() || block >= self.block_count() {
            return None;
        }
        let start = block * self.header.blocksize;
        Some(start..self.header.nbytes.min(start + self.header.blocksize))
    }

    /// How many bytes `block` decodes to; `span` are its bytes, of which blocks of variable length need the first
    /// four and others none.
    ///
    /// # Errors
    /// [`ChunkError::OutOfRange`] when there is no such block, [`ChunkError::Truncated`] and [`ChunkError::Invalid`]
    /// when the length of a variable-length block cannot be read or is not possible.
    pub fn decoded_len(&self, block: usize, span: &[u8]) -> Result<usize, ChunkError> {
        if block >= self.block_count() {
            return Err(self.no_block(block));
        }
        if let Some(bytes) = self.block_bytes(block) {
            return Ok(bytes.len());
        }
        let offset = self.span(block).start;
        let word = *span.first_chunk().ok_or(ChunkError::Truncated {
            what: "length of a variable-length block",
            offset,
            expected: WORD,
            found: span.len(),
        })?;
        let found = i32::from_le_bytes(word);
        usize::try_from(found).ok().filter(|&len| len > 0 && len <= self.header.nbytes).ok_or_else(|| {
            let expected = format!("1..={} (nbytes)", self.header.nbytes);
            ChunkError::invalid("length of a variable-length block", offset, expected, found)
        })
    }

    /// How many bytes each block of variable length decodes to; together they make up the decoded chunk. `chunk` is
    /// the whole chunk.
    ///
    /// # Errors
    /// [`ChunkError::BlockKind`] when the blocks are of equal length; [`ChunkError::Truncated`] and
    /// [`ChunkError::Invalid`] when a length cannot be read, or their sum is not that of the header.
    pub fn decoded_lens(&self, chunk: &[u8]) -> Result<Vec<usize>, ChunkError> {
        if !self.header.has_vl_blocks() {
            return Err(ChunkError::BlockKind { operation: "access to blocks of variable length", found: "of equal" });
        }
        let mut lens = Vec::with_capacity(self.block_count());
        let mut left = self.header.nbytes;
        for block in 0..self.block_count() {
            let span = self.span(block);
            let len = self.decoded_len(block, chunk.get(span.clone()).unwrap_or_default())?;
            if len > left {
                let expected = format!("at most {left} (the rest of nbytes)");
                return Err(ChunkError::invalid("length of a variable-length block", span.start, expected, len));
            }
            left -= len;
            lens.push(len);
        }
        if left > 0 {
            let expected = format!("{} (sum of the blocks)", self.header.nbytes - left);
            return Err(ChunkError::invalid("nbytes", 4, expected, self.header.nbytes));
        }
        Ok(lens)
    }

    /// The blocks that hold the decoded bytes `bytes`.
    ///
    /// # Errors
    /// [`ChunkError::OutOfRange`] when the chunk has no such bytes, [`ChunkError::BlockKind`] when its blocks are of
    /// variable length.
    pub fn blocks_of_bytes(&self, bytes: Range<usize>) -> Result<Range<usize>, ChunkError> {
        if self.header.has_vl_blocks() {
            return Err(ChunkError::BlockKind { operation: "access to a range of bytes", found: "of variable" });
        }
        if bytes.start > bytes.end || bytes.end > self.header.nbytes {
            return Err(ChunkError::OutOfRange {
                what: "bytes",
                start: bytes.start,
                end: bytes.end,
                available: self.header.nbytes,
            });
        }
        if bytes.is_empty() {
            return Ok(0..0);
        }
        Ok(bytes.start / self.header.blocksize..bytes.end.div_ceil(self.header.blocksize))
    }

    /// Whether `block` can only be decoded when the decoded first block is at hand: those of a chunk with a filter that
    /// [needs it](crate::filter::FilterTraits::needs_reference) do, except the first one and blocks of variable length.
    /// `registry` knows the filters.
    pub fn needs_reference(&self, block: usize, registry: &Registry) -> bool {
        block > 0
            && matches!(self.body, BlockMapBody::Blocks { .. })
            && !self.header.has_vl_blocks()
            && registry.needs_reference(&self.header.filters)
    }

    /// The bit-shuffle rule of the writer, as far as the version of the chunk tells.
    pub(crate) fn bitshuffle_rule(&self) -> BitshuffleRule {
        if self.header.version == VERSION_BLOSC1 {
            BitshuffleRule::WholeBlockOrNothing
        } else {
            BitshuffleRule::LeadingEights
        }
    }

    /// Whether `block` is the last one and shorter than the others.
    pub(crate) fn is_last_short(&self, block: usize) -> bool {
        self.block_bytes(block).is_some_and(|bytes| bytes.len() < self.header.blocksize)
    }

    pub(crate) fn no_block(&self, block: usize) -> ChunkError {
        ChunkError::OutOfRange {
            what: "blocks",
            start: block,
            end: block.saturating_add(1),
            available: self.block_count(),
        }
    }
}

/// Lazy chunks and those of the instrumented codec hold no data.
#[inline]
fn check_holds_data(header: &ChunkHeader) -> Result<(), ChunkError> {
    if header.is_lazy() {
        return Err(ChunkError::Lazy);
    }
    if header.is_instrumented() {
        return Err(ChunkError::Instrumented);
    }
    Ok(())
}

/// The header with its block size rounded down to whole items, if it has to be.
///
/// C-Blosc2 3.x cuts blocks at a multiple of the item but writes the block size that its caller asked for, and then
/// fails to read its own chunk or reads other bytes than it was given. No other writer has a block size that is
/// larger than an item and no multiple of it, so the rounded one is right wherever the block starts agree with it.
fn rounded(header: &ChunkHeader) -> Option<ChunkHeader> {
    let typesize = usize::from(header.typesize);
    let rest = header.blocksize % typesize;
    if rest == 0 || header.blocksize < typesize || header.has_vl_blocks() || !header.is_extended() {
        return None;
    }
    let mut rounded = header.clone();
    rounded.blocksize -= rest;
    (rounded.block_starts_end() <= rounded.cbytes).then_some(rounded)
}

/// The dictionary, if there is one, and where the blocks may begin. `Err` is the number of bytes needed to tell.
type DictSpan = Result<(Option<Vec<u8>>, usize), usize>;

/// Layout (chunk format, dictionary): `i32 size` after the block starts, then that many bytes.
fn dict(header: &ChunkHeader, starts_end: usize, prefix: &[u8]) -> Result<DictSpan, ChunkError> {
    if !header.has_dict() {
        return Ok(Ok((None, starts_end)));
    }
    let start = starts_end + WORD;
    if start > header.cbytes {
        return Err(ChunkError::Truncated {
            what: "dictionary size",
            offset: starts_end,
            expected: WORD,
            found: header.cbytes - starts_end,
        });
    }
    let Some(word) = prefix.get(starts_end..).and_then(<[u8]>::first_chunk) else {
        return Ok(Err(start));
    };
    let found = i32::from_le_bytes(*word);
    let len = usize::try_from(found).ok().filter(|&len| (1..=MAX_DICT.min(header.cbytes - start)).contains(&len));
    let Some(len) = len else {
        let expected = format!("1..={}", MAX_DICT.min(header.cbytes - start));
        return Err(ChunkError::invalid("dictionary size", starts_end, expected, found));
    };
    Ok(match prefix.get(start..start + len) {
        Some(dict) => Ok((Some(dict.to_vec()), start + len)),
        None => Err(start + len),
    })
}

/// Start and end of every block.
///
/// Writers with several threads store blocks as they are finished, so the starts need not rise; a block ends where
/// the next one *in the chunk* begins. Several blocks may share a start.
fn spans(header: &ChunkHeader, starts: &[u8], body_start: usize) -> Result<Vec<(u32, u32)>, ChunkError> {
    // Every stream begins with a word, and `cbytes` fits 31 bits, so the casts below are lossless.
    let valid = body_start..header.cbytes.saturating_sub(WORD - 1).max(body_start);
    let end = header.cbytes as u32;
    let mut spans = Vec::with_capacity(starts.len() / WORD);
    let mut rising = true;
    for (block, word) in starts.as_chunks::<WORD>().0.iter().enumerate() {
        let found = i32::from_le_bytes(*word);
        let Some(start) = usize::try_from(found).ok().filter(|start| valid.contains(start)) else {
            let offset = header.header_len() + WORD * block;
            return Err(ChunkError::invalid("block start", offset, format!("{}..{}", valid.start, valid.end), found));
        };
        let start = start as u32;
        if let Some((previous, previous_end)) = spans.last_mut() {
            rising &= *previous < start;
            *previous_end = start;
        }
        spans.push((start, end));
    }
    if header.has_vl_blocks() {
        check_vl_spans(header, &spans, rising)?;
    } else if !rising {
        let mut sorted: Vec<u32> = spans.iter().map(|&(start, _)| start).collect();
        sorted.sort_unstable();
        for (start, span_end) in &mut spans {
            let next = sorted.partition_point(|other| other <= start);
            *span_end = sorted.get(next).copied().unwrap_or(end);
        }
    }
    Ok(spans)
}

/// The length of a variable-length block's payload is that of its span, so its place must be exact: starts rise, and
/// every span holds a word and at least one byte.
fn check_vl_spans(header: &ChunkHeader, spans: &[(u32, u32)], rising: bool) -> Result<(), ChunkError> {
    for (block, &(start, end)) in spans.iter().enumerate() {
        if !rising && start >= end || (end - start) as usize <= WORD {
            let offset = header.header_len() + WORD * block;
            let expected = format!("more than {WORD} bytes before the next one, at {end}");
            return Err(ChunkError::invalid("block start", offset, expected, start));
        }
    }
    Ok(())
}

const _: () = assert!(MAX_BLOCKSIZE < i32::MAX as usize);
