//! Input and output in gzip, Zstandard, Brotli or LZ4.

#[cfg(feature = "compression")]
mod built;
#[cfg(not(feature = "compression"))]
mod none;

#[cfg(feature = "compression")]
pub(crate) use built::{EncodingWriter, decode};
#[cfg(not(feature = "compression"))]
pub(crate) use none::{EncodingWriter, decode};
