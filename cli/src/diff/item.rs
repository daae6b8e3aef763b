//! What an item is, by its dtype.

use std::fmt;

use serde_json::{Value, json};

/// An item of an array or frame.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Item {
    Bool(bool),
    Integer(i128),
    Float32(f32),
    Float(f64),
    /// Of no type that is known here.
    Bytes(Vec<u8>),
}

impl Item {
    /// The item of this NumPy dtype; without one, or with another than booleans, integers and floats of up to 8 bytes, it
    /// is bytes.
    pub(super) fn read(bytes: &[u8], dtype: Option<&str>) -> Self {
        Self::number(bytes, dtype).unwrap_or_else(|| Self::Bytes(bytes.to_vec()))
    }

    fn number(bytes: &[u8], dtype: Option<&str>) -> Option<Self> {
        let mut letters = dtype?.chars();
        let order = letters.next().filter(|order| "<>|=".contains(*order))?;
        let (kind, size) = (letters.next()?, letters.as_str().parse::<usize>().ok()?);
        if size != bytes.len() || size > 8 {
            return None;
        }
        let mut raw = [0; 8];
        raw[..size].copy_from_slice(bytes);
        if order == '>' {
            raw[..size].reverse();
        }
        let unsigned = u64::from_le_bytes(raw);
        let unused = 64 - 8 * size as u32;
        match (kind, size) {
            ('b', 1) => Some(Self::Bool(unsigned != 0)),
            ('u', 1..) => Some(Self::Integer(unsigned.into())),
            ('i', 1..) => Some(Self::Integer(((unsigned << unused) as i64 >> unused).into())),
            ('f', 2) => Some(Self::Float32(half(unsigned as u16))),
            ('f', 4) => Some(Self::Float32(f32::from_bits(unsigned as u32))),
            ('f', 8) => Some(Self::Float(f64::from_bits(unsigned))),
            _ => None,
        }
    }

    /// How far apart two numbers are; `None` if one of them is none.
    pub(super) fn distance(&self, other: &Self) -> Option<f64> {
        let distance = match (self, other) {
            (Self::Integer(a), Self::Integer(b)) => a.abs_diff(*b) as f64,
            (Self::Float32(a), Self::Float32(b)) => (f64::from(*a) - f64::from(*b)).abs(),
            (Self::Float(a), Self::Float(b)) => (a - b).abs(),
            _ => return None,
        };
        (!distance.is_nan()).then_some(distance)
    }

    /// As JSON, in which what is not finite, and bytes, are text.
    pub(super) fn to_json(&self) -> Value {
        match self {
            Self::Bool(value) => json!(value),
            // All are integers of 64 bits, with or without a sign.
            Self::Integer(value) => match (u64::try_from(*value), i64::try_from(*value)) {
                (Ok(value), _) => json!(value),
                (_, Ok(value)) => json!(value),
                _ => json!(value.to_string()),
            },
            Self::Float32(value) if value.is_finite() => json!(value),
            Self::Float(value) if value.is_finite() => json!(value),
            other => json!(other.to_string()),
        }
    }
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// Bytes shown of an item.
        const MOST: usize = 16;
        match self {
            Self::Bool(value) => value.fmt(f),
            Self::Integer(value) => value.fmt(f),
            // The shortest form that is no other value.
            Self::Float32(value) => fmt::Debug::fmt(value, f),
            Self::Float(value) => fmt::Debug::fmt(value, f),
            Self::Bytes(bytes) => {
                f.write_str("0x")?;
                bytes.iter().take(MOST).try_for_each(|byte| write!(f, "{byte:02x}"))?;
                if bytes.len() > MOST { f.write_str("...") } else { Ok(()) }
            }
        }
    }
}

/// A float of 16 bits: a sign, five bits of exponent and ten of mantissa.
fn half(bits: u16) -> f32 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let (exponent, mantissa) = (i32::from(bits >> 10 & 31), f32::from(bits & 1023));
    sign * match exponent {
        0 => mantissa * 2f32.powi(-24),
        31 if mantissa == 0.0 => f32::INFINITY,
        31 => f32::NAN,
        _ => (1024.0 + mantissa) * 2f32.powi(exponent - 25),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_of_all_types() {
        let read = |bytes: &[u8], dtype| Item::read(bytes, Some(dtype));
        assert_eq!(read(&[1], "|b1"), Item::Bool(true));
        assert_eq!(read(&[0xFF], "|u1"), Item::Integer(255));
        assert_eq!(read(&[0xFF], "|i1"), Item::Integer(-1));
        assert_eq!(read(&[0xFE, 0xFF], "<i2"), Item::Integer(-2));
        assert_eq!(read(&[0xFF, 0xFE], ">i2"), Item::Integer(-2));
        assert_eq!(read(&[0xFF; 8], "<u8"), Item::Integer(u64::MAX.into()));
        assert_eq!(read(&1.5f32.to_be_bytes(), ">f4"), Item::Float32(1.5));
        assert_eq!(read(&0.1f64.to_le_bytes(), "<f8"), Item::Float(0.1));
        for (bits, value) in [(0x3C00, 1.0), (0xC000, -2.0), (0x7BFF, 65504.0), (0x0001, 2f32.powi(-24)), (0x8000, 0.0)]
        {
            assert_eq!(read(&u16::to_le_bytes(bits), "<f2"), Item::Float32(value), "{bits:#x}");
        }
        for dtype in ["<i4", "|V2", "<c2", "[('a', '<i2')]", "", "<f3"] {
            assert_eq!(read(&[1, 2], dtype).to_string(), "0x0102", "{dtype}");
        }
        assert_eq!(Item::read(&[0; 20], None).to_string(), format!("0x{}...", "0".repeat(32)));
    }

    #[test]
    fn distances() {
        assert_eq!(Item::Integer(-3).distance(&Item::Integer(4)), Some(7.0));
        assert_eq!(Item::Float(0.5).distance(&Item::Float(2.0)), Some(1.5));
        assert_eq!(Item::Float(0.5).distance(&Item::Float(f64::NAN)), None);
        assert_eq!(Item::Bytes(vec![1]).distance(&Item::Bytes(vec![2])), None);
    }
}
