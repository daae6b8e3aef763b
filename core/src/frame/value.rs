//! Shows the content of a metalayer, msgpack, as text or JSON.
//!
//! Metalayers are opaque to Blosc. By convention they hold msgpack, and python-blosc2 adds a few conventions of its own
//! for what Python has and msgpack lacks: a tuple is an array that starts with `"__tuple__"`, and the extension types
//! 42 to 46 stand for frames, references, complex numbers, sets and arrays.

use std::fmt::{self, Write};

use rmp::Marker;
use thiserror::Error;

/// Values nested deeper than this are not followed.
const MAX_DEPTH: usize = 64;
/// Longer contents are not parsed: that can take fifty times their size in memory, for a result that is too long to
/// read.
const MAX_CONTENT: usize = 16 << 20;
const TUPLE: &str = "__tuple__";
const EXT_COMPLEX: i8 = 44;
const EXT_SET: i8 = 45;

/// A msgpack value.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum MetaValue {
    /// `nil`, Python's `None`.
    Nil,
    /// A truth value.
    Bool(bool),
    /// An integer; all of msgpack's fit.
    Int(i128),
    /// A floating-point number.
    Float(f64),
    /// Text.
    Text(String),
    /// Bytes, or text that is not UTF-8.
    Bytes(Vec<u8>),
    /// A list.
    Array(Vec<MetaValue>),
    /// A tuple, as python-blosc2 writes it.
    Tuple(Vec<MetaValue>),
    /// A mapping, in file order.
    Map(Vec<(MetaValue, MetaValue)>),
    /// A complex number, as python-blosc2 writes it.
    Complex(f64, f64),
    /// A set, as python-blosc2 writes it.
    Set(Vec<MetaValue>),
    /// Any other extension: its type and its bytes.
    Extension(i8, Vec<u8>),
}

/// Why bytes are not a single msgpack value.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ValueError {
    /// The bytes end inside a value.
    #[error("msgpack value ends at offset {offset}, {needed} more bytes are needed")]
    Truncated {
        /// Where the missing bytes should be.
        offset: usize,
        /// How many there should be.
        needed: usize,
    },
    /// A byte does not start a value.
    #[error("byte {found:#04x} at offset {offset} does not start a msgpack value")]
    Marker {
        /// Where it is.
        offset: usize,
        /// What it is.
        found: u8,
    },
    /// Values are nested too deeply.
    #[error("msgpack values are nested more than {max} deep at offset {offset}")]
    Depth {
        /// Where the limit is passed.
        offset: usize,
        /// The limit.
        max: usize,
    },
    /// The content is too long to be shown.
    #[error("a msgpack value of {len} bytes is too long to be shown, the limit is {max}")]
    TooLong {
        /// Bytes there are.
        len: usize,
        /// The limit.
        max: usize,
    },
    /// Bytes follow the value.
    #[error("the msgpack value ends at offset {offset}, but {left} bytes follow")]
    Trailing {
        /// Where it ends.
        offset: usize,
        /// Bytes after it.
        left: usize,
    },
}

impl MetaValue {
    /// Parses the content of a metalayer, which must be one msgpack value and nothing else.
    ///
    /// # Errors
    /// [`ValueError`] if the content is something else. [`MetaValue::read`] never fails.
    pub fn parse(content: &[u8]) -> Result<Self, ValueError> {
        if content.len() > MAX_CONTENT {
            return Err(ValueError::TooLong { len: content.len(), max: MAX_CONTENT });
        }
        let mut parser = Parser { bytes: content, at: 0 };
        let value = parser.value(0)?;
        match content.len() - parser.at {
            0 => Ok(value),
            left => Err(ValueError::Trailing { offset: parser.at, left }),
        }
    }

    /// As [`parse`](Self::parse), and plain bytes when the content is not msgpack.
    pub fn read(content: &[u8]) -> Self {
        Self::parse(content).unwrap_or_else(|_| Self::Bytes(content.to_vec()))
    }

