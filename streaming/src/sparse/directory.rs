//! The directory of a sparse frame.

use std::ffi::OsString;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use oxiblosc_core::frame::{INDEX_FILE, chunk_file_id, chunk_file_name};

pub(crate) use super::plan_file::CLAIM_FILE;
use crate::context::about;
use crate::disk::{replace_file, sync_directory, temporary_of, write_beside};

/// The path of the index of a frame: `path` itself, or the index file in it if it is a directory.
pub(crate) fn index_path(path: &Path) -> (PathBuf, bool) {
    if path.is_dir() { (path.join(INDEX_FILE), true) } else { (path.to_owned(), false) }
}

/// The bytes `range` of a chunk file, or as many of them as it has.
pub(crate) fn read_chunk_file(directory: &Path, id: u32, range: &Range<u64>) -> io::Result<Bytes> {
    let name = chunk_file_name(id);
    let read = || {
        let mut file = File::open(directory.join(&name))?;
        // At most what the file has, since a range may be as long as the longest chunk.
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
    read().map_err(|e| about(format_args!("chunk file {name}"), e))
}

/// The file with the provisional header while a frame is being written, used by recovery. Not part of the format.
pub(crate) const HEADER_FILE: &str = "chunks.b2frame.part";

/// A file that is written before the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileName {
    Header,
    Chunk(u32),
}

impl fmt::Display for FileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Header => f.write_str(HEADER_FILE),
            Self::Chunk(id) => f.write_str(&chunk_file_name(*id)),
        }
    }
}

/// The header is no longer needed once there is an index. Failing to remove it does no harm.
pub(crate) fn remove_header(directory: &Path) {
    let _ = fs::remove_file(directory.join(HEADER_FILE));
}

/// Writes a file atomically.
pub(crate) fn write_file(directory: &Path, name: FileName, bytes: &[u8], durable: bool) -> io::Result<()> {
    let write = || {
        let mut file = File::create(directory.join(name.to_string()))?;
        file.write_all(bytes)?;
        if durable { file.sync_all() } else { Ok(()) }
    };
    write().map_err(|e| about(format_args!("chunk file {name}"), e))
}

/// Creates or replaces the index file of the directory, in one step.
pub(crate) fn write_index(directory: &Path, index: &[u8], durable: bool) -> io::Result<()> {
    let path = directory.join(INDEX_FILE);
    replace_file(write_beside(&path, index, durable)?, &path)?;
    if durable { sync_directory(directory) } else { Ok(()) }
}

/// The name of something in a directory that is not part of a sparse frame, so that the directory must not be replaced.
pub(crate) fn foreign_file(directory: &Path) -> io::Result<Option<OsString>> {
    for entry in fs::read_dir(directory)? {
        let name = entry?.file_name();
        let belongs = |name: &str| is_own(name) || temporary_of(name).is_some_and(is_own);
        if !name.to_str().is_some_and(belongs) {
            return Ok(Some(name));
        }
    }
    Ok(None)
}

/// Whether files of a sparse frame have such a name.
fn is_own(name: &str) -> bool {
    [INDEX_FILE, HEADER_FILE, CLAIM_FILE].contains(&name) || chunk_file_id(name).is_some()
}

/// Removes chunk and index files that killed editors had not given their names yet. The caller has locked the
/// directory. Where a plan says that others are writing, nothing is removed: they lock it for moments only.
///
/// What cannot be removed does no harm.
pub(crate) fn remove_temporary(directory: &Path) -> io::Result<()> {
    if directory.join(CLAIM_FILE).try_exists()? {
        return Ok(());
    }
    for entry in fs::read_dir(directory)? {
        let name = entry?.file_name();
        let own = name.to_str().and_then(temporary_of).filter(|&own| own != CLAIM_FILE);
        if own.is_some_and(is_own) {
            let _ = fs::remove_file(directory.join(name));
        }
    }
    Ok(())
}
