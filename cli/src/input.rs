//! Compressed input: a file, or standard input, kept so that any part of it can be read.

use std::error::Error;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::sync::Arc;

use futures::executor::block_on;
use oxiblosc::streaming::IoMode;
use oxiblosc::streaming::source::{FileSource, RangeSource};
use tempfile::SpooledTempFile;

use crate::args::Source;
use crate::detect::{HEAD_LEN, Kind};
use crate::error::CliError;

/// Bytes of standard input that are kept in memory; what is longer goes to a temporary file.
const SPOOL_MEMORY: usize = 16 << 20;

/// Compressed input of a known kind.
pub(crate) struct Input {
    /// What to call it in messages.
    pub(crate) name: String,
    pub(crate) kind: Kind,
    /// Length in bytes.
    pub(crate) len: u64,
    pub(crate) source: Arc<dyn RangeSource>,
}

impl Input {
    /// Opens a file or takes in all of standard input, and finds out what it is.
    pub(crate) fn open(source: &Source) -> Result<Self, CliError> {
        let name = source.name();
        let source = match source {
            Source::Standard => spool(io::stdin().lock()),
            Source::Path(path) => File::open(path).and_then(|file| {
                if file.metadata()?.is_file() {
                    Ok(Arc::new(FileSource::new(file, IoMode::Inline)) as Arc<dyn RangeSource>)
                } else {
                    // A pipe by name can only be read from front to back.
                    spool(file)
                }
            }),
        }
        .map_err(CliError::io(&name))?;
        let (len, head) = block_on(source.open(HEAD_LEN)).map_err(CliError::io(&name))?;
        let kind = Kind::of(&head).map_err(CliError::data(&name))?;
        Ok(Self { name, kind, len, source })
    }

    /// All bytes of the input, for a chunk.
    pub(crate) fn read_all(&self) -> Result<Vec<u8>, CliError> {
        let bytes = block_on(self.source.read_range(0..self.len)).map_err(CliError::io(&self.name))?;
        Ok(bytes.into())
    }

    /// An error in the content of the input.
    pub(crate) fn failed(&self, error: impl Error + Send + Sync + 'static) -> CliError {
        CliError::data(&self.name)(error)
    }
}

impl Source {
    /// What to call it in messages.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Standard => "standard input".into(),
            Self::Path(path) => path.display().to_string(),
        }
    }
}

/// Reads everything, into memory or into a temporary file without a name.
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
