//! The places that frames are written to, as readers see them.

use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use ::blocking::Unblock;
use bytes::Bytes;
use futures::io::{AllowStdIo, AsyncSeek, AsyncWrite};
use object_store::path::Path;
use oxiblosc::frame::FrameType;
use oxiblosc::object::{ObjectPrefix, ObjectTarget};
use oxiblosc::source::{FileSource, ObjectSource, RangeSource};
use oxiblosc::sparse::{Directory, MemoryDirectory};
use oxiblosc::target::{
    FileTarget, MemoryTarget, OpenTarget, Part, PlaceTarget, SeekTarget, SparseTarget, SpoolTarget, Target,
};
use oxiblosc::{block_on, recover};
use oxiblosc_conformance::target::{Faults, Faulty};
use tempfile::TempDir;

use crate::case::{Case, Mode, Way};
use crate::store::FaultyStore;

pub(crate) type BoxTarget = Box<dyn Target + Send>;

/// Name of every frame.
const NAME: &str = "data.b2frame";
/// Parts of an upload that are to be small.
const SMALL_PART: usize = 100_000;

/// Where a frame is.
pub(crate) enum Place {
    /// A file or a directory.
    File {
        directory: TempDir,
    },
    /// A file that must be sealed before it is a frame that everybody reads.
    OpenEnded {
        directory: TempDir,
    },
    Memory(Arc<Mutex<MemoryTarget>>),
    /// What memory held, once the target is done with it.
    Bytes(Bytes),
    Object(Arc<FaultyStore>),
    Prefix(Arc<FaultyStore>),
    SparseMemory(MemoryDirectory),
}

/// A target for a case, with what goes wrong below it, and its place.
pub(crate) fn create(case: &Case, faults: &Faults) -> (BoxTarget, Place) {
    let directory = || TempDir::new().expect("there is room for temporary files");
    let guarded = |target: BoxTarget| Box::new(Guarded { target, faults: faults.clone() }) as BoxTarget;
    let mode = case.io_mode();
    let in_directory = |make: &dyn Fn(PathBuf) -> io::Result<BoxTarget>| {
        let directory = directory();
        let target = make(directory.path().join(NAME)).expect("there is room for temporary files");
        (guarded(target), Place::File { directory })
    };
    match case.way {
        Way::File | Way::ArrayFile => in_directory(&|path| Ok(Box::new(FileTarget::create(path)?.io_mode(mode)))),
        Way::FileInPlace => in_directory(&|path| Ok(Box::new(FileTarget::in_place(path)?.io_mode(mode)))),
        Way::SparseDirectory => in_directory(&|path| Ok(Box::new(SparseTarget::create(path)?.io_mode(mode)))),
        Way::SparseInPlace => in_directory(&|path| Ok(Box::new(SparseTarget::in_place(path)?.io_mode(mode)))),
        Way::PlaceDirectory => {
            in_directory(&|path| Ok(Box::new(PlaceTarget::new(Directory::new(path)?.io_mode(mode)))))
        }
        Way::Seek => {
            let directory = directory();
            let writer = Faulty::new(file(&directory, case.mode), faults.clone());
            (Box::new(SeekTarget::new(writer)), Place::File { directory })
        }
        Way::SeekOpenEnded => {
            let directory = directory();
            let writer = Faulty::new(file(&directory, case.mode), faults.clone());
            (Box::new(SeekTarget::new(writer).open_ended(true)), Place::File { directory })
        }
        Way::SpoolMemory | Way::SpoolFile => {
            let directory = directory();
            let writer = Faulty::new(file(&directory, case.mode), faults.clone());
            let target = SpoolTarget::new(writer).io_mode(mode);
            // The default limit, above which 64 MiB are, is hit by the frames of `SpoolFile` that are long enough; by
            // shorter ones a lower one is.
            let target = match case.way {
                Way::SpoolMemory => target.memory_limit(usize::MAX),
                _ if case.nbytes() > 2 * SpoolTarget::<()>::MEMORY_LIMIT as u64 => target,
                _ => target.memory_limit(case.nbytes() as usize / 3),
            };
            (Box::new(target), Place::File { directory })
        }
        Way::OpenEnded => {
            let directory = directory();
            let writer = Faulty::new(file(&directory, case.mode), faults.clone());
            (Box::new(OpenTarget::new(writer)), Place::OpenEnded { directory })
        }
        Way::Memory | Way::ArrayMemory => {
            let target = Arc::new(Mutex::new(MemoryTarget::new()));
            let shared = SharedMemory(Arc::clone(&target));
            (guarded(Box::new(shared)), Place::Memory(target))
        }
        Way::Object | Way::ObjectSmallParts => {
            let store = FaultyStore::new(faults.clone());
            let target = ObjectTarget::with_multipart(Arc::clone(&store), NAME);
            let target = if case.way == Way::Object { target } else { target.part_size(SMALL_PART) };
            (Box::new(target), Place::Object(store))
        }
        Way::ObjectInOrder => {
            let store = FaultyStore::new(faults.clone());
            let target = ObjectTarget::new(Arc::clone(&store) as _, NAME).io_mode(mode);
            // As with `SpoolFile`. Short frames take several parts too.
            let target = match case.nbytes() > 2 * SpoolTarget::<()>::MEMORY_LIMIT as u64 {
                true => target,
                false => target.memory_limit(case.nbytes() as usize / 3).part_size(SMALL_PART),
            };
            (Box::new(target), Place::Object(store))
        }
        Way::SparsePrefix => {
            let store = FaultyStore::new(faults.clone());
            let target = PlaceTarget::new(ObjectPrefix::new(Arc::clone(&store), NAME));
            (Box::new(target), Place::Prefix(store))
        }
        Way::SparseMemory => {
            let place = MemoryDirectory::new();
            (guarded(Box::new(PlaceTarget::new(place.clone()))), Place::SparseMemory(place))
        }
        Way::AppendFile | Way::AppendMemory | Way::AppendDirectory => unreachable!("frames are appended to elsewhere"),
    }
}

