//! Writing a new frame of the chunks that were found.

use std::collections::BTreeSet;
use std::ops::Range;

use bytes::Bytes;
use oxiblosc_core::chunk::{ChunkContext, ChunkHeader, SpecialKind, SpecialValue, special_chunk};
use oxiblosc_core::frame::{
    Checksums, ChunkSize, FrameError, FrameParams, FrameType, FrameWriteError, Metalayers, Sequential,
};
use oxiblosc_core::nd::ArrayMeta;
use oxiblosc_core::plugin::PluginId;
use oxiblosc_core::registry::MissingPlugin;
use oxiblosc_core::{Limits, Registry};

use super::block_kind::BlockKind;
use super::error::RecoverError;
use super::former_array::{FormerArray, still_decodes};
use super::found::{Found, Recovered};
use super::items::{ChunkContent, RecoveredChunk};
use super::numbers::ChunkNumbers;
use super::reconcile::reconcile_header;
use super::scan::Scan;
use super::work_limit::WorkLimit;
use crate::edit::ChunkOutput;
use crate::source::RangeSource;
use crate::target::Target;

/// If more chunks than this are missing, their zeros exist only in the index, which gives up the promise that a reader
/// needs no index.
const MOST_STORED: u64 = 1 << 16;

/// Writes the chunks of `scan` to `target`.
pub(super) async fn write<S, T>(
    mut scan: Scan,
    source: &S,
    registry: &Registry,
    limits: &Limits,
    budget: &mut WorkLimit,
    target: &mut T,
) -> Result<Recovered, RecoverError>
where
    S: RangeSource + ?Sized,
    T: Target,
{
    let found = state(&scan);
    let missing = fill_up_array(&mut scan, registry, limits)?;
    let promised = scan.head.metalayers.get(Sequential::NAME).is_some();
    let mut params = params(&scan);
    params.sequential = promised && target.frame_type() == FrameType::Contiguous && missing <= MOST_STORED;
    let layers = params.metalayers.clone();
    let damaged_array = reconcile_header(&mut params, &scan.items.lens());
    let mut former = damaged_array.as_ref().map(|_| FormerArray::new(&scan.head, registry, limits));
    if let Some(former) = &mut former {
        for (chunks, item) in scan.items.runs() {
            if let ChunkContent::Stored { offset, len, .. } = item.content {
                let chunk = source.read_range(offset..offset + len).await?;
                if former.needs_layer(chunks.start, &chunk, budget)? {
                    params.metalayers = layers;
                    break;
                }
            }
        }
    }
    let mut output = ChunkOutput::new(&params, registry, target)?;
    output.copy_encoded_vlmetalayers(&without_checksums(&scan.vlmetalayers))?;
    let mut blocks = BlockKind::new(&params.encode, scan.vl_blocks, registry, *limits);
    let mut totals = RecoveryCount::default();
    for (chunks, item) in scan.items.runs() {
        let count = chunks.end - chunks.start;
        let mut item = item;
        if let ChunkContent::Stored { offset, len, checked } = item.content {
            let chunk = source.read_range(offset..offset + len).await?;
            if still_decodes(former.as_mut(), chunks.start, &chunk, budget)?
                && let Some(chunk) = blocks.fit(chunk, &ChunkContext::numbered(chunks.start), budget)?
            {
                budget.write(len.saturating_mul(count))?;
                for _ in chunks.clone() {
                    output.push(chunk.clone()).await?;
                }
                totals.save(chunks, item.nbytes, checked, &chunk);
                continue;
            }
            item.content = ChunkContent::Lost;
        }
        let kind = match item.content {
            ChunkContent::Special(kind) => {
                totals.save(chunks, item.nbytes, true, &[]);
                kind
            }
            _ => {
                totals.lose(chunks, item.nbytes);
                SpecialKind::Zero
            }
        };
        write_specials(&mut output, &mut blocks, kind, item.nbytes, count, budget).await?;
    }
    let lost = if scan.head.is_unfinished() { None } else { scan.head.header.nbytes.checked_sub(totals.nbytes) };
    let lost = lost.or_else(|| (missing > 0 || found == Found::Open).then_some(totals.lost));
    budget.check_time()?;
    totals.check_not_empty(scan.had_chunks())?;
    let summary = output.finish().await?;
    let missing_plugins = totals.missing(registry);
    Ok(Recovered {
        found,
        chunks: totals.chunks,
        nbytes: totals.nbytes,
        replaced: totals.replaced,
        missing: missing_plugins,
        unchecked: totals.unchecked,
        lost_nbytes: lost,
        unused_bytes: scan.unused,
        in_order: scan.in_order,
        damaged_array,
        lost_vlmetalayers: scan.lost_vlmetalayers(),
        summary,
    })
}

