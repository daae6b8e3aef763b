//! Finding the chunks of a frame without its index.

use std::collections::BTreeMap;

use bytes::Bytes;
use oxiblosc_core::chunk::ChunkHeader;
use oxiblosc_core::frame::{
    ChunkEntry, ChunkSize, EntryRun, Fingerprint, FrameLayout, Metalayers, PartialHeader, Sequential, Trailer,
    find_trailer, index_entries, index_entry_count,
};
use oxiblosc_core::{Limits, Registry};

use super::chunk_checker::{CheckResult, ChunkChecker};
use super::error::RecoverError;
use super::items::{ChunkContent, RecoveredChunk, RecoveredChunks};
use super::walk::walk;
use super::work_limit::WorkLimit;
use crate::source::{BufferedSource, RangeSource};

/// The range that is searched for a trailer that is not at the end of the frame.
const MOST_TRAILER: u64 = 16 << 20;

/// What was found of a frame.
pub(super) struct Scan {
    pub(super) head: PartialHeader,
    pub(super) items: RecoveredChunks,
    /// The variable-length metalayers of the last trailer.
    pub(super) vlmetalayers: Metalayers,
    /// Its fingerprint.
    pub(super) fingerprint: Fingerprint,
    /// What follows the chunks, if the frame ends with an index and a trailer.
    pub(super) tail: Option<IndexAndTrailer>,
    /// Unused bytes.
    pub(super) unused: u64,
    /// Chunks are known to have been stored in order, and none exists only in the index.
    pub(super) in_order: bool,
    /// Chunks follow each other without gaps from the end of the header on.
    pub(super) dense: bool,
    pub(super) vl_blocks: bool,
}

impl Scan {
    /// Whether the frame had chunks: its header says so, or something lies where they would be.
    pub(super) fn had_chunks(&self) -> bool {
        if self.head.is_unfinished() { self.unused > 0 } else { self.head.header.nbytes > 0 }
    }

    /// Whether the header announces variable-length metalayers that are missing.
    pub(super) fn lost_vlmetalayers(&self) -> bool {
        self.head.header.has_vlmetalayers && self.vlmetalayers.is_empty()
    }
}

/// Index and trailer.
#[derive(Debug, Clone, Copy)]
pub(super) struct IndexAndTrailer {
    pub(super) index_at: u64,
    pub(super) end: u64,
}

/// Finds the chunks of a contiguous frame.
pub(super) async fn scan<S: RangeSource + ?Sized>(
    source: &S,
    registry: &Registry,
    limits: &Limits,
    budget: &mut WorkLimit,
) -> Result<Scan, RecoverError> {
    let size = source.size().await?;
    let mut window = BufferedSource::new(source, size);
    let fixed = window.get(0..PartialHeader::FIXED_LEN as u64).await?;
    let head_len = PartialHeader::extent(&fixed).map_err(RecoverError::Head)?.min(limits.header_bytes) as u64;
    let mut head = PartialHeader::parse(&window.get(0..head_len).await?, limits).map_err(RecoverError::Head)?;
    if head.header.layout != FrameLayout::Current {
        return Err(RecoverError::Layout { layout: head.header.layout });
    }
    correct_chunk_size(&mut head, &mut window, registry, limits, budget).await?;
    let promise = Sequential::find(&head.metalayers);
    let promised = promise.is_some_and(|promise| promise.is_open(&head.header) || promise.holds(&head.header));
    let mut scan = Scan {
        items: RecoveredChunks::default(),
        vlmetalayers: Metalayers::new(),
        fingerprint: Fingerprint::NONE,
        tail: None,
        unused: 0,
        in_order: promised,
        dense: true,
        vl_blocks: false,
        head,
    };
    if promised {
        walk(&mut scan, &mut window, registry, limits, budget).await?;
    } else {
        search(&mut scan, &mut window, registry, limits, budget).await?;
    }
    Ok(scan)
}

