//! Input in gzip, Zstandard, Brotli or LZ4.

use std::io::{self, Read};

use futures::io::{AllowStdIo, AsyncReadExt};
use oxiblosc::transport::{Decoder, Encoding, decode_as};
use oxiblosc::{Chain, block_on};

/// A reader that decodes what another one reads.
pub(super) struct TransportReader<R> {
    decoder: Decoder<AllowStdIo<R>>,
    encoding: Encoding,
}

impl<R: Read> TransportReader<R> {
    pub(super) fn new(reader: R, encoding: Encoding) -> Self {
        Self { decoder: decode_as(AllowStdIo::new(reader), Some(encoding)), encoding }
    }
}

impl<R: Read> Read for TransportReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        block_on(self.decoder.read(buffer)).map_err(|error| match error.kind() {
            io::ErrorKind::Interrupted => error,
            kind => io::Error::new(kind, format!("decoding {}: {}", self.encoding, Chain(&error))),
        })
    }
}
