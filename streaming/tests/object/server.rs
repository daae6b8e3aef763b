//! A store in memory that behaves as servers do.

use std::collections::{BTreeSet, VecDeque};
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use object_store::memory::InMemory;
use object_store::multipart::{MultipartStore, PartId};
use object_store::path::Path;
use object_store::{
    Attributes, CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartId, MultipartUpload, ObjectMeta,
    ObjectStore, ObjectStoreExt, PutMode, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result, TagSet,
    UploadPart,
};
use oxiblosc_streaming::block_on;

/// A store in memory that behaves as some servers do: it ignores the conditions of puts, or takes its time.
#[derive(Debug)]
pub(crate) struct Server {
    inner: InMemory,
    ignores_conditions: bool,
    slow: Option<Duration>,
    uploads: Uploads,
    pub(crate) puts: AtomicUsize,
    /// The requests that make an object, as they are to fail.
    failures: Failures,
    /// What came with the objects.
    pub(crate) options: Mutex<Vec<(Attributes, TagSet)>>,
}

type Uploads = Arc<Mutex<BTreeSet<MultipartId>>>;
type Failures = Arc<Mutex<VecDeque<Failure>>>;

/// How a request that makes an object fails.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Failure {
    /// It does not arrive.
    Request,
    /// It is carried out, and nobody hears of it.
    Response,
}

/// What a request says that is to fail at this moment.
fn fail(failures: &Failures, at: Failure) -> Result<()> {
    let mut failures = failures.lock().unwrap();
    if failures.front() != Some(&at) {
        return Ok(());
    }
    failures.pop_front();
    Err(Error::Generic { store: "Server", source: "the connection broke".into() })
}

impl Server {
    pub(crate) fn new(ignores_conditions: bool, slow: Option<Duration>) -> Arc<Self> {
        Arc::new(Self {
            inner: InMemory::new(),
            ignores_conditions,
            slow,
            uploads: Arc::default(),
            puts: AtomicUsize::new(0),
            failures: Arc::default(),
            options: Mutex::default(),
        })
    }

    /// The next requests that make an object fail like this.
    pub(crate) fn fail(&self, failures: impl IntoIterator<Item = Failure>) {
        self.failures.lock().unwrap().extend(failures);
    }

    /// Uploads that are neither complete nor aborted.
    pub(crate) fn uploads(&self) -> Vec<MultipartId> {
        self.uploads.lock().unwrap().iter().cloned().collect()
    }

    /// What an object holds, if there is one.
    pub(crate) fn object(&self, path: &str) -> Option<Vec<u8>> {
        block_on(async { Some(self.inner.get(&Path::from(path)).await.ok()?.bytes().await.ok()?.to_vec()) })
    }

    /// Puts an object in somebody else's name.
    pub(crate) fn put_by_another(&self, path: &str, bytes: Vec<u8>) {
        block_on(self.inner.put(&Path::from(path), bytes.into())).unwrap();
    }

    async fn turn(&self) {
        if let Some(slow) = self.slow {
            tokio::time::sleep(slow).await;
        }
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let names = self.inner.list(None).map_ok(|meta| meta.location.to_string());
        let mut names: Vec<_> = block_on(names.try_collect()).unwrap();
        names.sort();
        names
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Server")
    }
}

#[async_trait]
impl ObjectStore for Server {
    async fn put_opts(&self, path: &Path, payload: PutPayload, mut options: PutOptions) -> Result<PutResult> {
        self.turn().await;
        self.puts.fetch_add(1, Ordering::Relaxed);
        if self.ignores_conditions {
            options.mode = PutMode::Overwrite;
        }
        self.options.lock().unwrap().push((options.attributes.clone(), options.tags.clone()));
        fail(&self.failures, Failure::Request)?;
        let result = self.inner.put_opts(path, payload, options).await?;
        fail(&self.failures, Failure::Response)?;
        Ok(result)
    }

