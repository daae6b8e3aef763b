//! The Python literals that a `.npy` header can hold.
//!
//! Source: `numpy.lib.format`: "an ASCII string which contains a Python literal expression of a dictionary".

use std::fmt;

use thiserror::Error;

/// A header that nests deeper than this is not one that NumPy wrote; bounds the recursion.
const MAX_DEPTH: usize = 32;

/// A Python literal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Literal {
    Str(String),
    Int(u64),
    Bool(bool),
    Tuple(Vec<Literal>),
    List(Vec<Literal>),
    Dict(Vec<(Literal, Literal)>),
}

/// Why a text is not a literal.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("expected {expected}")]
pub(crate) struct LiteralError {
    /// Offset in characters from the start of the text.
    pub(super) offset: usize,
    pub(super) expected: &'static str,
}

/// Parses a text that holds one literal and nothing else but white space.
pub(super) fn parse(text: &str) -> Result<Literal, LiteralError> {
    let mut parser = Parser { text, rest: text };
    let literal = parser.literal(0)?;
    parser.skip_space();
    if parser.rest.is_empty() { Ok(literal) } else { Err(parser.expected("the end of the header")) }
}

struct Parser<'a> {
    text: &'a str,
    rest: &'a str,
}

impl<'a> Parser<'a> {
    fn literal(&mut self, depth: usize) -> Result<Literal, LiteralError> {
        if depth > MAX_DEPTH {
            return Err(self.expected("less nesting"));
        }
        self.skip_space();
        match self.rest.bytes().next() {
            Some(b'{') => self.dict(depth),
            Some(b'[') => Ok(Literal::List(self.sequence(depth, '[', ']')?.0)),
            Some(b'(') => self.tuple(depth),
            Some(b'\'' | b'"') => self.string(),
            Some(b'0'..=b'9') => self.int(),
            _ if self.eat("True") => Ok(Literal::Bool(true)),
            _ if self.eat("False") => Ok(Literal::Bool(false)),
            _ => Err(self.expected("a literal")),
        }
    }

    fn dict(&mut self, depth: usize) -> Result<Literal, LiteralError> {
        self.eat("{");
        let mut entries = Vec::new();
        loop {
            self.skip_space();
            if self.eat("}") {
                return Ok(Literal::Dict(entries));
            }
            let key = self.literal(depth + 1)?;
            if entries.iter().any(|(k, _)| *k == key) {
                return Err(self.expected("every key once"));
            }
            self.skip_space();
            if !self.eat(":") {
                return Err(self.expected("`:`"));
            }
            entries.push((key, self.literal(depth + 1)?));
            self.skip_space();
            if !self.eat(",") && !self.rest.starts_with('}') {
                return Err(self.expected("`,` or `}`"));
            }
        }
    }

    /// A parenthesis with one item and no comma is that item, not a tuple.
    fn tuple(&mut self, depth: usize) -> Result<Literal, LiteralError> {
        let (mut items, trailing_comma) = self.sequence(depth, '(', ')')?;
        match items.pop() {
            Some(only) if items.is_empty() && !trailing_comma => Ok(only),
            last => {
                items.extend(last);
                Ok(Literal::Tuple(items))
            }
        }
    }

    /// The items between two brackets, and whether a comma follows the last one.
    fn sequence(&mut self, depth: usize, open: char, close: char) -> Result<(Vec<Literal>, bool), LiteralError> {
        self.rest = self.rest.strip_prefix(open).unwrap_or(self.rest);
        let mut items = Vec::new();
        let mut comma = false;
        loop {
            self.skip_space();
            if let Some(rest) = self.rest.strip_prefix(close) {
                self.rest = rest;
                return Ok((items, comma));
            }
            if !items.is_empty() && !comma {
                return Err(self.expected("`,` or a closing bracket"));
            }
            items.push(self.literal(depth + 1)?);
            self.skip_space();
            comma = self.eat(",");
        }
    }

    /// A string without prefix. Of the escapes only those of quotes and backslash are known: field names are the only
    /// place where others could stand, and their text is not used.
    fn string(&mut self) -> Result<Literal, LiteralError> {
        let mut chars = self.rest.chars();
        let quote = chars.next();
        let mut string = String::new();
        loop {
            match chars.next() {
                None | Some('\n') => return Err(self.expected("a string that ends")),
                c if c == quote => break,
                Some('\\') => match chars.next() {
                    Some(c @ ('\\' | '\'' | '"')) => string.push(c),
                    Some(c) => string.extend(['\\', c]),
                    None => return Err(self.expected("a string that ends")),
                },
                Some(c) => string.push(c),
            }
        }
        self.rest = chars.as_str();
        Ok(Literal::Str(string))
    }

    /// A whole number; Python 2 wrote large ones with an `L`.
    fn int(&mut self) -> Result<Literal, LiteralError> {
        let digits = self.rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, rest) = self.rest.split_at(digits);
        let number = number.parse().map_err(|_| self.expected("a number below 2^64"))?;
        self.rest = rest.strip_prefix('L').unwrap_or(rest);
        Ok(Literal::Int(number))
    }

    fn eat(&mut self, token: &str) -> bool {
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\n', '\r']);
    }

    fn expected(&self, expected: &'static str) -> LiteralError {
        // Characters and not bytes: versions 1 and 2 have one byte per character.
        let offset = self.text.chars().count() - self.rest.chars().count();
        LiteralError { offset, expected }
    }
}

impl fmt::Display for Literal {
    /// As Python would print it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let items = |f: &mut fmt::Formatter<'_>, items: &[Literal]| {
            items.iter().enumerate().try_for_each(|(i, item)| {
                let comma = if i == 0 { "" } else { ", " };
                write!(f, "{comma}{item}")
            })
        };
        match self {
            Self::Str(string) => write!(f, "'{string}'"),
            Self::Int(number) => write!(f, "{number}"),
            Self::Bool(true) => f.write_str("True"),
            Self::Bool(false) => f.write_str("False"),
            Self::List(list) => {
                f.write_str("[")?;
                items(f, list)?;
                f.write_str("]")
            }
            Self::Tuple(tuple) => {
                f.write_str("(")?;
                items(f, tuple)?;
                f.write_str(if tuple.len() == 1 { ",)" } else { ")" })
            }
            Self::Dict(entries) => {
                f.write_str("{")?;
                for (i, (key, value)) in entries.iter().enumerate() {
                    let comma = if i == 0 { "" } else { ", " };
                    write!(f, "{comma}{key}: {value}")?;
                }
                f.write_str("}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_is_parsed() {
        for text in ["{'descr': '<i2', 'fortran_order': False, 'shape': (3,)}", "[('a', '<f8', (2, 3))]", "()", "True"]
        {
            assert_eq!(parse(text).map(|literal| literal.to_string()).as_deref(), Ok(text));
        }
        assert_eq!(parse("(3)"), Ok(Literal::Int(3)));
        assert_eq!(parse("(3L, )"), Ok(Literal::Tuple(vec![Literal::Int(3)])));
        assert_eq!(parse(r"'it\'s'"), Ok(Literal::Str("it's".into())));
    }

    #[test]
    fn what_is_not_a_literal() {
        for text in
            ["", "{", "(1 2)", "'a", "{'a' 1}", "{'a': 1 'b': 2}", "{'a': 1, 'a': 2}", "1 2", "-1", "(,)", "'\\"]
        {
            assert!(parse(text).is_err(), "{text}");
        }
        assert_eq!(parse("{'a' 1}"), Err(LiteralError { offset: 5, expected: "`:`" }));
        assert!(parse(&"[".repeat(100_000)).is_err());
    }
}
