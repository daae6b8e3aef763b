//! The size of an item from its type description.
//!
//! Source: the array interface protocol of NumPy, `typestr` and `descr`.

use super::NpyError;
use super::literal::Literal;

/// Structured types within structured types; NumPy has no limit, real files one or two levels.
const MAX_DEPTH: usize = 16;

/// Bytes of an item of the type that `descr` describes; at least 1 and no more than fits the header of a frame.
pub(super) fn item_size(descr: &Literal) -> Result<usize, NpyError> {
    let error = |reason| NpyError::Type { descr: descr.to_string(), reason };
    match size(descr, 0).map_err(error)? {
        0 => Err(error("an item has no bytes")),
        size if size > i32::MAX as u64 => Err(error("an item is larger than 2 GiB")),
        size => Ok(size as usize),
    }
}

fn size(descr: &Literal, depth: usize) -> Result<u64, &'static str> {
    match descr {
        Literal::Str(typestr) => scalar(typestr),
        Literal::List(fields) if depth < MAX_DEPTH => fields.iter().try_fold(0u64, |sum, field| {
            let size = field_size(field, depth + 1)?;
            sum.checked_add(size).ok_or("too large")
        }),
        _ => Err("expected a type string or a list of fields"),
    }
}

/// A field: (name, type) or (name, type, shape).
fn field_size(field: &Literal, depth: usize) -> Result<u64, &'static str> {
    let Literal::Tuple(parts) = field else { return Err("a field is not a tuple") };
    let (descr, shape) = match parts.as_slice() {
        [_, descr] => (descr, None),
        [_, descr, shape] => (descr, Some(shape)),
        _ => return Err("a field has neither two nor three parts"),
    };
    let size = size(descr, depth)?;
    let extents = match shape {
        None => &[],
        Some(Literal::Tuple(extents)) => extents.as_slice(),
        Some(extent) => std::slice::from_ref(extent),
    };
    extents.iter().try_fold(size, |size, extent| match extent {
        Literal::Int(extent) => size.checked_mul(*extent).ok_or("too large"),
        _ => Err("the shape of a field is not made of whole numbers"),
    })
}

/// "A string providing the basic type": byte order, kind, size, and for times a unit in brackets.
fn scalar(typestr: &str) -> Result<u64, &'static str> {
    let rest = typestr.strip_prefix(['<', '>', '|', '=']).ok_or("does not start with a byte order")?;
    let mut chars = rest.chars();
    let kind = chars.next().ok_or("has no kind")?;
    let rest = chars.as_str();
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (size, unit) = rest.split_at(digits);
    let size: u64 = size.parse().map_err(|_| "has no size")?;
    let timed = matches!(kind, 'm' | 'M') && unit.starts_with('[') && unit.ends_with(']');
    if !unit.is_empty() && !timed {
        return Err("has something after its size");
    }
    match kind {
        'b' | 'i' | 'u' | 'f' | 'c' | 'm' | 'M' | 'S' | 'a' | 'V' => Ok(size),
        // Counted in characters of UCS-4.
        'U' => size.checked_mul(4).ok_or("too large"),
        'O' => Err("holds Python objects, which are pickled and not data"),
        _ => Err("is of an unknown kind"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::literal::parse;
    use super::*;

    fn size_of(descr: &str) -> Option<usize> {
        item_size(&parse(descr).expect("a literal")).ok()
    }

    #[test]
    fn sizes() {
        for (descr, size) in [
            ("'|u1'", 1),
            ("'|b1'", 1),
            ("'>i2'", 2),
            ("'<f8'", 8),
            ("'<c16'", 16),
            ("'<f16'", 16),
            ("'<M8[ns]'", 8),
            ("'<m8[25us]'", 8),
            ("'|S7'", 7),
            ("'<U3'", 12),
            ("'|V300'", 300),
            ("[('a', '<i4'), ('b', '<f8', (2, 3)), (('title', 'c'), '|u1', 5)]", 57),
            ("[('outer', [('x', '<f4'), ('', '|V4')])]", 8),
        ] {
            assert_eq!(size_of(descr), Some(size), "{descr}");
        }
    }

    #[test]
    fn no_sizes() {
        for descr in [
            "'i2'",
            "'<i'",
            "'<'",
            "''",
            "'|O'",
            "'|O8'",
            "'<i2x'",
            "'<i2[ns]'",
            "'<q8'",
            "'|S0'",
            "[]",
            "'<U4611686018427387904'",
            "'|V2147483648'",
            "3",
            "[('a',)]",
            "['a']",
            "[('a', '<i4', ('x',))]",
            "[('a', '<i4', 18446744073709551615)]",
        ] {
            assert_eq!(size_of(descr), None, "{descr}");
        }
    }
}
