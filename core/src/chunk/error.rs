//! Why a chunk could not be read or written.

use std::borrow::Cow;

use thiserror::Error;

use crate::codec::CodecError;
use crate::pipeline::PipelineError;
use crate::plugin::PluginName;
use crate::plugin_params::ParamError;
use crate::registry::RegistryError;

/// Why a chunk could not be read or written. Offsets count from the first byte of the chunk.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ChunkError {
    /// The bytes end before something that must be there.
    #[error("chunk is truncated: {what} at offset {offset} needs {expected} bytes, only {found} are left")]
    Truncated {
        /// What was to be read.
        what: &'static str,
        /// Where it starts.
        offset: usize,
        /// Bytes it needs.
        expected: usize,
        /// Bytes there are from `offset` on.
        found: usize,
    },
    /// A number in the chunk has a value that the format does not allow.
    #[error("{what} at offset {offset} is {found}, expected {expected}")]
    Invalid {
        /// Which field.
        what: &'static str,
        /// Where it is.
        offset: usize,
        /// What would have been valid.
        expected: Cow<'static, str>,
        /// What is there.
        found: i64,
    },
    /// A stream of a block is damaged.
    #[error("block {block}, stream {stream} at offset {offset} cannot be decoded")]
    Stream {
        /// Number of the block.
        block: usize,
        /// Number of the stream in its block.
        stream: usize,
        /// Where the stream (its length word) starts.
        offset: usize,
        /// What is wrong with it.
        source: StreamError,
    },
    /// The system has no memory for what is to be decoded.
    #[error("not enough memory for the {what} of {needed} bytes")]
    Memory {
        /// What was to be decoded.
        what: &'static str,
        /// Bytes that it takes.
        needed: usize,
    },
    /// The codec failed to compress.
    #[error("block {block}, stream {stream} cannot be encoded: {codec} failed")]
    Encode {
        /// Number of the block.
        block: usize,
        /// Number of the stream in its block.
        stream: usize,
        /// The codec.
        codec: Box<PluginName>,
        /// What it says.
        source: CodecError,
    },
    /// The codec does not take its parameters.
    #[error("{codec} does not take its parameters")]
    Configure {
        /// The codec.
        codec: Box<PluginName>,
        /// What it says.
        source: CodecError,
    },
    /// A codec or filter does not declare the parameters that it is given.
    #[error("{plugin} does not take its parameters")]
    PluginParams {
        /// The codec or filter.
        plugin: Box<PluginName>,
        /// What is wrong with them.
        source: ParamError,
    },
    /// The codec failed to train a dictionary.
    #[error("{codec} could not train a dictionary")]
    Dictionary {
        /// The codec.
        codec: Box<PluginName>,
        /// What it says.
        source: CodecError,
    },
    /// A filter failed, or one that the block needs has no provider.
    #[error("block {block} cannot be filtered")]
    Pipeline {
        /// Number of the block.
        block: usize,
        /// What the pipeline says.
        source: PipelineError,
    },
    /// The filters of the parameters cannot be set up.
    #[error(transparent)]
    Filters(PipelineError),
    /// The codec has no provider.
    #[error(transparent)]
    Codec(#[from] RegistryError),
    /// The chunk is larger than the limits allow.
    #[error("{what} is {found} bytes, the limit is {limit}")]
    Limit {
        /// What is too large.
        what: &'static str,
        /// The most that is allowed.
        limit: usize,
        /// What was asked for.
        found: usize,
    },
    /// The destination has another length than what is decoded into it.
    #[error("the destination has {found} bytes, expected {expected}")]
    Destination {
        /// Bytes to be decoded.
        expected: usize,
        /// Bytes of the destination.
        found: usize,
    },
    /// Items, bytes or a block were asked for that the chunk does not have.
    #[error("{what} {start}..{end} is outside the chunk, which has {available}")]
    OutOfRange {
        /// What was asked for: "items", "bytes" or "blocks".
        what: &'static str,
        /// Where the request starts.
        start: usize,
        /// Where it ends.
        end: usize,
        /// How many there are.
        available: usize,
    },
    /// The block is coded against the first block of its chunk (delta), which was not given.
    #[error("block {block} needs the decoded first block of its chunk as reference ({expected} bytes, {found} given)")]
    Reference {
        /// Number of the block.
        block: usize,
        /// Bytes of reference needed.
        expected: usize,
        /// Bytes given.
        found: usize,
    },
    /// A lazy chunk (`blosc2_flags` bit 3) holds no data; it lives in memory only and is decoded through its frame.
    #[error("this is a lazy chunk: its blocks are in the frame it came from")]
    Lazy,
    /// An instrumented chunk (`blosc2_flags` bit 7) holds measurements of the compressor instead of data.
    #[error("this is an instrumented chunk: it holds compressor statistics, the data cannot be restored")]
    Instrumented,
    /// The operation needs blocks of equal length, or needs them to vary.
    #[error("{operation} is not possible: this chunk has blocks of {found} length")]
    BlockKind {
        /// What was asked for.
        operation: &'static str,
        /// "of equal" or "of variable".
        found: &'static str,
    },
    /// A parameter of the encoder has no meaning, alone or together with the others.
    #[error("{parameter} is {found}, expected {expected}")]
    Parameter {
        /// Which parameter.
        parameter: &'static str,
        /// What it is.
        found: String,
        /// What would have been valid.
        expected: Cow<'static, str>,
    },
}

