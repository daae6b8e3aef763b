//! A drawing on a terminal, or in a file of text.

use std::fmt::Write;

use super::mark::Mark;
use super::{Panel, Subject, panels};

/// How a drawing appears.
#[derive(Debug, Clone, Copy)]
pub(in crate::info) struct Style {
    /// Columns of the terminal.
    pub(in crate::info) width: usize,
    /// Whether letters have colours.
    pub(in crate::info) colour: bool,
}

/// The drawing in lines, each at most as wide as the style says.
pub(in crate::info) fn text(subject: &Subject, style: Style, ratio_map: bool) -> String {
    let width = style.width.clamp(super::MIN_WIDTH, super::MAX_WIDTH);
    let style = Style { width, ..style };
    panels(subject, width, ratio_map).iter().map(|panel| panel_text(panel, style)).collect()
}

fn panel_text(panel: &Panel, style: Style) -> String {
    let mut out = String::from("\n");
    fold(&panel.title, style.width, &mut out);
    for (label, cells) in &panel.rows {
        if cells.is_empty() {
            fold(label, style.width, &mut out);
            continue;
        }
        out += label;
        row(cells, style, &mut out);
    }
    let mut legend = String::new();
    for (i, mark) in panel.marks().into_iter().enumerate() {
        // Names have no breaks: a line ends between two of them.
        let gap = if i == 0 { "" } else { "  " };
        let name = mark.name().unwrap_or_default().replace(' ', "\u{a0}");
        let _ = write!(legend, "{gap}{}\u{a0}{name}", mark.letter());
    }
    fold(&legend, style.width, &mut out);
    panel.lines.iter().for_each(|line| fold(line, style.width, &mut out));
    out
}

/// Cells in their colours, with an escape sequence only where the colour changes.
fn row(cells: &[Mark], style: Style, out: &mut String) {
    let mut current = None;
    for cell in cells {
        let colour = cell.terminal_colour().filter(|_| style.colour);
        if colour != current {
            // Writing to a string does not fail.
            let _ = match colour {
                Some(colour) => write!(out, "\x1b[38;5;{colour}m"),
                None => write!(out, "\x1b[0m"),
            };
            current = colour;
        }
        out.push(cell.letter());
    }
    if current.is_some() {
        out.push_str("\x1b[0m");
    }
    let len = out.trim_end_matches(' ').len();
    out.truncate(len);
    out.push('\n');
}

/// Adds lines of at most `width` characters, broken between words where there are any. Runs of spaces stay as they are.
fn fold(text: &str, width: usize, out: &mut String) {
    let mut rest: Vec<char> = text.chars().collect();
    while rest.len() > width {
        let at = rest[..=width].iter().rposition(|c| *c == ' ').filter(|at| *at > 0).unwrap_or(width);
        let line: String = rest.drain(..at).collect();
        out.push_str(line.trim_end());
        out.push('\n');
        let spaces = rest.iter().take_while(|c| **c == ' ').count();
        rest.drain(..spaces);
    }
    if !rest.is_empty() {
        out.extend(rest.iter().map(|c| if *c == '\u{a0}' { ' ' } else { *c }));
        out.push('\n');
    }
    // What was broken has kept its hard spaces.
    if out.contains('\u{a0}') {
        *out = out.replace('\u{a0}', " ");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_folded_between_words() {
        let folded = |text: &str, width| {
            let mut out = String::new();
            fold(text, width, &mut out);
            out
        };
        assert_eq!(folded("one two three", 20), "one two three\n");
        assert_eq!(folded("one two three", 7), "one two\nthree\n");
        assert_eq!(folded("one two three", 8), "one two\nthree\n");
        assert_eq!(folded("1234567890", 4), "1234\n5678\n90\n");
        assert_eq!(folded("a\u{a0}b c\u{a0}d", 4), "a b\nc d\n");
        assert_eq!(folded("", 4), "");
    }
}
