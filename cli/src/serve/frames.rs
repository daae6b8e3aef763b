//! Frames that are open, for the requests to come.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use oxiblosc::frame::INDEX_FILE;
use oxiblosc::nd::{ArrayError, ArrayMeta, NdArray};
use oxiblosc::source::{FileSource, RangeSource};
use oxiblosc::{IoMode, Progress, ReadOptions, Registry};
use tokio::sync::Semaphore;

use super::failure::Failure;
use super::shares::Place;
use crate::input::{InputSource, Reader};

/// Open frames that are kept...
const KEPT: usize = 16;
/// ... and how many chunks the indexes of all of them together may have, but for the last one.
const KEPT_CHUNKS: u64 = 1 << 22;
/// Frames that are opened at a time.
const AT_ONCE: usize = 4;
/// How long a remote frame is taken for unchanged.
const TRUST: Duration = Duration::from_secs(10);

/// An open frame.
pub(super) struct OpenFrame {
    pub(super) reader: Reader,
    /// If it is one, or why it cannot be read as one.
    pub(super) array: Option<Result<NdArray<InputSource>, ArrayError>>,
}

/// Opens frames, and keeps those that were used last.
pub(super) struct Frames {
    options: ReadOptions,
    pub(super) registry: Registry,
    kept: Mutex<Vec<(Key, Arc<OpenFrame>)>>,
    opening: Semaphore,
}

#[derive(Debug, Clone, PartialEq)]
struct Key {
    name: String,
    version: Version,
}

/// What tells that a frame has changed.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Version {
    /// Of a file, or of the index of a sparse frame.
    Local { len: u64, modified: Option<SystemTime>, number: u64 },
    /// When it was opened.
    Remote(Instant),
}

impl Version {
    /// The version of an open file.
    pub(super) fn of(file: &File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        #[cfg(unix)]
        let number = std::os::unix::fs::MetadataExt::ino(&metadata);
        #[cfg(not(unix))]
        let number = 0;
        Ok(Self::Local { len: metadata.len(), modified: metadata.modified().ok(), number })
    }

    fn is_current(&self, now: &Self) -> bool {
        match (self, now) {
            (Self::Remote(opened), Self::Remote(now)) => now.saturating_duration_since(*opened) < TRUST,
            (a, b) => a == b,
        }
    }
}

impl Frames {
    pub(super) fn new(options: ReadOptions, registry: &Registry) -> Self {
        let (kept, opening) = (Mutex::default(), Semaphore::new(AT_ONCE));
        Self { options, registry: registry.clone(), kept, opening }
    }

    /// The frame at a place, in its present version.
    ///
    /// # Errors
    /// When it is gone or damaged.
    pub(super) async fn open(&self, place: &Place) -> Result<Arc<OpenFrame>, Failure> {
        let (key, file) = self.key(place).await?;
        if let Some(frame) = self.kept(&key) {
            return Ok(frame);
        }
        // Never closed.
        let _turn = self.opening.acquire().await.ok();
        // Somebody else may have opened it meanwhile.
        if let Some(frame) = self.kept(&key) {
            return Ok(frame);
        }
        let source: Arc<dyn RangeSource> = match (place, file) {
            (Place::File(_), Some(file)) => Arc::new(FileSource::new(file, IoMode::Offloaded)),
            (Place::File(path) | Place::Sparse(path), _) => Arc::new(FileSource::open(path).await?),
            (Place::Remote(object), _) => object.open().await?,
        };
        let reader = self.options.clone().open(InputSource::new(source, &Progress::new())).await?;
        let array = ArrayMeta::find(reader.metalayers()).map(|_| NdArray::new(reader.clone()));
        let frame = Arc::new(OpenFrame { reader, array });
        self.keep(key, &frame);
        Ok(frame)
    }

    /// Opens the frame anew when it is asked for next.
    pub(super) fn forget(&self, place: &Place) {
        let name = name(place);
        self.lock().retain(|(key, _)| key.name != name);
    }

    async fn key(&self, place: &Place) -> Result<(Key, Option<File>), Failure> {
        let path = match place {
            Place::File(path) => path.clone(),
            Place::Sparse(path) => path.join(INDEX_FILE),
            Place::Remote(_) => {
                return Ok((Key { name: name(place), version: Version::Remote(Instant::now()) }, None));
            }
        };
        let (file, version) = open(path).await?;
        Ok((Key { name: name(place), version }, matches!(place, Place::File(_)).then_some(file)))
    }

    fn kept(&self, key: &Key) -> Option<Arc<OpenFrame>> {
        let mut kept = self.lock();
        let at = kept.iter().position(|(k, _)| k.name == key.name && k.version.is_current(&key.version))?;
        let entry = kept.remove(at);
        let frame = Arc::clone(&entry.1);
        kept.push(entry);
        Some(frame)
    }

    fn keep(&self, key: Key, frame: &Arc<OpenFrame>) {
        let mut kept = self.lock();
        kept.retain(|(other, _)| other.name != key.name);
        kept.push((key, Arc::clone(frame)));
        let chunks = |kept: &[(Key, Arc<OpenFrame>)]| kept.iter().map(|(_, frame)| frame.reader.nchunks()).sum::<u64>();
        while kept.len() > 1 && (kept.len() > KEPT || chunks(&kept) > KEPT_CHUNKS) {
            kept.remove(0);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<(Key, Arc<OpenFrame>)>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Opens a file on a thread that may wait for it.
pub(super) async fn open(path: impl AsRef<Path> + Send + 'static) -> Result<(File, Version), Failure> {
    let open = move || {
        let file = File::open(path)?;
        let version = Version::of(&file)?;
        Ok::<_, io::Error>((file, version))
    };
    Ok(tokio::task::spawn_blocking(open).await.map_err(io::Error::from)??)
}

fn name(place: &Place) -> String {
    match place {
        Place::File(path) | Place::Sparse(path) => path.to_string_lossy().into_owned(),
        Place::Remote(object) => object.to_string(),
    }
}
