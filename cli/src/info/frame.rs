//! Information about a frame.

use oxiblosc::chunk::{ChunkDecoder, ChunkHeader, SpecialKind};
use oxiblosc::frame::{BitshuffleAge, Checksums, ChunkEntry, Frame, FrameLayout, FrameType, MetaValue, Metalayers};
use oxiblosc::nd::{ArrayMeta, item_size};
use oxiblosc::plugin_params::PluginParams;
use oxiblosc::{FilterId, Registry};

use super::{Info, Layers, Named};
use crate::chunk_headers::chunk_headers;
use crate::error::one_line;
use crate::input::Reader;
use crate::needs::Needs;

/// Collects what is known without decoding a chunk. Damage to one part does not hide the others.
pub(super) async fn info(reader: &Reader, registry: &Registry) -> Info {
    let (frame, header) = (reader.frame(), reader.header());
    let mut notes = Vec::new();
    let first = first_chunk(reader, &mut notes).await;
    // The parameters in the header of a frame are those for future chunks. Where the header has none, the first chunk
    // is a better guide.
    let (slots, blocksize) = match &first {
        Some(chunk) if header.layout == FrameLayout::Early => (&chunk.filters, block_size(chunk)),
        Some(chunk) if header.block_size == 0 => (&header.filters, block_size(chunk)),
        _ => (&header.filters, Some(u64::from(header.block_size)).filter(|&size| size > 0)),
    };
    let recorded = PluginParams::find(reader.metalayers()).unwrap_or_else(|error| {
        notes.push(one_line(&error));
        PluginParams::default()
    });
    let array = match ArrayMeta::find(reader.metalayers()) {
        Some(Ok(array)) => Some(array),
        Some(Err(error)) => {
            // A metalayer that cannot be read is still listed.
            notes.push(format!("this is an array, but its shapes cannot be read: {}", one_line(&error)));
            None
        }
        None => None,
    };
    if header.vl_blocks || first.as_ref().is_some_and(ChunkHeader::has_vl_blocks) {
        notes.push("the blocks of its chunks are of variable length".into());
    }
    if slots.contains(FilterId::BITSHUFFLE) {
        notes.extend(bitshuffle(frame.bitshuffle_age()).map(str::to_owned));
    }
    notes.extend(specials(frame));
    Info {
        kind: match (header.layout, header.frame_type) {
            _ if array.is_some() => "b2nd",
            (FrameLayout::Early | FrameLayout::Beta, _) => "early-frame",
            (_, FrameType::Sparse) => "sparse-frame",
            (_, FrameType::Contiguous) => "frame",
        },
        layout: Some(match header.frame_type {
            FrameType::Sparse => "sparse",
            FrameType::Contiguous => "contiguous",
        }),
        version: header.version,
        nbytes: array.as_ref().and_then(|array| array_bytes(array, frame)).or(Some(header.nbytes)),
        cbytes: Some(header.cbytes),
        typesize: header.typesize.into(),
        chunksize: header.chunk_size.fixed().map(|size| size as u64),
        blocksize,
        nchunks: Some(reader.nchunks()),
        codec: Named::codec(header.codec, header.codec_meta, &recorded, registry),
        level: Some(header.level),
        filters: Named::filters(slots, &recorded, registry),
        needs: Needs::new(header.plugins().chain(first.iter().flat_map(ChunkHeader::plugins)), registry),
        dict: header.use_dict || first.as_ref().is_some_and(ChunkHeader::has_dict),
        meta: metalayers(reader.metalayers()),
        vlmeta: vlmetalayers(reader).await,
        usermeta: user_metadata(frame, registry),
        fingerprint: Some(frame.fingerprint()).filter(|fingerprint| fingerprint.kind > 0),
        checksums: frame.checksums().clone(),
        sealed: true,
        array,
        chunk: None,
        notes,
    }
}

/// The header of the first chunk. If it cannot be read, a note says why; most information does not need it.
async fn first_chunk(reader: &Reader, notes: &mut Vec<String>) -> Option<ChunkHeader> {
    if reader.nchunks() == 0 {
        return None;
    }
    let headers = chunk_headers(reader, 0..1).await;
    match headers.and_then(|headers| headers.into_iter().next().transpose()) {
        Ok(header) => header,
        Err(error) => {
            notes.push(format!("the first chunk cannot be read: {}", one_line(&error)));
            None
        }
    }
}

fn block_size(chunk: &ChunkHeader) -> Option<u64> {
    (!chunk.has_vl_blocks()).then_some(chunk.blocksize as u64)
}

/// Bytes of the items of an array; its chunks have more, if they are padded.
fn array_bytes(array: &ArrayMeta, frame: &Frame) -> Option<u64> {
    let item_size = array.dtype.as_deref().and_then(item_size).unwrap_or(frame.typesize());
    array.geometry.shape.iter().try_fold(item_size as u64, |bytes, &len| bytes.checked_mul(len))
}

fn bitshuffle(age: BitshuffleAge) -> Option<&'static str> {
    match age {
        BitshuffleAge::ByChunk => None,
        BitshuffleAge::Before => Some("bit shuffle follows the rule from before February 2020, which is supported"),
        BitshuffleAge::Ambiguous => Some(
            "bit shuffle changed in February 2020, and nothing in this frame tells which rule its writer followed: \
             2.0.0-beta.5 the new one, which is assumed, beta.3 and beta.4 the old one (cat --bitshuffle old); it \
             matters for blocks whose number of items is no multiple of 8",
        ),
    }
}

/// How many chunks exist only in the index.
fn specials(frame: &Frame) -> Option<String> {
    let mut counts =
        [(SpecialKind::Zero, "zeros", 0), (SpecialKind::Nan, "NaNs", 0), (SpecialKind::Uninit, "nothing", 0)];
    for chunk in 0..frame.nchunks() {
        if let Ok(ChunkEntry::Special(kind)) = frame.entry(chunk) {
            counts.iter_mut().filter(|(other, ..)| *other == kind).for_each(|(.., count)| *count += 1);
        }
    }
    let found: Vec<_> = counts.iter().filter(|(.., n)| *n > 0).map(|(_, of, n)| format!("{n} of {of}")).collect();
    (!found.is_empty()).then(|| format!("chunks only in the index: {}", found.join(", ")))
}

pub(super) fn metalayers(layers: &Metalayers) -> Layers {
    layers.iter().map(|(name, content)| (name.into_owned(), Ok(MetaValue::read(content)))).collect()
}

async fn vlmetalayers(reader: &Reader) -> Layers {
    let mut layers = Layers::new();
    // The one with the checksums is summarized in a word.
    for name in reader.vlmetalayer_names().into_iter().filter(|name| name != Checksums::NAME) {
        let content = match reader.vlmetalayer(&name).await {
            Ok(content) => Ok(MetaValue::read(&content.unwrap_or_default())),
            Err(error) => Err(one_line(&error)),
        };
        layers.push((name, content));
    }
    layers
}

fn user_metadata(frame: &Frame, registry: &Registry) -> Option<Result<MetaValue, String>> {
    match frame.user_metadata(&mut ChunkDecoder::new(registry)) {
        Ok(content) => content.map(|content| Ok(MetaValue::read(&content))),
        Err(error) => Some(Err(one_line(&error))),
    }
}
