//! A filter for timestamps, counters and other series whose steps hardly change: it stores by how much each step differs
//! from the one before, and gathers the bytes of equal significance.
//!
//! Linking this crate is all it takes; [`link`] does that for a program that uses nothing else of it.
//!
//! ```
//! use oxiblosc_core::chunk::{ChunkContext, ChunkDecoder, ChunkEncoder, EncodeParams};
//! use oxiblosc_core::pipeline::FilterSlots;
//! use oxiblosc_core::{CodecId, FilterId, Inline, Registry};
//! use oxiblosc_timestamps::TIMESTAMPS;
//!
//! oxiblosc_timestamps::link();
//! oxiblosc_plugins::link();
//! let registry = Registry::linked()?;
//!
//! // Millilitres that a pump has delivered, a reading each second. Its rate drifts.
//! let mut total = 0;
//! let counts = (0..50_000u32).flat_map(|i| {
//!     total += (1e6 + 5e5 * (f64::from(i) / 3000.0).sin()) as u64;
//!     total.to_le_bytes()
//! });
//! let counts: Vec<u8> = counts.collect();
//! let len = |filter| {
//!     let params = EncodeParams { codec: CodecId::LZ4, typesize: 8, filters: FilterSlots::single(filter), ..EncodeParams::default() };
//!     let chunk = ChunkEncoder::new(&params, registry)?.encode(&counts, &ChunkContext::default(), &Inline)?;
//!     assert_eq!(ChunkDecoder::new(registry).decode(&chunk, &ChunkContext::default(), &Inline)?, counts);
//!     Ok::<_, Box<dyn std::error::Error>>(chunk.len())
//! };
//! assert!(3 * len(TIMESTAMPS)? < len(FilterId::SHUFFLE)?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Items are little-endian integers of 4 or 8 bytes, signed or not. The meta byte is the [`Order`] of the differences.
//! Second differences are best where the steps themselves change slowly. Jitter they double, and first differences are
//! shorter then: choose those for the timestamps of most clocks.
//!
//! # Format of a block
//!
//! With `x` for the items and all arithmetic modulo the type:
//!
//! 1. First order: `d[i] = x[i] - x[i - 1]`. Second order: `d[i] = (x[i] - x[i - 1]) - (x[i - 1] - x[i - 2])`. Items before
//!    the first are 0.
//! 2. Small negative numbers become small: `z[i] = (d[i] << 1) ^ (d[i] >> 31)`, or 63 for 8 bytes, with an arithmetic shift
//!    to the right.
//! 3. The lowest bytes of all `z`, then their second bytes, and so on, as shuffle does it.
//!
//! Bytes at the end of the block that are no whole item are copied. Each block stands alone.
#![forbid(unsafe_code)]

mod integer;

use oxiblosc_core::filter::{BlockContext, Filter, FilterError, FilterTraits};
use oxiblosc_core::{FilterId, register_filter};

use integer::Integer;

/// The id of the filter, in the range for users.
pub const TIMESTAMPS: FilterId = FilterId(227);

/// The bytes are grouped as shuffle does it, and a block of zeros stands for zeros.
const TRAITS: FilterTraits = FilterTraits::LOSSLESS.keeping_zeros().grouping_bytes();

register_filter!(TIMESTAMPS, "timestamps", TRAITS, || Box::new(Timestamps));

/// Makes the linker keep this crate, and with it the registration of the filter. Does nothing else.
pub const fn link() {}

/// How often differences are taken.
///
/// ```
/// use oxiblosc_timestamps::Order;
///
/// assert_eq!(Order::default(), Order::Second);
/// assert_eq!(Order::from_meta(1), Some(Order::First));
/// assert_eq!(Order::from_meta(3), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// Meta byte 1: steps from item to item.
    First,
    /// Meta byte 2, or 0: by how much each step differs from the one before.
    #[default]
    Second,
}

impl Order {
    /// The meta byte.
    pub const fn meta(self) -> u8 {
        match self {
            Self::First => 1,
            Self::Second => 2,
        }
    }

