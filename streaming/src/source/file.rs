//! Frames in files and directories.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use futures::future::BoxFuture;

use super::{ChunkFiles, Coalesced, RangeSource, check};
use crate::compute::Buffers;
use crate::context::about;
use crate::disk::{IoMode, PositionedFile};
use crate::sparse::Directory;
use crate::sparse::directory::index_path;

/// Reading this many unneeded bytes costs about as much as another system call.
const GAP: u64 = 4 << 10;
/// Ranges do not share a buffer longer than this: it lives as long as any part of it.
const LONGEST: u64 = 4 << 20;
/// This many buffers are kept for the next ranges...
const KEPT: usize = 2;
/// ... if they are at least this long. Shorter ones come from the allocator's free lists.
const WORTH_KEEPING: u64 = 16 << 10;

/// A file read at positions, or the directory of a sparse frame.
#[derive(Debug, Clone)]
pub struct FileSource {
    file: Arc<PositionedFile>,
    mode: IoMode,
    /// The chunk files of a sparse frame.
    files: Option<Directory>,
    buffers: Buffers,
    /// What was opened.
    path: Option<Arc<Path>>,
}

impl FileSource {
    /// Opens a file, or the directory of a sparse frame; it is opened and read on threads that may block.
    ///
    /// Chunk files are opened when they are needed; other files in the directory are ignored.
    pub async fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref().to_owned();
        let mode = IoMode::Offloaded;
        mode.run(move || Self::open_now(&path, mode)).await
    }

    /// As [`open`](FileSource::open), but everything is opened and read on the calling thread, for blocking programs.
    pub fn open_inline(path: impl AsRef<Path>) -> io::Result<Self> {
        Self::open_now(path.as_ref(), IoMode::Inline)
    }

    fn open_now(path: &Path, mode: IoMode) -> io::Result<Self> {
        let (index, is_sparse) = index_path(path);
        let file = File::open(&index).map_err(|e| match is_sparse {
            // A caller that named a directory would wonder which file is meant.
            true => about(index.display(), e),
            false => e,
        })?;
        let files = is_sparse.then(|| Directory::existing(path, mode));
        Ok(Self { files, path: Some(path.into()), ..Self::new(file, mode) })
    }

    /// Reads a file that is already open. Its cursor is neither used nor (on Unix) moved.
    pub fn new(file: File, mode: IoMode) -> Self {
        let buffers = Buffers::new(KEPT);
        Self { file: Arc::new(PositionedFile::new(file)), mode, files: None, path: None, buffers }
    }
}

/// Reads `ranges`, which are `len` bytes in total, one after the other into one buffer.
fn read_together(
    file: &PositionedFile,
    buffers: &Buffers,
    ranges: &[Range<u64>],
    len: u64,
    found: &mut Vec<Bytes>,
) -> io::Result<()> {
    let fill = |mut rest: &mut [u8]| {
        for range in ranges {
            // Lossless: `check` has made sure that the length fits, and the buffer has that of all.
            let (place, behind) = std::mem::take(&mut rest).split_at_mut((range.end - range.start) as usize);
            file.read_exact_at(place, range.start)?;
            rest = behind;
        }
        Ok::<_, io::Error>(())
    };
    let mut all = if len < WORTH_KEEPING {
        let mut bytes = vec![0; len as usize];
        fill(&mut bytes)?;
        Bytes::from(bytes)
    } else {
        let mut buffer = buffers.take(len as usize);
        fill(&mut buffer)?;
        buffer.into()
    };
    found.extend(ranges.iter().map(|range| all.split_to((range.end - range.start) as usize)));
    Ok(())
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
            let coalesced = Coalesced::new(&ranges, GAP, LONGEST);
            let mut found = Vec::with_capacity(coalesced.ranges().len());
            let mut rest = coalesced.ranges();
            while let Some(first) = rest.first() {
                // As many as go into one buffer, at least one.
                let (mut count, mut len) = (1, first.end - first.start);
                for next in &rest[1..] {
                    let with_next = len.saturating_add(next.end - next.start);
                    if with_next > LONGEST {
                        break;
                    }
                    (count, len) = (count + 1, with_next);
                }
                let (together, behind) = rest.split_at(count);
                read_together(&file, &buffers, together, len, &mut found)?;
                rest = behind;
            }
            Ok(coalesced.split(found))
        }))
    }

    fn is_immediate(&self) -> bool {
        self.mode == IoMode::Inline
    }

    /// Opens it by its path again, as a commit may have put another file there.
    fn reopen(&self) -> BoxFuture<'_, io::Result<Option<Arc<dyn RangeSource>>>> {
        let (path, mode) = (self.path.clone(), self.mode);
        Box::pin(self.mode.run(move || {
            let reopened = path.map(|path| Self::open_now(&path, mode)).transpose()?;
            Ok(reopened.map(|source| Arc::new(source) as _))
        }))
    }

    fn chunk_files(&self) -> Option<&dyn ChunkFiles> {
        self.files.as_ref().map(|files| files as _)
    }
}
