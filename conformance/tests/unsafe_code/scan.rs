//! Finding every `unsafe` of a source, inside macros too.
//!
//! The source is split into tokens and no further: the bodies of macros are no items yet, and what they hold counts as much
//! as the rest.

use std::fmt;
use std::iter::Peekable;
use std::str::FromStr;

use proc_macro2::{Delimiter, LexError, TokenStream, TokenTree};

/// What is unsafe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Block,
    Function,
    Impl,
    Trait,
    Attribute,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Block => "block",
            Self::Function => "function",
            Self::Impl => "implementation",
            Self::Trait => "trait",
            Self::Attribute => "attribute",
        })
    }
}

/// An `unsafe`.
#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) kind: Kind,
    /// The item that it is, or that it is in, by the names of the items around.
    pub(crate) item: String,
    /// From 1 on.
    pub(crate) line: usize,
    /// What is said to prove it or, of a function and a trait, what it asks for; empty when nothing is said.
    pub(crate) proof: String,
}

/// What a function of an implementation keeps to.
const OF_TRAIT: &str = "the contract of the trait";

/// Every `unsafe` of a source, in order.
pub(crate) fn scan(text: &str) -> Result<Vec<Site>, LexError> {
    let mut scanner = Scanner { lines: text.lines().collect(), sites: Vec::new() };
    scanner.walk(TokenStream::from_str(text)?, &[], false);
    Ok(scanner.sites)
}

struct Scanner<'a> {
    lines: Vec<&'a str>,
    sites: Vec<Site>,
}

/// An item whose body has not come yet.
struct Pending {
    name: String,
    function: bool,
    of_trait: bool,
}

type Tokens = Peekable<std::vec::IntoIter<TokenTree>>;

