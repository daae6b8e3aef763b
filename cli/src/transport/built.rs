//! The encodings, behind the traits of `std::io`.

use std::io::{self, Read, Stdout};

use futures::io::{AllowStdIo, AsyncReadExt, AsyncWriteExt};
use oxiblosc::transport::{self, Decoder, Encoder, Encoding};
use oxiblosc::{Chain, block_on};

/// A reader that decodes what another one reads.
///
/// # Errors
/// Only in a program that has been built without encodings.
pub(crate) fn decode(reader: Box<dyn Read + Send>, encoding: Encoding) -> io::Result<Box<dyn Read + Send>> {
    let decoder = transport::decode_as(AllowStdIo::new(reader), Some(encoding));
    Ok(Box::new(DecodingReader { decoder, encoding }))
}

struct DecodingReader {
    decoder: Decoder<AllowStdIo<Box<dyn Read + Send>>>,
    encoding: Encoding,
}

impl Read for DecodingReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        block_on(self.decoder.read(buffer)).map_err(|error| match error.kind() {
            io::ErrorKind::Interrupted => error,
            kind => io::Error::new(kind, format!("decoding {}: {}", self.encoding, Chain(&error))),
        })
    }
}

/// Encodes what goes to standard output.
pub(crate) struct EncodingWriter(Box<Encoder<AllowStdIo<Stdout>>>);

impl EncodingWriter {
    /// # Errors
    /// Only in a program that has been built without encodings.
    pub(crate) fn new(stdout: Stdout, encoding: Encoding) -> io::Result<Self> {
        Ok(Self(Box::new(transport::encode(AllowStdIo::new(stdout), encoding))))
    }

    pub(crate) fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        block_on(self.0.write_all(bytes))
    }

    /// Writes the end of the encoding. Without it, a decoder sees that something is missing.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        block_on(self.0.close())
    }
}
