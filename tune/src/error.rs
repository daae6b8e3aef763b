//! Why nothing was found.

use thiserror::Error;

/// Why a search has no result.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TuneError {
    /// The sample has no bytes.
    #[error("there is nothing to compress")]
    Empty,
    /// A loss is allowed, but the items are no little-endian floats of 4 or 8 bytes.
    #[error("only little-endian floats of 4 or 8 bytes may lose precision")]
    NoFloats,
    /// A loss is allowed that is no part of a float: it must be more than 0 and less than 1.
    #[error("the allowed error is {found}, expected a number between 0 and 1")]
    MaxError {
        /// What was given.
        found: String,
    },
    /// No combination gave the data back. The reason is that of the last one.
    #[error("no combination works: {reason}")]
    NothingWorks {
        /// Why the last one did not.
        reason: String,
    },
    /// The caller has stopped the search.
    #[error("the search was stopped")]
    Stopped,
}
