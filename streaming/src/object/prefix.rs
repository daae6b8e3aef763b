//! A sparse frame as objects under a common prefix.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use futures::future::BoxFuture;
use futures::stream::{self, StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{Error, GetOptions, GetRange, ObjectStore, ObjectStoreExt, PutMode, PutOptions, UpdateVersion};
use oxiblosc_core::frame::{INDEX_FILE, chunk_file_id, chunk_file_name};

use super::{AT_ONCE, io_error, spawn};
use crate::budget::Budget;
use crate::context::{about, again};
use crate::reader::ReadOptions;
use crate::source::ChunkFiles;
use crate::sparse::{CLAIM_FILE, FileVersion, SparsePlace, random_id, written_by_another};

/// The objects of a sparse frame: `PREFIX/00000000.chunk` and so on, and `PREFIX/chunks.b2frame`.
///
/// Requests run on a small runtime of this crate, so any executor works.
///
/// # Conditional puts
/// Independent writers rely on the store to put an object only if a condition holds. S3, GCS and Azure do, and so do
/// most servers with the S3 protocol; some accept every put. A single writer works with those too. Unsafe uses are
/// refused ([`ConditionalPutsIgnored`](crate::sparse::ConditionalPutsIgnored)): editors, a
/// [`SharedWriter`](crate::SharedWriter), and a [`PlaceTarget`](crate::target::PlaceTarget) where another one has been
/// interrupted or may still write. Support is probed once for each `ObjectPrefix` and its clones, by three puts of one
/// object, of which the second must not create it again and the third must not replace it. One race remains on such
/// servers: if two writers start at the same moment, both may go on; the one whose claim was replaced fails at its
/// commit, but may have overwritten chunks of the other before.
#[derive(Clone)]
pub struct ObjectPrefix {
    store: Arc<dyn ObjectStore>,
    prefix: Path,
    /// Whether the store was found to ignore conditions.
    ignores: Arc<OnceLock<bool>>,
    /// Go on regardless.
    accept: bool,
    /// One unit for each chunk that is being read. They are taken and returned by tasks of the runtime, which complete
    /// whether or not anyone polls for the response.
    requests: Budget,
}

impl ObjectPrefix {
    /// The objects under `prefix`.
    pub fn new<S: ObjectStore>(store: Arc<S>, prefix: impl Into<Path>) -> Self {
        Self::with_store(store, prefix)
    }

    /// As [`new`](Self::new), for a store of a type that is not known at compile time.
    pub fn with_store(store: Arc<dyn ObjectStore>, prefix: impl Into<Path>) -> Self {
        let requests = Budget::new(ReadOptions::REQUESTS_IN_FLIGHT);
        Self { store, prefix: prefix.into(), ignores: Arc::default(), accept: false, requests }
    }

    /// Goes on even if the store ignores conditions, without probing it. Safe only if no two writers of a frame run at
    /// the same time, including those believed dead. Conflicts that a look before each put reveals are still refused.
    #[must_use]
    pub fn accept_ignored_conditions(mut self, accept: bool) -> Self {
        self.accept = accept;
        self
    }

    /// The common prefix.
    pub fn prefix(&self) -> &Path {
        &self.prefix
    }

    /// The limit on chunks that are read at a time.
    pub(crate) fn requests(&self) -> &Budget {
        &self.requests
    }

    fn object(&self, name: impl AsRef<str>) -> Path {
        self.prefix.clone().join(name.as_ref())
    }

    fn chunk(&self, id: u32) -> Path {
        self.object(chunk_file_name(id))
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

    fn version(&self, path: Path) -> BoxFuture<'static, io::Result<Option<FileVersion>>> {
        self.run(move |store| async move { version(&*store, &path).await })
    }

    /// Puts an object if the object it replaces is unchanged.
    fn replace(&self, path: Path, content: Bytes, replaces: Option<FileVersion>) -> BoxFuture<'static, io::Result<()>> {
        let mode = match replaces {
            None => PutMode::Create,
            Some(FileVersion { e_tag, version, .. }) => PutMode::Update(UpdateVersion { e_tag, version }),
        };
        let accept = self.accept;
        let put = self.run({
            let path = path.clone();
            move |store| async move {
                // Servers ignore conditions that they do not know. After this check only a race is left.
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
                let creates = matches!(mode, PutMode::Create);
                if !put_if(&*store, &path, content.clone(), mode).await? {
                    return Ok(false);
                }
                if !creates && !accept {
                    // Whoever replaces an object has made sure that the condition counts.
                    return Ok(true);
                }
                // This reveals who has won that race.
                Ok(version(&*store, &path).await?.is_some_and(|now| now.content == content))
            }
        });
        Box::pin(async move { if put.await? { Ok(()) } else { Err(written_by_another(path.as_ref())) } })
    }
}

