//! The command line.

mod array;
mod decoding;
mod encoding;
mod examples;
mod items;
mod layer;
mod output;
#[cfg(feature = "serve")]
mod serve;
mod source;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
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
#[cfg(feature = "serve")]
pub(crate) use serve::ServeArgs;
pub(crate) use source::Source;

const AFTER_HELP: &str =
    "Paths may be URLs: file://, s3://bucket/key, gs://bucket/key, az://container/key, and for reading \
http(s)://. Credentials and endpoint come from the environment (AWS_ACCESS_KEY_ID, AWS_ENDPOINT_URL, ...).

OXIBLOSC_PLUGINS in the environment has libraries to load, as --plugin does, separated as in PATH.

Exit status: 0 done, 1 the data is bad or could not be read or written, 2 bad usage, 3 (verify) nothing bad was found, \
but a filter or codec is missing that is needed to verify everything, 141 the reader of standard output has closed it. \
For diff: 0 equal, 1 different, 2 not compared.";

/// Compress, read, inspect, change and check Blosc2 frames, arrays and chunks.
#[derive(Debug, Parser)]
#[command(name = "oxiblosc", version, arg_required_else_help = true)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Cli {
    /// Load a filter or codec from a shared library that was made with oxiblosc-export; may be given several times
    #[arg(long = "plugin", value_name = "LIBRARY", global = true)]
    pub(crate) plugins: Vec<PathBuf>,
    /// How progress is shown; --quiet shows none
    #[arg(long, value_enum, value_name = "HOW", global = true, default_value_t = ProgressMode::Auto)]
    pub(crate) progress: ProgressMode,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Compress a file or standard input into a frame, an array or a single chunk
    #[command(after_long_help = examples::COMPRESS)]
    Compress(CompressArgs),
    /// Make an array visible whose parts several processes have written with `compress --part`
    #[command(after_long_help = examples::COMMIT)]
    Commit(CommitArgs),
    /// Write decoded bytes to standard output, arrays in C order
    #[command(after_long_help = examples::CAT)]
    Cat(CatArgs),
    /// Show what a file is and how it was compressed
    #[command(after_long_help = examples::INFO)]
    Info(InfoArgs),
    /// Decode everything and check what can be checked
    #[command(after_long_help = examples::VERIFY)]
    Verify(VerifyArgs),
    /// Append items to a frame, or rows to an array
    #[command(after_long_help = examples::APPEND)]
    Append(AppendArgs),
    /// Copy a frame, or a part of it, to another place; its chunks are copied as they are
    #[command(after_long_help = examples::COPY)]
    Copy(CopyArgs),
    /// Compare two frames, arrays or chunks: their items, parameters and metalayers
    #[command(after_long_help = examples::DIFF)]
    Diff(DiffArgs),
    /// Encode again with other parameters; all others stay the same
    #[command(after_long_help = examples::RECOMPRESS)]
    Recompress(RecompressArgs),
    /// Rewrite a frame without the holes that appending and editing have left
    #[command(after_long_help = examples::COMPACT)]
    Compact(CompactArgs),
    /// Recover a frame that was truncated or damaged, or whose writer was killed, into a copy
    #[command(after_long_help = examples::RECOVER)]
    Recover(RecoverArgs),
    /// Turn an open-ended frame into a plain one in place, by writing the totals into its header
    #[command(after_long_help = examples::SEAL)]
    Seal(SealArgs),
    /// Serve frames and slices of arrays over HTTP, with a page that shows them; nothing can be changed
    #[cfg(feature = "serve")]
    #[command(after_long_help = examples::SERVE)]
    Serve(ServeArgs),
    /// List the filters and codecs that this program knows
    #[command(after_long_help = examples::PLUGINS)]
    Plugins(PluginsArgs),
    /// Measure how fast this machine compresses, decompresses and reads items of a file
    #[command(after_long_help = examples::BENCH)]
    Bench(BenchArgs),
    /// Try codecs, filters and levels on a sample of the data, and recommend the best
    #[command(after_long_help = examples::TUNE)]
    Tune(TuneArgs),
    /// Print completions of this command for a shell
    #[command(after_long_help = examples::COMPLETIONS)]
    Completions(CompletionsArgs),
    /// Write the manual of this command into a directory, a page for each subcommand
    #[command(after_long_help = examples::MAN)]
    Man(ManArgs),
}

impl Command {
    /// Whether it shows something and is done. A signal then finds nothing to clean up, and the thread that waits for signals
    /// would take longer to start than most of the rest.
    pub(crate) fn only_looks(&self) -> bool {
        matches!(self, Self::Info(_) | Self::Plugins(_) | Self::Completions(_) | Self::Man(_))
    }
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// Shell that is to read them
    pub(crate) shell: Shell,
}

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Directory for the pages; it is created if there is none
    pub(crate) directory: PathBuf,
}

