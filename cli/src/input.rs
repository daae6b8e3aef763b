//! Compressed input with random access.

use std::error::Error;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use oxiblosc::chunk::ChunkHeader;
use oxiblosc::frame::{FrameError, FrameHeader, FrameType, PartialHeader};
use oxiblosc::source::{FileSource, ProgressSource, RangeSource};
use oxiblosc::{ErrorKind, FrameReader, IoMode, Limits, ReadError, ReadOptions, block_on};
use tempfile::SpooledTempFile;

use crate::args::Source;
use crate::detect::{FileKind, HEAD_LEN};
use crate::error::{CliError, PLUGIN_ADVICE, RECOVER_ADVICE};
use crate::progress::Progress;

/// Bytes of standard input that are kept in memory; longer input goes to a temporary file.
const SPOOL_MEMORY: usize = 16 << 20;

/// Compressed input of a known kind.
pub(crate) struct Input {
    /// Its name in messages.
    pub(crate) name: String,
    pub(crate) kind: FileKind,
    source: InputSource,
    /// The first bytes: at least the header of a chunk.
    head: Bytes,
    /// Length in bytes.
    len: u64,
}

/// Any source, with progress.
pub(crate) type InputSource = ProgressSource<Arc<dyn RangeSource>>;

/// A frame that has been opened.
pub(crate) type Reader = FrameReader<InputSource>;

impl Input {
    /// Opens a file, directory or object, or reads all of standard input, and detects its kind.
    pub(crate) fn open(source: &Source) -> Result<Self, CliError> {
        let name = source.name();
        let source = open(source).map_err(CliError::io(&name))?;
        let source = ProgressSource::new(source, &oxiblosc::Progress::new());
        let (len, head) = block_on(source.open(HEAD_LEN)).map_err(CliError::io(&name))?;
        let kind = FileKind::of(&head).map_err(CliError::data(&name))?;
        Ok(Self { name, kind, source, head, len })
    }

    /// Advances a bar with the bytes that are read from now on.
    pub(crate) fn watch(&mut self, bar: &Progress) {
        self.source = ProgressSource::new(Arc::clone(self.source.get_ref()), &bar.of_library());
    }

    /// Whether reading takes no requests.
    pub(crate) fn is_local(&self) -> bool {
        self.source.is_immediate()
    }

    /// Opens the frame with these options.
    pub(crate) fn frame(&self, options: ReadOptions) -> Result<Reader, CliError> {
        block_on(options.open(self.source.clone())).map_err(|error| match error {
            ReadError::Frame(FrameError::FrameType { found: 1, expected: 0 }) => {
                CliError::data(&self.name)("this is the index of a sparse frame: give the directory that it is in")
            }
            _ if self.unfinished().is_some() => CliError::data(&self.name)(
                "this is an open-ended frame, without totals in its header: `oxiblosc seal` writes them, or `oxiblosc \
                 recover` makes a copy that has them",
            ),
            error => self.failed(error),
        })
    }

    /// The head of the frame, if it is an open-ended one: without totals.
    pub(crate) fn unfinished(&self) -> Option<PartialHeader> {
        let header = FrameHeader::parse_unfinished(&self.head).ok()?;
        let len = u64::from(header.header_len);
        if header.frame_len > 0 || header.frame_type != FrameType::Contiguous || len > self.len {
            return None;
        }
        let limits = Limits::default();
        let bytes = block_on(self.source.read_range(0..len.min(limits.header_bytes as u64))).ok()?;
        PartialHeader::parse(&bytes, &limits).ok().filter(PartialHeader::is_unfinished)
    }

    /// All bytes of a chunk, or as many of them as there are, without any that follow.
    pub(crate) fn chunk(&self) -> Result<Bytes, CliError> {
        let header = ChunkHeader::parse(&self.head).map_err(CliError::data(&self.name))?;
        let chunk_len = match header.is_lazy() {
            false => header.cbytes,
            // Its blocks are elsewhere. It has a start and a length for each, and 12 bytes that say where they are.
            true => header.block_count().saturating_mul(8).saturating_add(header.header_len() + 12),
        };
        let chunk = self.source.read_range(0..self.len.min(chunk_len as u64));
        block_on(chunk).map_err(CliError::io(&self.name))
    }

    /// The number of bytes after a chunk of `chunk_len` bytes.
    pub(crate) fn bytes_behind(&self, chunk_len: usize) -> u64 {
        self.len.saturating_sub(chunk_len as u64)
    }

    /// An error in the content of the input.
    pub(crate) fn failed(&self, error: impl Error + Send + Sync + 'static) -> CliError {
        let kind = ErrorKind::of(&error);
        let error = CliError::data(&self.name)(error);
        match kind {
            ErrorKind::NoProvider => error.with_advice(PLUGIN_ADVICE),
            ErrorKind::Damaged | ErrorKind::UnexpectedEnd if self.kind == FileKind::Frame => {
                error.with_advice(RECOVER_ADVICE)
            }
            _ => error,
        }
    }

    /// The input could not be verified because a plugin is missing.
    pub(crate) fn not_verified(&self, reason: String) -> CliError {
        CliError::NotVerified { name: self.name.clone(), reason }
    }
}

/// Opens a source of any kind.
pub(crate) fn open(source: &Source) -> io::Result<Arc<dyn RangeSource>> {
    match source {
        Source::Standard => spool(io::stdin().lock()),
        Source::Path(path) => open_path(path),
        Source::Remote(object) => object.source(),
    }
}

fn open_path(path: &Path) -> io::Result<Arc<dyn RangeSource>> {
    let metadata = path.metadata()?;
    if metadata.is_dir() || metadata.is_file() {
        Ok(Arc::new(FileSource::open_inline(path)?))
    } else {
        // A named pipe can only be read front to back.
        spool(File::open(path)?)
    }
}

/// Reads everything, into memory or into an unnamed temporary file.
fn spool(mut stream: impl Read) -> io::Result<Arc<dyn RangeSource>> {
    let mut spool = SpooledTempFile::new(SPOOL_MEMORY);
    io::copy(&mut stream, &mut spool)?;
    spool.flush()?;
    spool.rewind()?;
    Ok(match spool.into_inner() {
        tempfile::SpooledData::InMemory(bytes) => Arc::new(bytes.into_inner()),
        tempfile::SpooledData::OnDisk(file) => Arc::new(FileSource::new(file, IoMode::Inline)),
    })
}