/// The version of the object with this name, if there is one.
async fn version(store: &dyn ObjectStore, path: &Path) -> object_store::Result<Option<FileVersion>> {
    match store.get(path).await {
        Ok(found) => {
            let (e_tag, version) = (found.meta.e_tag.clone(), found.meta.version.clone());
            Ok(Some(FileVersion::new(found.bytes().await?).tagged(e_tag, version)))
        }
        Err(Error::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Puts an object. Returns whether the condition was met.
async fn put_if(store: &dyn ObjectStore, path: &Path, content: Bytes, mode: PutMode) -> object_store::Result<bool> {
    match store.put_opts(path, content.into(), PutOptions::from(mode)).await {
        Ok(_) => Ok(true),
        Err(Error::AlreadyExists { .. } | Error::Precondition { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Removes an object if it exists.
async fn delete(store: &dyn ObjectStore, path: &Path) -> object_store::Result<()> {
    match store.delete(path).await {
        Err(Error::NotFound { .. }) => Ok(()),
        result => result,
    }
}

impl ChunkFiles for ObjectPrefix {
    fn read_files(&self, ranges: Vec<(u32, Range<u64>)>) -> BoxFuture<'_, Vec<io::Result<Bytes>>> {
        Box::pin(async move {
            let asked = ranges.len();
            let get = |(id, range): (u32, Range<u64>)| {
                let (store, path, place) = (Arc::clone(&self.store), self.chunk(id), self.requests.acquire(1));
                async move {
                    let _place = place.await;
                    let read = read_chunk(&*store, &path, range).await;
                    read.map_err(|error| about(format_args!("chunk object {}", chunk_file_name(id)), error))
                }
            };
            let gets: Vec<_> = ranges.into_iter().map(get).collect();
            match spawn(stream::iter(gets).buffered(AT_ONCE).collect::<Vec<_>>()).await {
                Ok(found) => found,
                Err(error) => {
                    let error = Arc::new(error);
                    (0..asked).map(|_| Err(again(&error))).collect()
                }
            }
        })
    }
}

/// A range of a chunk object, or as much of it as the object has.
async fn read_chunk(store: &dyn ObjectStore, path: &Path, range: Range<u64>) -> io::Result<Bytes> {
    if range.is_empty() {
        return Ok(Bytes::new());
    }
    let options = GetOptions { range: Some(GetRange::Bounded(range.clone())), ..GetOptions::default() };
    match store.get_opts(path, options).await {
        Ok(result) if result.range.start != range.start => {
            let message =
                format!("requested the bytes from {} on, received those from {} on", range.start, result.range.start);
            Err(io::Error::new(io::ErrorKind::InvalidData, message))
        }
        Ok(result) => result.bytes().await.map_err(io_error),
        Err(error @ Error::NotFound { .. }) => Err(io_error(error)),
        // The range begins where the object has ended.
        Err(error) => match store.head(path).await {
            Ok(meta) if meta.size <= range.start => Ok(Bytes::new()),
            _ => Err(io_error(error)),
        },
    }
}

impl SparsePlace for ObjectPrefix {
    fn put_chunk(&self, id: u32, bytes: Bytes) -> BoxFuture<'static, io::Result<()>> {
        let path = self.chunk(id);
        self.run(move |store| async move { store.put(&path, bytes.into()).await.map(drop) })
    }

    fn create_chunk(&self, id: u32, bytes: Bytes) -> BoxFuture<'static, io::Result<()>> {
        let (path, accept) = (self.chunk(id), self.accept);
        let name = path.to_string();
        let put = self.run(move |store| async move {
            if accept {
                // The condition may be ignored, so look first.
                match store.head(&path).await {
                    Ok(_) => return Ok(false),
                    Err(Error::NotFound { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
            put_if(&*store, &path, bytes, PutMode::Create).await
        });
        Box::pin(async move { if put.await? { Ok(()) } else { Err(written_by_another(&name)) } })
    }

    fn chunks(&self) -> BoxFuture<'static, io::Result<BTreeMap<u32, u64>>> {
        let prefix = self.prefix.clone();
        self.run(move |store| async move {
            let names = store.list(Some(&prefix));
            // Objects further down are not part of this frame.
            let depth = prefix.parts().count() + 1;
            let ids = names.try_filter_map(|meta| async move {
                let here = meta.location.parts().count() == depth;
                let id = meta.location.filename().filter(|_| here).and_then(chunk_file_id);
                Ok(id.map(|id| (id, meta.size)))
            });
            ids.try_collect().await
        })
    }

    fn index(&self) -> BoxFuture<'static, io::Result<Option<FileVersion>>> {
        self.version(self.object(INDEX_FILE))
    }

    fn put_index(&self, index: Bytes, replaces: Option<FileVersion>) -> BoxFuture<'static, io::Result<()>> {
        self.replace(self.object(INDEX_FILE), index, replaces)
    }

    fn remove_chunk(&self, id: u32) -> BoxFuture<'static, io::Result<()>> {
        let path = self.chunk(id);
        self.run(move |store| async move { delete(&*store, &path).await })
    }

    fn plan(&self) -> BoxFuture<'static, io::Result<Option<FileVersion>>> {
        self.version(self.object(CLAIM_FILE))
    }

    fn put_plan(&self, plan: Bytes, replaces: Option<FileVersion>) -> BoxFuture<'static, io::Result<()>> {
        self.replace(self.object(CLAIM_FILE), plan, replaces)
    }

    /// (Stores have no conditional removal: an object put between the check and the removal is removed.)
    fn remove_plan(&self, expected: FileVersion) -> BoxFuture<'static, io::Result<()>> {
        let path = self.object(CLAIM_FILE);
        self.run(move |store| async move {
            match version(&*store, &path).await? {
                Some(now) if now.content == expected.content => delete(&*store, &path).await,
                _ => Ok(()),
            }
        })
    }

    fn ignores_conditions(&self) -> BoxFuture<'static, io::Result<bool>> {
        if self.accept {
            return Box::pin(std::future::ready(Ok(false)));
        }
        let (known, path) = (Arc::clone(&self.ignores), self.object(format!("{CLAIM_FILE}.{}", random_id())));
        self.run(move |store| async move {
            if let Some(&ignores) = known.get() {
                return Ok(ignores);
            }
            // The name is known to nobody else.
            let put = || put_if(&*store, &path, Bytes::from_static(b"to be removed"), PutMode::Create);
            let wrong = UpdateVersion { e_tag: Some("\"00000000000000000000000000000000\"".to_owned()), version: None };
            let replace = || put_if(&*store, &path, Bytes::from_static(b"to be removed"), PutMode::Update(wrong));
            let ignored = async { Ok::<_, Error>(put().await? && (put().await? || replace().await?)) }.await;
            delete(&*store, &path).await?;
            let ignores = match ignored {
                // A store without such a condition is no better than one that ignores it.
                Err(Error::NotImplemented { .. } | Error::NotSupported { .. }) => true,
                result => result?,
            };
            Ok(*known.get_or_init(|| ignores))
        })
    }
}

impl fmt::Debug for ObjectPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObjectPrefix").field("store", &self.store).field("prefix", &self.prefix).finish()
    }
}
