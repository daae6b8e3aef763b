//! The filter trait, and the context that filters and codecs get.

use std::ops::Range;

use dyn_clone::DynClone;
use thiserror::Error;

use crate::nd::Geometry;
use crate::plugin::Panicked;
use crate::plugin_params::{ParamError, ParamInfo, Params};

/// A reversible (or deliberately lossy) transformation of one block.
///
/// A filter maps a block to a block of the same length. Each worker owns a clone of every filter it runs, so an
/// implementation may keep scratch space in `self` without locks; it must not let one call influence the result of
/// another.
///
/// Blocks are not always whole: the last block of a chunk can be shorter than the others and need not be a multiple
/// of the type size ([`BlockContext::last_short`]). Bytes that a filter does not transform must be copied: `dst` holds
/// unspecified bytes on entry and every one of them is stored.
pub trait Filter: DynClone + Send + Sync {
    /// Filters `src` into `dst` on the way to the codec. Both have the length of the block.
    fn forward(&mut self, ctx: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError>;

    /// Undoes [`Filter::forward`] on the way back. Both slices have the length of the block; `src` may hold anything
    /// that a damaged file can contain.
    fn backward(&mut self, ctx: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError>;

    /// What of the filtered block the bytes `range` of a block of `len` bytes are made of; `None` if the whole block has to
    /// be undone for them.
    ///
    /// It is called for filters that [say so](FilterTraits::parts), where items or a slice are read of a block that went
    /// through no other filter with a way back. The range is neither empty nor the whole block.
    fn part(&self, ctx: &BlockContext<'_>, len: usize, range: Range<usize>) -> Option<FilterPart> {
        let _ = (ctx, len, range);
        None
    }

    /// Takes parameters, all of which the filter [declares](FilterTraits::params). It is called once for each instance,
    /// before anything else, if there are any: on the way in all that the writer gave, on the way back those that are
    /// recorded.
    fn configure(&mut self, params: &Params) -> Result<(), FilterError> {
        let _ = params;
        Ok(())
    }
}

dyn_clone::clone_trait_object!(Filter);

/// A part of a block that is undone alone: [`Filter::backward`] makes the bytes `bytes` of the block from `count` pieces of
/// the filtered block, one after the other. See [`Filter::part`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilterPart {
    /// Which bytes of the block: those that are wanted, and others if need be. As many as all pieces have.
    pub bytes: Range<usize>,
    /// The first piece. The others have the same length.
    pub first: Range<usize>,
    /// The distance in bytes between the beginnings of two pieces, which do not overlap.
    pub stride: usize,
    /// How many pieces there are, at least 1.
    pub count: usize,
}

impl FilterPart {
    /// The pieces, as ranges of the filtered block.
    pub fn pieces(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let Self { first, stride, count, .. } = self.clone();
        (0..count).map(move |i| first.start + i * stride..first.end + i * stride)
    }

    /// Whether it has the bytes `range` of a block of `len` bytes, and every piece lies in the block. The block is undone as a
    /// whole if not.
    pub fn fits(&self, len: usize, range: &Range<usize>) -> bool {
        let Self { bytes, first, stride, count } = self;
        let end = count.checked_sub(1).and_then(|last| last.checked_mul(*stride)?.checked_add(first.end));
        bytes.start <= range.start
            && range.end <= bytes.end
            && bytes.end <= len
            && first.start <= first.end
            && first.len() <= *stride
            && end.is_some_and(|end| end <= len)
            && first.len().checked_mul(*count) == Some(bytes.len())
    }
}

/// Facts about a filter that the encoder and the decoder need to know before it runs.
///
/// Every fact that a built-in filter can state, any other filter can state too. The conformance kit checks those that can
/// be checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct FilterTraits {
    /// `backward(forward(x))` may differ from `x`. The encoder then derives the reference block from what a decoder
    /// will see, and tools ask before they apply the filter again.
    pub lossy: bool,
    /// `backward` copies, so that it need not be called: the filter discards information and does nothing else.
    pub forward_only: bool,
    /// `backward` turns a block of zeros into zeros. A chunk of which the filters leave nothing but zeros is then stored
    /// as its header alone.
    pub keeps_zeros: bool,
    /// The filter uses [`BlockContext::reference`], the decoded first block of the chunk. Readers then decode that block
    /// before any other.
    pub needs_reference: bool,
    /// The filter collects the bytes of each position in the items, so that each collection is better compressed on its
    /// own, as shuffle does. Blocks are then split where [`SplitMode`](crate::chunk::SplitMode) allows it.
    pub groups_bytes: bool,
    /// What the filter makes of a block depends on where the block lies: [`BlockContext::block`] or
    /// [`BlockContext::offset`]. Blocks with the same content are then filtered one by one.
    pub positional: bool,
    /// The filter works on blocks of arrays alone: it uses [`BlockContext::nd`].
    pub needs_array: bool,
    /// [`Filter::part`] says what a part of a block is made of.
    pub parts: bool,
    /// The parameters that [`Filter::configure`] takes.
    pub params: &'static [ParamInfo],
}

impl FilterTraits {
    /// A filter that restores its input bit by bit.
    pub const LOSSLESS: Self = Self {
        lossy: false,
        forward_only: false,
        keeps_zeros: false,
        needs_reference: false,
        groups_bytes: false,
        positional: false,
        needs_array: false,
        parts: false,
        params: &[],
    };
    /// A filter that discards information.
    pub const LOSSY: Self = Self { lossy: true, ..Self::LOSSLESS };
    /// A filter that discards information and leaves the rest where it is: its `backward` copies, and hence keeps zeros.
    pub const FORWARD_ONLY: Self = Self { lossy: true, forward_only: true, keeps_zeros: true, ..Self::LOSSLESS };