/// The variable-length metalayers of a frame for one of other chunks. Checksums, also those of later versions, say
/// nothing about them.
pub(super) fn without_checksums(vlmetalayers: &Metalayers) -> Metalayers {
    let mut others = vlmetalayers.clone();
    others.remove(Checksums::NAME);
    others
}

/// Writes `count` chunks of one value.
pub(super) async fn write_specials<T: Target>(
    output: &mut ChunkOutput<'_, T>,
    blocks: &mut BlockKind<'_>,
    kind: SpecialKind,
    nbytes: u64,
    count: u64,
    budget: &mut WorkLimit,
) -> Result<(), RecoverError> {
    if let Some(chunk) = blocks.special(kind, nbytes, budget)? {
        return write_stored(output, chunk, count, budget).await;
    }
    // Lossless: the length of a chunk.
    if output.push_specials(kind, nbytes as usize, count).await? {
        return Ok(());
    }
    // They are stored, each with its value.
    write_stored(output, special(kind, nbytes, blocks.typesize()), count, budget).await
}

async fn write_stored<T: Target>(
    output: &mut ChunkOutput<'_, T>,
    chunk: Bytes,
    count: u64,
    budget: &mut WorkLimit,
) -> Result<(), RecoverError> {
    budget.write((chunk.len() as u64).saturating_mul(count))?;
    for _ in 0..count {
        output.push(chunk.clone()).await?;
    }
    Ok(())
}

/// A count of what has been saved so far.
#[derive(Default)]
pub(super) struct RecoveryCount {
    pub(super) chunks: u64,
    pub(super) nbytes: u64,
    pub(super) lost: u64,
    pub(super) replaced: ChunkNumbers,
    pub(super) unchecked: ChunkNumbers,
    /// What the unchecked ones need.
    plugins: BTreeSet<PluginId>,
}

impl RecoveryCount {
    /// Counts chunks of `nbytes` bytes each, which are all `encoded`.
    pub(super) fn save(&mut self, chunks: Range<u64>, nbytes: u64, checked: bool, encoded: &[u8]) {
        let count = chunks.end - chunks.start;
        self.chunks += count;
        self.nbytes = self.nbytes.saturating_add(nbytes.saturating_mul(count));
        if !checked {
            self.unchecked.push(chunks);
            self.plugins.extend(ChunkHeader::parse(encoded).iter().flat_map(ChunkHeader::plugins));
        }
    }

    /// Why chunks have not been checked.
    pub(super) fn missing(&self, registry: &Registry) -> Vec<MissingPlugin> {
        registry.missing(self.plugins.iter().copied())
    }

    /// Refuses to make an empty frame, or one of zeros alone, of a frame that `had_chunks`.
    pub(super) fn check_not_empty(&self, had_chunks: bool) -> Result<(), RecoverError> {
        if self.chunks == 0 && (had_chunks || !self.replaced.is_empty()) { Err(RecoverError::Nothing) } else { Ok(()) }
    }

    pub(super) fn lose(&mut self, chunks: Range<u64>, nbytes: u64) {
        self.lost = self.lost.saturating_add(nbytes.saturating_mul(chunks.end - chunks.start));
        self.replaced.push(chunks);
    }
}

pub(super) fn state(scan: &Scan) -> Found {
    match (scan.head.is_unfinished(), scan.tail.is_some()) {
        (true, true) => Found::Open,
        (true, false) => Found::Unfinished,
        (false, _) => Found::Cut,
    }
}

fn params(scan: &Scan) -> FrameParams {
    let mut params = FrameParams::from_head(&scan.head);
    if scan.head.header.chunk_size == ChunkSize::Unset
        && let Some(first) = scan.items.first()
    {
        // Lossless: the length of a chunk.
        params.chunk_size = first.nbytes as usize;
    }
    params
}

