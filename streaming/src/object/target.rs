//! A frame as one object.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use object_store::multipart::MultipartStore;
use object_store::path::Path;
use object_store::{Attributes, ObjectStore, TagSet};

use super::request::Request;
use super::spooled::SpooledUpload;
use super::streamed::StreamedUpload;
use crate::disk::IoMode;
use crate::target::{Part, Target};

/// Writes the frame to an object, which appears when it is complete. An object that had the name before stays until
/// then.
///
/// The header is the first part of a frame, and its totals are known last. There are two ways around that:
///
/// | made by | for | while the frame is written | memory, besides what the sink has in flight |
/// |---|---|---|---|
/// | [`with_multipart`](Self::with_multipart) | stores that take parts in any order: S3, GCS, Azure, in memory | parts are sent; the first one is held back until the end | the first part, the part being filled, and the parts in flight: some 50 MiB |
/// | [`new`](Self::new) | every [`ObjectStore`], such as `LocalFileSystem`, `LimitStore`, `PrefixStore`, or what `parse_url` returns | it is kept, in memory up to [a limit](Self::memory_limit) and in a temporary file beyond it; the upload begins at the end | the 16 MiB of that limit or, beyond it, the parts in flight: some 32 MiB |
///
/// A frame of a single part is put in one request either way. Requests run on a small runtime of this crate, so any
/// executor works.
///
/// # Failures
/// A failed commit may be repeated. With `with_multipart` it goes on with the part that failed. With `new` it sends all
/// parts again: the store's own repetitions of a part are all that its interface allows.
///
/// A target that is dropped before the frame is complete has the store remove the parts, in the background;
/// [`poll_abort`](Target::poll_abort) and [`settle`](crate::settle()) wait for that. (If the last request of an upload
/// is under way, they wait for its outcome, which may be the complete object.) When the process dies the parts stay,
/// invisible, until the store's own rules remove them; there is no object.
///
/// A response may be lost. Whoever commits again succeeds if the object that is there has the bytes of the frame, which
/// are compared; a target reads objects for nothing else.
///
/// ```
/// use std::sync::Arc;
/// use futures::{AsyncWriteExt, executor::block_on};
/// use oxiblosc_streaming::object::object_store::{ObjectStoreExt, memory::InMemory};
/// use oxiblosc_streaming::{WriteOptions, target::ObjectTarget};
/// # use oxiblosc_plugins as _;
///
/// let store = Arc::new(InMemory::new());
/// block_on(async {
///     let target = ObjectTarget::with_multipart(store.clone(), "data.b2frame");
///     let mut sink = WriteOptions::default().sink(target)?;
///     sink.write_all(&[7; 100_000]).await?;
///     assert!(store.head(&"data.b2frame".into()).await.is_err(), "nothing is there before it is complete");
///     let summary = sink.close().await?;
///     assert_eq!(store.head(&"data.b2frame".into()).await?.size, summary.frame_len);
///     Ok::<(), Box<dyn std::error::Error>>(())
/// })
/// # .unwrap();
/// ```
pub struct ObjectTarget {
    request: Request,
    way: Way,
}

enum Way {
    Streamed(StreamedUpload),
    Spooled(SpooledUpload),
}

impl ObjectTarget {
    /// The length of a part unless [`part_size`](Self::part_size) says otherwise: 8 MiB.
    pub const PART_SIZE: usize = 8 << 20;

    /// A target whose object gets the name `path`, in any store. The frame is kept until it is complete, and then sent.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use oxiblosc_streaming::object::object_store::{limit::LimitStore, memory::InMemory};
    /// use oxiblosc_streaming::target::ObjectTarget;
    ///
    /// let store = LimitStore::new(InMemory::new(), 8);
    /// let target = ObjectTarget::new(Arc::new(store), "data.b2frame");
    /// ```
    pub fn new(store: Arc<dyn ObjectStore>, path: impl Into<Path>) -> Self {
        let request = Request::new(store, path.into());
        Self { request, way: Way::Spooled(SpooledUpload::new()) }
    }

    /// As [`new`](Self::new), for a store that takes the parts of an upload in any order. They are sent while the frame
    /// is written.
    pub fn with_multipart<S: ObjectStore + MultipartStore>(store: Arc<S>, path: impl Into<Path>) -> Self {
        Self::from_stores(Arc::clone(&store) as _, store, path.into())
    }

    /// A target in one store that is known as two.
    pub(crate) fn from_stores(store: Arc<dyn ObjectStore>, multipart: Arc<dyn MultipartStore>, path: Path) -> Self {
        let request = Request::new(store, path);
        let upload = StreamedUpload::new(multipart, request.path.clone());
        Self { request, way: Way::Streamed(upload) }
    }

