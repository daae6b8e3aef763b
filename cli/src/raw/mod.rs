//! Input to be compressed.

mod fortran;
mod low_latency;
mod remote;

use std::fs::File;
use std::io::{self, BufReader, Read, Seek};
use std::ops::Range;

use bytes::Bytes;
use oxiblosc::block_on;
use oxiblosc::source::RangeSource;
use tempfile::SpooledTempFile;

use self::fortran::Transposed;
pub(crate) use self::low_latency::{PromptReader, ReadEvent};
use self::remote::RemoteReader;
use crate::args::{DecodingArgs, Source};
use crate::error::CliError;
use crate::npy::{self, NpyHeader};
use crate::progress::{self, Progress, ProgressReader};
use crate::{detect, input};

/// Bytes of an array in Fortran order that are kept in memory if the input is a stream; longer input goes to a
/// temporary file.
const SPOOL_MEMORY: usize = 16 << 20;

/// The most memory allocated before it is known that there are that many bytes.
const MOST_RESERVED: u64 = 16 << 20;

/// The first bytes of a reader, enough to recognize a .npy file, a compressed stream or a frame, and a reader that still
/// starts with them.
fn peek(mut reader: Box<dyn Read + Send>) -> io::Result<(Vec<u8>, Box<dyn Read + Send>)> {
    let mut head = Vec::new();
    reader.by_ref().take(detect::MAGIC_END as u64).read_to_end(&mut head)?;
    let reader = io::Cursor::new(head.clone()).chain(reader);
    Ok((head, Box::new(reader)))
}

/// Uncompressed input: the bytes of a file or stream, or the items of a .npy file in C order.
pub(crate) struct RawInput {
    /// Its name in messages.
    pub(crate) name: String,
    reader: Box<dyn Read + Send>,
    /// The header of a .npy file.
    pub(crate) npy: Option<NpyHeader>,
    is_frame: bool,
    /// The range of the data of a .npy file; the file must end there, too.
    array: Option<Range<u64>>,
    /// Bytes of data read so far.
    taken: u64,
    pub(crate) bar: Progress,
}

impl RawInput {
    /// Opens a file, an object or standard input, and decodes it if it is compressed as a stream. Unless `raw`, a .npy
    /// file is recognized by its first bytes.
    pub(crate) fn open(source: &Source, raw: bool, decoding: &DecodingArgs, quiet: bool) -> Result<Self, CliError> {
        let name = source.name();
        let (reader, mut file, bar): (Box<dyn Read + Send>, _, _) = match source {
            Source::Standard => (Box::new(io::stdin()), None, progress::bar(None, quiet)),
            Source::Remote(_) => {
                let source = input::open(source).map_err(CliError::io(&name))?;
                if source.chunk_files().is_some() {
                    return Err(CliError::io(&name)(io::ErrorKind::IsADirectory.into()));
                }
                // Its length was returned when it was found.
                let (len, _) = block_on(source.open(0)).map_err(CliError::io(&name))?;
                (Box::new(RemoteReader::new(source, len)), None, progress::bar(Some(len), quiet))
            }
            Source::Path(path) => {
                let file = File::open(path).map_err(CliError::io(&name))?;
                let metadata = file.metadata().map_err(CliError::io(&name))?;
                if metadata.is_dir() {
                    return Err(CliError::io(&name)(io::ErrorKind::IsADirectory.into()));
                }
                let len = metadata.is_file().then_some(metadata.len());
                let again = len.map(|len| (path.clone(), len));
                (Box::new(file), again, progress::bar(len, quiet))
            }
        };
        let reader = Box::new(ProgressReader::new(BufReader::new(reader), bar.clone()));
        let (mut head, mut reader) = peek(reader).map_err(CliError::io(&name))?;
        if let Some(encoding) = decoding.encoding(raw, source, &head) {
            (head, reader) = crate::transport::decode(reader, encoding).and_then(peek).map_err(CliError::io(&name))?;
            // Its bytes no longer correspond to those of the file.
            file = None;
        }
        let is_array = head.starts_with(&npy::MAGIC) && !raw;
        let is_frame = detect::is_frame(&head) && !raw;
        let mut plain = Self { name, reader, npy: None, is_frame, array: None, taken: 0, bar };
        if is_array {
            let header = NpyHeader::read(&mut plain.reader).map_err(CliError::data(&plain.name))?;
            let array = header.data_offset..header.data_offset.saturating_add(header.nbytes);
            plain.array = Some(array.clone());
            if !header.is_c_order() {
                plain.reader = match file {
                    Some((path, len)) => {
                        plain.check_end(&array, len)?;
                        let file = File::open(path).map_err(CliError::io(&plain.name))?;
                        plain.transposed(file, array.start, &header)
                    }
                    None => {
                        let (spool, len) = plain.spool(header.nbytes)?;
                        plain.check_end(&array, array.start + len)?;
                        plain.transposed(spool, 0, &header)
                    }
                };
            }
            plain.npy = Some(header);
        }
        Ok(plain)
    }

