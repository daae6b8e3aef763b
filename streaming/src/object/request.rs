//! What the requests of an upload have in common.

use std::io;
use std::sync::Arc;

use object_store::path::Path;
use object_store::{
    Attributes, Error, ObjectMeta, ObjectStore, ObjectStoreExt, PutMode, PutMultipartOptions, PutOptions, PutPayload,
    TagSet,
};

use super::{ObjectTarget, io_error};
use crate::kind::ErrorKind;

/// Which object is written, and how.
#[derive(Debug, Clone)]
pub(super) struct Request {
    pub(super) store: Arc<dyn ObjectStore>,
    pub(super) path: Path,
    pub(super) attributes: Attributes,
    pub(super) tags: TagSet,
    /// An object that is there is not replaced.
    pub(super) create_only: bool,
    pub(super) part_size: usize,
    pub(super) parts_in_flight: usize,
    pub(super) bytes_in_flight: usize,
}

impl Request {
    pub(super) fn new(store: Arc<dyn ObjectStore>, path: Path) -> Self {
        Self {
            store,
            path,
            attributes: Attributes::default(),
            tags: TagSet::default(),
            create_only: false,
            part_size: ObjectTarget::PART_SIZE,
            parts_in_flight: 4,
            bytes_in_flight: 64 << 20,
        }
    }

    /// Whether a part of `len` bytes may be sent while `parts` of `bytes` are being sent.
    pub(super) fn has_room(&self, parts: usize, bytes: usize, len: usize) -> bool {
        parts == 0 || parts < self.parts_in_flight && bytes.saturating_add(len) <= self.bytes_in_flight
    }

    pub(super) fn multipart_options(&self) -> PutMultipartOptions {
        PutMultipartOptions {
            tags: self.tags.clone(),
            attributes: self.attributes.clone(),
            ..PutMultipartOptions::default()
        }
    }

    /// Puts the object in one request. `again` says that an earlier attempt may have succeeded although its response
    /// was lost.
    pub(super) async fn put(&self, payload: PutPayload, again: bool) -> io::Result<()> {
        let options = PutOptions {
            mode: if self.create_only { PutMode::Create } else { PutMode::Overwrite },
            tags: self.tags.clone(),
            attributes: self.attributes.clone(),
            ..PutOptions::default()
        };
        let put = self.store.put_opts(&self.path, payload.clone(), options).await;
        let error = match put.map_err(io_error) {
            Ok(_) => return Ok(()),
            Err(error) => error,
        };
        if again && ErrorKind::of_io(&error) == ErrorKind::AlreadyExists {
            let len = payload.content_length() as u64;
            if self.head().await?.is_some_and(|meta| meta.size == len) && self.has_bytes(0, &payload).await? {
                return Ok(());
            }
        }
        Err(error)
    }

    /// Whether the object has these bytes from `at` on.
    pub(super) async fn has_bytes(&self, at: u64, expected: &PutPayload) -> io::Result<bool> {
        let range = at..at + expected.content_length() as u64;
        let found = self.store.get_range(&self.path, range).await.map_err(io_error)?;
        let mut rest = &found[..];
        for bytes in expected {
            match rest.strip_prefix(&bytes[..]) {
                Some(behind) => rest = behind,
                None => return Ok(false),
            }
        }
        Ok(rest.is_empty())
    }

    /// The object that is there. `Err` with what kept the store from saying so.
    pub(super) async fn head(&self) -> io::Result<Option<ObjectMeta>> {
        match self.store.head(&self.path).await {
            Ok(meta) => Ok(Some(meta)),
            // A bucket that does not exist is another matter.
            Err(error) => match io_error(error) {
                error if ErrorKind::of_io(&error) == ErrorKind::NotFound => Ok(None),
                error => Err(error),
            },
        }
    }

    /// The error of an object that is not replaced.
    pub(super) fn already_exists(&self) -> io::Error {
        let source = "the target creates objects only".into();
        io_error(Error::AlreadyExists { path: self.path.to_string(), source })
    }
}
