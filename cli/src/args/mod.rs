//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::select::{CodecChoice, FilterChoice};
use crate::units::parse_bytes;

/// Compress, read, inspect and check Blosc2 frames and chunks.
#[derive(Debug, Parser)]
#[command(name = "oxiblosc", version, arg_required_else_help = true)]
#[command(after_help = "Exit status: 0 done, 1 the data is bad or could not be read or written, 2 bad usage.")]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Compress a file or standard input into a frame (or a single chunk)
    Compress(CompressArgs),
    /// Write the decoded bytes of a frame or chunk to standard output
    Cat(CatArgs),
    /// Say what a file is and how it was compressed
    Info(InfoArgs),
    /// Decode everything and check what can be checked
    Verify(VerifyArgs),
    /// List the filters and codecs that this program knows
    Plugins(PluginsArgs),
}

#[derive(Debug, Args)]
pub(crate) struct CompressArgs {
    /// File to compress, or `-` for standard input; of a .npy file the type size is taken and the data compressed
    pub(crate) input: Source,
    /// File to write, or `-` for standard output
    pub(crate) output: Source,
    /// Size of an item in bytes [default: that of the .npy file, else 1]
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(1..=MAX_TYPESIZE))]
    pub(crate) typesize: Option<u32>,
    /// Codec, by name or id (see `oxiblosc plugins`)
    #[arg(long, value_name = "NAME|ID", default_value = "zstd")]
    pub(crate) codec: CodecChoice,
    /// Byte of metadata for the codec
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) codec_meta: u8,
    /// Compression level: 0 stores, 9 compresses best
    #[arg(long, value_name = "0-9", default_value_t = 5, value_parser = clap::value_parser!(u8).range(0..=9))]
    pub(crate) level: u8,
    /// Filter, by name or id, with its byte of metadata; repeat it to fill up to six slots in order, `none` for none
    /// [default: shuffle]
    #[arg(long = "filter", value_name = "NAME[=META]")]
    pub(crate) filters: Vec<FilterChoice>,
    /// Decoded bytes of a chunk, as in 500000, 256K or 4M [default: chosen]
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    pub(crate) chunk_size: Option<usize>,
    /// Decoded bytes of a block [default: chosen by codec, level and type size]
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    pub(crate) block_size: Option<usize>,
    /// Whether blocks are split into one stream per byte of the type
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = Split::Forward)]
    pub(crate) split: Split,
    /// Worker threads [default: one per processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) threads: Option<u16>,
    /// Train a dictionary for each chunk (zstd, lz4 and lz4hc)
    #[arg(long)]
    pub(crate) dict: bool,
    /// What to write
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = Format::Frame)]
    pub(crate) format: Format,
    /// Compress a .npy file as the bytes it consists of
    #[arg(long)]
    pub(crate) raw: bool,
    /// Show neither progress nor a summary
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// The largest type size that fits the header of a frame.
const MAX_TYPESIZE: i64 = i32::MAX as i64;

#[derive(Debug, Args)]
pub(crate) struct CatArgs {
    /// Frame or chunk, or `-` for standard input
    pub(crate) input: Source,
    /// Only the items from A to before B; either may be left out
    #[arg(long, value_name = "A:B", value_parser = parse_items)]
    pub(crate) items: Option<(u64, Option<u64>)>,
    /// Worker threads [default: one per processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) threads: Option<u16>,
}

#[derive(Debug, Args)]
pub(crate) struct InfoArgs {
    /// Frame or chunk, or `-` for standard input
    pub(crate) input: Source,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// Frame or chunk, or `-` for standard input
    pub(crate) input: Source,
    /// Worker threads [default: one per processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) threads: Option<u16>,
    /// Show neither progress nor a summary
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PluginsArgs {
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// A file, or one of the standard streams.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    Standard,
    Path(PathBuf),
}

impl From<std::ffi::OsString> for Source {
    fn from(name: std::ffi::OsString) -> Self {
        if name == "-" { Self::Standard } else { Self::Path(name.into()) }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Split {
    Auto,
    Always,
    Never,
    Forward,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Contiguous frame
    Frame,
    /// One Blosc2 chunk
    Chunk,
}

fn parse_items(text: &str) -> Result<(u64, Option<u64>), String> {
    let (start, stop) = text.split_once(':').ok_or("expected A:B, as in 10:20, :20 or 10:")?;
    let number = |text: &str| text.parse::<u64>().map_err(|e| format!("{text:?}: {e}"));
    let start = if start.is_empty() { 0 } else { number(start)? };
    let stop = if stop.is_empty() { None } else { Some(number(stop)?) };
    match stop {
        Some(stop) if stop < start => Err(format!("{start} is after {stop}")),
        _ => Ok((start, stop)),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn item_ranges() {
        assert_eq!(parse_items("3:10"), Ok((3, Some(10))));
        assert_eq!(parse_items(":10"), Ok((0, Some(10))));
        assert_eq!(parse_items("3:"), Ok((3, None)));
        assert_eq!(parse_items("3:3"), Ok((3, Some(3))));
        for bad in ["", "3", "10:3", "a:b", "-1:3", "1:2:3"] {
            assert!(parse_items(bad).is_err(), "{bad}");
        }
    }
}
