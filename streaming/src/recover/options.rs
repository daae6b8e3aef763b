//! Options for a recovery, with bounds on its work.

use std::path::Path;
use std::time::Instant;

use oxiblosc_core::frame::INDEX_FILE;
use oxiblosc_core::{Limits, Registry};

use super::files::ids;
use super::work_limit::WorkLimit;
use super::{RecoverError, Recovered};
use crate::edit::{FrameFile, LockedFile};
use crate::progress::Progress;
use crate::source::RangeSource;
use crate::sparse::directory::HEADER_FILE;
use crate::target::Target;

/// Options for recovering or sealing a frame, with bounds on the work.
///
/// A damaged or malicious file can demand work out of all proportion to its length: an index of 40 bytes may name one
/// chunk 2^26 times. Undamaged frames stay far below these bounds.
///
/// ```
/// use oxiblosc_streaming::recover::{RecoverError, RecoverOptions};
/// # use oxiblosc_plugins as _;
/// # let directory = tempfile::tempdir()?;
/// # let (old, new) = (directory.path().join("old.b2frame"), directory.path().join("new.b2frame"));
/// # std::fs::write(&old, b"not a frame")?;
///
/// match RecoverOptions::new().output_bytes(10 << 30).recover(&old, &new) {
///     Ok(recovered) => println!("{} chunks", recovered.chunks),
///     Err(error @ (RecoverError::Output { .. } | RecoverError::Work { .. })) => println!("{error}"),
///     Err(error) => println!("nothing could be recovered: {error}"),
/// }
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct RecoverOptions {
    pub(super) registry: Option<Registry>,
    pub(super) limits: Limits,
    pub(super) output_bytes: Option<u64>,
    pub(super) work_bytes: Option<u64>,
    pub(super) deadline: Option<Instant>,
    pub(super) progress: Progress,
}

impl RecoverOptions {
    /// The new frame may always have this many bytes: 64 MiB ...
    pub const OUTPUT_BYTES: u64 = 64 << 20;
    /// ... or this many times the bytes of the old one, unless another bound is set.
    pub const OUTPUT_RATIO: u64 = 4;
    /// This many bytes may always be decoded: 1 GiB ...
    pub const WORK_BYTES: u64 = 1 << 30;
    /// ... or this many for each byte of the old frame, unless another bound is set. Blocks of one repeated byte, which
    /// compress best with Blosc, reach more than half of it.
    pub const WORK_RATIO: u64 = 1 << 18;

    /// Everything at its default.
    pub fn new() -> Self {
        Self::default()
    }

    /// Where codecs and filters come from; everything linked into the program by default.
    pub fn registry(mut self, registry: &Registry) -> Self {
        self.registry = Some(registry.clone());
        self
    }

    /// Limits on what the old frame may make the recovery allocate. Chunks or a header beyond them count as damaged.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Limits the bytes of the chunks of the new frame. By default [`OUTPUT_RATIO`](Self::OUTPUT_RATIO) times the bytes
    /// of the old one, and at least [`OUTPUT_BYTES`](Self::OUTPUT_BYTES).
    pub fn output_bytes(mut self, bytes: u64) -> Self {
        self.output_bytes = Some(bytes);
        self
    }

    /// Limits the bytes that are decoded to check chunks, including what turns out not to be a chunk. By default
    /// [`WORK_RATIO`](Self::WORK_RATIO) times the bytes of the old frame, and at least
    /// [`WORK_BYTES`](Self::WORK_BYTES).
    pub fn work_bytes(mut self, bytes: u64) -> Self {
        self.work_bytes = Some(bytes);
        self
    }

    /// When to give up. The deadline is checked between chunks.
    pub fn deadline(mut self, deadline: Instant) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Counts the bytes that are read of the old frame, and ends the work with an error of the kind
    /// [`Cancelled`](crate::ErrorKind::Cancelled) once it is cancelled: the target is not committed then, and a frame to
    /// be sealed is as it was.
    pub fn progress(mut self, progress: &Progress) -> Self {
        self.progress = progress.clone();
        self
    }

    /// As [`recover()`](super::recover()).
    ///
    /// # Errors
    /// As there; [`RecoverError::Output`], [`RecoverError::Work`] and [`RecoverError::Deadline`] when it would take more
    /// than it may.
    pub fn recover(&self, input: impl AsRef<Path>, output: impl AsRef<Path>) -> Result<Recovered, RecoverError> {
        super::recover_path(input.as_ref(), output.as_ref(), self)
    }

    /// As [`recover_into`](super::recover_into).
    ///
    /// # Errors
    /// As [`recover`](Self::recover).
    pub async fn recover_into<S, T>(&self, source: S, target: &mut T) -> Result<Recovered, RecoverError>
    where
        S: RangeSource + 'static,
        T: Target,
    {
        super::recover_source(source, target, self).await
    }

    /// As [`seal()`](super::seal()).
    ///
    /// # Errors
    /// As there, and as [`recover`](Self::recover).
    pub fn seal<S: FrameFile + Send + Sync>(&self, store: &mut S) -> Result<Recovered, RecoverError> {
        super::seal::seal_store(store, self)
    }

    /// As [`seal_file`](super::seal_file).
    ///
    /// # Errors
    /// As [`seal`](Self::seal).
    pub fn seal_file(&self, path: impl AsRef<Path>) -> Result<Recovered, RecoverError> {
        let directory = path.as_ref();
        if directory.is_dir() {
            let names = [INDEX_FILE, HEADER_FILE];
            if !names.iter().any(|name| directory.join(name).exists()) && ids(directory)?.is_empty() {
                return Err(RecoverError::NoFiles);
            }
            return Err(RecoverError::Seal { reason: "it is a sparse frame, whose index says all or is not there" });
        }
        self.seal(&mut LockedFile::open(path, true)?)
    }

    /// The bounds for an input of `input` bytes.
    pub(super) fn budget(&self, input: u64) -> WorkLimit {
        WorkLimit::new(self, input)
    }
}
