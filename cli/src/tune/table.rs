//! What was found, for people.

use std::io::{self, Write};

use oxiblosc_tune::{Candidate, Measurement, Tuned};

use super::not_tried;
use super::options::options;

/// The widths of the columns that hold names. Those of built-in plugins have room; others may be longer.
struct Widths {
    codec: usize,
    filters: usize,
}

impl Widths {
    fn of(tuned: &Tuned) -> Self {
        let shown =
            || tuned.front().chain(tuned.recommended().map(|(_, result)| result)).map(|result| &result.candidate);
        Self {
            codec: shown().map(|candidate| candidate.codec_name.len()).fold(8, usize::max),
            filters: shown().map(|candidate| filters(candidate).len()).fold(18, usize::max),
        }
    }

    /// The head of the columns that say what a row is about.
    fn head(&self) -> String {
        let Self { codec, filters } = *self;
        format!("{:<codec$} {:>5}  {:<filters$} {:>8} {:>8}", "codec", "level", "filters", "block", "chunk")
    }

    /// What a row is about.
    fn row(&self, candidate: &Candidate) -> String {
        let (codec, filter) = (self.codec, self.filters);
        let size = |size: Option<usize>| size.map_or_else(|| "auto".to_owned(), |size| format!("{}K", size >> 10));
        format!(
            "{:<codec$} {:>5}  {:<filter$} {:>8} {:>8}",
            candidate.codec_name,
            candidate.level,
            filters(candidate),
            size(candidate.block_size),
            size(candidate.chunk_size)
        )
    }
}

fn filters(candidate: &Candidate) -> String {
    candidate.filter_names.join(",")
}

pub(super) fn write(out: &mut impl Write, tuned: &Tuned) -> io::Result<()> {
    let widths = Widths::of(tuned);
    writeln!(out, "{} {:>8} {:>13} {:>13}", widths.head(), "ratio", "encode MB/s", "decode MB/s")?;
    for result in tuned.front() {
        let (encode, decode) = (result.encode_speed() / 1e6, result.decode_speed() / 1e6);
        writeln!(out, "{} {:>8.2} {encode:>13.0} {decode:>13.0}", widths.row(&result.candidate), result.ratio())?;
    }
    let tried = tuned.measurements().len();
    writeln!(out, "\n{tried} tried; those that another one beats in every respect are omitted")?;
    for (what, reason) in not_tried(tuned) {
        writeln!(out, "not tried: {what}: {reason}")?;
    }
    for (purpose, result) in tuned.recommended() {
        writeln!(out, "for {purpose:<22} {}", options(&result.candidate))?;
    }
    // What is best for several purposes is shown once.
    let mut shown: Vec<&Measurement> = Vec::new();
    for (_, result) in tuned.recommended() {
        if !result.threads.is_empty() && !shown.contains(&result) {
            shown.push(result);
        }
    }
    if !shown.is_empty() {
        writeln!(out, "\n{} {:>8} {:>13} {:>13}", widths.head(), "threads", "encode MB/s", "decode MB/s")?;
    }
    for result in shown {
        for speed in &result.threads {
            let (encode, decode) = (speed.encode_speed / 1e6, speed.decode_speed / 1e6);
            writeln!(out, "{} {:>8} {encode:>13.0} {decode:>13.0}", widths.row(&result.candidate), speed.threads)?;
        }
    }
    Ok(())
}
