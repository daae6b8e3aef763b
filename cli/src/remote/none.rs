//! What stands for an object in a program without object stores.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

use oxiblosc::source::RangeSource;
use oxiblosc::sparse::SparsePlace;

use crate::abort_on_drop::AbortOnDrop;
use crate::args::FrameKind;
use crate::error::CliError;

/// No value of it exists, which its users need not know.
#[derive(Debug, Clone)]
pub(crate) struct Remote(Never);

#[derive(Debug, Clone)]
enum Never {}

impl Remote {
    pub(crate) fn path(&self) -> &Path {
        match self.0 {}
    }

    pub(crate) fn is_prefix(&self) -> bool {
        match self.0 {}
    }

    pub(crate) fn source(&self) -> io::Result<Arc<dyn RangeSource>> {
        match self.0 {}
    }

    #[cfg(feature = "serve")]
    pub(crate) async fn open(&self) -> io::Result<Arc<dyn RangeSource>> {
        match self.0 {}
    }

    pub(crate) fn place(&self) -> io::Result<Arc<dyn SparsePlace>> {
        match self.0 {}
    }

    pub(crate) fn target(&self, _: FrameKind) -> Result<AbortOnDrop, CliError> {
        match self.0 {}
    }
}

impl fmt::Display for Remote {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {}
    }
}
