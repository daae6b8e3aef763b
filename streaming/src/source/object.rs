//! Frames in object stores: S3, GCS, Azure, HTTP, and whatever else implements [`ObjectStore`].
//!
//! The stores of the `object_store` crate do their I/O on Tokio; here they run on the runtime of [`spawn`], so that
//! they work with any executor, and with [`block_on`](crate::block_on).

use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::future::BoxFuture;
use futures::stream::{self, StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{GetOptions, GetRange, GetResult, ObjectMeta, ObjectStore, ObjectStoreExt};
use oxiblosc_core::frame::INDEX_FILE;
use tokio::time::timeout;

use super::{ChunkFiles, Coalesced, HEAD, RangeSource, check};
use crate::budget::Budget;
use crate::context::Replaced;
use crate::object::{AT_ONCE, ObjectPrefix, io_error, spawn};
use crate::reader::ReadOptions;

/// Ranges this close together are requested as one.
const GAP: u64 = 4 << 10;
/// Ranges are not joined beyond this, so that a large one is fetched over several connections.
const LONGEST: u64 = 8 << 20;
/// This much of the end of a contiguous frame is requested together with its beginning. It holds the index and trailer
/// of some hundred chunks, which would otherwise cost a round trip of their own.
const TAIL: u64 = 4 << 10;
/// The end is waited for this long at least, however fast the beginning came.
const LEAST_PATIENCE: Duration = Duration::from_millis(50);
/// The cost of a request in bytes: some ten milliseconds at some hundred megabytes a second.
const REQUEST_COST: u64 = 1 << 20;

/// The error of a store. The only condition used is that the object is still the one that was opened.
fn to_io_error(error: object_store::Error) -> io::Error {
    match error {
        object_store::Error::Precondition { path, .. } => replaced(&path),
        error => io_error(error),
    }
}

fn replaced(path: impl fmt::Display) -> io::Error {
    Replaced::new(format_args!("the object {path}")).into()
}

/// An object with a contiguous frame, or the prefix of a sparse one.
///
/// To open an object, its first and last bytes are requested at the same time, and the length comes with them. The
/// ranges of a round are requested concurrently; those that touch, or nearly do, share a request. Once an object has
/// been opened, every request demands the same version of it, if the store has strong ETags: a replaced object is an
/// error, not a mixture. [`FrameReader::refresh`](crate::FrameReader::refresh) continues with the new one.
///
/// Clones share the version, and the limit on requests in flight.
#[derive(Clone)]
pub struct ObjectSource {
    store: Arc<dyn ObjectStore>,
    /// The object that the ranges are of: the frame, or the index of a sparse one.
    path: Path,
    /// The chunks of a sparse frame.
    files: Option<ObjectPrefix>,
    version: Arc<Mutex<Option<Version>>>,
    /// Length and first bytes, if finding the object returned them; used by the first open.
    found: Arc<Mutex<Option<(u64, Bytes)>>>,
    /// One unit for each request in flight. They are taken and returned by tasks of the runtime, which complete whether
    /// or not anyone polls for the response.
    requests: Budget,
}

#[derive(Debug, Clone)]
struct Version {
    size: u64,
    etag: Option<String>,
    /// The last bytes, or none.
    tail: Bytes,
}

impl Version {
    /// The bytes of all `ranges`, if the tail holds them.
    fn in_tail(&self, ranges: &[Range<u64>]) -> Option<Vec<Bytes>> {
        let start = self.size - self.tail.len() as u64;
        let inside = |at: u64| at.checked_sub(start).and_then(|at| usize::try_from(at).ok());
        ranges.iter().map(|range| Some(self.tail.slice(inside(range.start)?..inside(range.end)?))).collect()
    }
}

impl ObjectSource {
    /// The object at `path`.
    pub fn new(store: Arc<dyn ObjectStore>, path: Path) -> Self {
        let requests = Budget::new(ReadOptions::REQUESTS_IN_FLIGHT);
        Self { store, path, files: None, version: Arc::default(), found: Arc::default(), requests }
    }

    /// The sparse frame whose objects are under `prefix`: `chunks.b2frame`, and one for each chunk.
    pub fn sparse(store: Arc<dyn ObjectStore>, prefix: Path) -> Self {
        let index = Self::new(Arc::clone(&store), prefix.clone().join(INDEX_FILE));
        let files = ObjectPrefix::with_store(store, prefix);
        Self { requests: files.requests().clone(), files: Some(files), ..index }
    }

    /// Finds what is at `path`: an object, or else the prefix of a sparse frame. The result of the first request is
    /// kept for opening it, so that finding a contiguous frame costs no extra request.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`] when there is neither, and when the store fails.
    pub async fn find(store: Arc<dyn ObjectStore>, path: Path) -> io::Result<Self> {
        let object = Self::new(Arc::clone(&store), path.clone());
        let not_found = match object.fetch_head(HEAD).await {
            Err(e) if e.kind() == io::ErrorKind::NotFound => e,
            result => return result.map(|found| object.keep(found)),
        };
        let sparse = Self::sparse(store, path);
        match sparse.fetch_head(HEAD).await {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Err(not_found),
            result => result.map(|found| sparse.keep(found)),
        }
    }

    fn keep(self, found: (u64, Bytes)) -> Self {
        *self.found.lock().unwrap_or_else(PoisonError::into_inner) = Some(found);
        self
    }

    /// The store.
    pub fn store(&self) -> &Arc<dyn ObjectStore> {
        &self.store
    }

    /// The object with the frame, or with the index of a sparse one.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn version(&self) -> Option<Version> {
        self.version.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_version(&self, meta: &ObjectMeta, tail: Bytes) -> u64 {
        // A weak one does not guarantee the same bytes, and servers do not compare weak ones.
        let etag = meta.e_tag.clone().filter(|etag| !etag.starts_with("W/"));
        *self.version.lock().unwrap_or_else(PoisonError::into_inner) = Some(Version { size: meta.size, etag, tail });
        meta.size
    }

    /// Length and first bytes of the current object. Of a contiguous frame that is longer, keeps the last ones too.
    async fn fetch_head(&self, head: u64) -> io::Result<(u64, Bytes)> {
        let (store, path) = (Arc::clone(&self.store), self.path.clone());
        let begin = Instant::now();
        let last = self.files.is_none().then(|| spawn(get_tail(Arc::clone(&store), path.clone())));
        let (meta, bytes) = spawn(async move {
            let options = GetOptions { range: Some(GetRange::Bounded(0..head.max(1))), ..GetOptions::default() };
            match store.get_opts(&path, options).await {
                Ok(result) => {
                    let meta = result.meta.clone();
                    Ok((meta, result.bytes().await.map_err(to_io_error)?))
                }
                Err(e @ object_store::Error::NotFound { .. }) => Err(to_io_error(e)),
                // An empty object has no ranges.
                Err(e) => match store.head(&path).await {
                    Ok(meta) if meta.size == 0 => Ok((meta, Bytes::new())),
                    _ => Err(to_io_error(e)),
                },
            }
        })
        .await??;
        let bytes = bytes.slice(..bytes.len().min(usize::try_from(head).unwrap_or(usize::MAX)));
        let tail = match last {
            // No longer than asking for it now would take, but for what a busy machine needs to notice an answer: asking
            // again is one request more.
            Some(last) if meta.size > head => {
                let patience = begin.elapsed().max(LEAST_PATIENCE);
                spawn(async move { timeout(patience, last).await.ok() }).await?.transpose()?.flatten()
            }
            _ => None,
        };
        let same = |of: &ObjectMeta| of.e_tag == meta.e_tag && of.size == meta.size;
        let tail = tail.filter(|(of, _)| same(of)).map(|(_, tail)| tail).unwrap_or_default();
        Ok((self.set_version(&meta, tail), bytes))
    }
}

/// The last bytes of an object. Not every server has an answer to that, and nobody depends on one.
async fn get_tail(store: Arc<dyn ObjectStore>, path: Path) -> Option<(ObjectMeta, Bytes)> {
    let options = GetOptions { range: Some(GetRange::Suffix(TAIL)), ..GetOptions::default() };
    let result = store.get_opts(&path, options).await.ok()?;
    let (meta, range) = (result.meta.clone(), result.range.clone());
    let bytes = result.bytes().await.ok()?;
    (range.end == meta.size && range.start.checked_add(bytes.len() as u64) == Some(range.end)).then_some((meta, bytes))
}

/// Exactly the bytes of a range.
async fn get(store: &dyn ObjectStore, path: &Path, range: Range<u64>, version: Version) -> io::Result<Bytes> {
    let wanted = range.end - range.start;
    let options = GetOptions {
        range: Some(GetRange::Bounded(range.clone())),
        if_match: version.etag.clone(),
        ..GetOptions::default()
    };
    let result: GetResult = store.get_opts(path, options).await.map_err(to_io_error)?;
    // Not every server honours the condition, but all identify the version of the bytes, at least by its length.
    if version.etag.is_some() && result.meta.e_tag != version.etag || result.meta.size != version.size {
        return Err(replaced(path));
    }
    let answered = result.range.clone();
    let bytes = result.bytes().await.map_err(to_io_error)?;
    if bytes.len() as u64 != wanted {
        let message = format!("{path}: requested {wanted} bytes, received {}", bytes.len());
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, message));
    }
    if answered != range {
        let (start, end) = (answered.start, answered.end);
        let message = format!("{path}: requested bytes {}..{}, received {start}..{end}", range.start, range.end);
        return Err(io::Error::new(io::ErrorKind::InvalidData, message));
    }
    Ok(bytes)
}