/// Searches for the chunks of a frame that promises nothing about them. There may be holes and chunks that have been
/// replaced, and an index for each edit, none of which has to be the last. So this cannot be the walk that a frame with
/// the promise allows: what can be read at an offset is taken, and the rest is searched.
async fn search<S: RangeSource + ?Sized>(
    scan: &mut Scan,
    window: &mut BufferedSource<'_, S>,
    registry: &Registry,
    limits: &Limits,
    budget: &mut WorkLimit,
) -> Result<(), RecoverError> {
    let size = window.size();
    let mut at = u64::from(scan.head.header.header_len);
    let mut checker = ChunkChecker::new(&scan.head, registry, limits);
    // Every chunk seen, by offset: a later index may assign them other numbers.
    let mut seen = BTreeMap::new();
    while at < size {
        let bytes = window.get(at..at + ChunkHeader::EXTENDED_LEN as u64).await?;
        let Some(header) = checker.header(&bytes).or_else(|| index_header(&bytes)) else {
            match empty_frame_trailer(scan, window, at).await? {
                Some((trailer, len)) => {
                    scan.tail = Some(IndexAndTrailer { index_at: at, end: at + len });
                    scan.fingerprint = trailer.fingerprint;
                    scan.vlmetalayers = trailer.vlmetalayers;
                    at += len;
                    continue;
                }
                None => {
                    let next = next_chunk(window, at + 1, &mut checker, budget).await?.unwrap_or(size);
                    scan.in_order = false;
                    scan.dense = false;
                    scan.unused += next - at;
                    at = next;
                    continue;
                }
            }
        };
        let len = header.cbytes as u64;
        if len > size - at {
            break;
        }
        let chunk = window.get(at..at + len).await?;
        if let Some(entries) = as_index(scan, &chunk, &header, at, &seen, registry, limits) {
            let behind = window.get(at + len..at + len + MOST_TRAILER.min(limits.trailer_bytes as u64)).await?;
            let trailer = find_trailer(&behind);
            // No chunk begins with the first byte of a trailer; a trailer that is cut off may have few bytes or none.
            if trailer.is_some() || behind.first().is_none_or(|&first| Trailer::begins_with(first)) {
                adopt(scan, &entries, &seen);
                scan.tail = None;
                if let Some((trailer, trailer_len)) = trailer {
                    scan.fingerprint = trailer.fingerprint;
                    scan.vlmetalayers = trailer.vlmetalayers;
                    scan.tail = Some(IndexAndTrailer { index_at: at, end: at + len + trailer_len });
                    at += len + trailer_len;
                    continue;
                }
                scan.unused += size - at;
                return Ok(());
            }
        }
        if checker.header(&chunk).is_none() {
            // Longer than a chunk can be, and not an index.
            scan.unused += len;
            at += len;
            continue;
        }
        let content = match checker.check(scan.items.len(), &header, &chunk, budget)? {
            CheckResult::Damaged => ChunkContent::Lost,
            verdict => ChunkContent::Stored { offset: at, len, checked: verdict == CheckResult::Holds },
        };
        let item = RecoveredChunk { content, nbytes: header.nbytes as u64 };
        if scan.tail.take().is_some() {
            // Something was appended to a complete frame.
            scan.dense = false;
        }
        scan.vl_blocks |= header.has_vl_blocks();
        push(scan, item);
        seen.insert(at, item);
        at += len;
    }
    scan.unused += size - at.min(size);
    Ok(())
}

/// No chunk may be longer than the chunk size in the header. If the first one is and decodes, the header is wrong.
async fn correct_chunk_size<S: RangeSource + ?Sized>(
    head: &mut PartialHeader,
    window: &mut BufferedSource<'_, S>,
    registry: &Registry,
    limits: &Limits,
    budget: &mut WorkLimit,
) -> Result<(), RecoverError> {
    let Some(size) = head.header.chunk_size.fixed() else { return Ok(()) };
    let at = u64::from(head.header.header_len);
    let bytes = window.get(at..at + ChunkHeader::EXTENDED_LEN as u64).await?;
    let Ok(first) = ChunkHeader::parse(&bytes) else { return Ok(()) };
    if first.nbytes <= size {
        return Ok(());
    }
    let chunk = window.get(at..at + first.cbytes as u64).await?;
    if ChunkChecker::new(head, registry, limits).check(0, &first, &chunk, budget)? != CheckResult::Damaged {
        // Lossless: the format counts the bytes of a chunk in 31 bits.
        head.header.chunk_size = ChunkSize::Fixed(first.nbytes as u32);
    }
    Ok(())
}

/// Adds a chunk at the end. Only the last one is shorter than the others: a short one before it has been replaced.
fn push(scan: &mut Scan, item: RecoveredChunk) {
    if let (Some(full), Some(last)) = (scan.head.header.chunk_size.fixed(), scan.items.last())
        && last.nbytes < full as u64
    {
        if let ChunkContent::Stored { len, .. } = last.content {
            scan.unused += len;
        }
        scan.items.truncate(scan.items.len() - 1);
        scan.in_order = false;
        scan.dense = false;
    }
    scan.items.push(item);
}

/// An index can be longer than the chunks of its frame.
fn index_header(bytes: &[u8]) -> Option<ChunkHeader> {
    let header = ChunkHeader::parse(bytes).ok()?;
    index_entry_count(&header).is_some().then_some(header)
}

