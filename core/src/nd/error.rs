//! Why an array cannot be laid out, described or sliced.

use std::fmt;

use thiserror::Error;

/// A value that is too large, and its limit.
struct TooLarge(Option<u64>, u64);

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A limit of 63 bits comes from the machine or the format, and showing it helps no one.
        match self {
            Self(Some(found), limit) if *limit < MACHINE && *found < MACHINE => {
                write!(f, "{found}, the limit is {limit}")
            }
            Self(_, limit) if *limit < MACHINE => write!(f, "the limit is {limit}"),
            _ => f.write_str("it does not fit the 63 bits of a length"),
        }
    }
}

/// The largest 63-bit number.
const MACHINE: u64 = i64::MAX as u64;

/// Why an array cannot be laid out, described or sliced.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NdError {
    /// The b2nd metalayer ends too early.
    #[error("b2nd metalayer: {what} at byte {offset} needs {expected} bytes, {found} are left")]
    Truncated {
        /// The field that does not fit.
        what: &'static str,
        /// Where the field begins.
        offset: usize,
        /// Bytes that the field needs.
        expected: usize,
        /// Bytes that are left.
        found: usize,
    },
    /// The b2nd metalayer holds another kind of value than expected.
    #[error("b2nd metalayer: {what} at byte {offset} should begin with {expected:#04x}, found {found:#04x}")]
    Marker {
        /// The field in question.
        what: &'static str,
        /// Where the field begins.
        offset: usize,
        /// The msgpack marker of the field.
        expected: u8,
        /// The byte that is there.
        found: u8,
    },
    /// The dtype of the b2nd metalayer is no text.
    #[error("b2nd metalayer: the dtype is not UTF-8 from byte {offset} on")]
    DtypeText {
        /// Where the text stops being UTF-8.
        offset: usize,
    },
    /// More dimensions than the format has room for.
    #[error("{found} dimensions, at most {limit} are supported")]
    TooManyDims {
        /// [`MAX_DIMS`](super::MAX_DIMS).
        limit: usize,
        /// Dimensions asked for or found.
        found: usize,
    },
    /// Two things that belong together have different numbers of dimensions.
    #[error("{what} has {found} dimensions, expected {expected}")]
    Rank {
        /// What has the wrong number of dimensions.
        what: &'static str,
        /// Dimensions of the array.
        expected: usize,
        /// Dimensions found.
        found: usize,
    },
    /// A length along an axis is not allowed.
    #[error("{what} along axis {axis} is {found}, expected {expected}")]
    Extent {
        /// Which length.
        what: &'static str,
        /// The axis, counted from 0.
        axis: usize,
        /// The lengths that are allowed.
        expected: &'static str,
        /// The length found.
        found: i64,
    },
    /// Something is larger than the format can hold, or than can be counted in 64 bits.
    #[error("{what} is too large: {}", TooLarge(*.found, *.limit))]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// The largest value allowed.
        limit: u64,
        /// The value, when 64 bits can hold it.
        found: Option<u64>,
    },
    /// The metalayer and the frame around it disagree.
    #[error("{what}: the b2nd metalayer requires {expected}, the frame has {found}")]
    Frame {
        /// What they disagree about.
        what: &'static str,
        /// What follows from the metalayer.
        expected: u64,
        /// What the frame header says.
        found: u64,
    },
    /// An item size of 0.
    #[error("the item size is 0, at least 1 byte is needed")]
    ItemSize,
    /// An index is outside the array.
    #[error("index {index} is outside axis {axis}, which has length {len}")]
    OutOfBounds {
        /// The axis, counted from 0.
        axis: usize,
        /// The index asked for; negative ones count from the end.
        index: i64,
        /// Length of the axis.
        len: u64,
    },
    /// A slice with step 0.
    #[error("the slice along axis {axis} has step 0")]
    ZeroStep {
        /// The axis, counted from 0.
        axis: usize,
    },
    /// A selection written as text makes no sense.
    #[error("cannot read the selection `{text}`: {reason}")]
    Syntax {
        /// The part that could not be read.
        text: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A buffer of the wrong length.
    #[error("{what} has {found} bytes, expected {expected}")]
    Buffer {
        /// Which buffer.
        what: &'static str,
        /// Bytes that it must have.
        expected: usize,
        /// Bytes that it has.
        found: usize,
    },
    /// A chunk number or position outside the array.
    #[error("chunk {found} of an array of {count} chunks")]
    NoSuchChunk {
        /// The number asked for.
        found: u64,
        /// Chunks of the array.
        count: u64,
    },
}
