//! What is written: the options that `compress` and `recompress` share.

use std::collections::BTreeSet;

use clap::{Args, ValueEnum};
use oxiblosc::frame::FingerprintKind;

use super::array::{Dtype, Lengths, Shape};
use super::encoding::EncodingArgs;
use super::layer::Layer;
use crate::error::CliError;

/// What is written.
#[derive(Debug, Args)]
#[command(next_help_heading = "Result")]
pub(crate) struct OutputArgs {
    /// Write a frame as one file, as a directory with a file for each chunk, or as a file that can be read and
    /// recovered while it is written [default: contiguous; recompress keeps a sparse frame sparse, but for standard
    /// output and in place of a file]
    #[arg(long, value_enum, value_name = "LAYOUT")]
    pub(crate) layout: Option<FrameKind>,
    /// What kind of file to write
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = Format::Frame)]
    pub(crate) format: Format,
    /// Metalayer of the frame with the content of a file, msgpack by convention; up to 16
    #[arg(long = "meta", value_name = "NAME=FILE")]
    pub(crate) metalayers: Vec<Layer>,
    /// Variable-length metalayer of the frame with the content of a file, msgpack by convention; up to 16
    #[arg(long = "vlmeta", value_name = "NAME=FILE")]
    pub(crate) vlmetalayers: Vec<Layer>,
    /// Add a checksum of each chunk, and one of everything else, which `verify` and `--check` compare
    /// [default: none, or as the input of recompress]
    #[arg(long, value_enum, value_name = "SUM")]
    checksum: Option<Checksum>,
    /// End the frame with a digest of all its bytes, of this many bits [default: none, or as the input of
    /// recompress]
    #[arg(long, value_enum, value_name = "BITS")]
    fingerprint: Option<Fingerprint>,
    /// Write an array (b2nd) with items of this NumPy dtype, as in f4, '>i8' or "[('a', '<i4'), ('b', '<f8')]"
    #[arg(long, value_name = "DT")]
    pub(crate) dtype: Option<Dtype>,
    /// Shape of the array; -1 as the first length for an unknown number of rows [default: one dimension]
    #[arg(long, value_name = "A,B,..", allow_hyphen_values = true)]
    pub(crate) shape: Option<Shape>,
    /// Shape of the chunks of an array [default: chosen]
    #[arg(long, value_name = "A,B,..")]
    pub(crate) chunks: Option<Lengths>,
    /// Shape of the blocks of an array [default: chosen]
    #[arg(long, value_name = "A,B,..")]
    pub(crate) blocks: Option<Lengths>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FrameKind {
    /// One file
    Contiguous,
    /// A directory with one file for each chunk
    Sparse,
    /// One file that has its name from the start; if it is not finished, `recover` and `seal` find every complete
    /// chunk. On standard output the header gets no totals: `seal` the resulting file
    Open,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Frame, which may be an array
    Frame,
    /// One Blosc2 chunk
    Chunk,
    /// One chunk of Blosc 1, for older readers
    Blosc1,
    /// Frame for the Blosc2 of 2019
    Early,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Checksum {
    None,
    Xxh3,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Fingerprint {
    None,
    #[value(name = "32")]
    Bits32,
    #[value(name = "64")]
    Bits64,
    #[value(name = "128")]
    Bits128,
}

/// What a frame carries to verify it later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct IntegrityArgs {
    pub(crate) checksums: bool,
    pub(crate) fingerprint: Option<FingerprintKind>,
}

impl Format {
    /// Whether this is a single chunk.
    pub(crate) fn is_chunk(self) -> bool {
        matches!(self, Self::Chunk | Self::Blosc1)
    }
}

impl OutputArgs {
    /// Refuses options that contradict each other, whatever the input.
    pub(crate) fn check(&self, encoding: &EncodingArgs) -> Result<(), CliError> {
        let refuse = |message: &str| Err(CliError::Usage(message.to_owned()));
        for (option, layers) in [("--meta", &self.metalayers), ("--vlmeta", &self.vlmetalayers)] {
            let mut names = BTreeSet::new();
            if let Some(twice) = layers.iter().find(|layer| !names.insert(&layer.name)) {
                return refuse(&format!("{option}: {} is given twice", twice.name));
            }
        }
        if self.format.is_chunk() && encoding.chunk_size.is_some() {
            return refuse("--chunk-size: a single chunk is as large as its input, write a frame");
        }
        if self.format.is_chunk() && !(self.metalayers.is_empty() && self.vlmetalayers.is_empty()) {
            return refuse("--meta and --vlmeta: a single chunk has no metalayers, write a frame");
        }
        if self.format == Format::Early && !self.vlmetalayers.is_empty() {
            return refuse("--vlmeta: early frames have no variable-length metalayers, use --meta");
        }
        if self.format != Format::Frame && self.vouchers(IntegrityArgs::default()) != IntegrityArgs::default() {
            return refuse("--checksum and --fingerprint: only the current format has them, leave out --format");
        }
        if self.format != Format::Frame && self.layout.is_some_and(|layout| layout != FrameKind::Contiguous) {
            return refuse(
                "--layout: only frames in the current format can be sparse or open-ended, leave out \
                --format",
            );
        }
        if self.format == Format::Early && encoding.typesize.is_some_and(|size| size > 255) {
            return refuse("--typesize: items of early frames have at most 255 bytes, leave out --format");
        }
        if self.format != Format::Frame && self.shapes_an_array() {
            return refuse(
                "--dtype, --shape, --chunks and --blocks: only the current format has arrays, leave out \
                --format",
            );
        }
        Ok(())
    }

    /// The requested checksums and fingerprint, and those of `base` where none are requested.
    pub(crate) fn vouchers(&self, base: IntegrityArgs) -> IntegrityArgs {
        IntegrityArgs {
            checksums: self.checksum.map_or(base.checksums, |sum| sum == Checksum::Xxh3),
            fingerprint: self.fingerprint.map_or(base.fingerprint, |fingerprint| match fingerprint {
                Fingerprint::None => None,
                Fingerprint::Bits32 => Some(FingerprintKind::Xxh3_32),
                Fingerprint::Bits64 => Some(FingerprintKind::Xxh3_64),
                Fingerprint::Bits128 => Some(FingerprintKind::Xxh3_128),
            }),
        }
    }

    /// Whether an option is about an array.
    pub(crate) fn shapes_an_array(&self) -> bool {
        self.dtype.is_some() || self.shape.is_some() || self.cuts_an_array()
    }

    /// Whether an option sets the chunks or blocks of an array.
    pub(crate) fn cuts_an_array(&self) -> bool {
        self.chunks.is_some() || self.blocks.is_some()
    }
}
