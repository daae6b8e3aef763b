//! Frames in files and directories.

use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use futures::future::BoxFuture;

use super::{ChunkFiles, Coalesced, RangeSource, check};
use crate::compute::Buffers;
use crate::context::{Replaced, about};
use crate::disk::{IoMode, PositionedFile, is_at};
use crate::sparse::directory::{CLAIM_FILE, HEADER_FILE, index_path, read_chunk_file};

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
    files: Option<OpenDirectory>,
    buffers: Buffers,
    /// What was opened.
    path: Option<Arc<Path>>,
}

impl FileSource {
    /// Opens a file, or the directory of a sparse frame; it is opened and read on threads that may block.
    ///
    /// Chunk files are opened when they are needed; other files in the directory are ignored. When an editor has
    /// removed one that is needed, or something has replaced the directory, that is an error
    /// ([`Replaced`](crate::Replaced)): the bytes of another state of the frame are never returned.
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
        // Before the index: if the directory is replaced in between, reads find that out.
        let directory = is_sparse.then(|| File::open(path).ok());
        let file = File::open(&index).map_err(|e| match is_sparse {
            true if e.kind() == io::ErrorKind::NotFound => io::Error::new(e.kind(), what_it_is(path)),
            // A caller that named a directory would wonder which file is meant.
            true => about(index.display(), e),
            false => e,
        })?;
        let mut source = Self { path: Some(path.into()), ..Self::new(file, mode) };
        source.files = directory.map(|directory| OpenDirectory {
            path: path.into(),
            directory: directory.map(Arc::new),
            modified: modified(&index),
            index: (Arc::clone(&source.file), index.into()),
            mode,
        });
        Ok(source)
    }

    /// Reads a file that is already open. Its cursor is neither used nor (on Unix) moved.
    pub fn new(file: File, mode: IoMode) -> Self {
        let buffers = Buffers::new(KEPT);
        Self { file: Arc::new(PositionedFile::new(file)), mode, files: None, path: None, buffers }
    }
}

/// What is in a directory without an index.
fn what_it_is(directory: &Path) -> &'static str {
    if directory.join(CLAIM_FILE).exists() {
        "the parts of a sparse frame, not yet committed (`oxiblosc commit` or `SharedWriter::commit`)"
    } else if directory.join(HEADER_FILE).exists() {
        "a sparse frame that has not been finished"
    } else {
        "a directory, but not a sparse frame"
    }
}

/// The directory of a sparse frame, as it was when the frame was opened.
#[derive(Debug, Clone)]
struct OpenDirectory {
    path: Arc<Path>,
    /// `None` where directories cannot be opened.
    directory: Option<Arc<File>>,
    /// The index file and its path.
    index: (Arc<PositionedFile>, Arc<Path>),
    /// When the index was last written.
    modified: Option<SystemTime>,
    mode: IoMode,
}

impl OpenDirectory {
    /// Reads chunk files that the index of this state names. Editors do not use the number of a file twice, so that a
    /// file that exists is the right one unless the whole directory is another.
    fn read(&self, ranges: &[(u32, Range<u64>)]) -> Vec<io::Result<Bytes>> {
        let found: Vec<_> = ranges.iter().map(|(id, range)| read_chunk_file(&self.path, *id, range)).collect();
        // After the files have been read: it may be replaced at any time.
        let is_other = self.directory.as_ref().is_some_and(|opened| is_another(opened, &self.path));
        let is_missing = |result: &io::Result<_>| result.as_ref().is_err_and(|e| e.kind() == io::ErrorKind::NotFound);
        let is_gone = found.iter().any(is_missing) && self.is_edited();
        if !is_other && !is_gone {
            return found;
        }
        let replaced = || Replaced::new(format_args!("the sparse frame {}", self.path.display())).into();
        found.into_iter().map(|result| if is_other || is_missing(&result) { Err(replaced()) } else { result }).collect()
    }

    /// Whether the index has been written again.
    fn is_edited(&self) -> bool {
        let (file, path) = &self.index;
        is_another(file.file(), path) || self.modified != modified(path)
    }
}

impl ChunkFiles for OpenDirectory {
    fn read_files(&self, ranges: Vec<(u32, Range<u64>)>) -> BoxFuture<'_, Vec<io::Result<Bytes>>> {
        let this = self.clone();
        // All of them at once: changing to another thread takes longer than reading a small file.
        Box::pin(async move { this.mode.run(move || this.read(&ranges)).await })
    }
}

/// Whether there is something else at `path` than what was opened there.
fn is_another(opened: &File, path: &Path) -> bool {
    !is_at(opened, path).unwrap_or(true) && path.exists()
}

fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|metadata| metadata.modified()).ok()
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
