//! A custom filter: register it, write a file with it, read the file back.
//!
//! The data are readings of a counter that goes up by nearly the same amount every time. The filter stores how much
//! each reading differs from what the two before it led to expect, which is nearly always nothing.
//!
//! Run it with `cargo run --release --example custom_filter`.

use std::error::Error;
use std::io::Write;

use oxiblosc::filter::{BlockContext, Filter, FilterError, FilterTraits};
use oxiblosc::{EncodeParams, FilterId, FilterSlots, WriteOptions, blocking, register_filter};

/// Second differences of little-endian 32-bit integers, modulo 2^32.
#[derive(Clone)]
struct SecondDifference;

/// 160 to 255 are the user's.
const SECOND_DIFFERENCE: FilterId = FilterId(201);

register_filter!(SECOND_DIFFERENCE, "second_difference", FilterTraits::LOSSLESS, || Box::new(SecondDifference));

impl Filter for SecondDifference {
    fn forward(&mut self, ctx: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
        let (mut last, mut before) = (0u32, 0u32);
        for_each_item(ctx, src, dst, |item| {
            let expected = last.wrapping_add(last).wrapping_sub(before);
            (before, last) = (last, item);
            item.wrapping_sub(expected)
        })
    }

    fn backward(&mut self, ctx: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
        let (mut last, mut before) = (0u32, 0u32);
        for_each_item(ctx, src, dst, |difference| {
            let item = difference.wrapping_add(last.wrapping_add(last).wrapping_sub(before));
            (before, last) = (last, item);
            item
        })
    }
}

fn for_each_item(
    ctx: &BlockContext<'_>,
    src: &[u8],
    dst: &mut [u8],
    mut map: impl FnMut(u32) -> u32,
) -> Result<(), FilterError> {
    if ctx.typesize != 4 {
        return Err(FilterError::TypeSize { typesize: ctx.typesize, expected: "4" });
    }
    let (src_items, src_tail) = src.as_chunks::<4>();
    let (dst_items, dst_tail) = dst.as_chunks_mut::<4>();
    for (d, s) in dst_items.iter_mut().zip(src_items) {
        *d = map(u32::from_le_bytes(*s)).to_le_bytes();
    }
    // The last block of a chunk need not be a whole number of items: what is left over is copied.
    dst_tail.copy_from_slice(src_tail);
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    // A counter that ticks about 1000 times a second, read a million times.
    let mut counter = 0u32;
    let data: Vec<u8> = (0..1_000_000u32)
        .flat_map(|i| {
            counter = counter.wrapping_add(1000 + u32::from(i % 97 == 0));
            counter.to_le_bytes()
        })
        .collect();

    let directory = tempfile::tempdir()?;
    let mut sizes = Vec::new();
    for (name, filters) in [
        ("shuffle", FilterSlots::SHUFFLE),
        (
            "second_difference, shuffle",
            FilterSlots::from_list(&[(SECOND_DIFFERENCE, 0), (FilterId::SHUFFLE, 0)]).ok_or("at most six filters")?,
        ),
    ] {
        let path = directory.path().join("counter.b2frame");
        let params = EncodeParams { typesize: 4, filters, ..EncodeParams::default() };
        let mut writer = blocking::FrameWriter::create(&path, WriteOptions::new(params))?;
        writer.write_all(&data)?;
        let summary = writer.finish()?;

        let reader = blocking::FrameReader::open(&path)?;
        assert_eq!(reader.header().filters, filters);
        assert_eq!(reader.bytes(0..reader.nbytes())?, data);
        println!("{name}: {} -> {} bytes, {:.1} times smaller", summary.nbytes, summary.cbytes, summary.ratio());
        sizes.push(summary.cbytes);
    }
    assert!(sizes[1] * 4 < sizes[0], "the filter should help");
    Ok(())
}
