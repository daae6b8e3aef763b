//! Input that is compressed already, as a stream.

use std::path::Path;
use std::str::FromStr;

use clap::Args;
use oxiblosc::transport::{Encoding, UnknownEncoding};

use super::Source;
use crate::npy;

/// How plain input is understood.
#[derive(Debug, Args)]
pub(crate) struct DecodingArgs {
    /// Stream compression of the input, decoded first: auto (gzip, zstd and lz4 by their first bytes, brotli by the
    /// suffix .br), none, gzip, zstd, brotli or lz4 [default: auto]
    #[arg(long, value_name = "ENCODING")]
    decode: Option<Decode>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Decode {
    Auto,
    None,
    From(Encoding),
}

impl FromStr for Decode {
    type Err = UnknownEncoding;

    fn from_str(name: &str) -> Result<Self, UnknownEncoding> {
        match name {
            "auto" => Ok(Self::Auto),
            "none" => Ok(Self::None),
            name => name.parse().map(Self::From),
        }
    }
}

impl DecodingArgs {
    /// The encoding of an input that begins with `head`; input that is to be taken `raw` is in none unless it is named.
    pub(crate) fn encoding(&self, raw: bool, source: &Source, head: &[u8]) -> Option<Encoding> {
        match self.decode.unwrap_or(if raw { Decode::None } else { Decode::Auto }) {
            Decode::None => None,
            Decode::From(encoding) => Some(encoding),
            // Brotli has no magic bytes, but .npy files do.
            Decode::Auto => Encoding::detect(head).or_else(|| {
                let of_name = source.path().and_then(Encoding::of_path);
                of_name.filter(|encoding| *encoding == Encoding::Brotli && !head.starts_with(&npy::MAGIC))
            }),
        }
    }
}

impl Source {
    fn path(&self) -> Option<&Path> {
        match self {
            Self::Standard => None,
            Self::Path(path) => Some(path),
            Self::Remote(object) => Some(object.path()),
        }
    }
}
