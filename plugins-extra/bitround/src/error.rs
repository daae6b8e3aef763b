//! What can be wrong with a precision, or with the metalayer that records one.

use std::error::Error;
use std::fmt;

use oxiblosc_core::filter::{BlockContext, FilterError};

/// Why there is no such precision.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum PrecisionError {
    /// Floats have other sizes.
    TypeSize {
        /// The size given.
        typesize: usize,
    },
    /// The mantissa has at least 1 bit and not as many.
    Bits {
        /// The bits given.
        bits: u8,
        /// Bits of the mantissa.
        most: u8,
    },
    /// No number is off by a negative amount.
    Bound {
        /// The bound given.
        bound: f64,
    },
}

impl PrecisionError {
    /// The same as an error of the filter.
    pub(crate) fn of_filter(self, ctx: &BlockContext<'_>) -> FilterError {
        let (meta, typesize) = (ctx.meta, ctx.typesize);
        match self {
            Self::TypeSize { .. } => FilterError::TypeSize { typesize, expected: "floats of 2, 4 or 8 bytes" },
            Self::Bits { .. } => {
                FilterError::Meta { meta, typesize, expected: "1 to 10, 23 or 52 bits, by the type size" }
            }
            error @ Self::Bound { .. } => FilterError::Other(error.into()),
        }
    }
}

impl fmt::Display for PrecisionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TypeSize { typesize } => write!(f, "items of {typesize} bytes, expected floats of 2, 4 or 8"),
            Self::Bits { bits, most } => write!(f, "{bits} bits of the mantissa to keep, expected 1 to {most}"),
            Self::Bound { bound } => write!(f, "a relative error of {bound}, expected 0 or more"),
        }
    }
}

impl Error for PrecisionError {}

/// Why the content of the metalayer says nothing.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum MetalayerError {
    /// It is not the map that it should be.
    Content {
        /// Offset in the content where that shows.
        offset: usize,
    },
    /// It records a precision that there is not.
    Precision(PrecisionError),
    /// Its two statements contradict each other.
    Contradiction {
        /// The relative error that it states.
        found: f64,
        /// That of the precision that it states.
        expected: f64,
    },
}

impl From<PrecisionError> for MetalayerError {
    fn from(error: PrecisionError) -> Self {
        Self::Precision(error)
    }
}

impl fmt::Display for MetalayerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Content { offset } => write!(f, "the metalayer oxiblosc_bitround is damaged at byte {offset}"),
            Self::Precision(_) => f.write_str("the metalayer oxiblosc_bitround has an impossible precision"),
            Self::Contradiction { found, expected } => {
                write!(f, "the metalayer oxiblosc_bitround states a relative error of {found}, expected {expected}")
            }
        }
    }
}

impl Error for MetalayerError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Precision(error) => Some(error),
            _ => None,
        }
    }
}