    /// Bytes of a part, at least one. S3 refuses parts of less than 5 MiB, except for the last.
    ///
    /// S3 takes 10,000 parts at most. So parts double in size after every thousand of them, or, where the length of the
    /// frame is known before the upload, all of them are as long as need be.
    #[must_use]
    pub fn part_size(mut self, bytes: usize) -> Self {
        self.request.part_size = bytes.max(1);
        self
    }

    /// How many parts are sent at the same time; 4 by default, at least 1.
    #[must_use]
    pub fn parts_in_flight(mut self, parts: usize) -> Self {
        self.request.parts_in_flight = parts.max(1);
        self
    }

    /// How many bytes are sent at the same time; 64 MiB by default. One part is always allowed.
    #[must_use]
    pub fn bytes_in_flight(mut self, bytes: usize) -> Self {
        self.request.bytes_in_flight = bytes;
        self
    }

    /// What is stored with the object: its content type, metadata and the like. What a store does not know is an error
    /// of it: files know none, and Azure takes them from targets made by [`new`](Self::new) only.
    #[must_use]
    pub fn attributes(mut self, attributes: Attributes) -> Self {
        self.request.attributes = attributes;
        self.pass_options()
    }

    /// The tags of the object. Stores without tags ignore them; Azure takes them as it takes
    /// [`attributes`](Self::attributes).
    #[must_use]
    pub fn tags(mut self, tags: TagSet) -> Self {
        self.request.tags = tags;
        self.pass_options()
    }

    /// Leaves an object alone that is there at the time of the commit, which fails with
    /// [`ErrorKind::AlreadyExists`](crate::ErrorKind::AlreadyExists). Without this it is replaced.
    ///
    /// A frame of one part is put on that condition, which the store checks. Stores complete an upload of several parts
    /// unconditionally, so the target asks right before whether there is an object: one that appears between that
    /// answer and the completion, or while the completion is under way, is replaced.
    #[must_use]
    pub fn create_only(mut self, create_only: bool) -> Self {
        self.request.create_only = create_only;
        self
    }

    /// Keeps up to `bytes` in memory before it uses a temporary file; 16 MiB by default. For targets made by
    /// [`new`](Self::new); the others keep no more than parts.
    #[must_use]
    pub fn memory_limit(mut self, bytes: usize) -> Self {
        if let Way::Spooled(upload) = &mut self.way {
            upload.set_memory_limit(bytes);
        }
        self
    }

    /// The directory for the temporary file; the system's default directory for such files by default. For targets made
    /// by [`new`](Self::new).
    #[must_use]
    pub fn directory(mut self, directory: impl Into<PathBuf>) -> Self {
        if let Way::Spooled(upload) = &mut self.way {
            upload.set_directory(directory.into());
        }
        self
    }

    /// Which thread collects bytes in memory, and writes the temporary file.
    #[must_use]
    pub fn io_mode(mut self, mode: IoMode) -> Self {
        match &mut self.way {
            Way::Streamed(upload) => upload.set_mode(mode),
            Way::Spooled(upload) => upload.set_mode(mode),
        }
        self
    }

    /// Name of the object.
    pub fn path(&self) -> &Path {
        &self.request.path
    }

    fn pass_options(mut self) -> Self {
        if let Way::Streamed(upload) = &mut self.way {
            upload.set_options(&self.request);
        }
        self
    }
}

impl Target for ObjectTarget {
    fn poll_append(&mut self, cx: &mut Context<'_>, part: Part, bytes: &mut Bytes) -> Poll<io::Result<()>> {
        match &mut self.way {
            Way::Streamed(upload) => upload.poll_append(cx, &self.request, part, bytes),
            Way::Spooled(upload) => upload.poll_append(cx, bytes),
        }
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.way {
            Way::Streamed(upload) => upload.poll_flush(cx, &self.request),
            Way::Spooled(upload) => upload.poll_flush(cx),
        }
    }

    fn poll_commit(&mut self, cx: &mut Context<'_>, header: &Bytes) -> Poll<io::Result<()>> {
        match &mut self.way {
            Way::Streamed(upload) => upload.poll_commit(cx, &self.request, header),
            Way::Spooled(upload) => upload.poll_commit(cx, &self.request, header),
        }
    }

    fn poll_close(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_abort(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.way {
            Way::Streamed(upload) => upload.poll_abort(cx),
            Way::Spooled(upload) => upload.poll_abort(cx),
        }
    }
}

impl fmt::Debug for ObjectTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let upload: &dyn fmt::Debug = match &self.way {
            Way::Streamed(upload) => upload,
            Way::Spooled(upload) => upload,
        };
        f.debug_struct("ObjectTarget").field("request", &self.request).field("upload", upload).finish()
    }
}
