//! Places: where the files of a sparse frame are.

use std::collections::BTreeMap;
use std::future::ready;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use futures::future::BoxFuture;
use thiserror::Error;

use crate::disk::IoMode;
use crate::source::ChunkFiles;

/// Where the files of a sparse frame are: a [`Directory`](super::Directory), a
/// [`MemoryDirectory`](super::MemoryDirectory), or objects under a common prefix (`object::ObjectPrefix`). Chunk files
/// are read as [`ChunkFiles`].
///
/// Besides the chunk files and the index there is the *plan*: a small file through which the writers coordinate. It
/// exists until the frame does, and readers do not look at it.
///
/// # Contract
/// - Files are written atomically.
/// - Of two conditional writes whose conditions only one can meet, the other fails ([`io::ErrorKind::AlreadyExists`]).
///   A place that cannot guarantee that reports it with [`ignores_conditions`](Self::ignores_conditions).
/// - The futures do their work when they are awaited, on any executor; after dropping one, its work may or may not have
///   been done.
/// - After an error the call may be repeated.
pub trait SparsePlace: ChunkFiles + 'static {
    /// Writes the chunk file of number `id`, replacing an existing one.
    fn put_chunk(&self, id: u32, bytes: Bytes) -> BoxFuture<'static, io::Result<()>>;

    /// Writes the chunk file of number `id`, unless there is one.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`] when there is one.
    fn create_chunk(&self, id: u32, bytes: Bytes) -> BoxFuture<'static, io::Result<()>>;

    /// The numbers of all chunk files, and their lengths in bytes.
    fn chunks(&self) -> BoxFuture<'static, io::Result<BTreeMap<u32, u64>>>;

    /// The current index file.
    fn index(&self) -> BoxFuture<'static, io::Result<Option<FileVersion>>>;

    /// Writes the index file in one step, if the current one is still `replaces` (none for `None`).
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`] when something else is there.
    fn put_index(&self, index: Bytes, replaces: Option<FileVersion>) -> BoxFuture<'static, io::Result<()>>;

    /// Removes the chunk file of number `id`. It is no error if there is none.
    fn remove_chunk(&self, id: u32) -> BoxFuture<'static, io::Result<()>>;

    /// The current plan.
    fn plan(&self) -> BoxFuture<'static, io::Result<Option<FileVersion>>>;

    /// Writes the plan in one step, if the current one is still `replaces` (none for `None`).
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`] when something else is there.
    fn put_plan(&self, plan: Bytes, replaces: Option<FileVersion>) -> BoxFuture<'static, io::Result<()>>;

    /// Removes the plan if it is still `version`. It is no error if there is none, or another one.
    fn remove_plan(&self, version: FileVersion) -> BoxFuture<'static, io::Result<()>>;

    /// Whether this handle keeps all other writers out, as a [locked](super::Directory::lock) directory does. Then chunk
    /// files that no index names may be overwritten, and those that the next index does not name may be removed.
    fn is_locked(&self) -> bool {
        false
    }

    /// Whether the place writes files even though their condition does not hold, as some servers do. Finding out may
    /// take requests, so it is called only where writers rely on conditions.
    fn ignores_conditions(&self) -> BoxFuture<'static, io::Result<bool>> {
        Box::pin(ready(Ok(false)))
    }
}

/// A version of an index or plan file, which distinguishes it from a later one.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileVersion {
    /// Its bytes.
    pub content: Bytes,
    /// The ETag, in an object store.
    pub e_tag: Option<String>,
    /// The version, where a store keeps several.
    pub version: Option<String>,
}

impl FileVersion {
    /// A version identified by its bytes alone.
    pub fn new(content: Bytes) -> Self {
        Self { content, e_tag: None, version: None }
    }

    /// Adds the identifiers of an object store.
    #[must_use]
    pub fn tagged(self, e_tag: Option<String>, version: Option<String>) -> Self {
        Self { e_tag, version, ..self }
    }
}

impl<P: SparsePlace + ?Sized> SparsePlace for Arc<P> {
    fn put_chunk(&self, id: u32, bytes: Bytes) -> BoxFuture<'static, io::Result<()>> {
        (**self).put_chunk(id, bytes)
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

    fn is_locked(&self) -> bool {
        (**self).is_locked()
    }

    fn ignores_conditions(&self) -> BoxFuture<'static, io::Result<bool>> {
        (**self).ignores_conditions()
    }
}

/// The error if another writer has written a file.
pub(crate) fn written_by_another(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::AlreadyExists, format!("{what} has been written by somebody else"))
}

/// Whether `whole` begins with `start`. Comparing and freeing megabytes takes milliseconds, so it is not done on an
/// executor's thread.
pub(super) async fn begins_with(whole: Bytes, start: Bytes) -> bool {
    const SMALL: usize = 256 << 10;
    let mode = if start.len() > SMALL { IoMode::default() } else { IoMode::Inline };
    mode.run(move || whole.starts_with(&start)).await
}

/// Whether chunk file `id` consists of exactly these bytes.
pub(crate) async fn whole_chunk(place: &dyn SparsePlace, id: u32, bytes: Bytes) -> io::Result<bool> {
    // One byte more than there should be.
    let found = place.read_file(id, 0..bytes.len() as u64 + 1).await?;
    Ok(found.len() == bytes.len() && begins_with(found, bytes).await)
}

/// The store of a place ignores the conditions of requests. Two writers that rely on them could overwrite each other's
/// chunks unnoticed.
///
/// Carried inside the [`io::Error`]s of targets, and in
/// [`ShareError::ConditionalPutsIgnored`](super::ShareError::ConditionalPutsIgnored).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error(
    "the store ignores the conditions of conditional puts, so that writers could overwrite each other unnoticed; where it \
     is certain that nobody else writes, remove chunks.b2frame.plan if there is one, or go on with \
     `ObjectPrefix::accept_ignored_conditions`"
)]
pub struct ConditionalPutsIgnored;
