//! Progress bars, shown only on a terminal.

use std::io::{self, IsTerminal, Read};

use indicatif::{ProgressBar, ProgressStyle};

/// A bar that counts bytes up to `total`, or shows what has been done when the total is not known. Nothing is drawn
/// when standard error is not a terminal or the user asked for quiet.
pub(crate) fn bar(total: Option<u64>, quiet: bool) -> ProgressBar {
    if quiet || !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let (bar, template) = match total {
        Some(total) => (ProgressBar::new(total), "{bar:30} {percent:>3} %  {bytes} of {total_bytes}, {bytes_per_sec}"),
        None => (ProgressBar::new_spinner(), "{spinner} {bytes}, {bytes_per_sec}"),
    };
    // The templates are constants; a mistake in one shows as the default style, not as a failed run.
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// A bar that counts steps. Nothing is drawn when standard error is not a terminal or the user asked for quiet.
pub(crate) fn count(total: u64, quiet: bool) -> ProgressBar {
    if quiet || !io::stderr().is_terminal() { ProgressBar::hidden() } else { ProgressBar::new(total) }
}

/// A reader that advances a progress bar.
pub(crate) struct ProgressReader<R> {
    inner: R,
    bar: ProgressBar,
}

impl<R: Read> ProgressReader<R> {
    pub(crate) fn new(inner: R, bar: ProgressBar) -> Self {
        Self { inner, bar }
    }
}

impl<R: Read> Read for ProgressReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.bar.inc(read as u64);
        Ok(read)
    }
}