/// A file as programs have it: behind an executor's back, or plainly there.
fn file(directory: &TempDir, mode: Mode) -> Box<dyn Writable> {
    let file = File::create(directory.path().join(NAME)).expect("there is room for temporary files");
    match mode {
        Mode::Offloaded => Box::new(Unblock::new(file)),
        Mode::Inline => Box::new(AllowStdIo::new(file)),
    }
}

/// What is written to and can seek.
trait Writable: AsyncWrite + AsyncSeek + Unpin + Send {}

impl<T: AsyncWrite + AsyncSeek + Unpin + Send> Writable for T {}

impl Place {
    /// A frame in a file of this directory, or in the directory of that name in it.
    pub(crate) fn file(directory: TempDir) -> Self {
        Self::File { directory }
    }

    /// Where in a directory the frame is.
    pub(crate) fn path_in(directory: &TempDir) -> PathBuf {
        directory.path().join(NAME)
    }

    /// Where the frame is, if it is in a file or a directory.
    pub(crate) fn path(&self) -> Option<PathBuf> {
        match self {
            Self::File { directory } | Self::OpenEnded { directory } => Some(Self::path_in(directory)),
            _ => None,
        }
    }

    /// After the target is gone: what has to be done before others can read the frame. Whether there can be one.
    pub(crate) fn settle(&mut self) -> Result<bool, String> {
        match self {
            Self::OpenEnded { directory } => {
                let sealed = recover::seal_file(Self::path_in(directory));
                // An unfinished one can be sealed too, and says that it was unfinished.
                Ok(sealed.is_ok_and(|sealed| sealed.found == recover::Found::Open))
            }
            Self::Memory(target) => {
                let target = std::mem::take(&mut *target.lock().unwrap_or_else(PoisonError::into_inner));
                *self = Self::Bytes(target.into_bytes().into());
                Ok(true)
            }
            _ => Ok(true),
        }
    }

