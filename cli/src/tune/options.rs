//! Combinations as options of the command.

use oxiblosc_tune::Candidate;

/// The options of `oxiblosc compress` for this combination.
pub(super) fn options(candidate: &Candidate) -> String {
    let mut options = format!("--codec {} --level {}", candidate.codec_name, candidate.level);
    if candidate.codec_meta != 0 {
        options += &format!(" --codec-meta {}", candidate.codec_meta);
    }
    let filter = |(_, name, meta): (_, &str, u8)| if meta == 0 { name.to_owned() } else { format!("{name}={meta}") };
    let filters: Vec<_> = candidate.active_filters().map(filter).collect();
    for filter in if filters.is_empty() { vec!["none".to_owned()] } else { filters } {
        options += &format!(" --filter {filter}");
    }
    if candidate.typesize != 1 {
        options += &format!(" --typesize {}", candidate.typesize);
    }
    for (option, size) in [("--block-size", candidate.block_size), ("--chunk-size", candidate.chunk_size)] {
        if let Some(size) = size {
            options += &format!(" {option} {size}");
        }
    }
    options
}