/// The entries of the chunk, if it is an index of chunks that have been seen.
fn as_index(
    scan: &Scan,
    chunk: &Bytes,
    header: &ChunkHeader,
    at: u64,
    seen: &BTreeMap<u64, RecoveredChunk>,
    registry: &Registry,
    limits: &Limits,
) -> Option<Vec<EntryRun>> {
    let count = index_entry_count(header)?;
    // If the frame states the offset of its index, the index is there or further on.
    let announced = scan.head.index_offset();
    // The index of an open frame, or of one that was being written for the first time, covers all chunks so far.
    if scan.head.is_unfinished() && scan.in_order && count != scan.items.len() {
        return None;
    }
    let entries = index_entries(chunk, at, scan.head.header.header_len.into(), registry, limits)?;
    let known = entries.iter().all(|run| match &run.entry {
        ChunkEntry::Stored { offset } => seen.contains_key(offset),
        ChunkEntry::Special(_) => scan.head.header.chunk_size.fixed().is_some(),
        ChunkEntry::File { .. } => false,
    });
    let in_order = || {
        let entries = entries.iter().flat_map(|run| run.chunks.clone().map(|_| run.entry));
        entries.zip(scan.items.each()).all(|(entry, item)| match (entry, item.content) {
            (ChunkEntry::Stored { offset }, ChunkContent::Stored { offset: found, .. }) => offset == found,
            (ChunkEntry::Stored { .. }, ChunkContent::Lost) => true,
            _ => false,
        })
    };
    (known && (at >= announced || !scan.head.is_unfinished()) && (!scan.in_order || in_order())).then_some(entries)
}

/// Adopts the chunks named by an index, in its order.
fn adopt(scan: &mut Scan, entries: &[EntryRun], seen: &BTreeMap<u64, RecoveredChunk>) {
    let full = scan.head.header.chunk_size.fixed().unwrap_or_default() as u64;
    let used = used_by(&scan.items);
    let item = |entry: &ChunkEntry| match entry {
        ChunkEntry::Stored { offset } => seen.get(offset).copied(),
        ChunkEntry::Special(kind) => Some(RecoveredChunk { content: ChunkContent::Special(*kind), nbytes: full }),
        ChunkEntry::File { .. } => None,
    };
    scan.items = entries.iter().filter_map(|run| Some((run.chunks.clone(), item(&run.entry)?))).collect();
    let now = used_by(&scan.items);
    // Chunks that seemed to be replaced may be in use after all.
    scan.unused = scan.unused.saturating_add(used).saturating_sub(now);
    // The index states the order.
    scan.in_order = true;
}

/// Bytes of the old frame that belong to chunks.
fn used_by(items: &RecoveredChunks) -> u64 {
    items.runs().map(|(_, item)| item.stored_len()).sum()
}

/// The trailer of a frame without chunks, which comes right after the header, and its length.
async fn empty_frame_trailer<S: RangeSource + ?Sized>(
    scan: &Scan,
    window: &mut BufferedSource<'_, S>,
    at: u64,
) -> Result<Option<(Trailer, u64)>, RecoverError> {
    if at != u64::from(scan.head.header.header_len) {
        return Ok(None);
    }
    let bytes = window.get(at..at + MOST_TRAILER).await?;
    Ok(find_trailer(&bytes))
}

/// The next offset at which a chunk of full size begins that decodes.
async fn next_chunk<S: RangeSource + ?Sized>(
    window: &mut BufferedSource<'_, S>,
    mut at: u64,
    checker: &mut ChunkChecker<'_>,
    budget: &mut WorkLimit,
) -> Result<Option<u64>, RecoverError> {
    const STEP: u64 = 256 << 10;
    loop {
        let bytes = window.get(at..at + STEP).await?;
        if bytes.len() < ChunkHeader::EXTENDED_LEN {
            return Ok(None);
        }
        for skip in 0..=bytes.len() - ChunkHeader::EXTENDED_LEN {
            let Some(header) = checker.header(&bytes[skip..skip + ChunkHeader::EXTENDED_LEN]) else { continue };
            let full = checker.chunk_size.fixed().is_none_or(|full| header.nbytes == full);
            if !full {
                continue;
            }
            let start = at + skip as u64;
            // The same chunk header may already have been examined at another place.
            budget.decode(header.cbytes as u64)?;
            let chunk = window.get(start..start + header.cbytes as u64).await?;
            if chunk.len() == header.cbytes && checker.check(0, &header, &chunk, budget)? != CheckResult::Damaged {
                return Ok(Some(start));
            }
        }
        // The last bytes may be the beginning of a header.
        at += (bytes.len() - ChunkHeader::EXTENDED_LEN + 1) as u64;
    }
}
