//! The files of a sparse frame, in memory.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::future::ready;
use std::io;
use std::ops::Range;
use std::sync::{Arc, PoisonError};

use bytes::Bytes;
use futures::future::BoxFuture;
use oxiblosc_core::frame::{INDEX_FILE, chunk_file_id, chunk_file_name};

use super::place::{FileVersion, SparsePlace, written_by_another};
use super::plan_file::CLAIM_FILE;
use crate::compute::free_in_background;
use crate::source::{ChunkFiles, RangeSource, check};
use crate::sync::{Mutex, MutexGuard};

/// A sparse frame in memory: the files that a directory of that frame would hold, by the same names.
///
/// It is written to through a [`PlaceTarget`](crate::target::PlaceTarget), edited as a [`SparsePlace`], and read as a
/// [`RangeSource`]. Clones share the files; [`snapshot`](Self::snapshot) returns a copy that no longer changes.
///
/// ```
/// use futures::SinkExt;
/// use oxiblosc_streaming::{FrameReader, WriteOptions, block_on};
/// use oxiblosc_streaming::blocking::FrameEditor;
/// use oxiblosc_streaming::edit::EditOptions;
/// use oxiblosc_streaming::sparse::MemoryDirectory;
/// use oxiblosc_streaming::target::PlaceTarget;
/// # use oxiblosc_plugins as _;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let directory = MemoryDirectory::new();
/// let mut sink = WriteOptions::default().chunk_size(1000).sink(PlaceTarget::new(directory.clone()))?;
/// block_on(async {
///     sink.feed(vec![7; 2500].into()).await?;
///     sink.close().await
/// })?;
/// let mut editor = FrameEditor::sparse(directory.clone(), EditOptions::new())?;
/// editor.append(&[8; 500])?;
/// editor.commit()?;
/// let reader = block_on(FrameReader::open(directory))?;
/// assert_eq!(block_on(reader.bytes(2400..2600))?, [[7; 100], [8; 100]].concat());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default)]
pub struct MemoryDirectory {
    files: Arc<Mutex<Files>>,
}

#[derive(Debug, Clone, Default)]
struct Files {
    index: Option<Bytes>,
    plan: Option<Bytes>,
    chunks: BTreeMap<u32, Bytes>,
}

impl MemoryDirectory {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// The frame in these files, each with its name. Files with other names are ignored.
    pub fn from_files<N: AsRef<str>>(files: impl IntoIterator<Item = (N, Bytes)>) -> Self {
        let mut found = Files::default();
        for (name, content) in files {
            match chunk_file_id(name.as_ref()) {
                Some(id) => drop(found.chunks.insert(id, content)),
                None if name.as_ref() == INDEX_FILE => found.index = Some(content),
                None if name.as_ref() == CLAIM_FILE => found.plan = Some(content),
                None => {}
            }
        }
        Self { files: Arc::new(Mutex::new(found)) }
    }

    /// The files as they are now, with their names: the chunks by number, then the index if there is one, or else the
    /// plan file of its writers.
    pub fn files(&self) -> Vec<(String, Bytes)> {
        let files = self.lock();
        let chunks = files.chunks.iter().map(|(&id, content)| (chunk_file_name(id), content.clone()));
        let named = |name: &str, content: &Option<Bytes>| content.clone().map(|content| (name.to_owned(), content));
        chunks.chain(named(INDEX_FILE, &files.index)).chain(named(CLAIM_FILE, &files.plan)).collect()
    }

    /// An independent copy of the current state. The content of the files is shared, not copied.
    #[must_use]
    pub fn snapshot(&self) -> Self {
        Self { files: Arc::new(Mutex::new(self.lock().clone())) }
    }

    fn lock(&self) -> MutexGuard<'_, Files> {
        // Every change is a single step, so a poisoned lock holds valid data.
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn index_bytes(&self) -> io::Result<Bytes> {
        self.lock().index.clone().ok_or_else(|| missing(INDEX_FILE))
    }

    /// The part of a range that a chunk file has.
    fn chunk_range(&self, id: u32, range: &Range<u64>) -> io::Result<Bytes> {
        let content = self.lock().chunks.get(&id).cloned().ok_or_else(|| missing(&chunk_file_name(id)))?;
        Ok(slice(&content, range))
    }
}

/// The bytes `range`, or as many of them as there are.
fn slice(content: &Bytes, range: &Range<u64>) -> Bytes {
    let at = |n: u64| usize::try_from(n).map_or(content.len(), |n| n.min(content.len()));
    content.slice(at(range.start)..at(range.end.max(range.start)))
}

