//! The directory of a sparse frame.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use oxiblosc_core::frame::{INDEX_FILE, chunk_file_name};

/// Where the index of a frame is: `path` itself, or the index file in it when it is a directory.
pub(crate) fn index_path(path: &Path) -> (PathBuf, bool) {
    if path.is_dir() { (path.join(INDEX_FILE), true) } else { (path.to_owned(), false) }
}

/// The bytes `range` of a chunk file, or as many of them as it has.
pub(crate) fn read_chunk_file(directory: &Path, id: u32, range: &Range<u64>) -> io::Result<Bytes> {
    let name = chunk_file_name(id);
    let read = || {
        let mut file = File::open(directory.join(&name))?;
        // No more than the file has: a range may be the longest that a chunk can be.
        let len = file.metadata()?.len();
        let wanted = range.start.min(len)..range.end.min(len);
        let capacity = usize::try_from(wanted.end - wanted.start).map_err(io::Error::other)?;
        if wanted.start > 0 {
            file.seek(SeekFrom::Start(wanted.start))?;
        }
        let mut bytes = Vec::with_capacity(capacity);
        file.take(capacity as u64).read_to_end(&mut bytes)?;
        Ok(bytes.into())
    };
    read().map_err(|e: io::Error| io::Error::new(e.kind(), format!("chunk file {name}: {e}")))
}