impl ChunkError {
    pub(crate) fn invalid(
        what: &'static str,
        offset: usize,
        expected: impl Into<Cow<'static, str>>,
        found: impl TryInto<i64>,
    ) -> Self {
        Self::Invalid { what, offset, expected: expected.into(), found: found.try_into().unwrap_or(i64::MAX) }
    }

    pub(crate) fn parameter(
        parameter: &'static str,
        found: impl ToString,
        expected: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self::Parameter { parameter, found: found.to_string(), expected: expected.into() }
    }
}

/// What is wrong with one stream of a block.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StreamError {
    /// The block ends inside the stream.
    #[error("{what} needs {expected} bytes, only {found} are left")]
    Truncated {
        /// What was to be read.
        what: &'static str,
        /// Bytes it needs.
        expected: usize,
        /// Bytes left.
        found: usize,
    },
    /// The length word is not a length, nor zero, nor a run of one byte.
    #[error("length word is {found}, expected at least -255")]
    Size {
        /// The word.
        found: i32,
    },
    /// The token after a negative length word has bit 0 clear.
    #[error("run token is {found:#04x}, expected bit 0 to be set")]
    Token {
        /// The token.
        found: u8,
    },
    /// The block cannot be divided into this many streams.
    #[error("a block of {block_len} bytes cannot be split into {streams} streams of equal length")]
    Split {
        /// Bytes of the block.
        block_len: usize,
        /// Streams that the flags ask for.
        streams: usize,
    },
    /// The length word of a variable-length block disagrees with its place in the chunk.
    #[error("length of the block is {found}, expected {expected}")]
    BlockLength {
        /// What the place allows.
        expected: usize,
        /// The word.
        found: i32,
    },
    /// The codec refused.
    #[error("{codec} failed")]
    Codec {
        /// The codec.
        codec: Box<PluginName>,
        /// What it says.
        source: CodecError,
    },
    /// The codec decoded to another number of bytes.
    #[error("{codec} decoded {found} bytes, expected {expected}")]
    Length {
        /// The codec.
        codec: Box<PluginName>,
        /// Bytes of the stream.
        expected: usize,
        /// Bytes decoded.
        found: usize,
    },
    /// The format code in the chunk flags stands for no codec.
    #[error("codec format code is {code}, expected 0..=4 or 6")]
    Format {
        /// The code.
        code: u8,
    },
    /// The codec has no provider.
    #[error(transparent)]
    Registry(#[from] RegistryError),
}