    /// States [`FilterTraits::keeps_zeros`].
    pub const fn keeping_zeros(mut self) -> Self {
        self.keeps_zeros = true;
        self
    }

    /// States [`FilterTraits::needs_reference`].
    pub const fn with_reference(mut self) -> Self {
        self.needs_reference = true;
        self
    }

    /// States [`FilterTraits::groups_bytes`].
    pub const fn grouping_bytes(mut self) -> Self {
        self.groups_bytes = true;
        self
    }

    /// States [`FilterTraits::positional`].
    pub const fn positional(mut self) -> Self {
        self.positional = true;
        self
    }

    /// Declares the [parameters](FilterTraits::params).
    pub const fn with_params(mut self, params: &'static [ParamInfo]) -> Self {
        self.params = params;
        self
    }

    /// States [`FilterTraits::needs_array`].
    pub const fn for_arrays(mut self) -> Self {
        self.needs_array = true;
        self
    }

    /// States [`FilterTraits::parts`].
    pub const fn with_parts(mut self) -> Self {
        self.parts = true;
        self
    }
}

/// What a filter or codec knows about the block it works on.
///
/// Every field has the same value when a block is read as when it was written, also after the frame was edited, the
/// array resized, or the chunk copied into another frame. That is why the number of the chunk and the shape of the array
/// are missing: both change. What is known in some places and not in others is an `Option`, and `None` on both sides or
/// on neither.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct BlockContext<'a> {
    /// The `filters_meta` byte of the slot this filter is in.
    pub meta: u8,
    /// Type size of the chunk, 1..=255. Items wider than 255 bytes appear as 1 here.
    pub typesize: usize,
    /// Bytes of an item: the type size, or what the frame says where items are wider than 255 bytes. `None` for such
    /// items in a chunk outside a frame, where nothing records it.
    pub item_size: Option<usize>,
    /// Number of the block in its chunk.
    pub block: usize,
    /// Offset in bytes of the block in its decoded chunk; `None` for blocks of variable length.
    pub offset: Option<usize>,
    /// The block is the last of its chunk and shorter than the others.
    pub last_short: bool,
    /// Shapes of the chunk and of its blocks, when the frame holds an array (b2nd).
    pub nd: Option<ArrayBlock<'a>>,
    /// Decoded first block of the chunk, at least as long as this block, for filters that
    /// [ask for it](FilterTraits::needs_reference). `None` when the block is its own reference: the first block, and
    /// every block of a chunk with variable-length blocks. It is the block before the first filter and not what earlier
    /// filters have made of it.
    pub reference: Option<&'a [u8]>,
    /// How bit shuffle treats a block whose item count is no multiple of 8.
    pub bitshuffle: BitshuffleRule,
}

impl BlockContext<'_> {
    /// The context of a lone block of `typesize`-byte items; every other field is at its neutral value and may be set
    /// afterwards.
    pub const fn new(typesize: usize) -> Self {
        Self {
            meta: 0,
            typesize,
            item_size: Some(typesize),
            block: 0,
            offset: Some(0),
            last_short: false,
            nd: None,
            reference: None,
            bitshuffle: BitshuffleRule::LeadingEights,
        }
    }

    /// Bytes of an item, or the type size where that is not known.
    pub fn item_size_or_typesize(&self) -> usize {
        self.item_size.unwrap_or(self.typesize)
    }
}

/// The shapes that a filter or codec sees of the array that its block belongs to. The shape of the array itself is not
/// among them, as it may change after the block was written.
///
/// Source: b2nd metalayer document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArrayBlock<'a> {
    /// Extent of a chunk along each dimension, in items.
    pub chunk_shape: &'a [u32],
    /// Extent of a block along each dimension, in items. A block is stored whole: at the far edges of the chunk and of
    /// the array the rest is padding.
    pub block_shape: &'a [u32],
}

impl<'a> From<&'a Geometry> for ArrayBlock<'a> {
    fn from(geometry: &'a Geometry) -> Self {
        Self { chunk_shape: &geometry.chunk_shape, block_shape: &geometry.block_shape }
    }
}

/// How bit shuffle treats a block whose item count is no multiple of 8.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BitshuffleRule {
    /// The leading multiple of eight items is transposed and the rest copied: Blosc2 since February 2020.
    #[default]
    LeadingEights,
    /// The whole block is copied: Blosc 1 (chunk version 2) and the frames of 2019.
    WholeBlockOrNothing,
}

/// Why a filter could not do its work.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FilterError {
    /// The meta byte has no meaning for this filter and type size.
    #[error("invalid filter meta {meta} for type size {typesize}: expected {expected}")]
    Meta {
        /// The meta byte found.
        meta: u8,
        /// Type size of the chunk.
        typesize: usize,
        /// What would have been valid.
        expected: &'static str,
    },
    /// The filter does not work on items of this size.
    #[error("type size {typesize} is not supported by this filter: {expected}")]
    TypeSize {
        /// Type size of the chunk.
        typesize: usize,
        /// What would have been valid.
        expected: &'static str,
    },
    /// The filter needs the shape of an array (b2nd metalayer) and there is none, or the block does not match it.
    #[error("the block does not fit the array geometry: {reason}")]
    Geometry {
        /// What is missing or does not match.
        reason: String,
    },
    /// The filter does not take a parameter.
    #[error(transparent)]
    Param(#[from] ParamError),
    /// The filter panicked. Its instance is discarded; the next block gets a new one.
    #[error(transparent)]
    Panicked(#[from] Panicked),
    /// Any other error of a plugin.
    #[error(transparent)]
    Other(#[from] Box<dyn std::error::Error + Send + Sync>),
}
