//! Writing decoded bytes to standard output.

use std::io::{self, Stdout, Write};

use futures::io::{AllowStdIo, AsyncWriteExt};
use oxiblosc::block_on;
use oxiblosc::transport::{Encoder, Encoding, encode};

use crate::error::CliError;
use crate::progress;

/// Standard output, or an encoder in front of it.
pub(crate) enum StdoutWriter {
    Plain(Stdout),
    Encoded(Box<Encoder<AllowStdIo<Stdout>>>),
}

impl StdoutWriter {
    pub(crate) fn new(encoding: Option<Encoding>) -> Self {
        match encoding {
            None => Self::Plain(io::stdout()),
            Some(encoding) => Self::Encoded(Box::new(encode(AllowStdIo::new(io::stdout()), encoding))),
        }
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), CliError> {
        progress::wrote(bytes.len());
        match self {
            Self::Plain(stdout) => stdout.write_all(bytes),
            Self::Encoded(encoder) => block_on(encoder.write_all(bytes)),
        }
        .map_err(CliError::stdout)
    }

    /// Writes what is left, and the end of the encoding. Without it, a decoder sees that something is missing.
    pub(crate) fn finish(self) -> Result<(), CliError> {
        match self {
            Self::Plain(mut stdout) => stdout.flush(),
            Self::Encoded(mut encoder) => block_on(encoder.close()),
        }
        .map_err(CliError::stdout)
    }
}