/// Gives an array the shape that its chunks have, or adds the chunks that its shape requires. Returns the number of
/// missing chunks. A frame that is not an array is as long as its chunks.
///
/// # Errors
/// There would be more chunks than the limits allow: a reader with the same limits could not open the new frame.
pub(super) fn fill_up_array(scan: &mut Scan, registry: &Registry, limits: &Limits) -> Result<u64, RecoverError> {
    let missing = fill_up(scan, registry);
    let (found, limit) = (scan.items.len(), limits.chunks);
    if found > limit {
        return Err(FrameWriteError::from(FrameError::TooManyChunks { found, limit }).into());
    }
    Ok(missing)
}

fn fill_up(scan: &mut Scan, registry: &Registry) -> u64 {
    let lost = scan.items.runs().filter(|(_, item)| item.content == ChunkContent::Lost);
    let damaged: u64 = lost.map(|(chunks, _)| chunks.end - chunks.start).sum();
    let Some(content) = scan.head.metalayers.get(ArrayMeta::NAME) else { return damaged };
    let Ok(mut meta) = ArrayMeta::parse(content) else { return damaged };
    // The number of rows is set when the array is closed; a writer that cannot seek back to the header puts it in the
    // trailer.
    if let Some(late) = scan.head.array_from_trailer(&scan.vlmetalayers, registry) {
        meta = late;
    }
    let item_size = scan.head.header.typesize as usize;
    let chunks_of = |meta: &ArrayMeta| meta.geometry.clone().tile(item_size).map(|tiling| tiling.chunk_count());
    let mut expected = chunks_of(&meta).unwrap_or(0);
    if let Ok(tiling) = meta.geometry.clone().tile(item_size) {
        let chunk_bytes = tiling.chunk_bytes() as u64;
        if scan.items.len() > 0 && scan.items.runs().all(|(_, item)| item.nbytes != chunk_bytes) {
            // The metalayer is damaged, not every single chunk.
            return damaged;
        }
        drop_partial(scan, chunk_bytes);
    }
    let found = scan.items.len();
    if expected == 0 && found > 0 && meta.geometry.shape.first() == Some(&0) {
        let rows = u64::from(meta.geometry.chunk_shape.first().copied().unwrap_or(1));
        meta.geometry.shape[0] = rows;
        let per_slab = chunks_of(&meta).unwrap_or(0);
        if per_slab > 0 {
            // An incomplete slab is filled up with zeros.
            meta.geometry.shape[0] = rows * found.div_ceil(per_slab);
            expected = chunks_of(&meta).unwrap_or(0);
        }
    }
    if let Ok(content) = meta.to_bytes() {
        // It has the same length as before: the encoding of a shape has a fixed size.
        let _ = scan.head.metalayers.insert(ArrayMeta::NAME, content);
    }
    let full = scan.head.header.chunk_size.fixed().unwrap_or_default() as u64;
    scan.items.truncate(expected);
    if full > 0 {
        let missing = expected.min(MOST_FILLED).saturating_sub(scan.items.len());
        scan.items.push_run(RecoveredChunk { content: ChunkContent::Lost, nbytes: full }, missing);
    }
    damaged + expected.saturating_sub(found)
}

/// All chunks of an array have full size: one of another length is not a chunk but an index.
fn drop_partial(scan: &mut Scan, chunk_bytes: u64) {
    let whole = |item: &RecoveredChunk| item.nbytes == chunk_bytes;
    scan.unused += scan.items.runs().filter(|(_, item)| !whole(item)).map(|(_, item)| item.stored_len()).sum::<u64>();
    scan.items = scan.items.runs().filter(|(_, item)| whole(item)).collect();
}

/// An array of more chunks than this is not filled up with zeros.
const MOST_FILLED: u64 = 1 << 26;

/// A chunk of one value.
pub(super) fn special(kind: SpecialKind, nbytes: u64, typesize: usize) -> Bytes {
    // Lossless: the length of a chunk.
    let nbytes = nbytes as usize;
    let value = match kind {
        SpecialKind::Nan => SpecialValue::Nan,
        _ => SpecialValue::Zero,
    };
    let typesize = if nbytes.is_multiple_of(typesize) { typesize.min(255) } else { 1 };
    let chunk = special_chunk(value, nbytes, typesize, nbytes)
        .or_else(|_| special_chunk(SpecialValue::Zero, nbytes, 1, nbytes));
    chunk.unwrap_or_default().into()
}
