//! Places of sparse frames: of each kind, and with something that happens at the worst moment.

use std::collections::BTreeMap;
use std::fmt;
use std::future::poll_fn;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::task::Poll;

use bytes::Bytes;
use futures::future::BoxFuture;
use oxiblosc_streaming::source::ChunkFiles;
use oxiblosc_streaming::sparse::{Directory, FileVersion, MemoryDirectory, SparsePlace};

/// A place with which something is done before or after a step.
#[derive(Clone)]
pub(crate) struct Hooked {
    pub(crate) inner: Arc<dyn SparsePlace>,
    hook: Arc<Mutex<Option<Hook>>>,
    /// Calls so far, by name.
    pub(crate) calls: Arc<Mutex<BTreeMap<&'static str, u64>>>,
    /// The indexes passed to `put_index`.
    pub(crate) indexes: Arc<Mutex<Vec<Bytes>>>,
    /// Whether every call is pending once.
    yields: bool,
}

type Work = Box<dyn FnOnce() -> BoxFuture<'static, io::Result<()>> + Send>;

struct Hook {
    step: &'static str,
    /// Calls of this step that go by before.
    skip: u64,
    after: bool,
    work: Work,
}

impl fmt::Debug for Hooked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hooked")
    }
}

impl Hooked {
    pub(crate) fn new(inner: Arc<dyn SparsePlace>) -> Self {
        Self { inner, hook: Arc::default(), calls: Arc::default(), indexes: Arc::default(), yields: false }
    }

    /// With every call pending once.
    pub(crate) fn yielding(&self) -> Self {
        Self { yields: true, ..self.clone() }
    }

    /// Does `work` once, before the call of `step` that comes after `skip` others; should it fail, the call does.
    pub(crate) fn before(&self, step: &'static str, skip: u64, work: Work) {
        *self.hook.lock().unwrap() = Some(Hook { step, skip, after: false, work });
    }

    /// The same after the call.
    pub(crate) fn after(&self, step: &'static str, skip: u64, work: Work) {
        *self.hook.lock().unwrap() = Some(Hook { step, skip, after: true, work });
    }

    pub(crate) fn count(&self, step: &'static str) -> u64 {
        self.calls.lock().unwrap().get(step).copied().unwrap_or(0)
    }

    fn run<T: Send + 'static>(
        &self,
        step: &'static str,
        call: BoxFuture<'static, io::Result<T>>,
    ) -> BoxFuture<'static, io::Result<T>> {
        let this = self.clone();
        Box::pin(async move {
            *this.calls.lock().unwrap().entry(step).or_insert(0) += 1;
            if this.yields {
                let mut has_yielded = false;
                poll_fn(|cx| match std::mem::replace(&mut has_yielded, true) {
                    true => Poll::Ready(()),
                    false => {
                        cx.waker().wake_by_ref();
                        Poll::Pending
                    }
                })
                .await;
            }
            let due = {
                let mut hook = this.hook.lock().unwrap();
                match &mut *hook {
                    Some(Hook { step: due, skip: 0, .. }) if *due == step => hook.take(),
                    Some(Hook { step: due, skip, .. }) if *due == step => {
                        *skip -= 1;
                        None
                    }
                    _ => None,
                }
            };
            match due {
                None => call.await,
                Some(Hook { after: false, work, .. }) => {
                    work().await?;
                    call.await
                }
                Some(Hook { work, .. }) => {
                    let result = call.await;
                    work().await?;
                    result
                }
            }
        })
    }
}

impl ChunkFiles for Hooked {
    fn read_files(&self, ranges: Vec<(u32, Range<u64>)>) -> BoxFuture<'_, Vec<io::Result<Bytes>>> {
        let (inner, asked) = (Arc::clone(&self.inner), ranges.len());
        let read = self.run("read_files", Box::pin(async move { Ok(inner.read_files(ranges).await) }));
        Box::pin(async move {
            let failed = |error: io::Error| (0..asked).map(|_| Err(error.kind().into())).collect();
            read.await.unwrap_or_else(failed)
        })
    }
}

impl SparsePlace for Hooked {
    fn put_chunk(&self, id: u32, bytes: Bytes) -> BoxFuture<'static, io::Result<()>> {
        self.run("put_chunk", self.inner.put_chunk(id, bytes))
    }

    fn create_chunk(&self, id: u32, bytes: Bytes) -> BoxFuture<'static, io::Result<()>> {
        self.run("create_chunk", self.inner.create_chunk(id, bytes))
    }

    fn chunks(&self) -> BoxFuture<'static, io::Result<BTreeMap<u32, u64>>> {
        self.run("chunks", self.inner.chunks())
    }

    fn index(&self) -> BoxFuture<'static, io::Result<Option<FileVersion>>> {
        self.run("index", self.inner.index())
    }

    fn put_index(&self, index: Bytes, replaces: Option<FileVersion>) -> BoxFuture<'static, io::Result<()>> {
        self.indexes.lock().unwrap().push(index.clone());
        self.run("put_index", self.inner.put_index(index, replaces))
    }

    fn remove_chunk(&self, id: u32) -> BoxFuture<'static, io::Result<()>> {
        self.run("remove_chunk", self.inner.remove_chunk(id))
    }

    fn plan(&self) -> BoxFuture<'static, io::Result<Option<FileVersion>>> {
        self.run("plan", self.inner.plan())
    }

    fn put_plan(&self, plan: Bytes, replaces: Option<FileVersion>) -> BoxFuture<'static, io::Result<()>> {
        self.run("put_plan", self.inner.put_plan(plan, replaces))
    }

    fn remove_plan(&self, version: FileVersion) -> BoxFuture<'static, io::Result<()>> {
        self.run("remove_plan", self.inner.remove_plan(version))
    }

    fn ignores_conditions(&self) -> BoxFuture<'static, io::Result<bool>> {
        self.run("ignores_conditions", self.inner.ignores_conditions())
    }
}

/// A place of each kind, with what must live as long.
pub(crate) fn places() -> Vec<(&'static str, Hooked, Option<tempfile::TempDir>)> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("frame");
    vec![
        ("memory", Hooked::new(Arc::new(MemoryDirectory::new())), None),
        ("directory", Hooked::new(Arc::new(Directory::new(path).unwrap())), Some(directory)),
        #[cfg(feature = "object_store")]
        ("objects", Hooked::new(Arc::new(objects())), None),
    ]
}

#[cfg(feature = "object_store")]
fn objects() -> oxiblosc_streaming::object::ObjectPrefix {
    let store = Arc::new(object_store::memory::InMemory::new());
    oxiblosc_streaming::object::ObjectPrefix::new(store, "some/where")
}

/// The frame at a place, copied into memory.
pub(crate) async fn copy(place: &dyn SparsePlace) -> MemoryDirectory {
    let mut files = Vec::new();
    for id in place.chunks().await.unwrap().into_keys() {
        let name = oxiblosc_core::frame::chunk_file_name(id);
        files.push((name, place.read_file(id, 0..u64::MAX).await.unwrap()));
    }
    if let Some(index) = place.index().await.unwrap() {
        files.push((oxiblosc_core::frame::INDEX_FILE.to_owned(), index.content));
    }
    MemoryDirectory::from_files(files)
}
