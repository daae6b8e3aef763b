//! The compressed formats of byte streams.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use thiserror::Error;

/// A compressed format of byte streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Encoding {
    /// gzip (RFC 1952).
    Gzip,
    /// Zstandard frames (RFC 8878).
    Zstd,
    /// Brotli (RFC 7932). It has no magic bytes, so it must be named.
    Brotli,
    /// LZ4 frames.
    Lz4,
}

impl Encoding {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Gzip, Self::Zstd, Self::Brotli, Self::Lz4];

    /// The number of bytes from the start of a stream that [`detect`](Self::detect) needs.
    pub const MAGIC_LEN: usize = 4;

    /// The encoding of a stream that begins with `head`, if that can be detected.
    ///
    /// Frames and chunks of Blosc never begin with these bytes. Raw numbers may, so do not use this for streams that
    /// are known to hold such.
    pub fn detect(head: &[u8]) -> Option<Self> {
        // RFC 1952, "ID1, ID2, CM": 1F 8B, and 8 for deflate.
        const GZIP: &[u8] = &[0x1F, 0x8B, 8];
        // RFC 8878, "Magic_Number".
        const ZSTD: &[u8] = &0xFD2F_B528u32.to_le_bytes();
        // LZ4 frame format, "Magic Number".
        const LZ4: &[u8] = &0x184D_2204u32.to_le_bytes();

        let magics = [(GZIP, Self::Gzip), (ZSTD, Self::Zstd), (LZ4, Self::Lz4)];
        magics.into_iter().find(|(magic, _)| head.starts_with(magic)).map(|(_, encoding)| encoding)
    }

    /// The encoding named by the extension of a file: `.gz`, `.zst`, `.br`, `.lz4`.
    pub fn of_path(path: impl AsRef<Path>) -> Option<Self> {
        let extension = path.as_ref().extension()?.to_str()?.to_ascii_lowercase();
        Self::ALL.into_iter().find(|encoding| encoding.extension() == extension)
    }

    /// The file extension of this encoding.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Gzip => "gz",
            Self::Zstd => "zst",
            Self::Brotli => "br",
            Self::Lz4 => "lz4",
        }
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
            Self::Brotli => "brotli",
            Self::Lz4 => "lz4",
        }
    }
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// There is no encoding of this name.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("unknown stream encoding {0:?}: expected gzip, zstd, brotli or lz4")]
pub struct UnknownEncoding(String);

impl FromStr for Encoding {
    type Err = UnknownEncoding;

    /// Parses a name or a file extension.
    fn from_str(name: &str) -> Result<Self, UnknownEncoding> {
        let named = |encoding: &Self| name == encoding.name() || name == encoding.extension();
        Self::ALL.into_iter().find(named).ok_or_else(|| UnknownEncoding(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_magics() {
        for encoding in Encoding::ALL {
            assert_eq!(encoding.name().parse(), Ok(encoding));
            assert_eq!(encoding.extension().parse(), Ok(encoding));
            assert_eq!(Encoding::of_path(format!("a.b2frame.{}", encoding.extension())), Some(encoding));
        }
        assert!("rar".parse::<Encoding>().unwrap_err().to_string().contains("rar"));
        for head in [&b""[..], b"\x1f", b"\x1f\x8b", b"\x9e\xa8b2frame", b"\x05\x01\x01\x04"] {
            assert_eq!(Encoding::detect(head), None, "{head:?}");
        }
    }
}