impl RangeSource for ObjectSource {
    fn size(&self) -> BoxFuture<'_, io::Result<u64>> {
        Box::pin(async move {
            let (store, path) = (Arc::clone(&self.store), self.path.clone());
            let meta = spawn(async move { store.head(&path).await }).await?.map_err(to_io_error)?;
            Ok(self.set_version(&meta, Bytes::new()))
        })
    }

    fn open(&self, head: u64) -> BoxFuture<'_, io::Result<(u64, Bytes)>> {
        Box::pin(async move {
            let found = self.found.lock().unwrap_or_else(PoisonError::into_inner).take();
            match found {
                Some((size, bytes)) if bytes.len() as u64 >= head.min(size) => {
                    Ok((size, bytes.slice(..bytes.len().min(usize::try_from(head).unwrap_or(usize::MAX)))))
                }
                _ => self.fetch_head(head).await,
            }
        })
    }

    fn read_ranges(&self, ranges: Vec<Range<u64>>) -> BoxFuture<'_, io::Result<Vec<Bytes>>> {
        Box::pin(async move {
            let version = match self.version() {
                Some(version) => version,
                None => {
                    let size = self.size().await?;
                    Version { size, etag: self.version().and_then(|v| v.etag), tail: Bytes::new() }
                }
            };
            check(&ranges, version.size)?;
            if let Some(bytes) = version.in_tail(&ranges) {
                return Ok(bytes);
            }
            let coalesced = Coalesced::new(&ranges, GAP, LONGEST);
            let get = |range: &Range<u64>| {
                let (store, path, version) = (Arc::clone(&self.store), self.path.clone(), version.clone());
                let (range, place) = (range.clone(), self.requests.acquire(1));
                async move {
                    let _place = place.await;
                    get(&store, &path, range, version).await
                }
            };
            let gets: Vec<_> = coalesced.ranges().iter().map(get).collect();
            let joined = spawn(stream::iter(gets).buffered(AT_ONCE).try_collect::<Vec<Bytes>>()).await??;
            Ok(coalesced.split(joined))
        })
    }

    fn request_cost(&self) -> u64 {
        REQUEST_COST
    }

    fn limit_requests(&self, at_once: usize) -> bool {
        self.requests.set_limit(at_once.max(1));
        true
    }

    fn reopen(&self) -> BoxFuture<'_, io::Result<Option<Arc<dyn RangeSource>>>> {
        let newest = Self { version: Arc::default(), found: Arc::default(), ..self.clone() };
        Box::pin(std::future::ready(Ok(Some(Arc::new(newest) as _))))
    }

    fn chunk_files(&self) -> Option<&dyn ChunkFiles> {
        self.files.as_ref().map(|files| files as _)
    }
}

impl fmt::Debug for ObjectSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObjectSource").field("store", &self.store.to_string()).field("path", &self.path).finish()
    }
}
