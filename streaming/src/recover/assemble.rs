//! A new frame of the chunks that were found.

use bytes::Bytes;
use oxiblosc_core::Registry;
use oxiblosc_core::chunk::{SpecialKind, SpecialValue, special_chunk};
use oxiblosc_core::frame::{ChunkSize, FrameParams, Sequential};
use oxiblosc_core::nd::ArrayMeta;

use super::agree::agree;
use super::error::RecoverError;
use super::found::{Found, Recovered};
use super::scan::{Content, Item, Scan};
use crate::edit::Output;
use crate::source::RangeSource;
use crate::target::Target;

/// Writes the chunks of `scan` to `target`.
pub(super) async fn write<S, T>(
    mut scan: Scan,
    source: &S,
    registry: &Registry,
    target: &mut T,
) -> Result<Recovered, RecoverError>
where
    S: RangeSource + ?Sized,
    T: Target,
{
    let found = state(&scan);
    let missing = settle(&mut scan, registry);
    let promised = scan.head.metalayers.get(Sequential::NAME).is_some();
    let mut params = params(&scan);
    params.sequential = promised && !target.is_sparse();
    let lens: Vec<_> = scan.items.iter().map(|item| item.nbytes).collect();
    let damaged_array = agree(&mut params, &lens);
    let mut output = Output::new(&params, registry, target)?;
    output.copy_encoded_vlmetalayers(&scan.vlmetalayers)?;
    let mut recovered = Tally::default();
    for (i, item) in scan.items.iter().enumerate() {
        let chunk = match item.content {
            Content::Stored { offset, len } => {
                recovered.save(item.nbytes);
                source.read_range(offset..offset + len).await?
            }
            Content::Special(kind) => {
                recovered.save(item.nbytes);
                special(kind, item.nbytes, params.encode.typesize)
            }
            Content::Lost => {
                recovered.lose(i as u64, item.nbytes);
                special(SpecialKind::Zero, item.nbytes, params.encode.typesize)
            }
        };
        output.push(chunk).await?;
    }
    let lost = if scan.head.is_unfinished() { None } else { scan.head.header.nbytes.checked_sub(recovered.nbytes) };
    let lost = lost.or_else(|| (missing > 0 || found == Found::Open).then_some(recovered.lost));
    let summary = output.finish().await?;
    Ok(Recovered {
        found,
        chunks: recovered.chunks,
        nbytes: recovered.nbytes,
        replaced: recovered.replaced,
        lost_nbytes: lost,
        unused_bytes: scan.unused,
        in_order: scan.in_order,
        damaged_array,
        lost_vlmetalayers: scan.lost_vlmetalayers(),
        summary,
    })
}

/// What has been saved so far.
#[derive(Default)]
pub(super) struct Tally {
    pub(super) chunks: u64,
    pub(super) nbytes: u64,
    pub(super) lost: u64,
    pub(super) replaced: Vec<u64>,
}

impl Tally {
    pub(super) fn save(&mut self, nbytes: u64) {
        self.chunks += 1;
        self.nbytes += nbytes;
    }

    pub(super) fn lose(&mut self, i: u64, nbytes: u64) {
        self.lost += nbytes;
        self.replaced.push(i);
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
    let mut params = FrameParams::like_head(&scan.head);
    if scan.head.header.chunk_size == ChunkSize::Unset
        && let Some(first) = scan.items.first()
    {
        // Lossless: the length of a chunk.
        params.chunk_size = first.nbytes as usize;
    }
    params
}

/// Gives an array the shape that its chunks have, or the chunks that its shape calls for. The number of chunks that are
/// missing. A frame that is no array is as long as its chunks.
pub(super) fn settle(scan: &mut Scan, registry: &Registry) -> u64 {
    let damaged = scan.items.iter().filter(|item| item.content == Content::Lost).count() as u64;
    let Some(content) = scan.head.metalayers.get(ArrayMeta::NAME) else { return damaged };
    let Ok(mut meta) = ArrayMeta::parse(content) else { return damaged };
    // Rows are counted when the array is closed; a writer that cannot go back to the header says so in the trailer.
    if let Some(late) = scan.head.late_array(&scan.vlmetalayers, registry) {
        meta = late;
    }
    let item_size = scan.head.header.typesize as usize;
    let chunks_of = |meta: &ArrayMeta| meta.geometry.clone().tile(item_size).map(|tiling| tiling.chunk_count());
    let mut expected = chunks_of(&meta).unwrap_or(0);
    if let Ok(tiling) = meta.geometry.clone().tile(item_size) {
        drop_partial(scan, tiling.chunk_bytes() as u64);
    }
    let found = scan.items.len() as u64;
    if expected == 0 && found > 0 && meta.geometry.shape.first() == Some(&0) {
        let rows = u64::from(meta.geometry.chunk_shape.first().copied().unwrap_or(1));
        meta.geometry.shape[0] = rows;
        let per_slab = chunks_of(&meta).unwrap_or(0);
        if per_slab > 0 {
            // A slab that is not whole has only zeros besides the chunks that were saved.
            meta.geometry.shape[0] = rows * found.div_ceil(per_slab);
            expected = chunks_of(&meta).unwrap_or(0);
        }
    }
    if let Ok(content) = meta.to_bytes() {
        // It has the length of the one before: a shape takes the same room whatever it is.
        let _ = scan.head.metalayers.insert(ArrayMeta::NAME, content);
    }
    let full = scan.head.header.chunk_size.fixed().unwrap_or_default() as u64;
    // Lossless: no index has more chunks than memory, and the others are nothing but their number.
    scan.items.truncate(usize::try_from(expected).unwrap_or(usize::MAX));
    while full > 0 && (scan.items.len() as u64) < expected.min(MOST_FILLED) {
        scan.items.push(Item { content: Content::Lost, nbytes: full });
    }
    damaged + expected.saturating_sub(found)
}

/// All chunks of an array are whole: what has another length is none, but an index that nothing announced.
fn drop_partial(scan: &mut Scan, chunk_bytes: u64) {
    let unused = &mut scan.unused;
    scan.items.retain(|item| {
        let whole = item.nbytes == chunk_bytes;
        if let (false, Content::Stored { len, .. }) = (whole, item.content) {
            *unused += len;
        }
        whole
    });
}

/// An array that is longer than this many chunks is not filled up with zeros.
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