/// How progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProgressMode {
    /// A bar, if standard error is a terminal
    Auto,
    /// An event on standard error for each quarter of a second, one JSON object to a line, and warnings and errors in the
    /// same form
    Json,
    /// Nothing
    None,
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
    /// The input holds part K of N of an array, cut along the first axis and counted from 1: its own rows alone. They
    /// are written to a directory or a prefix of objects that other processes write the other parts to; `oxiblosc
    /// commit` makes it visible when all are there. Parts have the same number of rows, but for the last if all of them
    /// are given --shape, the shape of the whole array
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
pub(crate) struct CopyArgs {
    /// Frame, directory of a sparse frame, or chunk, by path or URL; `-` for standard input
    pub(crate) source: Source,
    /// File, directory or URL to write, or `-` for standard output. A name that ends with a slash, and an existing
    /// directory, become a sparse frame
    pub(crate) destination: Source,
    /// Write a frame as one file, or as a directory with a file for each chunk [default: as the name of the destination
    /// says, else as the source]
    #[arg(long, value_enum, value_name = "LAYOUT")]
    pub(crate) layout: Option<CopyLayout>,
    /// Only the items from A up to, but not including, B, as in 10:20, :20 or -10:; of an array in C order, as an array
    /// of one dimension
    #[arg(long, value_name = "A:B", allow_hyphen_values = true)]
    pub(crate) items: Option<ItemRange>,
    /// Part of an array, as an array: for each axis an index, which removes the axis, a slice or a list, as `cat` takes
    /// them
    #[arg(long, value_name = "A:B:S,C:D,..", allow_hyphen_values = true, conflicts_with = "items")]
    #[arg(value_parser = parse_slice)]
    pub(crate) slice: Option<Selection>,
    #[command(flatten)]
    pub(crate) reading: ReadingArgs,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

/// The layout of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CopyLayout {
    /// One file
    Contiguous,
    /// A directory with one file for each chunk
    Sparse,
}

#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// Frame, directory of a sparse frame, or chunk, by path or URL; `-` for standard input
    pub(crate) a: Source,
    /// What to compare it with
    pub(crate) b: Source,
    /// Compare nothing else; may be given several times [default: everything]
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(crate) only: Vec<Compared>,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) reading: ReadingArgs,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Compared {
    /// The items, by their bytes
    Data,
    /// Sizes, codec, level, filters, and the shapes and dtype of arrays
    Parameters,
    /// Metalayers, by their bytes
    Metadata,
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
    /// Print a JSON object; docs/info.schema.json describes it
    #[arg(long)]
    pub(crate) json: bool,
    /// Draw the frame below the rest, also where standard output is no terminal: what lies where, what its chunks are
    /// and how well they compress
    #[arg(long, conflicts_with = "json")]
    pub(crate) draw: bool,
    /// Also draw where data compress badly: the ratio of each chunk, for an array in its grid, and the worst chunks
    #[arg(long, conflicts_with = "json")]
    pub(crate) ratio_map: bool,
    /// Draw with so many columns, 20 to 400 [default: those of the terminal, else COLUMNS, else 80]
    #[arg(long, value_name = "COLUMNS", conflicts_with = "json")]
    #[arg(value_parser = clap::value_parser!(u16).range(20..=400))]
    pub(crate) width: Option<u16>,
    /// Also write the drawing into this SVG file
    #[arg(long, value_name = "OUT.svg")]
    pub(crate) svg: Option<Source>,
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
pub(crate) struct BenchArgs {
    /// File of items, .npy or plain bytes, or a frame or array, whose parameters are then the defaults; `-` for plain
    /// bytes from standard input
    pub(crate) input: Source,
    #[command(flatten)]
    pub(crate) encoding: EncodingArgs,
    /// Most bytes to measure with; of plain bytes the first ones are taken, and a longer array is refused
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes, default_value = "1G")]
    pub(crate) max_input: usize,
    /// Repeat each measurement for this long, at least three times, and tell the fastest
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, value_parser = parse_seconds)]
    pub(crate) seconds: f64,
    /// Threads of the second column [default: one per processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) threads: Option<u16>,
    #[command(flatten)]
    pub(crate) decoding: DecodingArgs,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Show no progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// A part of something, but not all of it.
fn parse_part(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(part) if part > 0.0 && part < 1.0 => Ok(part),
        _ => Err("expected a number between 0 and 1".into()),
    }
}

/// Seconds, at most those of a day.
fn parse_seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.0..=86_400.0).contains(&seconds) => Ok(seconds),
        _ => Err("expected seconds, from 0 to 86400".into()),
    }
}

#[derive(Debug, Args)]
pub(crate) struct TuneArgs {
    /// File that is to be compressed, .npy or plain bytes, or `-` for standard input
    pub(crate) input: Source,
    /// Size of an item in bytes [default: that of the .npy file, else 1]
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(1..=255))]
    pub(crate) typesize: Option<u32>,
    /// Let floats of 4 or 8 bytes change by this part of themselves at most, as in 0.001, and try trunc_prec as well
    #[arg(long, value_name = "PART", value_parser = parse_part)]
    pub(crate) max_error: Option<f64>,
    /// Stop after about this time, with what has been tried by then; fast combinations come first. Reading the input is not
    /// part of it [default: try all]
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    pub(crate) budget: Option<f64>,
    /// Threads that the blocks of a chunk are spread over [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) threads: Option<u16>,
    /// Also draw ratio against speed into this SVG file, with a line along what nothing beats in both
    #[arg(long, value_name = "OUT.svg")]
    pub(crate) plot: Option<Source>,
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
