//! The content of metalayers as JSON, to be looked at.
//!
//! Metalayers hold whatever their owner likes, but msgpack by convention; python-blosc2 writes nothing else.

use rmp::Marker;
use serde_json::{Map, Value, json};

/// Values that nest deeper are shown as bytes.
const MAX_DEPTH: usize = 32;

/// What `bytes` mean: the msgpack value that they are, and nothing else; or else their hexadecimal digits.
pub(crate) fn to_json(bytes: &[u8]) -> Value {
    let mut rest = bytes;
    match value(&mut rest, 0) {
        Some(value) if rest.is_empty() => value,
        _ => json!({ "hex": hex(bytes) }),
    }
}

/// Bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn value(rest: &mut &[u8], depth: usize) -> Option<Value> {
    if depth > MAX_DEPTH {
        return None;
    }
    let marker = Marker::from_u8(take(rest, 1)?[0]);
    Some(match marker {
        Marker::Null => Value::Null,
        Marker::True => true.into(),
        Marker::False => false.into(),
        Marker::FixPos(n) => n.into(),
        Marker::FixNeg(n) => n.into(),
        Marker::U8 => uint(rest, 1)?.into(),
        Marker::U16 => uint(rest, 2)?.into(),
        Marker::U32 => uint(rest, 4)?.into(),
        Marker::U64 => uint(rest, 8)?.into(),
        Marker::I8 => (uint(rest, 1)? as i8).into(),
        Marker::I16 => (uint(rest, 2)? as i16).into(),
        Marker::I32 => (uint(rest, 4)? as i32).into(),
        Marker::I64 => (uint(rest, 8)? as i64).into(),
        Marker::F32 => float(f64::from(f32::from_bits(uint(rest, 4)? as u32))),
        Marker::F64 => float(f64::from_bits(uint(rest, 8)?)),
        Marker::FixStr(len) => text(rest, len.into())?,
        Marker::Str8 => length(rest, 1).and_then(|len| text(rest, len))?,
        Marker::Str16 => length(rest, 2).and_then(|len| text(rest, len))?,
        Marker::Str32 => length(rest, 4).and_then(|len| text(rest, len))?,
        Marker::Bin8 => length(rest, 1).and_then(|len| binary(rest, len))?,
        Marker::Bin16 => length(rest, 2).and_then(|len| binary(rest, len))?,
        Marker::Bin32 => length(rest, 4).and_then(|len| binary(rest, len))?,
        Marker::FixArray(len) => array(rest, len.into(), depth)?,
        Marker::Array16 => length(rest, 2).and_then(|len| array(rest, len, depth))?,
        Marker::Array32 => length(rest, 4).and_then(|len| array(rest, len, depth))?,
        Marker::FixMap(len) => map(rest, len.into(), depth)?,
        Marker::Map16 => length(rest, 2).and_then(|len| map(rest, len, depth))?,
        Marker::Map32 => length(rest, 4).and_then(|len| map(rest, len, depth))?,
        Marker::FixExt1 => extension(rest, 1)?,
        Marker::FixExt2 => extension(rest, 2)?,
        Marker::FixExt4 => extension(rest, 4)?,
        Marker::FixExt8 => extension(rest, 8)?,
        Marker::FixExt16 => extension(rest, 16)?,
        Marker::Ext8 => length(rest, 1).and_then(|len| extension(rest, len))?,
        Marker::Ext16 => length(rest, 2).and_then(|len| extension(rest, len))?,
        Marker::Ext32 => length(rest, 4).and_then(|len| extension(rest, len))?,
        Marker::Reserved => return None,
    })
}

fn take<'a>(rest: &mut &'a [u8], len: usize) -> Option<&'a [u8]> {
    let (taken, left) = rest.split_at_checked(len)?;
    *rest = left;
    Some(taken)
}

/// A big-endian number of `len` bytes, at most 8.
fn uint(rest: &mut &[u8], len: usize) -> Option<u64> {
    Some(take(rest, len)?.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

fn length(rest: &mut &[u8], len: usize) -> Option<usize> {
    uint(rest, len).and_then(|length| usize::try_from(length).ok())
}

/// JSON has neither infinities nor NaN; they are shown by name.
fn float(number: f64) -> Value {
    serde_json::Number::from_f64(number).map_or_else(|| number.to_string().into(), Value::Number)
}

fn text(rest: &mut &[u8], len: usize) -> Option<Value> {
    std::str::from_utf8(take(rest, len)?).ok().map(Value::from)
}

/// Python writes `bytes` this way, and many of them are text.
fn binary(rest: &mut &[u8], len: usize) -> Option<Value> {
    let bytes = take(rest, len)?;
    Some(match std::str::from_utf8(bytes) {
        Ok(text) if !text.chars().any(char::is_control) => text.into(),
        _ => json!({ "hex": hex(bytes) }),
    })
}

/// Every item takes at least a byte, so that a damaged length ends with the bytes.
fn array(rest: &mut &[u8], len: usize, depth: usize) -> Option<Value> {
    (0..len).map(|_| value(rest, depth + 1)).collect::<Option<Vec<_>>>().map(Value::Array)
}

fn map(rest: &mut &[u8], len: usize, depth: usize) -> Option<Value> {
    let mut map = Map::new();
    for _ in 0..len {
        let key = match value(rest, depth + 1)? {
            Value::String(key) => key,
            key => key.to_string(),
        };
        map.insert(key, value(rest, depth + 1)?);
    }
    Some(Value::Object(map))
}

fn extension(rest: &mut &[u8], len: usize) -> Option<Value> {
    let kind = uint(rest, 1)? as i8;
    Some(json!({ "extension": kind, "hex": hex(take(rest, len)?) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values() {
        for (bytes, expected) in [
            (b"\x07".as_slice(), json!(7)),
            (b"\xff", json!(-1)),
            (b"\xcd\x01\x00", json!(256)),
            (b"\xd3\xff\xff\xff\xff\xff\xff\xff\xfe", json!(-2)),
            (b"\xcb\x3f\xf8\0\0\0\0\0\0", json!(1.5)),
            (b"\xca\x7f\x80\0\0", json!("inf")),
            (b"\xa3abc", json!("abc")),
            (b"\xc4\x03abc", json!("abc")),
            (b"\xc4\x02\x00\xff", json!({ "hex": "00ff" })),
            (b"\x92\xc3\xc0", json!([true, null])),
            (b"\x82\xa1a\x01\x02\x90", json!({ "a": 1, "2": [] })),
            (b"\xd4\x05\xaa", json!({ "extension": 5, "hex": "aa" })),
        ] {
            assert_eq!(to_json(bytes), expected, "{bytes:?}");
        }
    }

    #[test]
    fn what_is_not_msgpack_is_shown_as_it_is() {
        for bytes in
            [b"".as_slice(), b"\x07\x07", b"\xc1", b"\xa3ab", b"\xdd\xff\xff\xff\xff", b"\xdf\xff\xff\xff\xff\x01"]
        {
            assert_eq!(to_json(bytes), json!({ "hex": hex(bytes) }), "{bytes:?}");
        }
        let deep = [0x91; 1000];
        assert_eq!(to_json(&deep), json!({ "hex": hex(&deep) }));
    }
}
