//! Information about a single chunk.

use oxiblosc::chunk::{ChunkError, ChunkHeader, LazyChunk, SpecialKind};
use oxiblosc::frame::ChecksumState;
use oxiblosc::plugin_params::PluginParams;
use oxiblosc::{CodecId, FilterId, Registry};

use super::{Info, Named};
use crate::error::one_line;
use crate::needs::Needs;

/// What a chunk consists of.
pub(super) struct ChunkKind {
    /// `stored`, `blocks`, `vlblocks`, or one of the special values.
    pub(super) body: &'static str,
    pub(super) split: bool,
    pub(super) lazy: bool,
    pub(super) instrumented: bool,
}

/// Reads the information from the header.
///
/// # Errors
/// When it is invalid.
pub(super) fn info(chunk: &[u8], registry: &Registry) -> Result<Info, ChunkError> {
    let header = ChunkHeader::parse(chunk)?;
    let codec = if header.is_extended() { CodecId(header.udcodec) } else { header.codec()? };
    Ok(Info {
        kind: if header.is_extended() { "chunk" } else { "blosc1-chunk" },
        layout: None,
        version: header.version,
        nbytes: Some(header.nbytes as u64),
        cbytes: Some(header.cbytes as u64),
        typesize: header.typesize.into(),
        chunksize: Some(header.nbytes as u64),
        blocksize: (!header.has_vl_blocks()).then_some(header.blocksize as u64),
        nchunks: Some(1),
        codec: Named::codec(codec, header.codec_meta, &PluginParams::default(), registry),
        level: None,
        filters: Named::filters(&header.filters, &PluginParams::default(), registry),
        needs: Needs::new(header.plugins(), registry),
        dict: header.has_dict(),
        meta: Vec::new(),
        vlmeta: Vec::new(),
        usermeta: None,
        fingerprint: None,
        checksums: ChecksumState::Absent,
        sealed: true,
        array: None,
        notes: notes(&header, chunk),
        chunk: Some(ChunkKind {
            body: body(&header),
            split: header.is_split() && !header.is_stored() && header.special().is_none(),
            lazy: header.is_lazy(),
            instrumented: header.is_instrumented(),
        }),
    })
}

/// What the chunk consists of, in a word.
pub(crate) fn body(header: &ChunkHeader) -> &'static str {
    match header.special() {
        Some(SpecialKind::Zero) => "zeros",
        Some(SpecialKind::Nan) => "nans",
        Some(SpecialKind::Value) => "value",
        Some(SpecialKind::Uninit) => "uninit",
        None if header.is_stored() => "stored",
        None if header.has_vl_blocks() => "vlblocks",
        None => "blocks",
    }
}

fn notes(header: &ChunkHeader, chunk: &[u8]) -> Vec<String> {
    let mut notes = Vec::new();
    if header.has_vl_blocks() {
        notes.push(format!("{} blocks of variable length", header.block_count()));
    }
    if header.is_lazy() {
        notes.push(match LazyChunk::parse(chunk) {
            Ok(lazy) => format!(
                "a lazy chunk: its blocks are in chunk {} of a frame, at offset {}, and cannot be decoded from here",
                lazy.number(),
                lazy.offset()
            ),
            Err(error) => format!("a lazy chunk, but a damaged one: {}", one_line(&error)),
        });
    }
    if header.is_instrumented() {
        notes.push("an instrumented chunk: it holds statistics of the compressor, not the data".into());
    }
    // Version 4 was written before and after the change; versions 2 and 5 on one side of it.
    if header.is_extended()
        && header.version < 5
        && header.filters.contains(FilterId::BITSHUFFLE)
        && !header.is_stored()
    {
        let note = "bit shuffle changed in February 2020, and this chunk does not show which rule its writer \
            followed: the new one is assumed; if the result is noise, try cat --bitshuffle old";
        notes.push(note.into());
    }
    notes
}
