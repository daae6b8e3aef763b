//! The command line.

mod array;
mod decoding;
mod encoding;
mod items;
mod layer;
mod output;
mod source;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use oxiblosc::filter::BitshuffleRule;
use oxiblosc::nd::{NdError, Selection};
use oxiblosc::transport::Encoding;
use oxiblosc::{ChecksumPolicy, Pool, ReadOptions, Registry};

use crate::part::PartNumber;
use crate::units::parse_bytes;

pub(crate) use array::{FirstAxis, Shape};
pub(crate) use decoding::DecodingArgs;
pub(crate) use encoding::{EncodingArgs, whole_items};
pub(crate) use items::ItemRange;
pub(crate) use output::{Format, FrameKind, IntegrityArgs, OutputArgs};
pub(crate) use source::Source;

const AFTER_HELP: &str =
    "Paths may be URLs: file://, s3://bucket/key, gs://bucket/key, az://container/key, and for reading \
http(s)://. Credentials and endpoint come from the environment (AWS_ACCESS_KEY_ID, AWS_ENDPOINT_URL, ...).

OXIBLOSC_PLUGINS in the environment has libraries to load, as --plugin does, separated as in PATH.

Exit status: 0 done, 1 the data is bad or could not be read or written, 2 bad usage, 3 (verify) nothing bad was found, \
but a filter or codec is missing that is needed to verify everything.";

/// Compress, read, inspect, change and check Blosc2 frames, arrays and chunks.
#[derive(Debug, Parser)]
#[command(name = "oxiblosc", version, arg_required_else_help = true)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Cli {
    /// Load a filter or codec from a shared library that was made with oxiblosc-export; may be given several times
    #[arg(long = "plugin", value_name = "LIBRARY", global = true)]
    pub(crate) plugins: Vec<PathBuf>,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Compress a file or standard input into a frame, an array or a single chunk
    Compress(CompressArgs),
    /// Make an array visible whose parts several processes have written with `compress --part`
    Commit(CommitArgs),
    /// Write decoded bytes to standard output, arrays in C order
    Cat(CatArgs),
    /// Show what a file is and how it was compressed
    Info(InfoArgs),
    /// Decode everything and check what can be checked
    Verify(VerifyArgs),
    /// Append items to a frame, or rows to an array
    Append(AppendArgs),
    /// Encode again with other parameters; all others stay the same
    Recompress(RecompressArgs),
    /// Rewrite a frame without the holes that appending and editing have left
    Compact(CompactArgs),
    /// Recover a frame that was truncated or damaged, or whose writer was killed, into a copy
    Recover(RecoverArgs),
    /// Turn an open-ended frame into a plain one in place, by writing the totals into its header
    Seal(SealArgs),
    /// List the filters and codecs that this program knows
    Plugins(PluginsArgs),
    /// Try codecs, filters and levels on a sample of the data, and recommend the best
    Tune(TuneArgs),
}

