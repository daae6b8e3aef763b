//! The dictionary in the header of a `.npy` file.
//!
//! Source: `numpy.lib.format`: "an ASCII string which contains a Python literal expression of a dictionary". Only its
//! values are extracted here; their users parse them.

use thiserror::Error;

/// Why a text is not a dictionary.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("expected {expected}")]
pub(crate) struct DictError {
    /// Offset in characters from the start of the text; versions 1 and 2 have one byte per character.
    pub(super) offset: usize,
    pub(super) expected: &'static str,
}

/// The keys of a dictionary with the text of their values. Keys are strings, and there is only white space around the
/// braces.
pub(super) fn entries(text: &str) -> Result<Vec<(&str, &str)>, DictError> {
    let mut scanner = Scanner { text, rest: text };
    let mut entries: Vec<(&str, &str)> = Vec::new();
    scanner.expect('{', "`{`")?;
    while !scanner.eat('}') {
        let key = scanner.key()?;
        if entries.iter().any(|(other, _)| *other == key) {
            return Err(scanner.error("every key once"));
        }
        scanner.expect(':', "`:`")?;
        entries.push((key, scanner.value()?));
        if !scanner.eat(',') && !scanner.rest.starts_with('}') {
            return Err(scanner.error("`,` or `}`"));
        }
    }
    scanner.skip_space();
    if scanner.rest.is_empty() { Ok(entries) } else { Err(scanner.error("the end of the header")) }
}

/// The content of a quoted string; `None` if `text` is anything else. Escapes are left as they are.
pub(super) fn unquote(text: &str) -> Option<&str> {
    let quote = text.chars().next().filter(|c| ['\'', '"'].contains(c))?;
    let inner = text.strip_prefix(quote)?.strip_suffix(quote)?;
    (!inner.contains(quote)).then_some(inner)
}

struct Scanner<'a> {
    text: &'a str,
    rest: &'a str,
}

impl<'a> Scanner<'a> {
    fn key(&mut self) -> Result<&'a str, DictError> {
        self.skip_space();
        let key = self.value()?;
        unquote(key).ok_or_else(|| self.error("a string as key"))
    }

    /// The text up to the `,`, `:` or `}` that ends a value, ignoring those within brackets or strings.
    fn value(&mut self) -> Result<&'a str, DictError> {
        self.skip_space();
        let start = self.rest;
        let mut closing = Vec::new();
        let mut quote = None;
        let mut escaped = false;
        for (at, c) in start.char_indices() {
            if let Some(open) = quote {
                if c == open && !escaped {
                    quote = None;
                }
                escaped = c == '\\' && !escaped;
                continue;
            }
            match c {
                '\'' | '"' => quote = Some(c),
                '(' => closing.push(')'),
                '[' => closing.push(']'),
                '{' => closing.push('}'),
                ',' | ':' | '}' if closing.is_empty() => {
                    self.rest = &start[at..];
                    let value = start[..at].trim_end();
                    return if value.is_empty() { Err(self.error("a value")) } else { Ok(value) };
                }
                ')' | ']' | '}' if closing.pop() != Some(c) => {
                    self.rest = &start[at..];
                    return Err(self.error("brackets that match"));
                }
                _ => {}
            }
        }
        self.rest = "";
        Err(self.error("the end of the dictionary"))
    }

    fn expect(&mut self, c: char, expected: &'static str) -> Result<(), DictError> {
        if self.eat(c) { Ok(()) } else { Err(self.error(expected)) }
    }

    /// Skips white space and then `c`, if it is there.
    fn eat(&mut self, c: char) -> bool {
        self.skip_space();
        let rest = self.rest.strip_prefix(c);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\n', '\r']);
    }

    fn error(&self, expected: &'static str) -> DictError {
        DictError { offset: self.text.chars().count() - self.rest.chars().count(), expected }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_cut_out() {
        let text = " {'descr': [('a,}', '<f8', (2, 3)), (\"it's\", '|u1')], 'shape' : (3,), \"x\":'\\'}' , } \n";
        let found = entries(text).expect("a dictionary");
        assert_eq!(
            found,
            [("descr", "[('a,}', '<f8', (2, 3)), (\"it's\", '|u1')]"), ("shape", "(3,)"), ("x", "'\\'}'")]
        );
        assert_eq!(entries("{}"), Ok(vec![]));
    }

    #[test]
    fn what_is_not_a_dictionary() {
        for text in
            ["", "[]", "{", "{'a'}", "{'a': }", "{'a': 1", "{a: 1}", "{'a': 1 'b': 2}", "{'a': (1]}", "{'a': '1}"]
        {
            assert!(entries(text).is_err(), "{text}");
        }
        assert_eq!(entries("{'a': 1, 'a': 2}").map_err(|e| e.expected), Err("every key once"));
        assert_eq!(entries("{'a' 1}"), Err(DictError { offset: 6, expected: "a string as key" }));
        assert_eq!(entries("{'a': 1} 2"), Err(DictError { offset: 9, expected: "the end of the header" }));
        assert!(entries(&format!("{{'a': {}", "[".repeat(100_000))).is_err());
    }

    #[test]
    fn strings() {
        assert_eq!(unquote("'<i2'"), Some("<i2"));
        assert_eq!(unquote("\"<i2\""), Some("<i2"));
        for text in ["<i2", "'<i2", "'", "", "'a' 'b'", "'a\""] {
            assert_eq!(unquote(text), None, "{text}");
        }
    }
}