impl Scanner<'_> {
    /// Goes through the tokens of an item whose path is `path`.
    fn walk(&mut self, tokens: TokenStream, path: &[String], of_trait: bool) {
        let mut tokens = tokens.into_iter().collect::<Vec<_>>().into_iter().peekable();
        let mut pending: Option<Pending> = None;
        while let Some(token) = tokens.next() {
            match token {
                TokenTree::Ident(word) if word == "unsafe" => {
                    self.found(word.span().start().line, &mut tokens, path, of_trait);
                }
                TokenTree::Ident(word) if word == "fn" => {
                    if let Some(name) = name(&mut tokens) {
                        pending = Some(Pending { name, function: true, of_trait: false });
                    }
                }
                TokenTree::Ident(word) if word == "trait" || word == "mod" => {
                    if let Some(name) = name(&mut tokens) {
                        pending = Some(Pending { name, function: false, of_trait: false });
                    }
                }
                TokenTree::Ident(word) if word == "macro_rules" => {
                    tokens.next();
                    if let Some(name) = name(&mut tokens) {
                        pending = Some(Pending { name: format!("{name}!"), function: false, of_trait: false });
                    }
                }
                // In a signature it is a type.
                TokenTree::Ident(word) if word == "impl" && !pending.as_ref().is_some_and(|p| p.function) => {
                    let (name, of_trait) = implementor(tokens.clone());
                    pending = Some(Pending { name, function: false, of_trait });
                }
                TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => match pending.take() {
                    Some(item) => self.walk(group.stream(), &[path, &[item.name]].concat(), item.of_trait),
                    None => self.walk(group.stream(), path, of_trait),
                },
                TokenTree::Group(group) => self.walk(group.stream(), path, of_trait),
                TokenTree::Punct(punct) if punct.as_char() == ';' => pending = None,
                _ => {}
            }
        }
    }

    /// Records the `unsafe` in `line`, before `tokens`.
    fn found(&mut self, line: usize, tokens: &mut Tokens, path: &[String], of_trait: bool) {
        let item = |name: Option<String>| path.iter().cloned().chain(name).collect::<Vec<_>>().join("::");
        let mut rest = tokens.clone();
        let (kind, item, proof) = match rest.next() {
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                (Kind::Block, item(None), self.comment(line))
            }
            Some(TokenTree::Group(_)) => (Kind::Attribute, item(None), self.comment(line)),
            Some(TokenTree::Ident(word)) if word == "impl" => {
                (Kind::Impl, item(Some(implementor(rest).0)), self.comment(line))
            }
            Some(TokenTree::Ident(word)) if word == "trait" => {
                (Kind::Trait, item(name(&mut rest)), self.documentation(line))
            }
            Some(TokenTree::Ident(word)) => {
                // `unsafe fn` or `unsafe extern "C" fn`; without a name it is a type, or a block of declarations.
                let function =
                    word == "fn" || rest.by_ref().any(|token| matches!(token, TokenTree::Ident(w) if w == "fn"));
                let Some(name) = function.then(|| name(&mut rest)).flatten() else { return };
                let proof = if of_trait { OF_TRAIT.to_owned() } else { self.documentation(line) };
                (Kind::Function, item(Some(name)), proof)
            }
            _ => return,
        };
        self.sites.push(Site { kind, item, line, proof });
    }

    /// The lines above `line`, the nearest first, without those of attributes and without that of a `let` whose value begins
    /// in `line`.
    fn above(&self, line: usize) -> impl Iterator<Item = &str> {
        let lines = self.lines[..line - 1].iter().rev().map(|line| line.trim()).enumerate();
        let lines = lines.filter(|(before, line)| *before > 0 || !(line.starts_with("let ") && line.ends_with('=')));
        lines.map(|(_, line)| line).filter(|line| !line.starts_with("#["))
    }

    /// What follows `SAFETY:` in the comment directly above.
    fn comment(&self, line: usize) -> String {
        let comment = |line: &&str| line.starts_with("//") && !line.starts_with("///");
        let mut lines: Vec<_> = self.above(line).take_while(comment).map(|line| line[2..].trim()).collect();
        lines.reverse();
        let text = lines.join(" ");
        text.split_once("SAFETY:").map_or(String::new(), |(_, proof)| proof.trim().to_owned())
    }

    /// The section `# Safety` of the documentation directly above.
    fn documentation(&self, line: usize) -> String {
        let mut lines: Vec<_> =
            self.above(line).take_while(|line| line.starts_with("///")).map(|line| line[3..].trim()).collect();
        lines.reverse();
        let section = lines.into_iter().skip_while(|line| *line != "# Safety").skip(1);
        section.take_while(|line| !line.starts_with("# ")).collect::<Vec<_>>().join(" ").trim().to_owned()
    }
}

/// The name that comes next, of an item or the variable of a macro.
fn name(tokens: &mut Tokens) -> Option<String> {
    let variable = matches!(tokens.peek(), Some(TokenTree::Punct(punct)) if punct.as_char() == '$');
    if variable {
        tokens.next();
    }
    match tokens.peek() {
        Some(TokenTree::Ident(name)) => Some(format!("{}{name}", if variable { "$" } else { "" })),
        _ => None,
    }
}

/// The name of the type that is implemented for, and whether that is of a trait; `tokens` follow `impl`.
fn implementor(tokens: Tokens) -> (String, bool) {
    let header = tokens.take_while(|token| {
        !matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace)
            && !matches!(token, TokenTree::Ident(word) if word == "where")
    });
    // Names outside of angle brackets: the last one of each path is what counts.
    let (mut depth, mut of_trait, mut name) = (0, false, String::new());
    for token in header {
        match token {
            TokenTree::Punct(punct) if punct.as_char() == '<' => depth += 1,
            TokenTree::Punct(punct) if punct.as_char() == '>' => depth -= 1,
            TokenTree::Punct(punct) if punct.as_char() == '$' && depth == 0 => name = "$".to_owned(),
            TokenTree::Ident(word) if depth == 0 && word == "for" => of_trait = true,
            TokenTree::Ident(word) if depth == 0 => {
                let variable = name == "$";
                name = if variable { format!("${word}") } else { word.to_string() };
            }
            _ => {}
        }
    }
    (name, of_trait)
}
