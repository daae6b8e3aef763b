//! Zstandard: one frame per stream, with its content size and without a checksum.
//!
//! Source: chunk format document, codec 5, and RFC 8878.
//!
//! The feature `zstd` is Zstandard's own library, in C. The feature `pure` is the crate `ruzstd`, for programs without C;
//! where both are on, the library does the work.

#[cfg(feature = "zstd")]
mod library;
#[cfg(feature = "pure")]
#[cfg_attr(feature = "zstd", allow(dead_code, unreachable_pub, reason = "then only the tests use it"))]
mod rust;

use oxiblosc_core::codec::CodecTraits;
use oxiblosc_core::{CodecId, register_codec};

#[cfg(feature = "zstd")]
pub use library::Zstd;
#[cfg(not(feature = "zstd"))]
pub use rust::Zstd;

register_codec!(builtin CodecId::ZSTD, "zstd", CodecTraits::PLAIN.high_ratio().split_up_to(5).with_dict(), || Box::new(
    Zstd::default()
));
