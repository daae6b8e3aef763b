//! The filter trait, and the context that filters and codecs get.

use dyn_clone::DynClone;
use thiserror::Error;

use crate::nd::Geometry;

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
}

dyn_clone::clone_trait_object!(Filter);

/// Facts about a filter that the encoder needs to know before it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct FilterTraits {
    /// `backward(forward(x))` may differ from `x`. The encoder then derives the delta reference from what a decoder
    /// will see.
    pub lossy: bool,
    /// `backward` copies, so that it need not be called: the filter discards information and does nothing else.
    pub forward_only: bool,
}

impl FilterTraits {
    /// A filter that restores its input bit by bit.
    pub const LOSSLESS: Self = Self { lossy: false, forward_only: false };
    /// A filter that discards information.
    pub const LOSSY: Self = Self { lossy: true, forward_only: false };
    /// A filter that discards information and leaves the rest where it is: its `backward` copies.
    pub const FORWARD_ONLY: Self = Self { lossy: true, forward_only: true };
}

/// What a filter or codec knows about the block it works on.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct BlockContext<'a> {
    /// The `filters_meta` byte of the slot this filter is in.
    pub meta: u8,
    /// Type size of the chunk, 1..=255. Items wider than 255 bytes appear as 1 here.
    pub typesize: usize,
    /// True item size in bytes; differs from `typesize` only above 255.
    pub item_size: usize,
    /// Number of the chunk in its frame, when it is in one.
    pub chunk: Option<u64>,
    /// Number of the block in its chunk.
    pub block: usize,
    /// Offset in bytes of the block in its decoded chunk.
    pub offset: usize,
    /// The block is the last of its chunk and shorter than the others.
    pub last_short: bool,
    /// Shape of the array, when the frame holds one (b2nd).
    pub nd: Option<&'a Geometry>,
    /// Decoded first block of the chunk, at least as long as this block; `None` when the block is its own reference
    /// (the first block, and every block of a chunk with variable-length blocks). Only delta uses it.
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
            item_size: typesize,
            chunk: None,
            block: 0,
            offset: 0,
            last_short: false,
            nd: None,
            reference: None,
            bitshuffle: BitshuffleRule::LeadingEights,
        }
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
    /// Any other error of a plugin.
    #[error(transparent)]
    Other(#[from] Box<dyn std::error::Error + Send + Sync>),
}
