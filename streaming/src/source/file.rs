//! Frames in files.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use futures::future::BoxFuture;

use super::{Coalesced, RangeSource, check};
use crate::disk::{IoMode, PositionedFile};

/// Reading this many bytes too many costs about as much as another system call.
const GAP: u64 = 16 << 10;
/// Ranges are not joined to more than this: the buffer lives as long as any part of it.
const LONGEST: u64 = 4 << 20;

/// A file read at positions.
#[derive(Debug, Clone)]
pub struct FileSource {
    file: Arc<PositionedFile>,
    mode: IoMode,
}

impl FileSource {
    /// Opens a file; it is opened and read on threads that may block.
    pub async fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref().to_owned();
        let mode = IoMode::Offloaded;
        Ok(Self::new(mode.run(move || File::open(path)).await?, mode))
    }

    /// Opens a file; it is opened and read on the thread that asks, for blocking programs.
    pub fn open_inline(path: impl AsRef<Path>) -> io::Result<Self> {
        Ok(Self::new(File::open(path)?, IoMode::Inline))
    }

    /// Reads a file that is open already. Its cursor is neither used nor (on Unix) moved.
    pub fn new(file: File, mode: IoMode) -> Self {
        Self { file: Arc::new(PositionedFile::new(file)), mode }
    }
}

impl RangeSource for FileSource {
    fn size(&self) -> BoxFuture<'_, io::Result<u64>> {
        let file = Arc::clone(&self.file);
        Box::pin(self.mode.run(move || file.len()))
    }

    fn read_ranges(&self, ranges: Vec<Range<u64>>) -> BoxFuture<'_, io::Result<Vec<Bytes>>> {
        let file = Arc::clone(&self.file);
        Box::pin(self.mode.run(move || {
            check(&ranges, file.len()?)?;
            let read = |r: &Range<u64>| {
                // Lossless: `check` has made sure that the length fits.
                let mut bytes = vec![0; (r.end - r.start) as usize];
                file.read_exact_at(&mut bytes, r.start)?;
                Ok(bytes.into())
            };
            let coalesced = Coalesced::new(&ranges, GAP, LONGEST);
            let joined = coalesced.ranges().iter().map(read).collect::<io::Result<_>>()?;
            Ok(coalesced.split(joined))
        }))
    }
}
