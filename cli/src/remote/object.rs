//! An object in a bucket or behind HTTP, or the prefix of a sparse frame.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

use oxiblosc::block_on;
use oxiblosc::location::ObjectLocation;
use oxiblosc::object::ObjectPrefix;
use oxiblosc::source::{ObjectSource, RangeSource};
use oxiblosc::sparse::SparsePlace;
use oxiblosc::target::PlaceTarget;

use crate::abort_on_drop::AbortOnDrop;
use crate::args::FrameKind;
use crate::error::CliError;

/// An object, or the prefix of a sparse frame.
#[derive(Debug, Clone)]
pub(crate) struct Remote(ObjectLocation);

impl From<ObjectLocation> for Remote {
    fn from(object: ObjectLocation) -> Self {
        Self(object)
    }
}

impl fmt::Display for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Remote {
    /// Its key, for the sake of its extension.
    pub(crate) fn path(&self) -> &Path {
        Path::new(self.0.path().as_ref())
    }

    /// Whether the URL says that it is the prefix of a sparse frame.
    pub(crate) fn is_prefix(&self) -> bool {
        self.0.is_prefix()
    }

    /// What is there, for reading.
    pub(crate) fn source(&self) -> io::Result<Arc<dyn RangeSource>> {
        block_on(self.open())
    }

    /// The same, without blocking.
    pub(crate) async fn open(&self) -> io::Result<Arc<dyn RangeSource>> {
        Ok(Arc::new(self.0.source().await?))
    }

    /// The place of a sparse frame.
    pub(crate) fn place(&self) -> io::Result<Arc<dyn SparsePlace>> {
        Ok(Arc::new(self.prefix()?))
    }

    fn prefix(&self) -> io::Result<ObjectPrefix> {
        Ok(ObjectPrefix::with_store(Arc::clone(self.0.store()?), self.0.path().clone()))
    }

    /// An object is uploaded while it is written, in parts that become visible with the last one; the index of a sparse
    /// frame is put last.
    pub(crate) fn target(&self, layout: FrameKind) -> Result<AbortOnDrop, CliError> {
        let refuse = |reason: &str| Err(CliError::Usage(format!("{self}: {reason}")));
        let failed = || CliError::io(self.to_string());
        match (layout, self.0.target().map_err(failed())?) {
            (_, None) => refuse("only object stores can be written to: s3://, gs:// and az://"),
            (FrameKind::Open, _) => refuse("--layout open: an object does not exist before it is complete"),
            (FrameKind::Contiguous, Some(_)) if self.is_prefix() => {
                refuse("the slash at the end says that it is the prefix of a sparse frame: --layout sparse writes one")
            }
            (FrameKind::Contiguous, Some(target)) => {
                block_on(self.refuse_sparse()).map_err(failed())?;
                Ok(AbortOnDrop::new(target))
            }
            (FrameKind::Sparse, Some(_)) => {
                block_on(self.refuse_object()).map_err(failed())?;
                Ok(AbortOnDrop::new(PlaceTarget::new(self.prefix().map_err(failed())?)))
            }
        }
    }

    /// The index of the sparse frame that may be there.
    fn index(&self) -> io::Result<ObjectSource> {
        Ok(ObjectSource::sparse(Arc::clone(self.0.store()?), self.0.path().clone()))
    }

    /// An object next to the prefix of the same name would hide the sparse frame there from readers.
    async fn refuse_sparse(&self) -> io::Result<()> {
        match exists(self.index()?).await? {
            true => Err(taken("there is a sparse frame of this name, which is not replaced by an object")),
            false => Ok(()),
        }
    }

    /// The other way around.
    async fn refuse_object(&self) -> io::Result<()> {
        let object = ObjectSource::new(Arc::clone(self.0.store()?), self.0.path().clone());
        // Where objects are files, prefixes are directories, which some servers list as objects. An existing sparse
        // frame is reported by the target.
        if exists(object).await? && !exists(self.index()?).await? {
            return Err(taken("there is an object of this name, which is not replaced by a sparse frame"));
        }
        Ok(())
    }
}

fn taken(message: &str) -> io::Error {
    io::Error::new(io::ErrorKind::AlreadyExists, message)
}

/// Whether there is such an object, as far as can be known: with write-only access the check is denied.
async fn exists(source: ObjectSource) -> io::Result<bool> {
    match source.size().await {
        Ok(_) => Ok(true),
        Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied) => Ok(false),
        Err(e) => Err(e),
    }
}