    async fn put_multipart_opts(&self, path: &Path, options: PutMultipartOptions) -> Result<Box<dyn MultipartUpload>> {
        self.turn().await;
        self.options.lock().unwrap().push((options.attributes.clone(), options.tags.clone()));
        let inner = self.inner.put_multipart_opts(path, options).await?;
        let id = format!("in order {:p}", &*inner);
        self.uploads.lock().unwrap().insert(id.clone());
        let (uploads, failures, slow) = (Arc::clone(&self.uploads), Arc::clone(&self.failures), self.slow);
        Ok(Box::new(InOrder { inner, id, uploads, failures, slow, ended: false }))
    }

    async fn get_opts(&self, path: &Path, options: GetOptions) -> Result<GetResult> {
        self.turn().await;
        self.inner.get_opts(path, options).await
    }

    fn delete_stream(&self, paths: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        let slow = self.slow;
        let paths = paths.then(move |path| async move {
            if let Some(slow) = slow {
                tokio::time::sleep(slow).await;
            }
            path
        });
        self.inner.delete_stream(paths.boxed())
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.inner.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await
    }
}

/// An upload in order. It takes its time, and its parts stay unless it is completed or aborted, once.
#[derive(Debug)]
struct InOrder {
    inner: Box<dyn MultipartUpload>,
    id: MultipartId,
    uploads: Uploads,
    failures: Failures,
    slow: Option<Duration>,
    ended: bool,
}

#[async_trait]
impl MultipartUpload for InOrder {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        assert!(!self.ended, "a part after the end");
        let (part, slow) = (self.inner.put_part(data), self.slow);
        Box::pin(async move {
            if let Some(slow) = slow {
                tokio::time::sleep(slow).await;
            }
            part.await
        })
    }

    async fn complete(&mut self) -> Result<PutResult> {
        if let Some(slow) = self.slow {
            tokio::time::sleep(slow).await;
        }
        fail(&self.failures, Failure::Request)?;
        let result = self.inner.complete().await?;
        self.ended = true;
        self.uploads.lock().unwrap().remove(&self.id);
        fail(&self.failures, Failure::Response)?;
        Ok(result)
    }

    async fn abort(&mut self) -> Result<()> {
        if self.ended {
            return Err(Error::NotFound { path: self.id.clone(), source: "there is no such upload".into() });
        }
        self.ended = true;
        self.uploads.lock().unwrap().remove(&self.id);
        self.inner.abort().await
    }
}

#[async_trait]
impl MultipartStore for Server {
    async fn create_multipart(&self, path: &Path) -> Result<MultipartId> {
        self.create_multipart_opts(path, PutMultipartOptions::default()).await
    }

    async fn create_multipart_opts(&self, path: &Path, options: PutMultipartOptions) -> Result<MultipartId> {
        self.turn().await;
        self.options.lock().unwrap().push((options.attributes.clone(), options.tags.clone()));
        let id = self.inner.create_multipart_opts(path, options).await?;
        self.uploads.lock().unwrap().insert(id.clone());
        Ok(id)
    }

    async fn put_part(&self, path: &Path, id: &MultipartId, part: usize, data: PutPayload) -> Result<PartId> {
        self.turn().await;
        self.inner.put_part(path, id, part, data).await
    }

    async fn complete_multipart(&self, path: &Path, id: &MultipartId, parts: Vec<PartId>) -> Result<PutResult> {
        self.turn().await;
        fail(&self.failures, Failure::Request)?;
        let result = self.inner.complete_multipart(path, id, parts).await?;
        self.uploads.lock().unwrap().remove(id);
        fail(&self.failures, Failure::Response)?;
        Ok(result)
    }

    async fn abort_multipart(&self, path: &Path, id: &MultipartId) -> Result<()> {
        self.turn().await;
        if !self.uploads.lock().unwrap().contains(id) {
            return Err(Error::NotFound { path: path.to_string(), source: "there is no such upload".into() });
        }
        self.inner.abort_multipart(path, id).await?;
        self.uploads.lock().unwrap().remove(id);
        Ok(())
    }
}
