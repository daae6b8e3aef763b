//! By how much floats may change.

use crate::error::TuneError;

/// The largest part of itself by which a float may change.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Tolerance(f64);

impl Tolerance {
    /// # Errors
    /// The part is not between 0 and 1, or the items are no floats of 4 or 8 bytes in the byte order of the filter. Items
    /// without a dtype may be floats.
    pub(crate) fn new(part: f64, typesize: usize, dtype: Option<&str>) -> Result<Self, TuneError> {
        if !(part > 0.0 && part < 1.0) {
            return Err(TuneError::MaxError { found: part.to_string() });
        }
        match (typesize, dtype) {
            (4, None | Some("<f4")) | (8, None | Some("<f8")) => Ok(Self(part)),
            _ => Err(TuneError::NoFloats),
        }
    }

    /// How many bits of the mantissa floats of this size need.
    pub(crate) fn mantissa_bits(self, typesize: usize) -> u8 {
        let most = if typesize == 4 { 23.0 } else { 52.0 };
        // What is cut off is less than the last bit that stays. Lossless: from 1 to 52.
        (-self.0.log2()).ceil().clamp(1.0, most) as u8
    }

    /// Whether no float has changed by more.
    pub(crate) fn allows(self, before: &[u8], after: &[u8], typesize: usize) -> bool {
        let float = |item: &[u8]| match *item {
            [a, b, c, d] => Some(f64::from(f32::from_le_bytes([a, b, c, d]))),
            [a, b, c, d, e, f, g, h] => Some(f64::from_le_bytes([a, b, c, d, e, f, g, h])),
            _ => None,
        };
        before.len() == after.len()
            && before.chunks(typesize).zip(after.chunks(typesize)).all(|(a, b)| match (float(a), float(b)) {
                _ if a == b => true,
                (Some(a), Some(b)) => a.is_nan() && b.is_nan() || (a - b).abs() <= self.0 * a.abs(),
                _ => false,
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_floats() {
        let tolerance = Tolerance::new(0.01, 4, None).expect("floats");
        let bytes = |items: &[f32]| items.iter().flat_map(|item| item.to_le_bytes()).collect::<Vec<_>>();
        let near = |a: &[f32], b: &[f32]| tolerance.allows(&bytes(a), &bytes(b), 4);
        assert!(near(&[1.0, -100.0, 0.0, f32::INFINITY], &[1.005, -99.5, 0.0, f32::INFINITY]));
        assert!(near(&[f32::NAN], &[-f32::NAN]));
        assert!(!near(&[1.0], &[1.02]) && !near(&[0.0], &[1e-30]) && !near(&[f32::NAN], &[f32::INFINITY]));
        assert!(!near(&[1.0, 1.0], &[1.0]));
        // An incomplete item at the end is none that may change.
        assert!(tolerance.allows(&[1, 2], &[1, 2], 4) && !tolerance.allows(&[1, 2], &[1, 3], 4));
    }

    #[test]
    fn only_floats_may_change() {
        assert_eq!(Tolerance::new(0.001, 4, Some("<f4")).map(|tolerance| tolerance.mantissa_bits(4)), Ok(10));
        assert_eq!(Tolerance::new(1e-30, 8, None).map(|tolerance| tolerance.mantissa_bits(8)), Ok(52));
        for (typesize, dtype) in [(4, Some("<i4")), (4, Some(">f4")), (2, None), (1, None), (8, Some("<f4"))] {
            assert_eq!(Tolerance::new(0.1, typesize, dtype), Err(TuneError::NoFloats));
        }
        for part in [0.0, 1.0, -0.5, f64::NAN] {
            assert!(matches!(Tolerance::new(part, 4, None), Err(TuneError::MaxError { .. })));
        }
    }
}