    /// What is there, to be read.
    pub(crate) fn source(&self, mode: Mode) -> Result<Box<dyn RangeSource>, String> {
        let text = |e: io::Error| e.to_string();
        Ok(match self {
            Self::File { directory } | Self::OpenEnded { directory } => {
                let path = Self::path_in(directory);
                Box::new(match mode {
                    Mode::Offloaded => block_on(FileSource::open(path)).map_err(text)?,
                    Mode::Inline => FileSource::open_inline(path).map_err(text)?,
                })
            }
            Self::Memory(_) => return Err("the target is still there".into()),
            Self::Bytes(bytes) => Box::new(bytes.clone()),
            Self::Object(store) => Box::new(ObjectSource::new(Arc::clone(store) as _, Path::from(NAME))),
            Self::Prefix(store) => Box::new(ObjectSource::sparse(Arc::clone(store) as _, Path::from(NAME))),
            Self::SparseMemory(place) => Box::new(place.clone()),
        })
    }

    /// How many bytes are there, of all files and objects of the frame.
    pub(crate) fn len(&self) -> u64 {
        match self {
            Self::File { directory } | Self::OpenEnded { directory } => {
                let path = Self::path_in(directory);
                let len = |path: PathBuf| fs::metadata(path).map_or(0, |found| found.len());
                match path.is_dir() {
                    true => fs::read_dir(path).into_iter().flatten().flatten().map(|entry| len(entry.path())).sum(),
                    false => len(path),
                }
            }
            Self::Memory(_) => 0,
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Object(store) | Self::Prefix(store) => store
                .names()
                .iter()
                .filter_map(|name| store.object(&Path::from(name.as_str())))
                .map(|b| b.len() as u64)
                .sum(),
            Self::SparseMemory(place) => place.files().iter().map(|(_, content)| content.len() as u64).sum(),
        }
    }

    /// What is there that belongs to no frame.
    pub(crate) fn leftovers(&self) -> Vec<String> {
        match self {
            Self::File { directory } | Self::OpenEnded { directory } => {
                let names =
                    fs::read_dir(directory.path()).into_iter().flatten().flatten().map(|entry| entry.file_name());
                names.filter(|name| name != NAME).map(|name| name.to_string_lossy().into_owned()).collect()
            }
            Self::Object(store) | Self::Prefix(store) => store.uploads(),
            Self::Memory(_) | Self::Bytes(_) | Self::SparseMemory(_) => Vec::new(),
        }
    }
}

/// A target in memory that others can look at.
struct SharedMemory(Arc<Mutex<MemoryTarget>>);

/// A target whose calls fail before they do anything: for places of which nothing lies below that could be made to.
struct Guarded {
    target: BoxTarget,
    faults: Faults,
}

macro_rules! delegate {
    ($wrapper:ident, |$this:ident, $cx:ident| $before:expr, $inner:expr) => {
        impl Target for $wrapper {
            fn poll_append(&mut self, cx: &mut Context<'_>, part: Part, bytes: &mut Bytes) -> Poll<io::Result<()>> {
                let ($this, $cx) = (self, cx);
                ready!($before)?;
                $inner.poll_append($cx, part, bytes)
            }

            fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                let ($this, $cx) = (self, cx);
                ready!($before)?;
                $inner.poll_flush($cx)
            }

            fn poll_commit(&mut self, cx: &mut Context<'_>, header: &Bytes) -> Poll<io::Result<()>> {
                let ($this, $cx) = (self, cx);
                ready!($before)?;
                $inner.poll_commit($cx, header)
            }

            fn frame_type(&self) -> FrameType {
                let $this = self;
                $inner.frame_type()
            }

            fn is_open_ended(&self) -> bool {
                let $this = self;
                $inner.is_open_ended()
            }

            fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                let ($this, $cx) = (self, cx);
                ready!($before)?;
                $inner.poll_close($cx)
            }

            fn poll_abort(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                let ($this, $cx) = (self, cx);
                ready!($before)?;
                $inner.poll_abort($cx)
            }
        }
    };
}

delegate!(Guarded, |this, cx| this.faults.poll(cx), this.target);
delegate!(
    SharedMemory,
    |this, cx| Poll::Ready(Ok::<(), io::Error>(())),
    this.0.lock().unwrap_or_else(PoisonError::into_inner)
);