    /// JSON text. What JSON lacks becomes the nearest thing it has: tuples and sets are arrays, bytes are text when
    /// they are printable UTF-8 and else `{"hex": "..."}`, numbers that are not finite are text.
    pub fn to_json(&self) -> String {
        let mut out = String::new();
        // Writing to a string does not fail.
        let _ = Style::Json.write(self, &mut out);
        out
    }
}

/// Readable text in the notation of Python.
impl fmt::Display for MetaValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Style::Python.write(self, f)
    }
}

struct Parser<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Parser<'a> {
    fn take(&mut self, len: usize) -> Result<&'a [u8], ValueError> {
        let rest = &self.bytes[self.at..];
        let taken = rest
            .get(..len)
            .ok_or(ValueError::Truncated { offset: self.bytes.len(), needed: len.saturating_sub(rest.len()) })?;
        self.at += len;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], ValueError> {
        let mut out = [0; N];
        out.copy_from_slice(self.take(N)?);
        Ok(out)
    }

    /// A big-endian length of `N` bytes.
    fn len<const N: usize>(&mut self) -> Result<usize, ValueError> {
        let bytes = self.array::<N>()?;
        let len = bytes.iter().fold(0_u64, |len, &byte| len << 8 | u64::from(byte));
        // On machines where this does not fit, it is also longer than what is there.
        Ok(usize::try_from(len).unwrap_or(usize::MAX))
    }

    fn value(&mut self, depth: usize) -> Result<MetaValue, ValueError> {
        let offset = self.at;
        if depth > MAX_DEPTH {
            return Err(ValueError::Depth { offset, max: MAX_DEPTH });
        }
        let [first] = self.array()?;
        Ok(match Marker::from_u8(first) {
            Marker::Null => MetaValue::Nil,
            Marker::True => MetaValue::Bool(true),
            Marker::False => MetaValue::Bool(false),
            Marker::FixPos(n) => MetaValue::Int(n.into()),
            Marker::FixNeg(n) => MetaValue::Int(n.into()),
            Marker::U8 => MetaValue::Int(u8::from_be_bytes(self.array()?).into()),
            Marker::U16 => MetaValue::Int(u16::from_be_bytes(self.array()?).into()),
            Marker::U32 => MetaValue::Int(u32::from_be_bytes(self.array()?).into()),
            Marker::U64 => MetaValue::Int(u64::from_be_bytes(self.array()?).into()),
            Marker::I8 => MetaValue::Int(i8::from_be_bytes(self.array()?).into()),
            Marker::I16 => MetaValue::Int(i16::from_be_bytes(self.array()?).into()),
            Marker::I32 => MetaValue::Int(i32::from_be_bytes(self.array()?).into()),
            Marker::I64 => MetaValue::Int(i64::from_be_bytes(self.array()?).into()),
            Marker::F32 => MetaValue::Float(f32::from_be_bytes(self.array()?).into()),
            Marker::F64 => MetaValue::Float(f64::from_be_bytes(self.array()?)),
            Marker::FixStr(len) => text(self.take(len.into())?),
            Marker::Str8 => self.len::<1>().and_then(|len| self.take(len)).map(text)?,
            Marker::Str16 => self.len::<2>().and_then(|len| self.take(len)).map(text)?,
            Marker::Str32 => self.len::<4>().and_then(|len| self.take(len)).map(text)?,
            Marker::Bin8 => self.len::<1>().and_then(|len| self.take(len)).map(bytes)?,
            Marker::Bin16 => self.len::<2>().and_then(|len| self.take(len)).map(bytes)?,
            Marker::Bin32 => self.len::<4>().and_then(|len| self.take(len)).map(bytes)?,
            Marker::FixArray(len) => self.list(len.into(), depth)?,
            Marker::Array16 => self.len::<2>().and_then(|len| self.list(len, depth))?,
            Marker::Array32 => self.len::<4>().and_then(|len| self.list(len, depth))?,
            Marker::FixMap(len) => self.map(len.into(), depth)?,
            Marker::Map16 => self.len::<2>().and_then(|len| self.map(len, depth))?,
            Marker::Map32 => self.len::<4>().and_then(|len| self.map(len, depth))?,
            Marker::FixExt1 => self.extension(1, depth)?,
            Marker::FixExt2 => self.extension(2, depth)?,
            Marker::FixExt4 => self.extension(4, depth)?,
            Marker::FixExt8 => self.extension(8, depth)?,
            Marker::FixExt16 => self.extension(16, depth)?,
            Marker::Ext8 => self.len::<1>().and_then(|len| self.extension(len, depth))?,
            Marker::Ext16 => self.len::<2>().and_then(|len| self.extension(len, depth))?,
            Marker::Ext32 => self.len::<4>().and_then(|len| self.extension(len, depth))?,
            Marker::Reserved => return Err(ValueError::Marker { offset, found: first }),
        })
    }

    fn list(&mut self, len: usize, depth: usize) -> Result<MetaValue, ValueError> {
        let mut items = self.items(len, depth)?;
        Ok(match items.first() {
            Some(MetaValue::Text(first)) if first == TUPLE => MetaValue::Tuple(items.split_off(1)),
            _ => MetaValue::Array(items),
        })
    }

    fn items(&mut self, len: usize, depth: usize) -> Result<Vec<MetaValue>, ValueError> {
        // Every item takes a byte, so a length that the bytes cannot hold ends before anything is collected for it.
        let left = self.bytes.len() - self.at;
        if len > left {
            return Err(ValueError::Truncated { offset: self.bytes.len(), needed: len - left });
        }
        (0..len).map(|_| self.value(depth + 1)).collect()
    }

    fn map(&mut self, len: usize, depth: usize) -> Result<MetaValue, ValueError> {
        let items = self.items(len.saturating_mul(2), depth)?;
        let mut entries = Vec::with_capacity(items.len() / 2);
        let mut items = items.into_iter();
        while let (Some(key), Some(value)) = (items.next(), items.next()) {
            entries.push((key, value));
        }
        Ok(MetaValue::Map(entries))
    }

    fn extension(&mut self, len: usize, depth: usize) -> Result<MetaValue, ValueError> {
        let kind = i8::from_be_bytes(self.array()?);
        let content = self.take(len)?;
        let known = match kind {
            EXT_COMPLEX => content.split_at_checked(8).and_then(|(re, im)| {
                let (re, im) = (re.try_into().ok()?, im.try_into().ok()?);
                Some(MetaValue::Complex(f64::from_be_bytes(re), f64::from_be_bytes(im)))
            }),
            EXT_SET => match (Parser { bytes: content, at: 0 }).value(depth + 1) {
                Ok(MetaValue::Array(items)) => Some(MetaValue::Set(items)),
                _ => None,
            },
            _ => None,
        };
        Ok(known.unwrap_or_else(|| MetaValue::Extension(kind, content.to_vec())))
    }
}

