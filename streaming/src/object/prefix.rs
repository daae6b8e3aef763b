//! A sparse frame as objects under a common prefix.

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use futures::TryStreamExt;
use futures::future::BoxFuture;
use object_store::path::Path;
use object_store::{Error, GetOptions, GetRange, ObjectStore, ObjectStoreExt, PutMode, PutOptions, UpdateVersion};
use oxiblosc_core::frame::{INDEX_FILE, chunk_file_id, chunk_file_name};

use super::{detach, io_error, spawn};
use crate::sparse::{IndexVersion, SparsePlace, index_exists};

/// The objects of a sparse frame: `PREFIX/00000000.chunk` and so on, and `PREFIX/chunks.b2frame`.
///
/// Requests run on a small runtime of this crate, so that any executor will do. The store must have conditional puts
/// (those of S3, GCS and Azure do, and most servers that speak the protocol of S3). With one that ignores the condition
/// a commit still sees an index that is there already; only of two at the same time both would seem to succeed.
#[derive(Clone)]
pub struct ObjectPrefix {
    store: Arc<dyn ObjectStore>,
    prefix: Path,
}

impl ObjectPrefix {
    /// The objects under `prefix`.
    pub fn new<S: ObjectStore>(store: Arc<S>, prefix: impl Into<Path>) -> Self {
        Self::with_store(store, prefix)
    }

    /// As [`new`](Self::new), for a store of which it is not known which one it is.
    pub fn with_store(store: Arc<dyn ObjectStore>, prefix: impl Into<Path>) -> Self {
        Self { store, prefix: prefix.into() }
    }

    /// The common prefix.
    pub fn prefix(&self) -> &Path {
        &self.prefix
    }

    fn chunk(&self, id: u32) -> Path {
        self.prefix.clone().join(chunk_file_name(id))
    }

    fn run<T: Send + 'static, F>(
        &self,
        work: impl FnOnce(Arc<dyn ObjectStore>) -> F,
    ) -> BoxFuture<'static, io::Result<T>>
    where
        F: Future<Output = object_store::Result<T>> + Send + 'static,
    {
        let work = work(Arc::clone(&self.store));
        Box::pin(async move { spawn(work).await?.map_err(io_error) })
    }
}

impl SparsePlace for ObjectPrefix {
    fn put_chunk(&self, id: u32, bytes: Bytes) -> BoxFuture<'static, io::Result<()>> {
        let path = self.chunk(id);
        self.run(move |store| async move { store.put(&path, bytes.into()).await.map(drop) })
    }

    fn chunk_head(&self, id: u32, len: usize) -> BoxFuture<'static, io::Result<(u64, Bytes)>> {
        let path = self.chunk(id);
        self.run(move |store| async move {
            let options = GetOptions { range: Some(GetRange::Bounded(0..len as u64)), ..GetOptions::default() };
            match store.get_opts(&path, options).await {
                Ok(found) => {
                    let size = found.meta.size;
                    Ok((size, found.bytes().await?))
                }
                // An object without bytes has no range.
                Err(error @ Error::NotFound { .. }) => Err(error),
                Err(error) => match store.head(&path).await?.size {
                    0 => Ok((0, Bytes::new())),
                    _ => Err(error),
                },
            }
        })
    }

    fn chunks(&self) -> BoxFuture<'static, io::Result<BTreeSet<u32>>> {
        let prefix = self.prefix.clone();
        self.run(move |store| async move {
            let names = store.list(Some(&prefix));
            // Deeper ones are not of this frame.
            let depth = prefix.parts().count() + 1;
            let ids = names.try_filter_map(|meta| async move {
                let here = meta.location.parts().count() == depth;
                Ok(meta.location.filename().filter(|_| here).and_then(chunk_file_id))
            });
            ids.try_collect().await
        })
    }

    fn index(&self) -> BoxFuture<'static, io::Result<Option<IndexVersion>>> {
        let path = self.prefix.clone().join(INDEX_FILE);
        self.run(move |store| async move {
            match store.get(&path).await {
                Ok(found) => {
                    let (e_tag, version) = (found.meta.e_tag.clone(), found.meta.version.clone());
                    Ok(Some(IndexVersion::new(found.bytes().await?).tagged(e_tag, version)))
                }
                Err(Error::NotFound { .. }) => Ok(None),
                Err(error) => Err(error),
            }
        })
    }

    fn put_index(&self, index: Bytes, replaces: Option<IndexVersion>) -> BoxFuture<'static, io::Result<()>> {
        let path = self.prefix.clone().join(INDEX_FILE);
        let mode = match replaces {
            None => PutMode::Create,
            Some(IndexVersion { e_tag, version, .. }) => PutMode::Update(UpdateVersion { e_tag, version }),
        };
        let put = self.run({
            let path = path.clone();
            move |store| async move {
                // Servers ignore conditions that they do not know: only a race is left to them.
                let now = match store.head(&path).await {
                    Ok(meta) => Some(meta.e_tag),
                    Err(Error::NotFound { .. }) => None,
                    Err(error) => return Err(error),
                };
                let expected = match &mode {
                    PutMode::Update(UpdateVersion { e_tag, .. }) => Some(e_tag.clone()),
                    _ => None,
                };
                if now != expected {
                    return Ok(false);
                }
                match store.put_opts(&path, index.into(), PutOptions::from(mode)).await {
                    Ok(_) => Ok(true),
                    Err(Error::AlreadyExists { .. } | Error::Precondition { .. }) => Ok(false),
                    Err(error) => Err(error),
                }
            }
        });
        Box::pin(async move { if put.await? { Ok(()) } else { Err(index_exists(path.as_ref())) } })
    }

    fn remove_chunk(&self, id: u32) -> BoxFuture<'static, io::Result<()>> {
        let path = self.chunk(id);
        self.run(move |store| async move {
            match store.delete(&path).await {
                Err(Error::NotFound { .. }) => Ok(()),
                result => result,
            }
        })
    }

    fn discard(&self, ids: Vec<u32>) {
        let this = self.clone();
        let index = self.prefix.clone().join(INDEX_FILE);
        detach(async move {
            // The chunks of whoever has written an index have the same names.
            if !matches!(this.store.head(&index).await, Err(Error::NotFound { .. })) {
                return;
            }
            for id in ids {
                let _ = this.store.delete(&this.chunk(id)).await;
            }
        });
    }
}

impl fmt::Debug for ObjectPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObjectPrefix").field("store", &self.store).field("prefix", &self.prefix).finish()
    }
}
