//! Frames in files and directories.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use futures::future::BoxFuture;

use super::{Coalesced, RangeSource, check};
use crate::compute::Buffers;
use crate::disk::{IoMode, PositionedFile};
use crate::sparse::directory::{index_path, read_chunk_file};

/// Reading this many bytes too many costs about as much as another system call.
const GAP: u64 = 16 << 10;
/// Ranges are not joined to more than this: the buffer lives as long as any part of it.
const LONGEST: u64 = 4 << 20;
/// Buffers of this many ranges are kept for the next ones...
const KEPT: usize = 2;
/// ... when they are at least this long. Shorter ones come from the allocator's own shelves.
const WORTH_KEEPING: usize = 128 << 10;

/// A file read at positions, or the directory of a sparse frame.
#[derive(Debug, Clone)]
pub struct FileSource {
    file: Arc<PositionedFile>,
    mode: IoMode,
    /// Where the chunk files of a sparse frame are.
    directory: Option<Arc<Path>>,
    buffers: Buffers,
    /// What was opened.
    path: Option<Arc<Path>>,
}

impl FileSource {
    /// Opens a file, or the directory of a sparse frame; it is opened and read on threads that may block.
    ///
    /// Chunk files are opened when they are needed; what else is in the directory does not matter.
    pub async fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref().to_owned();
        let mode = IoMode::Offloaded;
        mode.run(move || Self::open_now(&path, mode)).await
    }

    /// As [`open`](FileSource::open), but everything is opened and read on the thread that asks, for blocking programs.
    pub fn open_inline(path: impl AsRef<Path>) -> io::Result<Self> {
        Self::open_now(path.as_ref(), IoMode::Inline)
    }

    fn open_now(path: &Path, mode: IoMode) -> io::Result<Self> {
        let (index, is_sparse) = index_path(path);
        let file = File::open(&index).map_err(|e| match is_sparse {
            // Whoever asked for a directory would wonder which file is meant.
            true => io::Error::new(e.kind(), format!("{}: {e}", index.display())),
            false => e,
        })?;
        let directory = is_sparse.then(|| path.into());
        Ok(Self { directory, path: Some(path.into()), ..Self::new(file, mode) })
    }

    /// Reads a file that is open already. Its cursor is neither used nor (on Unix) moved.
    pub fn new(file: File, mode: IoMode) -> Self {
        let buffers = Buffers::new(KEPT);
        Self { file: Arc::new(PositionedFile::new(file)), mode, directory: None, path: None, buffers }
    }
}

impl RangeSource for FileSource {
    fn size(&self) -> BoxFuture<'_, io::Result<u64>> {
        let file = Arc::clone(&self.file);
        Box::pin(self.mode.run(move || file.len()))
    }

    fn read_ranges(&self, ranges: Vec<Range<u64>>) -> BoxFuture<'_, io::Result<Vec<Bytes>>> {
        let (file, buffers) = (Arc::clone(&self.file), self.buffers.clone());
        Box::pin(self.mode.run(move || {
            check(&ranges, file.len()?)?;
            let read = |r: &Range<u64>| {
                // Lossless: `check` has made sure that the length fits.
                let len = (r.end - r.start) as usize;
                if len < WORTH_KEEPING {
                    let mut bytes = vec![0; len];
                    file.read_exact_at(&mut bytes, r.start)?;
                    return Ok(bytes.into());
                }
                let mut bytes = buffers.take(len);
                file.read_exact_at(&mut bytes, r.start)?;
                Ok(bytes.into())
            };
            let coalesced = Coalesced::new(&ranges, GAP, LONGEST);
            let joined = coalesced.ranges().iter().map(read).collect::<io::Result<_>>()?;
            Ok(coalesced.split(joined))
        }))
    }

    fn is_immediate(&self) -> bool {
        self.mode == IoMode::Inline
    }

    /// By its path again: a commit may have put another file there.
    fn reopen(&self) -> BoxFuture<'_, io::Result<Option<Arc<dyn RangeSource>>>> {
        let (path, mode) = (self.path.clone(), self.mode);
        Box::pin(self.mode.run(move || {
            let reopened = path.map(|path| Self::open_now(&path, mode)).transpose()?;
            Ok(reopened.map(|source| Arc::new(source) as _))
        }))
    }

    fn is_sparse(&self) -> bool {
        self.directory.is_some()
    }

    fn read_chunk_files(&self, ranges: Vec<(u32, Range<u64>)>) -> BoxFuture<'_, Vec<io::Result<Bytes>>> {
        let directory = self.directory.clone();
        Box::pin(self.mode.run(move || {
            let read = |(id, range): (u32, Range<u64>)| match &directory {
                Some(directory) => read_chunk_file(directory, id, &range),
                None => Err(io::Error::new(io::ErrorKind::Unsupported, "a single file has no chunk files")),
            };
            ranges.into_iter().map(read).collect()
        }))
    }
}