fn text(content: &[u8]) -> MetaValue {
    match std::str::from_utf8(content) {
        Ok(text) => MetaValue::Text(text.to_owned()),
        Err(_) => bytes(content),
    }
}

fn bytes(content: &[u8]) -> MetaValue {
    MetaValue::Bytes(content.to_vec())
}

/// The two ways to show a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    Python,
    Json,
}

impl Style {
    fn write(self, value: &MetaValue, out: &mut impl Write) -> fmt::Result {
        let json = self == Self::Json;
        match value {
            MetaValue::Nil => out.write_str(if json { "null" } else { "None" }),
            MetaValue::Bool(true) => out.write_str(if json { "true" } else { "True" }),
            MetaValue::Bool(false) => out.write_str(if json { "false" } else { "False" }),
            MetaValue::Int(n) => write!(out, "{n}"),
            MetaValue::Float(x) => self.float(*x, out),
            MetaValue::Text(text) => self.text(text, out),
            MetaValue::Bytes(bytes) => self.bytes(bytes, out),
            MetaValue::Array(items) => self.list("[", items, "]", out),
            MetaValue::Tuple(items) if json => self.list("[", items, "]", out),
            MetaValue::Tuple(items) => self.list("(", items, if items.len() == 1 { ",)" } else { ")" }, out),
            MetaValue::Set(items) if json => self.list("[", items, "]", out),
            MetaValue::Set(items) if items.is_empty() => out.write_str("set()"),
            MetaValue::Set(items) => self.list("{", items, "}", out),
            MetaValue::Map(entries) => self.map(entries, out),
            MetaValue::Complex(re, im) if json => {
                self.list("[", &[MetaValue::Float(*re), MetaValue::Float(*im)], "]", out)
            }
            MetaValue::Complex(re, im) => write!(out, "({re}{im:+}j)"),
            MetaValue::Extension(kind, bytes) if json => {
                write!(out, "{{\"extension\":{kind},\"hex\":")?;
                hex("\"", bytes, "\"}", out)
            }
            MetaValue::Extension(kind, bytes) => write!(out, "<extension {kind}, {} bytes>", bytes.len()),
        }
    }