    /// The order that a meta byte stands for; `None` for 3 and above, which are not in use.
    pub const fn from_meta(meta: u8) -> Option<Self> {
        match meta {
            1 => Some(Self::First),
            0 | 2 => Some(Self::Second),
            _ => None,
        }
    }
}

/// The filter. It has no state.
#[derive(Debug, Clone, Copy, Default)]
pub struct Timestamps;

impl Filter for Timestamps {
    fn forward(&mut self, ctx: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
        match (order(ctx)?, ctx.typesize) {
            (order, 4) => forward::<u32>(order, src, dst),
            (order, 8) => forward::<u64>(order, src, dst),
            _ => return Err(unsupported(ctx)),
        }
        Ok(())
    }

    fn backward(&mut self, ctx: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
        match (order(ctx)?, ctx.typesize) {
            (order, 4) => backward::<u32>(order, src, dst),
            (order, 8) => backward::<u64>(order, src, dst),
            _ => return Err(unsupported(ctx)),
        }
        Ok(())
    }
}

fn order(ctx: &BlockContext<'_>) -> Result<Order, FilterError> {
    let expected = "1 or 2 for the order of the differences, or 0 for the second";
    Order::from_meta(ctx.meta).ok_or(FilterError::Meta { meta: ctx.meta, typesize: ctx.typesize, expected })
}

fn unsupported(ctx: &BlockContext<'_>) -> FilterError {
    FilterError::TypeSize { typesize: ctx.typesize, expected: "integers of 4 or 8 bytes" }
}

/// Items that are worked on at a time, so that they stay in registers and the innermost cache between the two steps.
const BATCH: usize = 256;

fn forward<T: Integer>(order: Order, src: &[u8], dst: &mut [u8]) {
    let items = src.len() / T::SIZE;
    let (src, tail) = src.split_at(items * T::SIZE);
    let (dst, dst_tail) = dst.split_at_mut(src.len());
    let mut batch = [T::default(); BATCH];
    let (mut item, mut step) = (T::default(), T::default());
    for (at, bytes) in src.chunks(BATCH * T::SIZE).enumerate() {
        let batch = &mut batch[..bytes.len() / T::SIZE];
        for (z, bytes) in batch.iter_mut().zip(bytes.chunks_exact(T::SIZE)) {
            let next = T::read(bytes);
            let (difference, last) = (next.minus(item), step);
            (item, step) = (next, difference);
            *z = match order {
                Order::First => difference,
                Order::Second => difference.minus(last),
            }
            .zigzag();
        }
        for byte in 0..T::SIZE {
            let plane = &mut dst[byte * items + at * BATCH..][..batch.len()];
            plane.iter_mut().zip(batch.iter()).for_each(|(d, z)| *d = z.byte(byte));
        }
    }
    dst_tail.copy_from_slice(tail);
}

fn backward<T: Integer>(order: Order, src: &[u8], dst: &mut [u8]) {
    let items = src.len() / T::SIZE;
    let (src, tail) = src.split_at(items * T::SIZE);
    let (dst, dst_tail) = dst.split_at_mut(src.len());
    let (mut item, mut step) = (T::default(), T::default());
    for (at, bytes) in dst.chunks_mut(BATCH * T::SIZE).enumerate() {
        let mut batch = [T::default(); BATCH];
        let batch = &mut batch[..bytes.len() / T::SIZE];
        for byte in 0..T::SIZE {
            let plane = &src[byte * items + at * BATCH..][..batch.len()];
            batch.iter_mut().zip(plane).for_each(|(z, s)| z.put_byte(byte, *s));
        }
        for (z, bytes) in batch.iter().zip(bytes.chunks_exact_mut(T::SIZE)) {
            let difference = z.unzigzag();
            step = match order {
                Order::First => difference,
                Order::Second => step.plus(difference),
            };
            item = item.plus(step);
            item.write(bytes);
        }
    }
    dst_tail.copy_from_slice(tail);
}
