//! NDLZ: lossless compression of two-dimensional blocks of bytes by square cells.
//!
//! Source: C-Blosc2's ndlz plugin. A stream begins with the number of dimensions (one byte, always 2) and the height
//! and width of the block (two 32-bit little-endian numbers). The cells follow row by row, each with a token; cells at
//! the lower and right edge are cut off. Distances are 16-bit little-endian numbers, counted back from the token to
//! bytes of the stream itself, which are literals of earlier cells.
//!
//! | token | what follows | what it means |
//! |---|---|---|
//! | `00` | the cell's bytes | literals |
//! | `40` | one byte | all bytes are this one |
//! | `C0` | a distance | all bytes are found there |
//! | others | one or two distances, the missing rows | some rows are found there, see [`RowTokens`] |

mod decode;
mod encode;

use oxiblosc_core::codec::{Codec, CodecContext, CodecError, CodecTraits};
use oxiblosc_core::{CodecId, register_codec};

use self::encode::Encoder;

register_codec!(builtin CodecId::NDLZ, "ndlz", CodecTraits::PLAIN.for_arrays(), || Box::new(Ndlz::default()));

/// The cell's bytes follow.
const LITERAL: u8 = 0x00;
/// One byte follows: the value of all bytes of the cell.
const SAME: u8 = 0x40;
/// A distance follows, at which all bytes of the cell are found.
const WHOLE: u8 = 0xC0;

/// Bytes before the first token.
const HEADER_LEN: usize = 1 + 4 + 4;

/// The largest side of a cell.
const MAX_SIDE: usize = 8;

/// The codec `ndlz`. The meta byte is the side of a cell, 4 or 8; levels have no effect.
///
/// It works on streams that are a whole two-dimensional block (of a b2nd array) with one byte per item; wider items
/// must be split.
#[derive(Default)]
pub struct Ndlz {
    encoder: Option<Encoder>,
}