    fn float(self, x: f64, out: &mut impl Write) -> fmt::Result {
        // `{:?}` keeps a decimal point in whole numbers.
        match (self, x.is_finite()) {
            (_, true) => write!(out, "{x:?}"),
            (Self::Python, false) => write!(out, "{}", x.to_string().to_lowercase()),
            (Self::Json, false) => write!(out, "\"{x}\""),
        }
    }

    fn list(self, open: &str, items: &[MetaValue], close: &str, out: &mut impl Write) -> fmt::Result {
        out.write_str(open)?;
        for (i, item) in items.iter().enumerate() {
            out.write_str(if i == 0 { "" } else { self.comma() })?;
            self.write(item, out)?;
        }
        out.write_str(close)
    }

    fn map(self, entries: &[(MetaValue, MetaValue)], out: &mut impl Write) -> fmt::Result {
        out.write_char('{')?;
        for (i, (key, value)) in entries.iter().enumerate() {
            out.write_str(if i == 0 { "" } else { self.comma() })?;
            match (self, key) {
                (Self::Python, _) | (_, MetaValue::Text(_)) => self.write(key, out)?,
                // JSON has no other keys than text.
                (Self::Json, _) => self.text(&key.to_string(), out)?,
            }
            out.write_str(if self == Self::Json { ":" } else { ": " })?;
            self.write(value, out)?;
        }
        out.write_char('}')
    }

    const fn comma(self) -> &'static str {
        match self {
            Self::Python => ", ",
            Self::Json => ",",
        }
    }

    fn bytes(self, bytes: &[u8], out: &mut impl Write) -> fmt::Result {
        match (self, std::str::from_utf8(bytes)) {
            (Self::Json, Ok(text)) if !text.chars().any(char::is_control) => self.text(text, out),
            (Self::Json, _) => hex("{\"hex\":\"", bytes, "\"}", out),
            (Self::Python, _) => {
                out.write_str("b\"")?;
                for &byte in bytes {
                    match byte {
                        b'"' | b'\\' => write!(out, "\\{}", char::from(byte))?,
                        0x20..=0x7E => out.write_char(char::from(byte))?,
                        _ => write!(out, "\\x{byte:02x}")?,
                    }
                }
                out.write_char('"')
            }
        }
    }

    /// The escapes of JSON, which Python understands as well. Control characters would garble a terminal.
    fn text(self, text: &str, out: &mut impl Write) -> fmt::Result {
        out.write_char('"')?;
        for c in text.chars() {
            match c {
                '"' | '\\' => write!(out, "\\{c}")?,
                '\n' => out.write_str("\\n")?,
                '\t' => out.write_str("\\t")?,
                // All control characters are in the basic plane.
                c if c.is_control() => write!(out, "\\u{:04x}", u32::from(c))?,
                c => out.write_char(c)?,
            }
        }
        out.write_char('"')
    }
}

