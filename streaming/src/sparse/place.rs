//! Where the files of a sparse frame are.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use futures::future::BoxFuture;

/// Where the files of a sparse frame are: a [`Directory`](super::Directory), or objects under a common prefix
/// (`object::ObjectPrefix`).
///
/// # Contract
/// - A file appears as a whole or not at all, and replaces what had its name.
/// - The futures do their work when they are awaited, on any executor; dropping one leaves its work done or not done.
/// - After an error the same call may be made again.
pub trait SparsePlace: Send + Sync {
    /// Writes the chunk file of number `id`.
    fn put_chunk(&self, id: u32, bytes: Bytes) -> BoxFuture<'static, io::Result<()>>;

    /// The length of a chunk file and its first `len` bytes, or as many as it has. [`io::ErrorKind::NotFound`] when
    /// there is none.
    fn chunk_head(&self, id: u32, len: usize) -> BoxFuture<'static, io::Result<(u64, Bytes)>>;

    /// The numbers of all chunk files.
    fn chunks(&self) -> BoxFuture<'static, io::Result<BTreeSet<u32>>>;

    /// The index file that is there.
    fn index(&self) -> BoxFuture<'static, io::Result<Option<IndexVersion>>>;

    /// Writes the index file if what is there is still `replaces` (nothing, when that is `None`), in one step.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`] when something else is there.
    fn put_index(&self, index: Bytes, replaces: Option<IndexVersion>) -> BoxFuture<'static, io::Result<()>>;

    /// Removes the chunk file of number `id`; one that is not there is no error.
    fn remove_chunk(&self, id: u32) -> BoxFuture<'static, io::Result<()>>;

    /// Removes chunk files some time, without anybody waiting for it: those of a frame that was given up. Unless there is
    /// an index by then, which may need files with these names.
    fn discard(&self, ids: Vec<u32>);
}

/// An index file as it was found, by which it can be told from a later one.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct IndexVersion {
    /// Its bytes.
    pub content: Bytes,
    /// What an object store calls this state of the object.
    pub e_tag: Option<String>,
    /// The version, where a store keeps several.
    pub version: Option<String>,
}

impl IndexVersion {
    /// An index that is known by its bytes.
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

    fn chunks(&self) -> BoxFuture<'static, io::Result<BTreeSet<u32>>> {
        (**self).chunks()
    }

    fn index(&self) -> BoxFuture<'static, io::Result<Option<IndexVersion>>> {
        (**self).index()
    }

    fn put_index(&self, index: Bytes, replaces: Option<IndexVersion>) -> BoxFuture<'static, io::Result<()>> {
        (**self).put_index(index, replaces)
    }

    fn remove_chunk(&self, id: u32) -> BoxFuture<'static, io::Result<()>> {
        (**self).remove_chunk(id)
    }

    fn discard(&self, ids: Vec<u32>) {
        (**self).discard(ids);
    }
}

/// Somebody else has written the index.
pub(crate) fn index_exists(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::AlreadyExists, format!("{what} has been written by somebody else"))
}
