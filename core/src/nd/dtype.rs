//! The item size of a NumPy dtype.
//!
//! A dtype is written as NumPy prints it: a name (`<i4`, `|S5`, `<M8[ns]`), a list of fields
//! (`[('a', '<i4'), ('b', '<f8', (3,))]`), a dictionary of fields with their offsets when there is padding, or a pair
//! of a dtype and the shape of a sub-array. All but the names are Python literals.

use std::collections::BTreeSet;

/// The deepest supported nesting of brackets. NumPy itself supports less.
const MAX_DEPTH: usize = 32;

/// Bytes of an item of a NumPy dtype, or `None` if it cannot be told: the text is not a dtype, has no size of its own
/// (`|O`, `|V`), describes an item that is empty or too large to exist, or one that NumPy does not know (`<i3`, two
/// fields of one name).
///
/// ```
/// use oxiblosc_core::nd::item_size;
///
/// assert_eq!(item_size("<U3"), Some(12));
/// assert_eq!(item_size("[('a', '<i4'), ('b', '<f8', (2, 3))]"), Some(52));
/// assert_eq!(item_size("{'names': ['a'], 'formats': ['<i4'], 'offsets': [4], 'itemsize': 20}"), Some(20));
/// assert_eq!(item_size("|O"), None);
/// ```
pub fn item_size(dtype: &str) -> Option<usize> {
    let dtype = dtype.trim();
    let size = if dtype.starts_with(['[', '(', '{']) {
        let mut parser = Parser { rest: dtype };
        let literal = parser.literal(MAX_DEPTH)?;
        if !parser.rest.trim_start().is_empty() {
            return None;
        }
        literal.item_size()?
    } else {
        named(dtype)?
    };
    // Chunks are no larger than this, and so are items.
    (size > 0 && size <= super::MAX_CHUNK_BYTES as usize).then_some(size)
}

/// The size of a dtype that is written as a name.
fn named(name: &str) -> Option<usize> {
    let code = name.strip_prefix(['<', '>', '|', '=']).unwrap_or(name);
    let mut chars = code.chars();
    let kind = chars.next()?;
    let rest = chars.as_str();
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (digits, unit) = rest.split_at(digits);
    if kind == '?' && rest.is_empty() {
        return Some(1);
    }
    // Dates and durations have a unit, `[ns]` or `[25s]`, which does not change their size.
    let unit_is_dated = unit.is_empty() || unit.starts_with('[') && unit.ends_with(']');
    let count = || digits.parse::<usize>().ok();
    match kind {
        'S' | 'a' | 'V' if unit.is_empty() && !digits.is_empty() => count(),
        'b' | 'i' | 'u' | 'f' | 'c' if unit.is_empty() => count().filter(|size| number_sizes(kind).contains(size)),
        // UCS-4.
        'U' if unit.is_empty() => count()?.checked_mul(4),
        'M' | 'm' if unit_is_dated && (digits == "8" || digits.is_empty()) => Some(8),
        _ => scalar_type(name),
    }
}

/// The possible sizes of numbers of a kind. The long double has 12 bytes on some machines and 16 on others.
fn number_sizes(kind: char) -> &'static [usize] {
    match kind {
        'b' => &[1],
        'i' | 'u' => &[1, 2, 4, 8],
        'f' => &[2, 4, 8, 12, 16],
        'c' => &[8, 16, 24, 32],
        _ => &[],
    }
}

/// The names that NumPy gives its scalar types.
fn scalar_type(name: &str) -> Option<usize> {
    Some(match name {
        "bool" | "int8" | "uint8" => 1,
        "int16" | "uint16" | "float16" => 2,
        "int32" | "uint32" | "float32" => 4,
        "int64" | "uint64" | "float64" | "complex64" | "datetime64" | "timedelta64" => 8,
        "float128" | "complex128" => 16,
        "complex256" => 32,
        _ if name.starts_with("datetime64[") || name.starts_with("timedelta64[") => 8,
        _ => return None,
    })
}

/// A Python literal, as far as dtypes need them.
enum Literal {
    Text(String),
    Number(i64),
    List(Vec<Literal>),
    Tuple(Vec<Literal>),
    Dict(Vec<(Literal, Literal)>),
    /// `None`, `True`, `numpy.record` and the like.
    Name,
}

