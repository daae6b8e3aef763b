//! The codec trait, and the context that a codec gets.

use std::ops::Range;

use dyn_clone::DynClone;
use thiserror::Error;

use crate::filter::BlockContext;
use crate::id::FilterId;
use crate::plugin::Panicked;
use crate::plugin_params::{ParamError, ParamInfo, Params};

/// Compresses and decompresses one stream: a filtered block, or one of the parts of a split block.
///
/// Each worker owns a clone of every codec it runs, so an implementation may keep contexts and scratch space in
/// `self` without locks; it must not let one call influence the result of another.
pub trait Codec: DynClone + Send + Sync {
    /// Compresses `src` into `dst` and returns the number of bytes written, or `None` when the result does not fit.
    ///
    /// `dst` is as long as the largest useful result. Not fitting is normal: the caller then stores the stream as it
    /// is. A count of zero, or beyond the length of `dst`, is an error of the codec and reported as one.
    fn compress(&mut self, ctx: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<Option<usize>, CodecError>;

    /// Decompresses `src` into `dst`, which has exactly the decoded length, and returns the number of bytes written.
    ///
    /// `src` may hold anything that a damaged file can contain. Producing more or fewer bytes than `dst` holds is an
    /// error; the caller checks the count as well.
    fn decompress(&mut self, ctx: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<usize, CodecError>;

    /// Decompresses only the bytes `range` of a stream that decodes to `len` bytes into `dst`, which has the length of the
    /// range, and returns the number of bytes written; `None` when this stream has to be decompressed as a whole.
    ///
    /// It is called for codecs that [say so](CodecTraits::ranges), where items or a slice are read of a block that went
    /// through no filter with a way back, or through one that undoes [parts](crate::filter::FilterTraits::parts). The range
    /// is neither empty nor the whole stream.
    /// Codecs that only say that they [stop early](CodecTraits::prefixes) are asked for ranges that begin at 0.
    /// What is checked of the rest of the stream is up to the codec.
    fn decompress_range(
        &mut self,
        ctx: &CodecContext<'_>,
        src: &[u8],
        range: Range<usize>,
        len: usize,
        dst: &mut [u8],
    ) -> Result<Option<usize>, CodecError> {
        let _ = (ctx, src, range, len, dst);
        Ok(None)
    }

    /// Takes parameters, all of which the codec [declares](CodecTraits::params). It is called once for each instance,
    /// before anything else, if there are any: for compressing with all that the writer gave, for decompressing with
    /// those that are recorded.
    fn configure(&mut self, params: &Params) -> Result<(), CodecError> {
        let _ = params;
        Ok(())
    }

    /// Builds a dictionary for streams like `sample_count` consecutive samples of `sample_len` bytes at the start of
    /// `samples`, or returns `None` when the codec has no dictionaries or the samples do not allow one.
    fn train_dict(
        &mut self,
        samples: &[u8],
        sample_len: usize,
        sample_count: usize,
        max_len: usize,
    ) -> Result<Option<Vec<u8>>, CodecError> {
        let _ = (samples, sample_len, sample_count, max_len);
        Ok(None)
    }
}

dyn_clone::clone_trait_object!(Codec);

/// Facts about a codec that the encoder and the decoder need to know before it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct CodecTraits {
    /// Slow and dense: blocks are chosen larger (chunk format, automatic block size).
    pub high_ratio: bool,
    /// The highest level at which automatic splitting splits blocks of grouped bytes
    /// ([`FilterTraits::groups_bytes`](crate::filter::FilterTraits::groups_bytes)) into one stream per byte of the type;
    /// `None` for never.
    pub split_up_to_level: Option<u8>,
    /// The codec can use a dictionary, and [`Codec::train_dict`] makes one.
    pub dict: bool,
    /// The codec can compress; `false` for formats that are only read.
    pub encode: bool,
    /// What is decompressed may differ from what was compressed. Tools ask before they compress again.
    pub lossy: bool,
    /// What the codec makes of a stream depends on where its block lies: [`BlockContext::block`] or
    /// [`BlockContext::offset`]. Blocks with the same content are then compressed one by one.
    pub positional: bool,
    /// The codec works on blocks of arrays alone: it uses [`BlockContext::nd`].
    pub needs_array: bool,
    /// [`Codec::decompress_range`] decompresses a part of a stream for less than the whole takes.
    pub ranges: bool,
    /// [`Codec::decompress_range`] decompresses the beginning of a stream for less than the whole takes.
    pub prefixes: bool,
    /// The parameters that [`Codec::configure`] takes.
    pub params: &'static [ParamInfo],
    /// Version of the payload format, at least 1, stored in the `versionlz` byte. A chunk that a later version of a
    /// codec has written is refused, and the version of an earlier one is in [`CodecContext::version`].
    pub version: u8,
}

impl CodecTraits {
    /// A codec that compresses whole blocks, without dictionaries.
    pub const PLAIN: Self = Self {
        high_ratio: false,
        split_up_to_level: None,
        dict: false,
        encode: true,
        lossy: false,
        positional: false,
        needs_array: false,
        ranges: false,
        prefixes: false,
        params: &[],
        version: 1,
    };

    /// Marks the codec as slow and dense.
    pub const fn high_ratio(mut self) -> Self {
        self.high_ratio = true;
        self
    }

    /// Splits shuffled blocks at levels up to `level`.
    pub const fn split_up_to(mut self, level: u8) -> Self {
        self.split_up_to_level = Some(level);
        self
    }

