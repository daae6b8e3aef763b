//! What stands for the encodings in a program without them: they are recognized and refused.

use std::io::{self, Read, Write};

use oxiblosc::transport::Encoding;

pub(crate) fn decode(_: Box<dyn Read + Send>, encoding: Encoding) -> io::Result<Box<dyn Read + Send>> {
    Err(io::Error::other(format!(
        "it is in {encoding}, which this program has been built without (feature `compression`); --decode none takes it \
         as it is"
    )))
}

/// No value of it exists.
pub(crate) enum EncodingWriter {}

impl EncodingWriter {
    pub(crate) fn new(_: impl Write, encoding: Encoding) -> io::Result<Self> {
        Err(io::Error::other(format!("this program has been built without {encoding} (feature `compression`)")))
    }

    pub(crate) fn write_all(&mut self, _: &[u8]) -> io::Result<()> {
        match *self {}
    }

    pub(crate) fn finish(self) -> io::Result<()> {
        match self {}
    }
}
