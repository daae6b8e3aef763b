//! Codecs that decode parts of streams, with a flaw to choose.

use std::ops::Range;

use oxiblosc_conformance::Promise;
use oxiblosc_core::codec::{Codec, CodecContext, CodecError, CodecTraits};

use crate::rle::{Flaw, Rle};
use crate::{HEAP, assert_all_found, assert_broken, check_codec, with_codec};

/// What is wrong with ranges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RangeFlaw {
    None,
    /// Begins a byte too late, unless it begins with the stream.
    Shifted,
    /// Claims a byte less at the end of a stream.
    Short,
    /// The last byte stays what it was.
    LeavesLast,
    RefusesEnd,
    PanicsOnDamage,
    /// Takes 1 from the end of nothing.
    PanicsOnNothing,
    /// Zeros for what is missing.
    MakesUp,
    Never,
    /// The next stream is decoded wrongly.
    Sticks,
    /// As many bytes as the stream says that it has.
    AsksForMemory,
    /// Wrong only across a boundary.
    Boundary,
}

#[derive(Clone)]
struct Ranged {
    flaw: RangeFlaw,
    rle: Rle,
    stuck: bool,
}

impl Ranged {
    fn new(flaw: RangeFlaw) -> Self {
        Self { flaw, rle: Rle::new(Flaw::None), stuck: false }
    }
}

impl Codec for Ranged {
    fn compress(&mut self, ctx: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<Option<usize>, CodecError> {
        self.rle.compress(ctx, src, dst)
    }

    fn decompress(&mut self, ctx: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<usize, CodecError> {
        let len = self.rle.decompress(ctx, src, dst)?;
        dst[0] ^= u8::from(std::mem::take(&mut self.stuck));
        Ok(len)
    }

    fn decompress_range(
        &mut self,
        ctx: &CodecContext<'_>,
        src: &[u8],
        range: Range<usize>,
        len: usize,
        dst: &mut [u8],
    ) -> Result<Option<usize>, CodecError> {
        let flaw = self.flaw;
        match flaw {
            RangeFlaw::Never => return Ok(None),
            RangeFlaw::PanicsOnNothing => assert!(!range.is_empty(), "the last byte of nothing"),
            RangeFlaw::RefusesEnd if range.end == len => return Err(CodecError::Other("past the end".into())),
            RangeFlaw::AsksForMemory => {
                if let Some(head) = src.get(1..5) {
                    let asked = u32::from_le_bytes(head.try_into().unwrap());
                    drop(std::hint::black_box(vec![0u8; asked as usize]));
                }
            }
            _ => {}
        }
        let mut whole = vec![0; len];
        if let Err(error) = self.rle.decompress(ctx, src, &mut whole) {
            match flaw {
                RangeFlaw::PanicsOnDamage => panic!("{error}"),
                RangeFlaw::MakesUp => {}
                _ => return Err(error),
            }
        }
        let start = range.start + usize::from(flaw == RangeFlaw::Shifted && range.start > 0 && range.end < len);
        dst.copy_from_slice(&whole[start..][..range.len()]);
        match flaw {
            RangeFlaw::LeavesLast if range.len() > 1 => {
                dst[range.len() - 1] = 0x11;
            }
            RangeFlaw::Boundary if range.contains(&256) && range.start < 256 => dst[256 - range.start] ^= 1,
            _ => {}
        }
        self.stuck = flaw == RangeFlaw::Sticks;
        Ok(Some(dst.len() - usize::from(flaw == RangeFlaw::Short && range.end == len && !dst.is_empty())))
    }
}

const RANGES: CodecTraits = CodecTraits::PLAIN.with_ranges();

#[test]
fn flaws_of_ranges_are_found() {
    let flaws = [
        (RangeFlaw::Shifted, Promise::Ranges),
        (RangeFlaw::Short, Promise::Ranges),
        (RangeFlaw::LeavesLast, Promise::Ranges),
        (RangeFlaw::RefusesEnd, Promise::Ranges),
        (RangeFlaw::PanicsOnDamage, Promise::Damage),
        (RangeFlaw::PanicsOnNothing, Promise::Ranges),
        (RangeFlaw::MakesUp, Promise::Cut),
        (RangeFlaw::Never, Promise::Ranges),
        (RangeFlaw::Sticks, Promise::Calls),
        (RangeFlaw::Boundary, Promise::Ranges),
    ];
    assert_all_found(&flaws, |flaw| check_codec(&with_codec(RANGES, Ranged::new(flaw))).run().unwrap());
    let registry = with_codec(CodecTraits::PLAIN, Ranged::new(RangeFlaw::None));
    assert_broken("not declared", &check_codec(&registry).run().unwrap(), Promise::Ranges);
    // Those that say that they stop early decode nothing else, but that they do.
    let prefixes = CodecTraits::PLAIN.with_prefixes();
    assert_broken(
        "more",
        &check_codec(&with_codec(prefixes, Ranged::new(RangeFlaw::None))).run().unwrap(),
        Promise::Ranges,
    );
    assert_broken(
        "none",
        &check_codec(&with_codec(prefixes, Ranged::new(RangeFlaw::Never))).run().unwrap(),
        Promise::Ranges,
    );
    let registry = with_codec(RANGES, Ranged::new(RangeFlaw::AsksForMemory));
    let check = check_codec(&registry).counting(&HEAP).memory_limit(1 << 29);
    assert_broken("memory", &check.run().unwrap(), Promise::Memory);
}

#[test]
fn correct_ranges_pass() {
    check_codec(&with_codec(RANGES, Ranged::new(RangeFlaw::None))).run().unwrap().assert_passed();
}

#[test]
fn damage_is_shrunk() {
    let registry = with_codec(CodecTraits::PLAIN, Rle::new(Flaw::PanicsRarely));
    let report = check_codec(&registry).run().unwrap();
    let failure = report.failure(Promise::Damage.name()).expect("it is broken");
    // A marker, the length, and a run of nothing.
    let input = failure.lines().find_map(|line| line.trim().strip_prefix("input: ")).expect("an input");
    assert!(input.starts_with("7 bytes: ") && input.contains("shrunk from"), "{report}");
}
