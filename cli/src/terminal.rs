//! What standard output can show.

use std::env;
use std::io::{self, IsTerminal};

use console::Term;

/// Columns where nothing says how many there are.
const USUAL_WIDTH: usize = 80;

/// Whether standard output is a terminal.
pub(crate) fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// The columns of standard output: of the terminal, or as `COLUMNS` says.
pub(crate) fn width() -> usize {
    let of_terminal = || Term::stdout().size_checked().map(|(_, columns)| usize::from(columns));
    let of_environment = || env::var("COLUMNS").ok()?.parse().ok();
    of_terminal().or_else(of_environment).filter(|width| *width > 0).unwrap_or(USUAL_WIDTH)
}

/// Whether to use colours: on a terminal that has them, unless `NO_COLOR` is set to anything, as <https://no-color.org>
/// defines it.
pub(crate) fn has_colours() -> bool {
    let refused = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    is_terminal() && !refused && (!dumb || cfg!(windows))
}