fn missing(name: &str) -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, format!("there is no file {name}"))
}

impl RangeSource for MemoryDirectory {
    fn size(&self) -> BoxFuture<'_, io::Result<u64>> {
        Box::pin(ready(self.index_bytes().map(|index| index.len() as u64)))
    }

    fn read_ranges(&self, ranges: Vec<Range<u64>>) -> BoxFuture<'_, io::Result<Vec<Bytes>>> {
        let read = |index: Bytes| {
            check(&ranges, index.len() as u64)?;
            // Lossless: they have been compared with the length of a slice.
            Ok(ranges.iter().map(|range| index.slice(range.start as usize..range.end as usize)).collect())
        };
        Box::pin(ready(self.index_bytes().and_then(read)))
    }

    fn is_immediate(&self) -> bool {
        true
    }

    fn chunk_files(&self) -> Option<&dyn ChunkFiles> {
        Some(self)
    }
}

impl ChunkFiles for MemoryDirectory {
    fn read_files(&self, ranges: Vec<(u32, Range<u64>)>) -> BoxFuture<'_, Vec<io::Result<Bytes>>> {
        Box::pin(ready(ranges.into_iter().map(|(id, range)| self.chunk_range(id, &range)).collect()))
    }
}

impl SparsePlace for MemoryDirectory {
    fn put_chunk(&self, id: u32, bytes: Bytes) -> BoxFuture<'static, io::Result<()>> {
        let this = self.clone();
        Box::pin(async move {
            let before = this.lock().chunks.insert(id, bytes);
            forget(before);
            Ok(())
        })
    }

    fn create_chunk(&self, id: u32, bytes: Bytes) -> BoxFuture<'static, io::Result<()>> {
        let this = self.clone();
        Box::pin(async move {
            match this.lock().chunks.entry(id) {
                Entry::Occupied(_) => Err(written_by_another(&chunk_file_name(id))),
                Entry::Vacant(entry) => {
                    entry.insert(bytes);
                    Ok(())
                }
            }
        })
    }

    fn chunks(&self) -> BoxFuture<'static, io::Result<BTreeMap<u32, u64>>> {
        let this = self.clone();
        Box::pin(
            async move { Ok(this.lock().chunks.iter().map(|(&id, content)| (id, content.len() as u64)).collect()) },
        )
    }

    fn index(&self) -> BoxFuture<'static, io::Result<Option<FileVersion>>> {
        let this = self.clone();
        Box::pin(async move { Ok(this.lock().index.clone().map(FileVersion::new)) })
    }

    fn put_index(&self, index: Bytes, replaces: Option<FileVersion>) -> BoxFuture<'static, io::Result<()>> {
        let this = self.clone();
        Box::pin(async move { replace(&mut this.lock().index, index, replaces, INDEX_FILE) })
    }

    fn remove_chunk(&self, id: u32) -> BoxFuture<'static, io::Result<()>> {
        let this = self.clone();
        Box::pin(async move {
            let removed = this.lock().chunks.remove(&id);
            forget(removed);
            Ok(())
        })
    }

    fn plan(&self) -> BoxFuture<'static, io::Result<Option<FileVersion>>> {
        let this = self.clone();
        Box::pin(async move { Ok(this.lock().plan.clone().map(FileVersion::new)) })
    }

    fn put_plan(&self, plan: Bytes, replaces: Option<FileVersion>) -> BoxFuture<'static, io::Result<()>> {
        let this = self.clone();
        Box::pin(async move { replace(&mut this.lock().plan, plan, replaces, CLAIM_FILE) })
    }

    fn remove_plan(&self, version: FileVersion) -> BoxFuture<'static, io::Result<()>> {
        let this = self.clone();
        Box::pin(async move {
            this.lock().plan.take_if(|plan| *plan == version.content);
            Ok(())
        })
    }
}

/// Frees a chunk that is no longer needed.
fn forget(chunk: Option<Bytes>) {
    let len = chunk.as_ref().map_or(0, Bytes::len);
    free_in_background(chunk, len);
}

/// Writes a file if the one it replaces is unchanged.
fn replace(file: &mut Option<Bytes>, content: Bytes, replaces: Option<FileVersion>, name: &str) -> io::Result<()> {
    if *file != replaces.map(|version| version.content) {
        return Err(written_by_another(name));
    }
    *file = Some(content);
    Ok(())
}