#[derive(Debug, Args)]
pub(crate) struct CompressArgs {
    /// File or URL to compress, or `-` for standard input. A .npy file becomes an array of its dtype and shape
    pub(crate) input: Source,
    /// File, directory or URL to write, or `-` for standard output
    pub(crate) output: Source,
    #[command(flatten)]
    pub(crate) encoding: EncodingArgs,
    #[command(flatten)]
    pub(crate) result: OutputArgs,
    /// Compress the bytes as they are: do not decode them, and do not treat .npy files as arrays
    #[arg(long)]
    pub(crate) raw: bool,
    /// Write part K of N of an array, counted from 1 along the first axis, to a directory or a prefix of objects that
    /// other processes write the other parts to; `oxiblosc commit` makes it visible when all are there. Parts have the
    /// same number of rows, but for the last with --shape, which is then the shape of the whole array
    #[arg(long, value_name = "K/N")]
    pub(crate) part: Option<PartNumber>,
    #[command(flatten)]
    pub(crate) decoding: DecodingArgs,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

#[derive(Debug, Args)]
pub(crate) struct CommitArgs {
    /// Directory or URL that `compress --part` has written to
    pub(crate) frame: Source,
    /// How many parts there are, so that missing ones are named and not only their rows
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) parts: Option<u64>,
    /// What the items are that no part has
    #[arg(long, value_enum, value_name = "ITEMS", default_value_t = MissingArg::Fail)]
    pub(crate) missing: MissingArg,
    /// Remove what has been written and not committed, to begin again. No part may still be running
    #[arg(long, conflicts_with_all = ["parts", "missing"])]
    pub(crate) discard: bool,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum MissingArg {
    /// An error
    Fail,
    Zero,
    /// Only for items of 4 or 8 bytes
    Nan,
}

#[derive(Debug, Args)]
pub(crate) struct RecompressArgs {
    /// Frame, directory of a sparse frame, or chunk, by path or URL; `-` for standard input
    pub(crate) input: Source,
    /// File, directory or URL to write, or `-` for standard output; may be the input
    pub(crate) output: Source,
    #[command(flatten)]
    pub(crate) encoding: EncodingArgs,
    #[command(flatten)]
    pub(crate) result: OutputArgs,
    #[command(flatten)]
    pub(crate) reading: ReadingArgs,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

#[derive(Debug, Args)]
pub(crate) struct CatArgs {
    /// Frame, directory of a sparse frame, or chunk, by path or URL; `-` for standard input
    pub(crate) input: Source,
    /// Only the items from A up to, but not including, B, as in 10:20, :20 or -10: (for an array in C order)
    #[arg(long, value_name = "A:B", allow_hyphen_values = true)]
    pub(crate) items: Option<ItemRange>,
    /// Part of an array: for each axis an index, a slice such as 2:10 or ::-1, or a list such as `[4,1,1]`, separated
    /// by commas, with `...` for the remaining axes. Several lists select orthogonally (like numpy.ix_): all
    /// combinations of their indices
    #[arg(long, value_name = "A:B:S,C:D,..", allow_hyphen_values = true, conflicts_with = "items")]
    #[arg(value_parser = parse_slice)]
    pub(crate) slice: Option<Selection>,
    /// Accept an open-ended frame without its end: one that is still being written, or whose writer was killed
    #[arg(long)]
    pub(crate) unfinished: bool,
    /// Compress what is written as a stream: gzip, zstd, brotli or lz4
    #[arg(long, value_name = "ENCODING")]
    pub(crate) encode: Option<Encoding>,
    #[command(flatten)]
    pub(crate) reading: ReadingArgs,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

/// A selection that says something: nothing at all is more likely a variable of a script that is not set.
fn parse_slice(text: &str) -> Result<Selection, String> {
    if text.trim().is_empty() {
        return Err("it is empty; `...` is the whole array".into());
    }
    text.parse().map_err(|e: NdError| e.to_string())
}

#[derive(Debug, Args)]
pub(crate) struct InfoArgs {
    /// Frame, directory of a sparse frame, or chunk, by path or URL; `-` for standard input
    pub(crate) input: Source,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// Frame, directory of a sparse frame, or chunk, by path or URL; `-` for standard input
    pub(crate) input: Source,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

#[derive(Debug, Args)]
pub(crate) struct AppendArgs {
    /// Frame or array to append to: a file, the directory of a sparse frame, or the URL of one in a bucket, which others
    /// may append to at the same time
    pub(crate) frame: Source,
    /// Items to append, or rows along the first axis of an array: a file, .npy or plain bytes, or `-` for standard
    /// input
    pub(crate) input: Source,
    #[command(flatten)]
    pub(crate) decoding: DecodingArgs,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

#[derive(Debug, Args)]
pub(crate) struct CompactArgs {
    /// Frame to rewrite, a file or the directory of a sparse frame; it is replaced in one step. Given the URL of a sparse
    /// frame in a bucket, only objects that its index does not name are removed
    pub(crate) frame: Source,
    /// Do not print a summary
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RecoverArgs {
    /// Frame to recover: a file, the directory of a sparse frame or a URL, or `-` for standard input
    pub(crate) input: Source,
    /// File, directory or URL to write, or `-` for standard output
    pub(crate) output: Source,
    /// Limit on the total size of the chunks of the new frame [default: 4 times the input, at least 64M]
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    pub(crate) max_output: Option<usize>,
    /// Limit on the bytes that are decoded to check chunks [default: 262144 times the input, at least 1G]
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    pub(crate) max_work: Option<usize>,
    /// Print what was saved and lost as a JSON object; ranges of chunks exclude their end
    #[arg(long)]
    pub(crate) json: bool,
    /// Do not print what was saved and lost
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SealArgs {
    /// Open-ended frame, a file
    pub(crate) frame: Source,
    /// Most bytes that are decoded to see whether all chunks hold; 262144 times the file by default, and at least 1G
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    pub(crate) max_work: Option<usize>,
    /// Do not print what was found
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PluginsArgs {
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct TuneArgs {
    /// File that is to be compressed, .npy or plain bytes, or `-` for standard input
    pub(crate) input: Source,
    /// Size of an item in bytes [default: that of the .npy file, else 1]
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(1..=255))]
    pub(crate) typesize: Option<u32>,
    /// Also draw ratio against speed into this SVG file
    #[arg(long, value_name = "OUT.svg")]
    pub(crate) plot: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) decoding: DecodingArgs,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Show no progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// How long work is done.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Worker threads [default: one per processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
    /// Show neither progress nor a summary
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

impl RunArgs {
    /// A pool of so many threads as asked for, or of one for each processor.
    pub(crate) fn pool(&self) -> Pool {
        self.threads.map_or_else(Pool::per_processor, |threads| Pool::new(threads.into()))
    }
}

/// How compressed input is understood where it does not say so itself.
#[derive(Debug, Args)]
pub(crate) struct ReadingArgs {
    /// Rule by which bit-shuffled blocks were written whose number of items is not a multiple of eight: `old` until
    /// February 2020. Needed only for some frames of the betas; `info` says when the rule is unknown
    #[arg(long, value_enum, value_name = "RULE", default_value_t = Bitshuffle::Auto)]
    bitshuffle: Bitshuffle,
    /// Compare chunks with their checksums before decoding, and refuse a frame whose header or index does not match
    /// [default: `present` for recompress, else `never`]
    #[arg(long, value_enum, value_name = "WHEN", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "present")]
    check: Option<Check>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Check {
    Never,
    /// If the frame has checksums, and no other software has changed it since
    Present,
    /// Always; refuse frames without valid checksums
    Required,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Bitshuffle {
    /// As the file says, otherwise the new rule
    Auto,
    Old,
    New,
}

impl ReadingArgs {
    /// How a frame is to be read; what is to be done about checksums is the `default` where nothing is asked for.
    pub(crate) fn options(&self, pool: &Pool, registry: &Registry, default: ChecksumPolicy) -> ReadOptions {
        let checksums = self.check.map_or(default, |check| match check {
            Check::Never => ChecksumPolicy::Ignore,
            Check::Present => ChecksumPolicy::Check,
            Check::Required => ChecksumPolicy::Require,
        });
        let options = ReadOptions::new().pool(pool).registry(registry).checksums(checksums);
        match self.bitshuffle() {
            Some(rule) => options.bitshuffle(rule),
            None => options,
        }
    }

    /// Whether only what has valid checksums is to be read.
    pub(crate) fn requires_checksums(&self) -> bool {
        self.check == Some(Check::Required)
    }

    /// The rule to force on all chunks, if there is to be one.
    pub(crate) fn bitshuffle(&self) -> Option<BitshuffleRule> {
        match self.bitshuffle {
            Bitshuffle::Auto => None,
            Bitshuffle::Old => Some(BitshuffleRule::WholeBlockOrNothing),
            Bitshuffle::New => Some(BitshuffleRule::LeadingEights),
        }
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
}
