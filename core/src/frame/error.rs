//! Why a frame could not be opened, or a chunk in it was refused.

use std::fmt;

use thiserror::Error;

use crate::chunk::ChunkError;

/// One of the two places that hold named values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Section {
    /// The metalayers of the header.
    Header,
    /// The variable-length metalayers of the trailer.
    Trailer,
}

impl fmt::Display for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Header => "metalayers in the header",
            Self::Trailer => "variable-length metalayers in the trailer",
        })
    }
}

/// Why a frame could not be opened, or a chunk in it was refused.
///
/// Offsets count from the start of the frame, and those of [`Section::Trailer`] from the start of the trailer.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FrameError {
    /// There are fewer bytes than in the smallest frame.
    #[error("not a Blosc2 frame: {len} bytes, the smallest frame has {min}")]
    TooShort {
        /// Bytes there are.
        len: u64,
        /// Bytes there would have to be.
        min: u64,
    },
    /// The magic bytes are missing.
    #[error("not a Blosc2 frame: expected \"b2frame\\0\" at offset 2, found {found:02x?}")]
    Magic {
        /// The eight bytes found instead.
        found: [u8; 8],
    },
    /// The first byte belongs to no known layout.
    #[error("unknown frame layout: byte 0 is {found:#04x}, expected one of 0x9b, 0x9c, 0x9d, 0x9e")]
    UnknownLayout {
        /// The first byte.
        found: u8,
    },
    /// The first byte says one layout and another byte contradicts it.
    #[error("byte 0 is {first:#04x}, so byte {offset} should be {expected:#04x}, but it is {found:#04x}")]
    LayoutMismatch {
        /// The first byte.
        first: u8,
        /// Offset of the byte that contradicts it.
        offset: usize,
        /// What the layout has there.
        expected: u8,
        /// What is there.
        found: u8,
    },
    /// The version in the general flags is not one this layout has.
    #[error("frame version {found} (general flags at offset 25) is not supported; this layout has {min} to {max}")]
    Version {
        /// The version found.
        found: u8,
        /// The oldest one with this layout.
        min: u8,
        /// The newest one known.
        max: u8,
    },
    /// The frame type is unknown, or the frame is a sparse one where a contiguous one was expected or the reverse.
    #[error("frame type at offset 26 is {found}, expected {expected} (0: contiguous, 1: index of a sparse frame)")]
    FrameType {
        /// The type found.
        found: u8,
        /// The type expected.
        expected: u8,
    },
    /// The header length is out of bounds.
    #[error("header length at offset 11 is {found}, expected {min}..={max}")]
    HeaderLen {
        /// The length found.
        found: i64,
        /// The smallest possible.
        min: u64,
        /// The largest possible: the length of the frame, or a limit of the reader.
        max: u64,
    },
    /// The frame is unfinished: its header has no frame length. It is open-ended, or its writer did not finish.
    #[error(
        "the frame is not finished: its header has no length yet (0 at offset 16), because it was written open-ended, or \
         its writer was interrupted or is still at it (`seal` or `recover` makes a whole frame of what is there; an \
         open-ended one can be read as it is with the option `open_ended`)"
    )]
    Unfinished,
    /// The frame claims to be longer than what there is, or shorter than its own parts.
    #[error("frame length at offset 16 is {}, {}", *.found as i64, if (*.max..i64::MAX as u64).contains(.found) {
        format!("but only {max} bytes are there")
    } else {
        format!("expected {}", Between(*.min, *.max))
    })]
    FrameLen {
        /// The length found.
        found: u64,
        /// What the parts of the frame need.
        min: u64,
        /// The bytes there are.
        max: u64,
    },
    /// A size is negative.
    #[error("{field} at offset {offset} is {found}, which is negative")]
    Negative {
        /// Which field.
        field: &'static str,
        /// Where it stands.
        offset: usize,
        /// Its value.
        found: i64,
    },
    /// The chunks section does not fit into the frame.
    #[error("the chunks section ({cbytes} bytes after a header of {header_len}) does not fit before offset {end}")]
    ChunksSection {
        /// Bytes of the header.
        header_len: u64,
        /// Bytes of the chunks section (field cbytes at offset 39).
        cbytes: u64,
        /// Where index and trailer end at the latest.
        end: u64,
    },
    /// The type size is not positive.
    #[error("type size at offset 48 is {found}, which is not positive")]
    Typesize {
        /// The type size found.
        found: i32,
    },
    /// The chunk size is negative although the frame holds data.
    #[error("chunk size at offset {offset} is {found} although the frame holds {nbytes} bytes")]
    ChunkSize {
        /// Where the field stands.
        offset: usize,
        /// The chunk size found.
        found: i32,
        /// Decoded bytes of the frame.
        nbytes: u64,
    },
    /// There are more chunks than allowed.
    #[error("{found} chunks, more than the limit of {limit}")]
    TooManyChunks {
        /// Chunks the frame claims to have.
        found: u64,
        /// The limit of the format or of the reader.
        limit: u64,
    },
    /// More filter slots than the layout has.
    #[error("{found} filter slots at offset {offset}, at most {max} are possible")]
    FilterCount {
        /// Where the count stands.
        offset: usize,
        /// The count found.
        found: u8,
        /// The most there can be.
        max: u8,
    },
    /// A marker of the metalayers is wrong.
    #[error("{section}: expected {expected} at offset {offset}, found {}", Found(*.found))]
    MetalayerMarker {
        /// Header or trailer.
        section: Section,
        /// Where the byte stands.
        offset: usize,
        /// What belongs there.
        expected: &'static str,
        /// What is there; `None` when the section ends before.
        found: Option<u8>,
    },
    /// More metalayers than the format allows.
    #[error("{section}: {found} entries at offset {offset}, at most {max} are possible")]
    MetalayerCount {
        /// Header or trailer.
        section: Section,
        /// Where the count stands.
        offset: usize,
        /// The count found.
        found: u16,
        /// The most there can be.
        max: u16,
    },
    /// A metalayer lies outside its section.
    #[error("{section}: {name:?} is at {offset} with {len} bytes, but must be within {min}..{max}")]
    MetalayerRange {
        /// Header or trailer.
        section: Section,
        /// Name of the metalayer.
        name: String,
        /// Offset found.
        offset: i64,
        /// Bytes of content found, 0 when not even the length could be read.
        len: u64,
        /// First offset possible.
        min: usize,
        /// End of the section.
        max: usize,
    },
    /// The byte before the trailer length is not its marker.
    #[error("expected the trailer length (0xce) at offset {offset}, found {}", Found(*.found))]
    TrailerMarker {
        /// Where it should be: 23 bytes before the end of the frame.
        offset: u64,
        /// What is there.
        found: Option<u8>,
    },
    /// The trailer length is out of bounds.
    #[error("trailer length at offset {offset} is {found}, expected {min}..={max}")]
    TrailerLen {
        /// Where the length stands.
        offset: u64,
        /// The length found.
        found: u64,
        /// The smallest possible.
        min: u64,
        /// The largest possible: what the frame leaves for it, or a limit of the reader.
        max: u64,
    },
    /// The trailer is neither of the two known kinds.
    #[error(
        "expected variable-length metalayers (0x93) or user metadata (0xc6) at offset 2 of the trailer, found \
         {found:#04x}"
    )]
    TrailerKind {
        /// What is there.
        found: u8,
    },
    /// The user metadata of a beta frame does not fit into its trailer.
    #[error("user metadata of {found} bytes does not fit into a trailer of {trailer_len}")]
    UserMetadata {
        /// Bytes of user metadata.
        found: u64,
        /// Bytes of the trailer.
        trailer_len: u64,
    },
    /// A variable-length metalayer could not be decoded.
    #[error("variable-length metalayer {name:?} cannot be decoded")]
    Vlmetalayer {
        /// Its name.
        name: String,
        /// What is wrong with its chunk.
        source: ChunkError,
    },
    /// A variable-length metalayer and the chunk in it differ in length.
    #[error("variable-length metalayer {name:?} holds {found} bytes, but its chunk says {expected}")]
    VlmetalayerLen {
        /// Its name.
        name: String,
        /// Bytes that the chunk header declares.
        expected: u64,
        /// Bytes there are.
        found: u64,
    },
    /// A variable-length metalayer decodes to more bytes than the reader allows.
    #[error("variable-length metalayer {name:?} decodes to {found} bytes, more than the limit of {limit}")]
    VlmetalayerLimit {
        /// Its name.
        name: String,
        /// Bytes it decodes to.
        found: u64,
        /// The limit of the reader.
        limit: u64,
    },
    /// The frame holds data, but there is no room for an index.
    #[error("the index should start at offset {offset}, but only {room} bytes are left there")]
    NoIndex {
        /// Where the index should start.
        offset: u64,
        /// Bytes between there and the trailer.
        room: u64,
    },
    /// The index chunk is damaged.
    #[error("the index at offset {offset} cannot be decoded")]
    Index {
        /// Where the index starts.
        offset: u64,
        /// What is wrong with it.
        source: ChunkError,
    },
    /// The index chunk is longer than the room for it.
    #[error("the index at offset {offset} has {found} bytes, but only {room} fit before the trailer")]
    IndexLen {
        /// Where the index starts.
        offset: u64,
        /// Bytes of the index chunk.
        found: u64,
        /// Bytes between there and the trailer.
        room: u64,
    },
    /// The index is not a chunk of 8-byte items in regular blocks.
    #[error("the index at offset {offset} is not a regular chunk of 8-byte items: {reason}")]
    IndexKind {
        /// Where the index starts.
        offset: u64,
        /// What is different.
        reason: &'static str,
    },
    /// The index has another number of entries than the frame has chunks.
    #[error("the index at offset {offset} decodes to {found} bytes, expected {expected}")]
    IndexCount {
        /// Where the index starts.
        offset: u64,
        /// Bytes it decodes to.
        found: u64,
        /// What is expected.
        expected: ExpectedIndex,
    },
    /// The index decodes to far more than its compressed size can justify.
    #[error("the index at offset {offset} claims to decode from {cbytes} to {nbytes} bytes")]
    IndexExpansion {
        /// Where the index starts.
        offset: u64,
        /// Bytes of the index chunk.
        cbytes: u64,
        /// Bytes it claims to decode to.
        nbytes: u64,
    },
    /// There is no chunk of this number.
    #[error("there is no chunk {chunk}: the frame has {nchunks} chunks")]
    NoSuchChunk {
        /// Number asked for.
        chunk: u64,
        /// Chunks in the frame.
        nchunks: u64,
    },
    /// An offset in the index points outside the chunks section.
    #[error("chunk {chunk} starts at {offset} of the chunks section, which has {cbytes} bytes")]
    ChunkOffset {
        /// Number of the chunk.
        chunk: u64,
        /// Its offset from the end of the header.
        offset: u64,
        /// Bytes of the chunks section.
        cbytes: u64,
    },
    /// A chunk reaches past the end of the chunks section.
    #[error("chunk {chunk} has {found} bytes, but {room} are left from offset {offset}")]
    ChunkBounds {
        /// Number of the chunk.
        chunk: u64,
        /// Its offset from the start of the frame (of the file for sparse frames).
        offset: u64,
        /// Bytes of the chunk according to its header.
        found: u64,
        /// Bytes left there.
        room: u64,
    },
    /// A chunk is shorter than any chunk in a frame can be.
    #[error("chunk {chunk} at offset {offset} has {found} bytes; a chunk in a frame has at least {min}")]
    ChunkTooSmall {
        /// Number of the chunk.
        chunk: u64,
        /// Its offset from the start of the frame.
        offset: u64,
        /// Bytes of the chunk.
        found: u64,
        /// The least there must be.
        min: u64,
    },
    /// A negative index entry is none of the three special values.
    #[error("chunk {chunk}: index entry {found:#018x} is neither an offset nor a known special value")]
    SpecialEntry {
        /// Number of the chunk.
        chunk: u64,
        /// The entry.
        found: u64,
    },
    /// A chunk of NaNs in a frame whose items are not floats.
    #[error("chunk {chunk} is all NaN, which needs type size 4 or 8, not {typesize}")]
    NanTypesize {
        /// Number of the chunk.
        chunk: u64,
        /// Type size of the frame.
        typesize: u32,
    },
    /// A chunk of NaNs is no whole number of items long.
    #[error("chunk {chunk} is all NaN, but its {nbytes} bytes are not a whole number of {typesize}-byte items")]
    SpecialLen {
        /// Number of the chunk.
        chunk: u64,
        /// Bytes it should decode to.
        nbytes: u64,
        /// Type size of the frame.
        typesize: u32,
    },
    /// A chunk exists only as an index entry, but the frame does not say how long it is.
    #[error(
        "chunk {chunk} is a special value in the index, but the chunks of this frame vary in size, so its length is \
         unknown"
    )]
    SpecialInVariable {
        /// Number of the chunk.
        chunk: u64,
    },
    /// A chunk decodes to another length than the frame says.
    #[error("chunk {chunk} decodes to {found} bytes, the frame expects {expected}")]
    ChunkLen {
        /// Number of the chunk.
        chunk: u64,
        /// Bytes the frame expects.
        expected: u64,
        /// Bytes the chunk decodes to.
        found: u64,
    },
    /// The chunks together decode to another length than the frame says.
    #[error("the chunks decode to {found} bytes together, the header (offset 30) says {expected}")]
    TotalLen {
        /// Bytes the header declares.
        expected: u64,
        /// Bytes the chunks decode to.
        found: u64,
    },
    /// Some chunks have blocks of variable length and some have not.
    #[error(
        "chunk {chunk} has {}, unlike the chunks before it",
        if *.variable { "blocks of variable length" } else { "regular blocks" }
    )]
    MixedBlocks {
        /// Number of the first chunk that differs.
        chunk: u64,
        /// Whether that chunk is the one with blocks of variable length.
        variable: bool,
    },
    /// The id of a chunk file does not fit into its name.
    #[error("chunk {chunk} has file id {id}, more than 8 hexadecimal digits")]
    ChunkId {
        /// Number of the chunk.
        chunk: u64,
        /// The id.
        id: u64,
    },
    /// The file of a chunk is shorter than the chunk.
    #[error("chunk {chunk}: its file has {found} bytes, the chunk {expected}")]
    ChunkFile {
        /// Number of the chunk.
        chunk: u64,
        /// Bytes of the chunk (or of a chunk header, when the file is shorter than that).
        expected: u64,
        /// Bytes of the file.
        found: u64,
    },
    /// An early frame does not end exactly where its index ends.
    #[error("early frame: header, chunks and index end at {expected}, the frame at {found}")]
    EarlyEnd {
        /// Where the index ends.
        expected: u64,
        /// Where the frame ends.
        found: u64,
    },
    /// The flag at byte 63 of an early frame disagrees with its first byte.
    #[error("early frame: byte 0 is {first:#04x}, so byte 63 should be {expected:#04x}, found {found:#04x}")]
    EarlyMetalayers {
        /// The first byte.
        first: u8,
        /// 0xC2 without metalayers, 0xC3 with them.
        expected: u8,
        /// What is there.
        found: u8,
    },
    /// A chunk could not be read.
    #[error("chunk {chunk}{} cannot be read", At(*.offset))]
    Chunk {
        /// Number of the chunk.
        chunk: u64,
        /// Where it begins, from the start of the frame; `None` when it is in a file of its own.
        offset: Option<u64>,
        /// What is wrong with it.
        source: Box<ChunkError>,
    },
    /// The bytes of a chunk do not match its checksum.
    #[error(
        "chunk {chunk}{}: its bytes have the XXH3-64 checksum {found:016x}, expected {expected:016x}: they are damaged, \
         or were replaced in place by software that does not keep checksums",
        At(*.offset)
    )]
    ChunkChecksum {
        /// Number of the chunk.
        chunk: u64,
        /// Where it begins, from the start of the frame; `None` when it is in a file of its own.
        offset: Option<u64>,
        /// The checksum in the trailer.
        expected: u64,
        /// The checksum of the bytes.
        found: u64,
    },
    /// The opener was not given the bytes that it asked for.
    #[error("the requested bytes {start}..{end} were not provided")]
    MissingBytes {
        /// First byte of the range.
        start: u64,
        /// End of the range.
        end: u64,
    },
}

/// How many bytes an index was expected to decode to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpectedIndex {
    /// Exactly this many: eight per chunk.
    Exactly(u64),
    /// Any multiple of eight but none.
    MultipleOfEight,
}

impl fmt::Display for ExpectedIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exactly(n) => write!(f, "{n}"),
            Self::MultipleOfEight => f.write_str("a multiple of 8 above 0"),
        }
    }
}

struct Found(Option<u8>);

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(byte) => write!(f, "{byte:#04x}"),
            None => f.write_str("the end"),
        }
    }
}

/// The values that a field may have. The maximum of the type stands for no upper bound, as does one below the minimum.
struct Between(u64, u64);

impl fmt::Display for Between {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self(min, max) if *max >= i64::MAX as u64 || min > max => write!(f, "at least {min}"),
            Self(min, max) => write!(f, "{min}..={max}"),
        }
    }
}

struct At(Option<u64>);

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |offset| write!(f, " at offset {offset}"))
    }
}