    /// The codec can use a dictionary.
    pub const fn with_dict(mut self) -> Self {
        self.dict = true;
        self
    }

    /// The codec only reads.
    pub const fn decode_only(mut self) -> Self {
        self.encode = false;
        self
    }

    /// The codec discards information.
    pub const fn lossy(mut self) -> Self {
        self.lossy = true;
        self
    }

    /// States [`CodecTraits::positional`].
    pub const fn positional(mut self) -> Self {
        self.positional = true;
        self
    }

    /// Declares the [parameters](CodecTraits::params).
    pub const fn with_params(mut self, params: &'static [ParamInfo]) -> Self {
        self.params = params;
        self
    }

    /// States [`CodecTraits::needs_array`].
    pub const fn for_arrays(mut self) -> Self {
        self.needs_array = true;
        self
    }

    /// States [`CodecTraits::ranges`].
    pub const fn with_ranges(mut self) -> Self {
        self.ranges = true;
        self
    }

    /// States [`CodecTraits::prefixes`].
    pub const fn with_prefixes(mut self) -> Self {
        self.prefixes = true;
        self
    }

    /// Sets [`CodecTraits::version`].
    pub const fn with_version(mut self, version: u8) -> Self {
        self.version = version;
        self
    }
}

/// What a codec is told about the stream it works on. As in [`BlockContext`], every field but the level has the same value
/// when a stream is read as when it was written.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct CodecContext<'a> {
    /// The block that the stream belongs to.
    pub block: BlockContext<'a>,
    /// The requested compression level, 1..=9. Chunks do not record it, so it is `None` when decoding.
    pub level: Option<u8>,
    /// Version of the payload format (`versionlz`): that of the chunk when decoding, [`CodecTraits::version`] when
    /// encoding.
    pub version: u8,
    /// The `compcode_meta` byte.
    pub meta: u8,
    /// Which stream of the block this is.
    pub stream: usize,
    /// How many streams the block has: 1, or the type size when it is split.
    pub streams: usize,
    /// The last filter that changed the block, or [`FilterId::NONE`]; see
    /// [`FilterSlots::last`](crate::pipeline::FilterSlots::last). What the bytes look like, and hence the best way to find
    /// matches in them, depends on it more than on anything else.
    pub filter: FilterId,
    /// The dictionary of the chunk, if it has one.
    pub dict: Option<&'a [u8]>,
}

impl<'a> CodecContext<'a> {
    /// The level that is used where none is given.
    const DEFAULT_LEVEL: u8 = 5;

    /// The context for compressing a block that is one stream and went through no filter, without a dictionary.
    pub const fn new(block: BlockContext<'a>, level: u8) -> Self {
        Self { level: Some(level), ..Self::decoding(block) }
    }

    /// The context for decompressing such a block.
    pub const fn decoding(block: BlockContext<'a>) -> Self {
        let version = CodecTraits::PLAIN.version;
        Self { block, level: None, version, meta: 0, stream: 0, streams: 1, filter: FilterId::NONE, dict: None }
    }

    /// The level to compress at; 5, the default of Blosc2, if there is none.
    pub const fn level_or_default(&self) -> u8 {
        match self.level {
            Some(level) => level,
            None => Self::DEFAULT_LEVEL,
        }
    }
}

/// Why a codec could not do its work.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CodecError {
    /// The compressed stream is damaged.
    #[error("stream damaged at byte {offset}: {reason}")]
    Corrupt {
        /// Offset in the compressed stream where the damage shows.
        offset: usize,
        /// What is wrong there.
        reason: &'static str,
    },
    /// The stream decodes to another number of bytes than its block has.
    #[error("stream decodes to {found} bytes, expected {expected}")]
    Length {
        /// Bytes the block has.
        expected: usize,
        /// Bytes decoded.
        found: usize,
    },
    /// `compress` returned a number of bytes that cannot be.
    #[error("the codec claims to have written {found} bytes, expected 1..={room}, or that the stream does not fit")]
    Written {
        /// What it returned.
        found: usize,
        /// Bytes of the destination.
        room: usize,
    },
    /// The chunk was written by a later version of the codec.
    #[error("the stream has version {found} of the codec's format, this program knows versions up to {known}")]
    Version {
        /// The version in the chunk (`versionlz`).
        found: u8,
        /// The version of the codec that is linked.
        known: u8,
    },
    /// The codec only reads.
    #[error("this codec can decode but not encode")]
    DecodeOnly,
    /// The meta byte has no meaning for this codec.
    #[error("codec meta {meta} is not valid: {expected}")]
    Meta {
        /// The meta byte found.
        meta: u8,
        /// What would have been valid.
        expected: &'static str,
    },
    /// The codec needs the shape of an array (b2nd metalayer) and there is none, or the block does not match it.
    #[error("the block does not fit the array geometry: {reason}")]
    Geometry {
        /// What is missing or does not match.
        reason: String,
    },
    /// The underlying library failed.
    #[error("{library}: {message}")]
    Library {
        /// Name of the library.
        library: &'static str,
        /// Its message.
        message: String,
    },
    /// The codec does not take a parameter.
    #[error(transparent)]
    Param(#[from] ParamError),
    /// The codec panicked. Its instance is discarded; the next block gets a new one.
    #[error(transparent)]
    Panicked(#[from] Panicked),
    /// Any other error of a plugin.
    #[error(transparent)]
    Other(#[from] Box<dyn std::error::Error + Send + Sync>),
}
