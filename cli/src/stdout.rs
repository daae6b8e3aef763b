//! Writing decoded bytes to standard output.

use std::io::{self, Stdout, Write};

use oxiblosc::transport::Encoding;

use crate::error::CliError;
use crate::progress;
use crate::transport::EncodingWriter;

/// Standard output, or an encoder in front of it.
pub(crate) enum StdoutWriter {
    Plain(Stdout),
    Encoded(EncodingWriter),
}

impl StdoutWriter {
    /// # Errors
    /// When this program cannot encode.
    pub(crate) fn new(encoding: Option<Encoding>) -> Result<Self, CliError> {
        Ok(match encoding {
            None => Self::Plain(io::stdout()),
            Some(encoding) => {
                let encoder = EncodingWriter::new(io::stdout(), encoding);
                Self::Encoded(encoder.map_err(|error| CliError::Usage(format!("--encode: {error}")))?)
            }
        })
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), CliError> {
        progress::wrote(bytes.len());
        match self {
            Self::Plain(stdout) => stdout.write_all(bytes),
            Self::Encoded(encoder) => encoder.write_all(bytes),
        }
        .map_err(CliError::stdout)
    }

    /// Writes what is left, and the end of the encoding.
    pub(crate) fn finish(self) -> Result<(), CliError> {
        match self {
            Self::Plain(mut stdout) => stdout.flush(),
            Self::Encoded(encoder) => encoder.finish(),
        }
        .map_err(CliError::stdout)
    }
}
