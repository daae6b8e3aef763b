//! Why a frame could not be written or edited.

use thiserror::Error;

use super::{FrameError, FrameLayout, Section};
use crate::chunk::ChunkError;
use crate::id::CodecId;

/// Why a frame could not be written or edited. Nothing has been changed by the call that returns one.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FrameWriteError {
    /// A parameter of the frame is out of range.
    #[error("{what} is {found}, expected {min}..={max}")]
    Param {
        /// Which parameter.
        what: &'static str,
        /// Its value.
        found: usize,
        /// The smallest possible value.
        min: usize,
        /// The largest possible value.
        max: usize,
    },
    /// Frames of this layout cannot be written, or not in the requested form.
    #[error("frames in the {layout:?} layout cannot be written with these parameters")]
    Layout {
        /// The layout.
        layout: FrameLayout,
    },
    /// The codec did not exist in 2019.
    #[error("the early layout has the codecs 0 to 5, not {codec}")]
    EarlyCodec {
        /// The codec asked for.
        codec: CodecId,
    },
    /// A feature that readers of the early layout do not know.
    #[error("the early layout has no {what}")]
    EarlyFeature {
        /// What it does not have.
        what: &'static str,
    },
    /// The name of a metalayer is too long.
    #[error("metalayer name {name:?} has {} bytes, the limit is {max}", name.len())]
    MetalayerName {
        /// The name.
        name: String,
        /// The longest possible.
        max: usize,
    },
    /// The value of a metalayer is too long.
    #[error("metalayer {name:?} has {len} bytes, more than fits a 31-bit length")]
    MetalayerLen {
        /// The name.
        name: String,
        /// Bytes of the value.
        len: usize,
    },
    /// There is no room for another metalayer.
    #[error("metalayer {name:?} exceeds the {max} metalayers that C-Blosc2 supports")]
    TooManyMetalayers {
        /// The name.
        name: String,
        /// The most there can be.
        max: usize,
    },
    /// The metalayers together are too long.
    #[error("{section}: {len} bytes including what precedes them, more than their offsets or map size can hold")]
    MetalayersLen {
        /// Header or trailer.
        section: Section,
        /// Bytes up to their end.
        len: usize,
    },
    /// The frame to be edited or copied does not match its checksums.
    #[error(
        "header, index or trailer do not match the checksums of the frame: they are damaged, or were changed in place by \
         software that does not keep checksums; recover the frame into a copy first"
    )]
    Checksums,
    /// A variable-length metalayer could not be compressed.
    #[error("variable-length metalayer {name:?} cannot be encoded")]
    Vlmetalayer {
        /// The name.
        name: String,
        /// What the encoder says.
        source: ChunkError,
    },
    /// What was pushed is not a valid chunk.
    #[error("chunk {chunk} is not a valid chunk")]
    Chunk {
        /// The number it would have had.
        chunk: u64,
        /// What is wrong with it.
        source: ChunkError,
    },
    /// What was pushed is not exactly one chunk.
    #[error("chunk {chunk} has {found} bytes, its header says {expected}")]
    ChunkBytes {
        /// The number it would have had.
        chunk: u64,
        /// Bytes according to its header.
        expected: usize,
        /// Bytes pushed.
        found: usize,
    },
    /// A chunk is too small to be found again: C-Blosc2 expects the 32 bytes of an extended header.
    #[error("chunk {chunk} has {found} bytes; a chunk in a frame needs at least {min}")]
    ChunkTooSmall {
        /// The number it would have had.
        chunk: u64,
        /// Bytes of the chunk.
        found: usize,
        /// Bytes it needs.
        min: usize,
    },
    /// A chunk whose blocks are elsewhere.
    #[error("chunk {chunk} is lazy: its blocks are in the frame it was read from")]
    LazyChunk {
        /// The number it would have had.
        chunk: u64,
    },
    /// A chunk that is already in a file would have to be stored in another form.
    #[error("chunk {chunk} is a special value without a body and cannot be a chunk file")]
    Adopted {
        /// The number it would have had.
        chunk: u64,
    },
    /// A chunk that decodes to nothing cannot be in a frame.
    #[error("chunk {chunk} decodes to no bytes, which a frame cannot hold")]
    EmptyChunk {
        /// The number it would have had.
        chunk: u64,
    },
    /// A chunk does not have the chunk size of the frame.
    #[error(
        "chunk {chunk} decodes to {found} bytes, the chunk size is {expected} (only the last chunk may have fewer)"
    )]
    ChunkSize {
        /// The number it would have had.
        chunk: u64,
        /// The chunk size.
        expected: usize,
        /// Bytes it decodes to.
        found: usize,
    },
    /// A chunk would follow one that is shorter than the chunk size.
    #[error("chunk {chunk} would no longer be the last one, but has only {len} of {chunk_size} bytes")]
    ShortChunk {
        /// Number of the short chunk.
        chunk: u64,
        /// Bytes it decodes to.
        len: u64,
        /// The chunk size.
        chunk_size: usize,
    },
    /// A chunk has blocks of variable length and others have not, or the reverse.
    #[error(
        "chunk {chunk} has {}, unlike the others",
        if *.variable { "blocks of variable length" } else { "regular blocks" }
    )]
    MixedBlocks {
        /// The number it would have had.
        chunk: u64,
        /// Whether it is the one with blocks of variable length.
        variable: bool,
    },
    /// A special value cannot fill a chunk of this length.
    #[error("chunk {chunk}: {nbytes} bytes are not a whole number of items of that special value")]
    Special {
        /// The number it would have had.
        chunk: u64,
        /// Bytes it would decode to.
        nbytes: usize,
    },
    /// More chunks than an index can hold.
    #[error("a frame holds at most {max} chunks")]
    TooManyChunks {
        /// The most there can be.
        max: u64,
    },
    /// The frame would decode to, or consist of, more bytes than a 63-bit length can say.
    #[error("the frame would grow past 2^63 bytes")]
    TooLong,
    /// A change would take more memory than the limits allow.
    #[error("{what} takes {needed} bytes of memory, more than the limit of {limit} (`Limits::in_flight_bytes`)")]
    InFlight {
        /// What needs the memory.
        what: &'static str,
        /// The bytes it needs.
        needed: u64,
        /// The limit.
        limit: u64,
    },
    /// The index could not be encoded.
    #[error("the index cannot be encoded")]
    Index(#[source] ChunkError),
    /// Something was to be added to a frame that is finished.
    #[error("the frame is finished, nothing can be added")]
    Finished,
    /// There is no chunk of this number.
    #[error("cannot change chunk {chunk}: the frame has {nchunks} chunks")]
    NoSuchChunk {
        /// The number.
        chunk: u64,
        /// Chunks in the frame.
        nchunks: u64,
    },
    /// The new order names a chunk twice or not at all.
    #[error("the new order is not a permutation of the {nchunks} chunks: {reason}")]
    Order {
        /// Chunks in the frame.
        nchunks: u64,
        /// What is wrong.
        reason: &'static str,
    },
    /// The chunks of the frame differ in size, and the length of this one has not been provided.
    #[error("the decoded length of chunk {chunk} is not known; read its header first")]
    UnknownLen {
        /// The number.
        chunk: u64,
    },
    /// The chunks of the frame differ in size, and their total in the header is less than one of them has.
    #[error(
        "the header says {nbytes} bytes for all chunks together, but chunk {chunk} alone decodes to {len}: the total is \
         wrong; edit a copy of the frame, which has the right one"
    )]
    Total {
        /// The chunk that was to be replaced or removed.
        chunk: u64,
        /// Bytes it decodes to.
        len: u64,
        /// Bytes of all chunks according to the header.
        nbytes: u64,
    },
    /// The frame could no longer be opened after the changes. It is unchanged.
    #[error("nothing was committed: the frame could no longer be opened")]
    Unreadable(#[source] FrameError),
    /// The frame would not hold the intended content after the changes. It is unchanged.
    #[error("nothing was committed: {what} would not have their new values")]
    Altered {
        /// What would be different.
        what: &'static str,
    },
    /// A metalayer that was to be removed or replaced does not exist, has another length, or shares its bytes.
    #[error("metalayer {name:?}: {reason}")]
    Metalayer {
        /// The name.
        name: String,
        /// What is wrong.
        reason: &'static str,
    },
    /// The frame that was to be edited is damaged.
    #[error(transparent)]
    Frame(#[from] FrameError),
}
