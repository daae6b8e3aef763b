//! An object store in memory with faults.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use object_store::memory::InMemory;
use object_store::multipart::{MultipartStore, PartId};
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartId, MultipartUpload, ObjectMeta, ObjectStore,
    ObjectStoreExt, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result, UploadPart,
};
use oxiblosc::block_on;
use oxiblosc_conformance::target::Faults;

#[derive(Debug)]
pub(crate) struct FaultyStore {
    inner: InMemory,
    faults: Faults,
    uploads: Arc<Mutex<BTreeSet<MultipartId>>>,
}

impl FaultyStore {
    pub(crate) fn new(faults: Faults) -> Arc<Self> {
        Arc::new(Self { inner: InMemory::new(), faults, uploads: Arc::default() })
    }

    async fn turn(&self) -> Result<()> {
        turn(&self.faults).await
    }

    /// Uploads that are neither complete nor aborted.
    pub(crate) fn uploads(&self) -> Vec<String> {
        self.uploads.lock().unwrap().iter().map(|id| format!("upload {id}")).collect()
    }

    pub(crate) fn object(&self, path: &Path) -> Option<Bytes> {
        block_on(async { self.inner.get(path).await.ok()?.bytes().await.ok() })
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let names = self.inner.list(None).map_ok(|meta| meta.location.to_string());
        block_on(names.try_collect()).unwrap()
    }
}

impl fmt::Display for FaultyStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FaultyStore")
    }
}

async fn turn(faults: &Faults) -> Result<()> {
    let fault = |error: std::io::Error| Error::Generic { store: "faulty", source: error.into() };
    faults.turn().await.map_err(fault)
}

/// An upload in order. As with real stores, its parts stay unless it is completed or aborted.
#[derive(Debug)]
struct FaultyUpload {
    inner: Box<dyn MultipartUpload>,
    faults: Faults,
    uploads: Arc<Mutex<BTreeSet<MultipartId>>>,
    id: MultipartId,
}

#[async_trait]
impl MultipartUpload for FaultyUpload {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        let (part, faults) = (self.inner.put_part(data), self.faults.clone());
        Box::pin(async move {
            turn(&faults).await?;
            part.await
        })
    }

    async fn complete(&mut self) -> Result<PutResult> {
        turn(&self.faults).await?;
        let result = self.inner.complete().await?;
        self.uploads.lock().unwrap().remove(&self.id);
        // The answer may be lost too.
        turn(&self.faults).await?;
        Ok(result)
    }

    async fn abort(&mut self) -> Result<()> {
        turn(&self.faults).await?;
        self.inner.abort().await?;
        self.uploads.lock().unwrap().remove(&self.id);
        Ok(())
    }
}

#[async_trait]
impl ObjectStore for FaultyStore {
    async fn put_opts(&self, path: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        self.turn().await?;
        self.inner.put_opts(path, payload, options).await
    }

    async fn put_multipart_opts(&self, path: &Path, options: PutMultipartOptions) -> Result<Box<dyn MultipartUpload>> {
        self.turn().await?;
        let inner = self.inner.put_multipart_opts(path, options).await?;
        let (faults, uploads) = (self.faults.clone(), Arc::clone(&self.uploads));
        let id = format!("in order {:p}", &*inner);
        self.uploads.lock().unwrap().insert(id.clone());
        Ok(Box::new(FaultyUpload { inner, faults, uploads, id }))
    }

    async fn get_opts(&self, path: &Path, options: GetOptions) -> Result<GetResult> {
        self.turn().await?;
        self.inner.get_opts(path, options).await
    }

    fn delete_stream(&self, paths: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        self.inner.delete_stream(paths)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.inner.list(prefix).boxed()
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await
    }
}

#[async_trait]
impl MultipartStore for FaultyStore {
    async fn create_multipart(&self, path: &Path) -> Result<MultipartId> {
        self.turn().await?;
        let id = self.inner.create_multipart(path).await?;
        self.uploads.lock().unwrap().insert(id.clone());
        Ok(id)
    }

    async fn put_part(&self, path: &Path, id: &MultipartId, part: usize, data: PutPayload) -> Result<PartId> {
        self.turn().await?;
        self.inner.put_part(path, id, part, data).await
    }

    async fn complete_multipart(&self, path: &Path, id: &MultipartId, parts: Vec<PartId>) -> Result<PutResult> {
        self.turn().await?;
        let result = self.inner.complete_multipart(path, id, parts).await?;
        self.uploads.lock().unwrap().remove(id);
        // The answer may be lost too.
        self.turn().await?;
        Ok(result)
    }

    async fn abort_multipart(&self, path: &Path, id: &MultipartId) -> Result<()> {
        self.turn().await?;
        self.inner.abort_multipart(path, id).await?;
        self.uploads.lock().unwrap().remove(id);
        Ok(())
    }
}