impl Literal {
    /// The item size of the dtype that the literal describes.
    fn item_size(&self) -> Option<usize> {
        match self {
            Self::Text(name) => named(name),
            Self::List(fields) => {
                differ(fields.iter().filter_map(Self::field_name))?;
                fields.iter().try_fold(0, |sum, field| field.field_size()?.checked_add(sum))
            }
            Self::Tuple(parts) => match &parts[..] {
                // A record type: the scalar type, then its fields.
                [Self::Name, dtype] => dtype.item_size(),
                [dtype, shape] => dtype.item_size()?.checked_mul(shape.product()?),
                _ => None,
            },
            Self::Dict(entries) => {
                let get = |key| {
                    let text = |literal: &Self| matches!(literal, Self::Text(text) if text == key);
                    entries.iter().find(|(name, _)| text(name)).map(|(_, value)| value)
                };
                if let Some(Self::Number(size)) = get("itemsize") {
                    return usize::try_from(*size).ok();
                }
                let Self::List(formats) = get("formats")? else { return None };
                if let Some(Self::List(names)) = get("names") {
                    differ(names.iter().filter_map(Self::text))?;
                }
                let offsets = match get("offsets") {
                    Some(Self::List(offsets)) if offsets.len() == formats.len() => Some(offsets),
                    None => None,
                    Some(_) => return None,
                };
                // Without an item size the item ends where its last field does.
                let mut end = 0_usize;
                for (i, format) in formats.iter().enumerate() {
                    let size = format.item_size()?;
                    end = match offsets.map(|offsets| &offsets[i]) {
                        None => end.checked_add(size)?,
                        Some(Self::Number(offset)) => usize::try_from(*offset).ok()?.checked_add(size)?.max(end),
                        Some(_) => return None,
                    };
                }
                Some(end)
            }
            Self::Number(_) | Self::Name => None,
        }
    }

    fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// The name of a field, which may have a title before it.
    fn field_name(&self) -> Option<&str> {
        let Self::Tuple(parts) = self else { return None };
        match parts.first()? {
            Self::Tuple(both) => both.last()?.text(),
            name => name.text(),
        }
    }

    /// The size of a field: a name (or a title and a name), a dtype, and perhaps the shape of a sub-array.
    fn field_size(&self) -> Option<usize> {
        let Self::Tuple(parts) = self else { return None };
        match &parts[..] {
            [Self::Text(_) | Self::Tuple(_), dtype] => dtype.item_size(),
            [Self::Text(_) | Self::Tuple(_), dtype, shape] => dtype.item_size()?.checked_mul(shape.product()?),
            _ => None,
        }
    }

    /// The number of items in a shape, or in a one-dimensional sub-array given by its length.
    fn product(&self) -> Option<usize> {
        match self {
            Self::Number(n) => usize::try_from(*n).ok(),
            Self::Tuple(lens) | Self::List(lens) => lens.iter().try_fold(1, |product: usize, len| match len {
                Self::Number(n) => product.checked_mul(usize::try_from(*n).ok()?),
                _ => None,
            }),
            _ => None,
        }
    }
}

/// Whether all names differ, but for the empty one, which is that of padding.
fn differ<'a>(names: impl Iterator<Item = &'a str>) -> Option<()> {
    let mut known = BTreeSet::new();
    let mut names = names.filter(|name| !name.is_empty());
    names.all(|name| known.insert(name)).then_some(())
}

/// Reads Python literals.
struct Parser<'a> {
    rest: &'a str,
}

impl Parser<'_> {
    /// The next character after white space, if it is `c`.
    fn eat(&mut self, c: char) -> bool {
        self.rest = self.rest.trim_start();
        let rest = self.rest.strip_prefix(c);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn literal(&mut self, depth: usize) -> Option<Literal> {
        let depth = depth.checked_sub(1)?;
        if self.eat('[') {
            return Some(Literal::List(self.sequence(']', depth)?.0));
        }
        if self.eat('(') {
            let (mut items, comma) = self.sequence(')', depth)?;
            // Parentheses around a single value without a comma are only parentheses.
            return Some(if items.len() == 1 && !comma { items.pop()? } else { Literal::Tuple(items) });
        }
        if self.eat('{') {
            return self.dict(depth);
        }
        for quote in ['\'', '"'] {
            if self.eat(quote) {
                return self.text(quote).map(Literal::Text);
            }
        }
        let end = self.rest.find(|c: char| !(c.is_alphanumeric() || "+-_.".contains(c))).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        if word.is_empty() {
            return None;
        }
        self.rest = rest;
        Some(word.parse().map_or(Literal::Name, Literal::Number))
    }

    /// The values before `close`, and whether they end with a comma.
    fn sequence(&mut self, close: char, depth: usize) -> Option<(Vec<Literal>, bool)> {
        let (mut items, mut comma) = (Vec::new(), false);
        while !self.eat(close) {
            if !items.is_empty() && !comma {
                return None;
            }
            items.push(self.literal(depth)?);
            comma = self.eat(',');
        }
        Some((items, comma))
    }

    fn dict(&mut self, depth: usize) -> Option<Literal> {
        let (mut entries, mut comma) = (Vec::new(), true);
        while !self.eat('}') {
            if !comma {
                return None;
            }
            let key = self.literal(depth)?;
            if !self.eat(':') {
                return None;
            }
            entries.push((key, self.literal(depth)?));
            comma = self.eat(',');
        }
        Some(Literal::Dict(entries))
    }

    /// The text up to the closing quote. Escapes matter only in that one may hide a quote: names of fields have no
    /// size.
    fn text(&mut self, quote: char) -> Option<String> {
        let (mut text, mut escaped) = (String::new(), false);
        for (at, c) in self.rest.char_indices() {
            if !escaped && c == quote {
                self.rest = &self.rest[at + c.len_utf8()..];
                return Some(text);
            }
            text.push(c);
            escaped = !escaped && c == '\\';
        }
        None
    }
}
