//! ZFP: lossy compression of blocks of floating-point arrays, in three modes.
//!
//! Source: C-Blosc2's zfp plugin. The payload is a zfp stream without zfp's header, of a field with the shape of the
//! block whose fastest axis is the last one. Its parameters follow from the `compcode_meta` byte, the type and the
//! number of dimensions.

use oxiblosc_core::codec::{Codec, CodecContext, CodecError, CodecTraits};
use oxiblosc_core::{CodecId, register_codec};
use zfp_rs::{
    ZfpBitStream, ZfpCompressionError, ZfpConfig, ZfpDimensionality, ZfpField, ZfpFieldMut, ZfpScalar, ZfpScalarType,
    ZfpStreamAlignment,
};

register_codec!(builtin CodecId::ZFP_ACCURACY, "zfp_acc", CodecTraits::PLAIN.lossy().for_arrays(), || Box::new(Zfp::new(ZfpMode::Accuracy)));
register_codec!(builtin CodecId::ZFP_PRECISION, "zfp_prec", CodecTraits::PLAIN.lossy().for_arrays(), || Box::new(Zfp::new(ZfpMode::Precision)));
register_codec!(builtin CodecId::ZFP_RATE, "zfp_rate", CodecTraits::PLAIN.lossy().for_arrays(), || Box::new(Zfp::new(ZfpMode::Rate)));

/// zfp encodes cells of 4 values along each axis; C-Blosc2 refuses blocks shorter than one.
const CELL_SIDE: u32 = 4;

/// zfp writes words of this many bytes.
const WORD: usize = 8;

/// What the meta byte limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ZfpMode {
    /// The absolute error, to 10 to the power of the meta byte (signed).
    Accuracy,
    /// The number of bit planes, to the meta byte and 5, 7, 9 or 11 more for 1, 2, 3 or 4 dimensions.
    Precision,
    /// The number of bits, to the meta byte in percent of the uncompressed size.
    Rate,
}

/// The codecs `zfp_acc`, `zfp_prec` and `zfp_rate`.
///
/// They work on blocks of b2nd arrays of 1 to 4 dimensions with 4-byte (single precision) or 8-byte (double precision)
/// items, without filters that move bytes and without splitting. Levels have no effect.
#[derive(Debug, Clone)]
pub struct Zfp {
    mode: ZfpMode,
}

impl Zfp {
    /// The codec with this mode.
    pub const fn new(mode: ZfpMode) -> Self {
        Self { mode }
    }

    fn config(&self, meta: u8, layout: &BlockShape) -> Result<ZfpConfig, CodecError> {
        match self.mode {
            ZfpMode::Accuracy => Ok(ZfpConfig::fixed_accuracy(10f64.powi(i32::from(meta as i8)))),
            ZfpMode::Precision => {
                // Cells of more dimensions need more planes for the same precision; zfp itself stops at 64.
                let more = [5, 7, 9, 11][layout.ndim - 1];
                Ok(ZfpConfig::fixed_precision(u32::from(meta) + more))
            }
            ZfpMode::Rate => {
                let rate = f64::from(meta) / 100.0 * (layout.scalar_size * 8) as f64;
                let (scalar, dimensionality) = (layout.scalar_type(), layout.dimensionality());
                ZfpConfig::fixed_rate(rate, scalar, dimensionality, ZfpStreamAlignment::Unaligned)
                    .map_err(|_| CodecError::Meta { meta, expected: "a rate in percent that zfp can reach" })
            }
        }
    }
}

