//! Shapes and dtypes on the command line.

use std::str::FromStr;

use oxiblosc::nd::item_size;

/// Whether the length of an array along its first axis is known before its data are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FirstAxis {
    Known,
    /// Unknown: the first length of the shape is only a placeholder.
    AsTheyCome,
}

/// The shape of an array, or of its rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) lens: Vec<u64>,
    pub(crate) rows: FirstAxis,
}

impl Shape {
    /// A shape that is known.
    pub(crate) fn known(lens: Vec<u64>) -> Self {
        Self { lens, rows: FirstAxis::Known }
    }

    /// One dimension, as long as the data.
    pub(crate) fn line() -> Self {
        Self { lens: vec![0], rows: FirstAxis::AsTheyCome }
    }
}

impl FromStr for Shape {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let rest = text.trim().strip_prefix("-1");
        let (text, rows) = match rest.map(str::trim_start) {
            Some("") => return Ok(Self::line()),
            Some(rest) => (rest.strip_prefix(',').ok_or("expected a comma after -1")?, FirstAxis::AsTheyCome),
            None => (text, FirstAxis::Known),
        };
        let mut lens: Vec<u64> = lengths(text)?;
        if rows == FirstAxis::AsTheyCome {
            lens.insert(0, 0);
        }
        Ok(Self { lens, rows })
    }
}

/// Lengths along the axes of a chunk or block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Lengths(pub(crate) Vec<u32>);

impl FromStr for Lengths {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        lengths(text).map(Self)
    }
}

/// Numbers separated by commas, with an optional trailing one; empty for an array of no dimensions.
fn lengths<N: FromStr<Err: std::fmt::Display>>(text: &str) -> Result<Vec<N>, String> {
    let text = text.trim();
    let text = text.strip_suffix(',').unwrap_or(text);
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let number = |part: &str| part.trim().parse().map_err(|e| format!("{:?}: {e}", part.trim()));
    text.split(',').map(number).collect()
}

/// A dtype in the notation of NumPy, with its byte order: without one it is little-endian. Everything else stays as
/// written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Dtype(pub(crate) String);

/// NumPy's names of types, and what it writes to files for them.
const NAMES: [(&str, &str); 16] = [
    ("bool", "|b1"),
    ("int8", "|i1"),
    ("uint8", "|u1"),
    ("int16", "<i2"),
    ("uint16", "<u2"),
    ("int32", "<i4"),
    ("uint32", "<u4"),
    ("int64", "<i8"),
    ("uint64", "<u8"),
    ("float16", "<f2"),
    ("float32", "<f4"),
    ("float64", "<f8"),
    ("float128", "<f16"),
    ("complex64", "<c8"),
    ("complex128", "<c16"),
    ("complex256", "<c32"),
];

impl FromStr for Dtype {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let named = NAMES.iter().find(|(name, _)| *name == text).map(|(_, dtype)| (*dtype).to_owned());
        let dated = [("datetime64", "<M8"), ("timedelta64", "<m8")]
            .iter()
            .find_map(|(name, code)| Some(format!("{code}{}", text.strip_prefix(name)?)));
        let dtype = match (named.or(dated), text.chars().next()) {
            (Some(dtype), _) => dtype,
            (None, Some('?')) => "|b1".into(),
            (None, Some('=')) => format!("<{}", &text[1..]),
            (None, Some('b' | 'S' | 'V')) => format!("|{text}"),
            (None, Some('i' | 'u')) if &text[1..] == "1" => format!("|{text}"),
            (None, Some(c)) if c.is_ascii_alphabetic() => format!("<{text}"),
            (None, _) => text.to_owned(),
        };
        match item_size(&dtype) {
            Some(_) => Ok(Self(dtype)),
            None => {
                let known =
                    "b1, i1 to i8, u1 to u8, f2 to f16, c8 to c32, M8 and m8 with a unit, S, U and V of any length";
                let fields = "lists of fields of different names as in [('a', '<i4'), ('b', '<f8')]";
                Err(format!("not a NumPy dtype of a known size; those are {known}, and {fields}"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes() {
        let shape = |text: &str| text.parse::<Shape>();
        assert_eq!(shape("2,3,4"), Ok(Shape::known(vec![2, 3, 4])));
        assert_eq!(shape(" 7 , "), Ok(Shape::known(vec![7])));
        assert_eq!(shape(""), Ok(Shape::known(vec![])));
        assert_eq!(shape("0,5"), Ok(Shape::known(vec![0, 5])));
        assert_eq!(shape("-1"), Ok(Shape::line()));
        assert_eq!(shape("-1, 3"), Ok(Shape { lens: vec![0, 3], rows: FirstAxis::AsTheyCome }));
        for bad in ["a", "2,,3", "2,-1", "-2", "-13", "1.5", "99999999999999999999"] {
            assert!(shape(bad).is_err(), "{bad}");
        }
        assert_eq!("4,5".parse(), Ok(Lengths(vec![4, 5])));
        assert!("4,-5".parse::<Lengths>().is_err());
    }

    #[test]
    fn dtypes() {
        for (text, expected) in [
            ("f4", "<f4"),
            ("float32", "<f4"),
            (">i8", ">i8"),
            ("=i8", "<i8"),
            ("u1", "|u1"),
            ("uint8", "|u1"),
            ("?", "|b1"),
            ("S5", "|S5"),
            ("U5", "<U5"),
            ("V3", "|V3"),
            ("datetime64[ns]", "<M8[ns]"),
            ("M8[s]", "<M8[s]"),
            ("[('a', '<i4'), ('b', '<f8', (2,))]", "[('a', '<i4'), ('b', '<f8', (2,))]"),
        ] {
            assert_eq!(text.parse(), Ok(Dtype(expected.into())), "{text}");
        }
        for bad in ["", "O", "|O", "float", "f", "[", "5", "V0", "\u{fc}4", "i3", "f5", "[('a', 'i4'), ('a', 'i4')]"] {
            assert!(bad.parse::<Dtype>().is_err(), "{bad}");
        }
    }
}
