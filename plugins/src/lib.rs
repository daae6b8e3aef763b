//! The codecs and filters of Blosc2, registered through the same door as anyone else's.

pub mod codecs;
pub mod filters;
pub mod simd;