    /// What the user has probably not meant.
    pub(crate) fn warning(&self) -> Option<&'static str> {
        self.is_frame.then_some(
            "the input is a Blosc2 frame, whose encoded bytes are the data here: `oxiblosc cat` decodes it, and `oxiblosc \
             copy` changes how it is encoded",
        )
    }

    /// The next `len` bytes, or what is left; `None` at the end.
    pub(crate) fn next(&mut self, len: usize) -> Result<Option<Bytes>, CliError> {
        let limit = self.left().min(len as u64);
        // More memory is allocated only if there are more bytes.
        let mut bytes = Vec::with_capacity(limit.min(MOST_RESERVED) as usize);
        self.reader.by_ref().take(limit).read_to_end(&mut bytes).map_err(CliError::io(&self.name))?;
        self.taken += bytes.len() as u64;
        // Fewer bytes than requested, or none left: the end.
        if (bytes.len() as u64) < limit.max(1) {
            self.at_end()?;
        }
        Ok((!bytes.is_empty()).then(|| bytes.into()))
    }

    /// The result of a single read of the input, at most as much as `buffer` holds; `None` at the end.
    fn next_read(&mut self, buffer: &mut [u8]) -> Result<Option<Bytes>, CliError> {
        let limit = self.left().min(buffer.len() as u64) as usize;
        let len = loop {
            match self.reader.read(&mut buffer[..limit]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read.map_err(CliError::io(&self.name))?,
            }
        };
        self.taken += len as u64;
        if len == 0 {
            self.at_end()?;
        }
        Ok((len > 0).then(|| Bytes::copy_from_slice(&buffer[..len])))
    }

    /// Reads the rest as it arrives, on a separate thread.
    pub(crate) fn ahead(self) -> Result<PromptReader, CliError> {
        PromptReader::new(self)
    }

    /// Bytes left to read, as far as known.
    fn left(&self) -> u64 {
        self.array.as_ref().map_or(u64::MAX, |array| (array.end - array.start).saturating_sub(self.taken))
    }

    /// Checks that the data end with the file.
    fn at_end(&mut self) -> Result<(), CliError> {
        let Some(array) = self.array.clone() else { return Ok(()) };
        // One byte more is enough to see that the file goes on. The transposed reader has been checked already.
        let behind = self.reader.read(&mut [0]).map_err(CliError::io(&self.name))?;
        self.check_end(&array, array.start + self.taken + behind as u64)
    }

    /// Checks that the data of an array, and the file, end where the header says.
    fn check_end(&self, array: &Range<u64>, found: u64) -> Result<(), CliError> {
        let expected = array.end;
        let reason = match found.cmp(&expected) {
            std::cmp::Ordering::Equal => return Ok(()),
            std::cmp::Ordering::Less => {
                format!("the file ends at offset {found}, the data of the array at {expected}")
            }
            std::cmp::Ordering::Greater => {
                format!("the data of the array ends at offset {expected}, but the file goes on")
            }
        };
        Err(CliError::data(&self.name)(reason))
    }

    /// Reads the data of an array and, if there is one, a byte after them; returns the number of bytes.
    fn spool(&mut self, nbytes: u64) -> Result<(SpooledTempFile, u64), CliError> {
        let mut spool = SpooledTempFile::new(SPOOL_MEMORY);
        let len = io::copy(&mut self.reader.by_ref().take(nbytes.saturating_add(1)), &mut spool);
        Ok((spool, len.map_err(CliError::io(&self.name))?))
    }

    fn transposed(
        &self,
        file: impl Read + Seek + Send + 'static,
        start: u64,
        header: &NpyHeader,
    ) -> Box<dyn Read + Send> {
        let reader = Transposed::new(file, start, &header.shape, header.item_size);
        self.bar.reset();
        self.bar.set_length(header.nbytes);
        Box::new(ProgressReader::new(reader, self.bar.clone()))
    }
}