fn hex(open: &str, bytes: &[u8], close: &str, out: &mut impl Write) -> fmt::Result {
    out.write_str(open)?;
    for byte in bytes {
        write!(out, "{byte:02x}")?;
    }
    out.write_str(close)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn shown(content: &[u8], python: &str, json: &str) {
        let value = MetaValue::parse(content).unwrap();
        assert_eq!(value.to_string(), python);
        assert_eq!(value.to_json(), json);
    }

    #[test]
    fn what_python_stores() {
        shown(b"\x94\xa9__tuple__\x01\x02\x93\xa9__tuple__\x03\xa1x", "(1, 2, (3, \"x\"))", "[1,2,[3,\"x\"]]");
        shown(b"\x92\xa9__tuple__\x01", "(1,)", "[1]");
        shown(b"\x93\x01\xc0\xc3", "[1, None, True]", "[1,null,true]");
        shown(b"\xc4\x03abc", "b\"abc\"", "\"abc\"");
        shown(b"\xc4\x02\x00\xff", "b\"\\x00\\xff\"", "{\"hex\":\"00ff\"}");
        shown(b"\xa2\xc3\xbc", "\"\u{fc}\"", "\"\u{fc}\"");
        shown(b"\xcf\x80\0\0\0\0\0\0\0", "9223372036854775808", "9223372036854775808");
        shown(b"\xd3\xff\xff\xff\0\0\0\0\0", "-1099511627776", "-1099511627776");
        shown(b"\xcb\x3f\xf8\0\0\0\0\0\0", "1.5", "1.5");
        shown(b"\xcb\x40\0\0\0\0\0\0\0", "2.0", "2.0");
        shown(b"\xcb\x7f\xf8\0\0\0\0\0\0", "nan", "\"NaN\"");
        shown(b"\xcb\xff\xf0\0\0\0\0\0\0", "-inf", "\"-inf\"");
        shown(b"\x82\xa1a\x01\x02\xa1\n", "{\"a\": 1, 2: \"\\n\"}", "{\"a\":1,\"2\":\"\\n\"}");
        shown(b"\xd8\x2c\x3f\xf8\0\0\0\0\0\0\xc0\0\0\0\0\0\0\0", "(1.5-2j)", "[1.5,-2.0]");
        shown(b"\xc7\x03\x2d\x92\x01\x02", "{1, 2}", "[1,2]");
        shown(b"\xd4\x2a\x07", "<extension 42, 1 bytes>", "{\"extension\":42,\"hex\":\"07\"}");
        shown(b"\xa1\x1b", "\"\\u001b\"", "\"\\u001b\"");
    }

    #[test]
    fn what_is_not_msgpack_is_bytes() {
        assert_eq!(MetaValue::parse(b""), Err(ValueError::Truncated { offset: 0, needed: 1 }));
        assert_eq!(MetaValue::parse(b"\xa5hell"), Err(ValueError::Truncated { offset: 5, needed: 1 }));
        assert_eq!(MetaValue::parse(b"\xc1"), Err(ValueError::Marker { offset: 0, found: 0xC1 }));
        assert_eq!(MetaValue::parse(b"\x01\x02"), Err(ValueError::Trailing { offset: 1, left: 1 }));
        assert_eq!(MetaValue::read(b"\x01\x02"), MetaValue::Bytes(vec![1, 2]));
        // Unjustified lengths take no memory.
        for marker in [0xC6, 0xDB, 0xDD, 0xDF, 0xC9] {
            assert!(matches!(MetaValue::parse(&[marker, 255, 255, 255, 255, 0]), Err(ValueError::Truncated { .. })));
        }
        let zeros = vec![0x90; MAX_CONTENT + 1];
        assert!(matches!(MetaValue::parse(&zeros), Err(ValueError::TooLong { .. })));
        let deep = vec![0x91; 1000];
        assert!(matches!(MetaValue::parse(&deep), Err(ValueError::Depth { max: MAX_DEPTH, .. })));
    }

    #[test]
    fn every_first_byte_ends_with_a_result() {
        for first in 0..=255 {
            for len in 0..20 {
                let mut content = vec![first];
                content.resize(1 + len, 0x91);
                let value = MetaValue::read(&content);
                let _ = (value.to_string(), value.to_json());
            }
        }
    }
}
