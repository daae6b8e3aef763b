//! Which chunks a frame accepts, and in which form.

use super::header::{ChunkSize, FrameHeader};
use super::index::special_entry;
use super::stored::{EARLY_VERSION, set_early, special_body};

use super::{FrameLayout, FrameWriteError, SpecialPlacement};
use crate::chunk::{ChunkError, ChunkHeader, SpecialKind};
use crate::id::FilterId;

/// C-Blosc2 checks that an extended header fits at every offset.
const MIN_CHUNK: usize = ChunkHeader::EXTENDED_LEN;

/// A chunk that is offered to a frame.
#[derive(Clone, Copy)]
pub(super) enum NewChunk<'a> {
    /// As bytes.
    Chunk(&'a [u8]),
    /// As the first bytes of a chunk and its length. Only for chunks that stay as they are.
    Head(&'a [u8], usize),
    /// As this many bytes of a special value.
    Special(SpecialKind, usize),
}

impl<'a> NewChunk<'a> {
    /// The bytes offered, if any.
    pub(super) fn bytes(self) -> &'a [u8] {
        match self {
            Self::Chunk(bytes) | Self::Head(bytes, _) => bytes,
            Self::Special(..) => &[],
        }
    }
}

/// A chunk that a frame accepts.
pub(super) struct CheckedChunk {
    /// Decoded bytes.
    pub(super) nbytes: usize,
    /// Whether the blocks are of variable length.
    pub(super) vl_blocks: bool,
    /// What goes into the frame.
    pub(super) form: Representation,
}

/// What goes into a frame for a chunk.
pub(super) enum Representation {
    /// Only an index entry.
    Entry(u64),
    /// The chunk that was offered, of this length.
    AsIs(usize),
    /// This chunk instead.
    Bytes(Vec<u8>),
}

/// The rules of one frame, and the state that they need.
#[derive(Debug, Clone)]
pub(super) struct ChunkRules {
    /// The chunk size; `Unset` until the first chunk of a frame that was opened empty.
    pub(super) chunk_size: ChunkSize,
    /// Whether the chunks have blocks of variable length, once that is known.
    pub(super) vl_blocks: Option<bool>,
    typesize: u32,
    /// Decoded bytes of a block; 0 when the frame does not tell.
    block_size: u32,
    special: SpecialPlacement,
    layout: FrameLayout,
}

impl ChunkRules {
    pub(super) fn new(header: &FrameHeader, special: SpecialPlacement) -> Self {
        Self {
            chunk_size: header.chunk_size,
            vl_blocks: None,
            typesize: header.typesize,
            block_size: header.block_size,
            special,
            layout: header.layout,
        }
    }

    /// Records what an accepted chunk settles for those that follow.
    pub(super) fn fix_chunk_size(&mut self, nbytes: u64, vl_blocks: bool) {
        self.vl_blocks.get_or_insert(vl_blocks);
        if self.chunk_size == ChunkSize::Unset {
            // Lengths of chunks were checked to fit.
            self.chunk_size = u32::try_from(nbytes).map_or(ChunkSize::Unset, ChunkSize::Fixed);
        }
    }

    /// Checks what is to become chunk `number`. The caller, who knows its place, checks that the length is right for
    /// it.
    pub(super) fn accept(&self, number: u64, offered: NewChunk<'_>) -> Result<CheckedChunk, FrameWriteError> {
        match offered {
            NewChunk::Chunk(chunk) => self.accept_chunk(number, chunk, chunk.len()),
            NewChunk::Head(head, len) => self.accept_chunk(number, head, len),
            NewChunk::Special(kind, nbytes) => self.accept_special(number, kind, nbytes),
        }
    }

    fn accept_chunk(&self, number: u64, chunk: &[u8], len: usize) -> Result<CheckedChunk, FrameWriteError> {
        let invalid = |source: ChunkError| FrameWriteError::Chunk { chunk: number, source };
        let header = ChunkHeader::parse(chunk).map_err(invalid)?;
        if header.cbytes != len {
            let (expected, found) = (header.cbytes, len);
            return Err(FrameWriteError::ChunkBytes { chunk: number, expected, found });
        }
        if header.is_lazy() {
            return Err(FrameWriteError::LazyChunk { chunk: number });
        }
        if len < MIN_CHUNK {
            return Err(FrameWriteError::ChunkTooSmall { chunk: number, found: len, min: MIN_CHUNK });
        }
        if header.nbytes == 0 {
            return Err(FrameWriteError::EmptyChunk { chunk: number });
        }
        let vl_blocks = header.has_vl_blocks();
        if self.vl_blocks.is_some_and(|vl| vl != vl_blocks) {
            return Err(FrameWriteError::MixedBlocks { chunk: number, variable: vl_blocks });
        }
        if self.layout == FrameLayout::Early {
            check_early(&header)?;
        }
        let form = match header.special() {
            // A NaN of the chunk's items is one of the frame's items only when both have the same size.
            Some(SpecialKind::Nan) if u32::from(header.typesize) != self.typesize => {
                self.repeated(number, SpecialKind::Nan, header.nbytes, header.typesize.into())?
            }
            None if self.layout == FrameLayout::Early && header.version > EARLY_VERSION => {
                let mut bytes = chunk.to_vec();
                set_early(&mut bytes);
                Representation::Bytes(bytes)
            }
            None | Some(SpecialKind::Value) => Representation::AsIs(len),
            Some(kind) => self.special_form(number, kind, header.nbytes)?,
        };
        Ok(CheckedChunk { nbytes: header.nbytes, vl_blocks, form })
    }

