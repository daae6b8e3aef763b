//! Where the files of a sparse frame are.

use std::collections::BTreeMap;
use std::future::ready;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use futures::future::BoxFuture;
use thiserror::Error;

/// Where the files of a sparse frame are: a [`Directory`](super::Directory), a
/// [`MemoryDirectory`](super::MemoryDirectory), or objects under a common prefix (`object::ObjectPrefix`).
///
/// Besides the chunk files and the index there is the *plan*: a small file of the writers, by which they know of each
/// other. It is there as long as the frame is not, and readers do not look at it.
///
/// # Contract
/// - A file appears as a whole or not at all.
/// - Of two that write a file on a condition that only one of them can meet, one is told
///   ([`io::ErrorKind::AlreadyExists`]). A place that cannot promise it says so by
///   [`ignores_conditions`](Self::ignores_conditions).
/// - The futures do their work when they are awaited, on any executor; dropping one leaves its work done or not done.
/// - After an error the same call may be made again.
pub trait SparsePlace: Send + Sync + 'static {
    /// Writes the chunk file of number `id`; it replaces the one that is there.
    fn put_chunk(&self, id: u32, bytes: Bytes) -> BoxFuture<'static, io::Result<()>>;

    /// Writes the chunk file of number `id`, unless there is one.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`] when there is one.
    fn create_chunk(&self, id: u32, bytes: Bytes) -> BoxFuture<'static, io::Result<()>>;

    /// The length of a chunk file and its first `len` bytes, or as many as it has. [`io::ErrorKind::NotFound`] when
    /// there is none.
    fn chunk_head(&self, id: u32, len: usize) -> BoxFuture<'static, io::Result<(u64, Bytes)>>;

    /// The numbers of all chunk files, and their lengths in bytes.
    fn chunks(&self) -> BoxFuture<'static, io::Result<BTreeMap<u32, u64>>>;

    /// The index file that is there.
    fn index(&self) -> BoxFuture<'static, io::Result<Option<FileVersion>>>;

    /// Writes the index file if what is there is still `replaces` (nothing, when that is `None`), in one step.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`] when something else is there.
    fn put_index(&self, index: Bytes, replaces: Option<FileVersion>) -> BoxFuture<'static, io::Result<()>>;

    /// Removes the chunk file of number `id`; one that is not there is no error.
    fn remove_chunk(&self, id: u32) -> BoxFuture<'static, io::Result<()>>;

    /// The plan that is there.
    fn plan(&self) -> BoxFuture<'static, io::Result<Option<FileVersion>>>;

    /// Writes the plan if what is there is still `replaces` (nothing, when that is `None`), in one step.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`] when something else is there.
    fn put_plan(&self, plan: Bytes, replaces: Option<FileVersion>) -> BoxFuture<'static, io::Result<()>>;

    /// Removes the plan if it is still `version`; one that is not there, or another one, is no error.
    fn remove_plan(&self, version: FileVersion) -> BoxFuture<'static, io::Result<()>>;

    /// Whether writes happen that should not, because their condition does not hold: some servers ignore conditions.
    /// Finding out may take requests; the answer is asked for only where writers rely on it.
    fn ignores_conditions(&self) -> BoxFuture<'static, io::Result<bool>> {
        Box::pin(ready(Ok(false)))
    }
}

/// An index or a plan as it was found, by which it can be told from a later one.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileVersion {
    /// Its bytes.
    pub content: Bytes,
    /// What an object store calls this state of the object.
    pub e_tag: Option<String>,
    /// The version, where a store keeps several.
    pub version: Option<String>,
}

impl FileVersion {
    /// A file that is known by its bytes.
    pub fn new(content: Bytes) -> Self {
        Self { content, e_tag: None, version: None }
    }

    /// With what an object store says about this state of the object.
    #[must_use]
    pub fn tagged(self, e_tag: Option<String>, version: Option<String>) -> Self {
        Self { e_tag, version, ..self }
    }
}

impl<P: SparsePlace + ?Sized> SparsePlace for Arc<P> {
    fn put_chunk(&self, id: u32, bytes: Bytes) -> BoxFuture<'static, io::Result<()>> {
        (**self).put_chunk(id, bytes)
    }

    fn chunk_head(&self, id: u32, len: usize) -> BoxFuture<'static, io::Result<(u64, Bytes)>> {
        (**self).chunk_head(id, len)
    }

    fn create_chunk(&self, id: u32, bytes: Bytes) -> BoxFuture<'static, io::Result<()>> {
        (**self).create_chunk(id, bytes)
    }

    fn chunks(&self) -> BoxFuture<'static, io::Result<BTreeMap<u32, u64>>> {
        (**self).chunks()
    }

    fn index(&self) -> BoxFuture<'static, io::Result<Option<FileVersion>>> {
        (**self).index()
    }

    fn put_index(&self, index: Bytes, replaces: Option<FileVersion>) -> BoxFuture<'static, io::Result<()>> {
        (**self).put_index(index, replaces)
    }

    fn remove_chunk(&self, id: u32) -> BoxFuture<'static, io::Result<()>> {
        (**self).remove_chunk(id)
    }

    fn plan(&self) -> BoxFuture<'static, io::Result<Option<FileVersion>>> {
        (**self).plan()
    }

    fn put_plan(&self, plan: Bytes, replaces: Option<FileVersion>) -> BoxFuture<'static, io::Result<()>> {
        (**self).put_plan(plan, replaces)
    }

    fn remove_plan(&self, version: FileVersion) -> BoxFuture<'static, io::Result<()>> {
        (**self).remove_plan(version)
    }

    fn ignores_conditions(&self) -> BoxFuture<'static, io::Result<bool>> {
        (**self).ignores_conditions()
    }
}

/// Somebody else has written a file.
pub(crate) fn written_by_another(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::AlreadyExists, format!("{what} has been written by somebody else"))
}

/// The store of a place writes objects although the condition of the request does not hold. Two writers that rely on it
/// could overwrite each other's chunks and never know.
///
/// Inside of the [`io::Error`]s of targets, and in
/// [`ShareError::ConditionalPutsIgnored`](super::ShareError::ConditionalPutsIgnored).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error(
    "the store ignores the conditions of conditional puts, so that writers could overwrite each other unnoticed; where it \
     is certain that nobody else writes, remove chunks.b2frame.plan if there is one, or go on with \
     `ObjectPrefix::accept_ignored_conditions`"
)]
pub struct ConditionalPutsIgnored;