impl Clone for Ndlz {
    /// An instance with its own tables, allocated on first use.
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Codec for Ndlz {
    fn compress(&mut self, ctx: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<Option<usize>, CodecError> {
        let side = side(ctx.meta)?;
        let Some(geometry) = ctx.block.nd else {
            return Err(CodecError::Geometry {
                reason: "ndlz needs the shape of an array, but the data is not an array".into(),
            });
        };
        let &[height, width] = geometry.block_shape else {
            let reason = format!("ndlz works on 2 dimensions, not {}", geometry.block_shape.len());
            return Err(CodecError::Geometry { reason });
        };
        let (height, width) = (height as usize, width as usize);
        if height.checked_mul(width) != Some(src.len()) {
            let reason = format!("ndlz takes a block of {height} x {width} bytes, not {} bytes", src.len());
            return Err(CodecError::Geometry { reason });
        }
        Ok(self.encoder.get_or_insert_with(Encoder::new).compress(side, height, width, src, dst))
    }

    fn decompress(&mut self, ctx: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<usize, CodecError> {
        decode::decompress(side(ctx.meta)?, src, dst)
    }
}

fn side(meta: u8) -> Result<usize, CodecError> {
    match meta {
        4 | 8 => Ok(meta.into()),
        _ => Err(CodecError::Meta { meta, expected: "4 or 8, the side of a cell" }),
    }
}

/// The rows of a cell, one bit each, that a token refers to: at each distance, one row after another, the lowest first.
/// The rows in neither set follow as literals, again the lowest first. Only whole cells have such tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct RowTokens {
    /// Rows found at the first distance.
    first: u8,
    /// Rows found at the second distance, which is absent if there are none.
    second: u8,
}

impl RowTokens {
    /// What `token` means in a cell of this side.
    fn of(token: u8, side: usize) -> Option<Self> {
        let one = |first: u8| Some(Self { first, second: 0 });
        if side == 4 {
            match token {
                0xE0..=0xE7 => one(0b1110),
                0xE8..=0xEF => one(0b0111),
                0xF0..=0xF7 => one(0b1011),
                0xF8..=0xFF => one(0b1101),
                0x80 => one(0b1100),
                0x88..=0x9F | 0xB0..=0xBF => {
                    let rows = (token - 0x80) >> 3;
                    one(1 << (rows / 4) | 1 << (rows % 4))
                }
                40..=63 => {
                    let first = 1 | 1 << ((token - 32) >> 3);
                    Some(Self { first, second: !first & 0b1111 })
                }
                _ => None,
            }
        } else {
            let row = token & 7;
            match token >> 3 {
                21 if row <= 5 => one(0b111 << row),
                17 if row <= 6 => one(0b11 << row),
                _ => None,
            }
        }
    }

    /// The rows that follow as literals.
    fn literal(self, side: usize) -> u8 {
        !(self.first | self.second) & (0xFF >> (8 - side))
    }
}

/// The cells of a block, row by row: the position of the first byte, height and width of each.
fn cells(side: usize, height: usize, width: usize) -> impl Iterator<Item = (usize, usize, usize)> {
    (0..height).step_by(side).flat_map(move |y| {
        (0..width).step_by(side).map(move |x| (y * width + x, side.min(height - y), side.min(width - x)))
    })
}

/// The rows in a set, the lowest first.
fn rows(set: u8) -> impl Iterator<Item = usize> {
    (0..8).filter(move |row| set >> row & 1 == 1)
}

#[cfg(test)]
mod tests {
    use oxiblosc_core::filter::BlockContext;
    use oxiblosc_core::nd::Geometry;

    use super::*;
    use crate::codecs::testing::{Random, data};

    fn geometry(height: usize, width: usize) -> Geometry {
        Geometry {
            shape: vec![height as u64, width as u64],
            chunk_shape: vec![height as u32, width as u32],
            block_shape: vec![height as u32, width as u32],
        }
    }

    fn context(geometry: &Geometry, meta: u8) -> CodecContext<'_> {
        let mut block = BlockContext::new(1);
        block.nd = Some(geometry.into());
        let mut ctx = CodecContext::new(block, 5);
        ctx.meta = meta;
        ctx
    }

    /// A picture: smooth, with patterns that repeat along both axes.
    fn picture(height: usize, width: usize) -> Vec<u8> {
        let mut random = Random(7);
        let noise: Vec<u8> = (0..64).map(|_| random.below(256) as u8).collect();
        (0..height * width)
            .map(|i| {
                let (y, x) = (i / width, i % width);
                match (y / 24 + x / 24) % 4 {
                    0 => 200,
                    1 => noise[y % 8 * 8 + x % 8],
                    2 => noise[(y % 5 * 8 + x % 4) % 64],
                    _ => (x / 3 + y / 5) as u8,
                }
            })
            .collect()
    }

    const SHAPES: [(usize, usize); 14] = [
        (1, 1),
        (1, 40),
        (40, 1),
        (3, 3),
        (4, 4),
        (5, 4),
        (4, 5),
        (8, 8),
        (9, 7),
        (31, 33),
        (64, 64),
        (50, 129),
        (257, 63),
        (300, 300),
    ];

    #[test]
    fn row_tokens() {
        // Every token of a side stands for rows of the cell, each at most once.
        for side in [4, 8] {
            let mut known = 0;
            for token in 0..=255 {
                if let Some(RowTokens { first, second }) = RowTokens::of(token, side) {
                    assert!(![LITERAL, SAME, WHOLE].contains(&token));
                    assert_eq!(first & second, 0);
                    assert!(first.count_ones() >= 2 && usize::from(first | second) < 1 << side, "{token:#x}");
                    known += 1;
                }
            }
            assert_eq!(known, if side == 4 { 32 + 1 + 24 + 16 + 24 } else { 6 + 7 }, "side {side}");
        }
        assert_eq!(RowTokens::of(0x88, 4), Some(RowTokens { first: 0b0011, second: 0 }));
        assert_eq!(RowTokens::of(0xB8, 4), Some(RowTokens { first: 0b1010, second: 0 }));
        assert_eq!(RowTokens::of(48, 4), Some(RowTokens { first: 0b0101, second: 0b1010 }));
    }

    #[test]
    fn round_trips() {
        let mut codec = Ndlz::default();
        for (height, width) in SHAPES {
            let geometry = geometry(height, width);
            let len = height * width;
            for (kind, src) in data(len).into_iter().chain([("picture", picture(height, width))]) {
                for meta in [4, 8] {
                    let ctx = context(&geometry, meta);
                    let mut packed = vec![0; len];
                    let Some(written) = codec.compress(&ctx, &src, &mut packed).unwrap() else { continue };
                    let mut back = vec![0; len];
                    assert_eq!(codec.decompress(&ctx, &packed[..written], &mut back).unwrap(), len);
                    assert!(back == src, "{kind} of {height} x {width}, side {meta}");
                }
            }
        }
    }

    #[test]
    fn repetition_is_found() {
        let geometry = geometry(300, 300);
        let src = picture(300, 300);
        for (meta, most) in [(4, 32_000), (8, 41_000)] {
            let mut packed = vec![0; src.len()];
            let written = Ndlz::default().compress(&context(&geometry, meta), &src, &mut packed).unwrap().unwrap();
            assert!(written < most, "{written} bytes with side {meta}");
        }
    }

    #[test]
    fn survives_damage() {
        let mut random = Random(3);
        let mut codec = Ndlz::default();
        for meta in [4, 8] {
            for (height, width) in [(9, 7), (31, 33), (50, 129)] {
                let geometry = geometry(height, width);
                let ctx = context(&geometry, meta);
                let mut packed = vec![0; height * width];
                let src = picture(height, width);
                let Some(written) = codec.compress(&ctx, &src, &mut packed).unwrap() else { continue };
                packed.truncate(written);
                let mut back = vec![0; height * width];
                for end in 0..packed.len() {
                    assert!(codec.decompress(&ctx, &packed[..end], &mut back).is_err(), "cut to {end}");
                }
                for len in [height * width - 1, height * width + 1] {
                    assert!(codec.decompress(&ctx, &packed, &mut vec![0; len]).is_err());
                }
                for _ in 0..2000 {
                    let mut damaged = packed.clone();
                    let at = random.below(damaged.len());
                    damaged[at] ^= 1 << random.below(8);
                    let _ = codec.decompress(&ctx, &damaged, &mut back);
                }
            }
        }
    }

    #[test]
    fn errors() {
        let mut codec = Ndlz::default();
        let square = geometry(4, 4);
        let message = |result: Result<Option<usize>, CodecError>| result.unwrap_err().to_string();
        let mut dst = [0; 64];
        let mut ctx = context(&square, 5);
        assert_eq!(
            message(codec.compress(&ctx, &[0; 16], &mut dst)),
            "codec meta 5 is not valid: 4 or 8, the side of a cell"
        );
        ctx.meta = 4;
        assert!(message(codec.compress(&ctx, &[0; 15], &mut dst)).contains("not 15 bytes"));
        ctx.block.nd = None;
        assert!(message(codec.compress(&ctx, &[0; 16], &mut dst)).contains("shape of an array"));
        let header = [2, 4, 0, 0, 0, 4, 0, 0, 0];
        for (rest, what) in [
            (&[][..], "stream damaged at byte 9: the stream ends before its last cell"),
            (&[0x40], "stream damaged at byte 10: the stream ends in a cell"),
            (&[0xC0, 11, 0], "stream damaged at byte 9: distance is 0, or its bytes are not in the stream"),
            (&[0xC0, 0, 0], "stream damaged at byte 9: distance is 0, or its bytes are not in the stream"),
            (&[0x01], "stream damaged at byte 9: not a token"),
            (&[0x40, 1, 1], "stream damaged at byte 11: the stream continues after its last cell"),
        ] {
            let stream = [&header[..], rest].concat();
            assert_eq!(codec.decompress(&ctx, &stream, &mut [0; 16]).unwrap_err().to_string(), what, "{rest:?}");
        }
    }
}
