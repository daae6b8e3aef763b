//! A filter that rounds floats to a number of mantissa bits, with the error bound kept in the file.
//!
//! Measurements rarely have 23 or 52 significant bits, and the bits that mean nothing are those that do not compress.
//! Rounding to nearest makes half the error of cutting them off (`trunc_prec`), for the same size.
//!
//! Linking this crate is all it takes; [`link`] does that for a program that uses nothing else of it.
//!
//! ```
//! use oxiblosc_bitround::Precision;
//! use oxiblosc_core::chunk::{ChunkContext, ChunkDecoder, ChunkEncoder, EncodeParams};
//! use oxiblosc_core::pipeline::FilterSlots;
//! use oxiblosc_core::{CodecId, FilterId, Inline, Registry};
//!
//! # oxiblosc::plugins::link();
//! oxiblosc_bitround::link();
//! let registry = Registry::linked()?;
//! let values: Vec<f32> = (0..50_000u16).map(|i| f32::from(i).sin()).collect();
//! let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
//!
//! // A thousandth of each value takes 9 bits of the mantissa.
//! let precision = Precision::for_relative_error(4, 1e-3)?;
//! assert_eq!(precision.mantissa_bits(), 9);
//! let filters = [(precision.slot().id, precision.slot().meta), (FilterId::SHUFFLE, 0)];
//! let filters = FilterSlots::from_list(&filters).expect("there are six slots");
//! let params = EncodeParams { codec: CodecId::ZSTD, typesize: 4, filters, ..EncodeParams::default() };
//! let chunk = ChunkEncoder::new(&params, registry)?.encode(&bytes, &ChunkContext::default(), &Inline)?;
//! assert!(chunk.len() < bytes.len() / 2);
//!
//! let back = ChunkDecoder::new(registry).decode(&chunk, &ChunkContext::default(), &Inline)?;
//! for (x, bytes) in values.iter().zip(back.chunks_exact(4)) {
//!     let rounded = f32::from_le_bytes(bytes.try_into()?);
//!     assert!(f64::from((rounded - x).abs()) <= precision.relative_error() * f64::from(x.abs()));
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Items are little-endian floats of IEEE 754: half (2 bytes), single (4) or double precision (8). The filter sees the size
//! of an item and not its type, and integers that it is given are ruined. The meta byte is how many bits of the mantissa
//! are kept: 1 to 10, 23 or 52. 0 is an error, so that a filter whose meta byte was forgotten ruins nothing.
//!
//! A number is rounded to the nearest one with so many bits, and to the even one if there are two. What has no relative
//! error is left as it is: zeros with their sign, subnormal numbers, infinities, NaNs with their payload, and numbers that
//! would become infinite. Hence the bound holds for every number.
//!
//! # Files that everyone can read
//!
//! Rounded floats are floats, but a frame that names this filter can only be read where it is linked. For readers without
//! it, round the data with [`Precision::round`] before writing and leave the filter out. Either way
//! [`Precision::metalayer`] goes into the header of the frame and says what was done.
#![forbid(unsafe_code)]

mod error;
mod float;
mod metalayer;
mod precision;

use oxiblosc_core::filter::{BlockContext, Filter, FilterError, FilterTraits};
use oxiblosc_core::{FilterId, register_filter};

pub use error::{MetalayerError, PrecisionError};
pub use metalayer::METALAYER;
pub use precision::Precision;

/// The id of the filter, in the range for users.
pub const BITROUND: FilterId = FilterId(226);

register_filter!(BITROUND, "bitround", FilterTraits::FORWARD_ONLY, || Box::new(Bitround));

/// Makes the linker keep this crate, and with it the registration of the filter. Does nothing else.
pub const fn link() {}

/// The filter. It has no state.
#[derive(Debug, Clone, Copy, Default)]
pub struct Bitround;

impl Filter for Bitround {
    fn forward(&mut self, ctx: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
        let precision = Precision::new(ctx.typesize, ctx.meta).map_err(|error| error.of_filter(ctx))?;
        dst.copy_from_slice(src);
        precision.round(dst);
        Ok(())
    }

    fn backward(&mut self, _: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
        dst.copy_from_slice(src);
        Ok(())
    }
}