impl Codec for Zfp {
    fn compress(&mut self, ctx: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<Option<usize>, CodecError> {
        let layout = BlockShape::of(ctx, src.len())?;
        let config = self.config(ctx.meta, &layout)?;
        match layout.scalar_size {
            4 => compress::<f32, 4>(&config, &layout, src, dst, f32::from_le_bytes),
            _ => compress::<f64, 8>(&config, &layout, src, dst, f64::from_le_bytes),
        }
    }

    fn decompress(&mut self, ctx: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<usize, CodecError> {
        let layout = BlockShape::of(ctx, dst.len())?;
        let config = self.config(ctx.meta, &layout)?;
        match layout.scalar_size {
            4 => decompress::<f32, 4>(&config, &layout, src, dst, f32::to_le_bytes),
            _ => decompress::<f64, 8>(&config, &layout, src, dst, f64::to_le_bytes),
        }
    }
}

/// A block as zfp sees it.
struct BlockShape {
    /// Extents, the fastest axis first; 0 for axes that are not there.
    dims: [usize; 4],
    ndim: usize,
    /// 4 or 8.
    scalar_size: usize,
}

impl BlockShape {
    fn of(ctx: &CodecContext<'_>, len: usize) -> Result<Self, CodecError> {
        let refuse = |reason: String| Err(CodecError::Geometry { reason });
        let Some(geometry) = ctx.block.nd else {
            return refuse("zfp needs the shape of an array, but the data is not an array".into());
        };
        let shape = &geometry.block_shape;
        let scalar_size = ctx.block.typesize;
        if !matches!(shape.len(), 1..=4) {
            return refuse(format!("zfp works on 1 to 4 dimensions, not {}", shape.len()));
        }
        if !matches!(scalar_size, 4 | 8) {
            return refuse(format!("zfp works on items of 4 or 8 bytes, not {scalar_size}"));
        }
        if shape.iter().any(|&extent| extent < CELL_SIDE) {
            return refuse(format!("zfp works on blocks of at least {CELL_SIDE} items along each axis, not {shape:?}"));
        }
        let bytes = shape.iter().try_fold(scalar_size, |product, &extent| product.checked_mul(extent as usize));
        if bytes != Some(len) {
            return refuse(format!(
                "a block of shape {shape:?} does not have {len} bytes; zfp cannot encode parts of blocks"
            ));
        }
        let mut dims = [0; 4];
        dims.iter_mut().zip(shape.iter().rev()).for_each(|(dim, &extent)| *dim = extent as usize);
        Ok(Self { dims, ndim: shape.len(), scalar_size })
    }

    fn scalar_type(&self) -> ZfpScalarType {
        if self.scalar_size == 4 { ZfpScalarType::F32 } else { ZfpScalarType::F64 }
    }

    fn dimensionality(&self) -> ZfpDimensionality {
        match self.ndim {
            1 => ZfpDimensionality::D1,
            2 => ZfpDimensionality::D2,
            3 => ZfpDimensionality::D3,
            _ => ZfpDimensionality::D4,
        }
    }
}

fn library(error: impl std::fmt::Display) -> CodecError {
    CodecError::Library { library: "zfp", message: error.to_string() }
}

fn compress<T: ZfpScalar, const N: usize>(
    config: &ZfpConfig,
    layout: &BlockShape,
    src: &[u8],
    dst: &mut [u8],
    read: fn([u8; N]) -> T,
) -> Result<Option<usize>, CodecError> {
    let (items, _) = src.as_chunks::<N>();
    let values: Vec<T> = items.iter().map(|&item| read(item)).collect();
    let field = ZfpField::new(&values, layout.dims).map_err(library)?;
    // zfp need not write what does not fit the destination: it returns the length that it would have had.
    let mut stream = ZfpBitStream::new(dst.len()).map_err(library)?;
    let len = match stream.compress(config, &field) {
        Ok(len) => len,
        Err(ZfpCompressionError::BufferTooSmall { .. }) => return Ok(None),
        Err(error) => return Err(library(error)),
    };
    // zfp writes words of 8 bytes, so the stream may be longer than a destination that is not a multiple of that.
    let Some(room) = dst.get_mut(..len) else { return Ok(None) };
    room.copy_from_slice(&stream.as_bytes()[..len]);
    Ok(Some(len))
}

fn decompress<T: ZfpScalar + Default, const N: usize>(
    config: &ZfpConfig,
    layout: &BlockShape,
    src: &[u8],
    dst: &mut [u8],
    write: fn(T) -> [u8; N],
) -> Result<usize, CodecError> {
    // Streams are whole words. A part of one is what is left of a stream that was cut, and would be filled up with zeros.
    if !src.len().is_multiple_of(WORD) {
        return Err(CodecError::Corrupt { offset: src.len(), reason: "the zfp stream ends within a word" });
    }
    let mut stream = ZfpBitStream::from_bytes(src).map_err(library)?;
    let mut values = vec![T::default(); dst.len() / N];
    let mut field = ZfpFieldMut::new(&mut values, layout.dims).map_err(library)?;
    stream
        .decompress(config, &mut field)
        .map_err(|_| CodecError::Corrupt { offset: src.len(), reason: "the zfp stream ends too early" })?;
    let (items, _) = dst.as_chunks_mut::<N>();
    items.iter_mut().zip(values).for_each(|(item, value)| *item = write(value));
    Ok(dst.len())
}

#[cfg(test)]
mod tests {
    use oxiblosc_core::filter::BlockContext;
    use oxiblosc_core::nd::Geometry;

    use super::*;
    use crate::codecs::testing::Random;

    const SHAPES: [&[u32]; 8] = [&[4], &[5], &[1000], &[4, 4], &[9, 30], &[6, 7, 8], &[4, 5, 6, 7], &[33, 4, 5, 4]];

    fn geometry(shape: &[u32]) -> Geometry {
        let array = shape.iter().map(|&extent| extent.into()).collect();
        Geometry { shape: array, chunk_shape: shape.to_vec(), block_shape: shape.to_vec() }
    }

    fn context(geometry: &Geometry, typesize: usize, meta: u8) -> CodecContext<'_> {
        let mut block = BlockContext::new(typesize);
        block.nd = Some(geometry.into());
        let mut ctx = CodecContext::new(block, 5);
        ctx.meta = meta;
        ctx
    }

    fn waves(len: usize) -> impl Iterator<Item = f64> {
        (0..len).map(|i| (i as f64 / 7.0).sin() * 100.0)
    }

    /// Compresses and decompresses `src`; the length of the stream and what came back.
    fn round_trip(mode: ZfpMode, ctx: &CodecContext<'_>, src: &[u8]) -> Option<(usize, Vec<u8>)> {
        let mut codec = Zfp::new(mode);
        let mut packed = vec![0; src.len()];
        let written = codec.compress(ctx, src, &mut packed).unwrap()?;
        let mut back = vec![0xEE; src.len()];
        assert_eq!(codec.decompress(ctx, &packed[..written], &mut back).unwrap(), src.len());
        Some((written, back))
    }

    #[test]
    fn accuracy_bounds_the_error() {
        for shape in SHAPES {
            let geometry = geometry(shape);
            let len = shape.iter().product::<u32>() as usize;
            for exponent in [2i8, 0, -1, -3] {
                let tolerance = 10f64.powi(exponent.into());
                let src: Vec<u8> = waves(len).flat_map(f64::to_le_bytes).collect();
                let ctx = context(&geometry, 8, exponent as u8);
                let Some((_, back)) = round_trip(ZfpMode::Accuracy, &ctx, &src) else { continue };
                for (value, back) in waves(len).zip(back.as_chunks().0) {
                    let error = (value - f64::from_le_bytes(*back)).abs();
                    assert!(error <= tolerance, "{shape:?}: off by {error}, tolerance {tolerance}");
                }
                let src: Vec<u8> = waves(len).flat_map(|value| (value as f32).to_le_bytes()).collect();
                let ctx = context(&geometry, 4, exponent as u8);
                let Some((_, back)) = round_trip(ZfpMode::Accuracy, &ctx, &src) else { continue };
                for (value, back) in waves(len).zip(back.as_chunks().0) {
                    let error = (value as f32 - f32::from_le_bytes(*back)).abs();
                    assert!(f64::from(error) <= tolerance, "{shape:?}: off by {error}, tolerance {tolerance}");
                }
            }
        }
    }

    #[test]
    fn rate_bounds_the_size() {
        for shape in SHAPES {
            let geometry = geometry(shape);
            let cells: usize = shape.iter().map(|extent| extent.div_ceil(CELL_SIDE) as usize).product();
            let src: Vec<u8> = waves(shape.iter().product::<u32>() as usize).flat_map(f64::to_le_bytes).collect();
            for percent in [20, 35, 50] {
                let ctx = context(&geometry, 8, percent);
                let cell_bits = 4usize.pow(shape.len() as u32) * 64 * usize::from(percent) / 100;
                // Whole words of 8 bytes.
                let expected = (cells * (cell_bits + 1)).div_ceil(64) * 8;
                let Some((written, _)) = round_trip(ZfpMode::Rate, &ctx, &src) else { continue };
                assert!(written <= expected, "{shape:?} at {percent} %: {written} bytes, expected {expected}");
            }
        }
    }

    #[test]
    fn more_planes_more_precision() {
        let geometry = geometry(&[64, 64]);
        let src: Vec<u8> = waves(64 * 64).flat_map(f64::to_le_bytes).collect();
        let mut before = usize::MAX;
        for meta in [40, 20, 10, 1] {
            let (written, back) = round_trip(ZfpMode::Precision, &context(&geometry, 8, meta), &src).expect("it fits");
            assert!(written < before);
            before = written;
            for (value, back) in waves(64 * 64).zip(back.as_chunks().0) {
                assert!((value - f64::from_le_bytes(*back)).abs() <= 200.0 * 0.5f64.powi(meta.into()));
            }
        }
    }

    #[test]
    fn errors() {
        let message = |shape: &[u32], typesize, len: usize| {
            let geometry = geometry(shape);
            let ctx = context(&geometry, typesize, 3);
            Zfp::new(ZfpMode::Precision).compress(&ctx, &vec![0; len], &mut [0; 64]).unwrap_err().to_string()
        };
        assert!(message(&[4; 5], 4, 4096).contains("1 to 4 dimensions, not 5"));
        assert!(message(&[4, 4], 2, 32).contains("items of 4 or 8 bytes, not 2"));
        assert!(message(&[3, 8], 4, 96).contains("at least 4 items along each axis, not [3, 8]"));
        assert!(message(&[4, 4], 4, 60).contains("does not have 60 bytes"));
        assert!(message(&[u32::MAX; 4], 4, 60).contains("does not have 60 bytes"));
        let ctx = CodecContext::new(BlockContext::new(4), 5);
        let error = Zfp::new(ZfpMode::Rate).compress(&ctx, &[0; 64], &mut [0; 64]).unwrap_err().to_string();
        assert!(error.contains("needs the shape of an array"));
    }

    #[test]
    fn survives_damage() {
        let mut random = Random(11);
        for shape in SHAPES {
            let geometry = geometry(shape);
            let src: Vec<u8> = waves(shape.iter().product::<u32>() as usize).flat_map(f64::to_le_bytes).collect();
            for (mode, meta) in [(ZfpMode::Accuracy, 0), (ZfpMode::Precision, 20), (ZfpMode::Rate, 40)] {
                let ctx = context(&geometry, 8, meta);
                let mut codec = Zfp::new(mode);
                let mut packed = vec![0; src.len()];
                let Some(written) = codec.compress(&ctx, &src, &mut packed).unwrap() else { continue };
                packed.truncate(written);
                let mut back = vec![0; src.len()];
                assert!(codec.decompress(&ctx, &[], &mut back).is_err(), "{mode:?} {shape:?}");
                for _ in 0..300 {
                    let mut damaged = packed.clone();
                    damaged.truncate(1 + random.below(written));
                    let at = random.below(damaged.len());
                    damaged[at] ^= 1 << random.below(8);
                    let _ = codec.decompress(&ctx, &damaged, &mut back);
                }
            }
        }
    }
}