    fn accept_special(&self, number: u64, kind: SpecialKind, nbytes: usize) -> Result<CheckedChunk, FrameWriteError> {
        if nbytes == 0 {
            return Err(FrameWriteError::EmptyChunk { chunk: number });
        }
        if self.vl_blocks == Some(true) {
            return Err(FrameWriteError::MixedBlocks { chunk: number, variable: false });
        }
        if self.layout == FrameLayout::Early {
            return Err(FrameWriteError::EarlyFeature { what: "chunks of a special value" });
        }
        let typesize = self.typesize as usize;
        let whole = match kind {
            SpecialKind::Zero => true,
            SpecialKind::Nan => matches!(typesize, 4 | 8) && nbytes.is_multiple_of(typesize),
            SpecialKind::Uninit => nbytes.is_multiple_of(typesize),
            SpecialKind::Value => false,
        };
        // An entry of the index stands for a chunk of any length that the header can state, and a body for what a chunk
        // can hold, which is checked when it is made.
        if !whole || nbytes > i32::MAX as usize {
            return Err(FrameWriteError::Special { chunk: number, nbytes });
        }
        Ok(CheckedChunk { nbytes, vl_blocks: false, form: self.special_form(number, kind, nbytes)? })
    }

    /// A chunk without a body is never stored as such: C-Blosc2 cannot open a file that starts with one.
    fn special_form(&self, number: u64, kind: SpecialKind, nbytes: usize) -> Result<Representation, FrameWriteError> {
        // The length of a chunk in the index follows from its position, which takes chunks of fixed size, and C-Blosc2
        // assumes a whole number of items.
        let in_index = self.special == SpecialPlacement::Index
            && self.chunk_size != ChunkSize::Variable
            && nbytes.is_multiple_of(self.typesize as usize);
        match special_entry(kind) {
            Some(entry) if in_index => Ok(Representation::Entry(entry)),
            _ => self.repeated(number, kind, nbytes, self.typesize as usize),
        }
    }

    fn repeated(
        &self,
        number: u64,
        kind: SpecialKind,
        nbytes: usize,
        item: usize,
    ) -> Result<Representation, FrameWriteError> {
        // C-Blosc2 reads slices of arrays by blocks, and only accepts chunks with the same number of them.
        let block_size = if self.block_size == 0 { nbytes } else { self.block_size as usize };
        special_body(kind, nbytes, item, block_size)
            .map(Representation::Bytes)
            .ok_or(FrameWriteError::Special { chunk: number, nbytes })
    }

    /// The length of every chunk but the last, if that is settled.
    pub(super) fn full_len(&self) -> Option<u64> {
        match self.chunk_size {
            ChunkSize::Fixed(n) => Some(n.into()),
            ChunkSize::Variable | ChunkSize::Unset => None,
        }
    }
}

/// Checks that readers of 2019 know everything in the chunk.
fn check_early(header: &ChunkHeader) -> Result<(), FrameWriteError> {
    let what = if header.special().is_some() {
        "chunks of a special value"
    } else if header.has_vl_blocks() {
        "blocks of variable length"
    } else if !header.is_extended() {
        "chunks with a 16-byte header"
    } else if header.version > EARLY_VERSION && !header.is_stored() {
        // The header does not tell whether they contain runs, which only later decoders know.
        "compressed chunks of version 5 (encode them in the early chunk format)"
    } else if header.filters.active().any(|(_, slot)| slot.id > FilterId::TRUNC_PREC) {
        "filters above 4"
    } else if header.flags >> 5 > 4 {
        "codecs outside the Blosc-defined ones"
    } else {
        return Ok(());
    };
    Err(FrameWriteError::EarlyFeature { what })
}
