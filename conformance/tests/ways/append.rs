//! Bytes that are appended to a frame that is there already.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use futures::future::BoxFuture;
use oxiblosc::IoMode;
use oxiblosc::blocking::{self, FrameEditor};
use oxiblosc::edit::{EditError, EditOptions, FrameFile, LockedFile};
use oxiblosc::source::ChunkFiles;
use oxiblosc::sparse::{Directory, FileVersion, SparsePlace};
use oxiblosc::target::{FileTarget, MemoryTarget, SparseTarget};
use oxiblosc_conformance::data::Random;
use oxiblosc_conformance::target::Faults;
use tempfile::TempDir;

use crate::case::{Case, Door, Fault, Way};
use crate::check::check;
use crate::payload::Payload;
use crate::place::{BoxTarget, Place};

/// Appends of a case: each of them encodes the last chunk again.
const MOST_APPENDS: u64 = 24;
/// Errors after which a caller gives up.
const PATIENCE: usize = 5;

/// Writes a third of the payload as a frame of its own, appends the rest, in one or more commits, and checks all of it.
/// The number of errors on the way.
pub(crate) fn run(case: &Case, payload: &Payload, faults: &Faults) -> Result<usize, String> {
    let mut errors = 0;
    let first = payload.len() / 3;
    let directory = TempDir::new().map_err(text)?;
    let path = Place::path_in(&directory);
    let base = |target: BoxTarget| -> Result<BoxTarget, oxiblosc::WriteError> {
        let mut writer = blocking::FrameWriter::with_target(target, case.options())?;
        writer.push(payload.bytes(0..first).into())?;
        writer.finish()?;
        Ok(writer.into_target())
    };
    if case.way == Way::AppendMemory {
        let mut writer = blocking::FrameWriter::with_target(MemoryTarget::new(), case.options()).map_err(text)?;
        writer.push(payload.bytes(0..first).into()).map_err(text)?;
        writer.finish().map_err(text)?;
        let frame = Arc::new(Mutex::new(writer.into_target().into_bytes()));
        let open = || Ok(Store::File(Arc::clone(&frame) as _));
        let places = || Place::Bytes(frame.lock().unwrap_or_else(PoisonError::into_inner).clone().into());
        let end = append(case, payload, first, faults, &mut errors, open)?;
        return finish(case, payload, &places(), end).map(|()| errors);
    }
    let target: BoxTarget = match case.way {
        Way::AppendDirectory => Box::new(SparseTarget::create(&path).map_err(text)?.io_mode(case.io_mode())),
        _ => Box::new(FileTarget::create(&path).map_err(text)?.io_mode(case.io_mode())),
    };
    drop(base(target).map_err(text)?);
    // Waiting for the disk each time would take most of the time.
    let durable = case.seed.is_multiple_of(16);
    let open = || Store::open(&path, durable);
    let end = append(case, payload, first, faults, &mut errors, open)?;
    if case.seed.is_multiple_of(3) {
        blocking::compact(&path).map_err(|e| format!("compaction: {e}"))?;
    }
    finish(case, payload, &Place::file(directory), end).map(|()| errors)
}

/// What is there must be one of the frames that were committed, or about to be.
fn finish(case: &Case, payload: &Payload, place: &Place, ends: Vec<u64>) -> Result<(), String> {
    let mut said = Vec::new();
    for end in ends {
        match check(place, case, &payload.first(end), None) {
            Ok(()) => return Ok(()),
            Err(error) => said.push(format!("as the frame of {end} bytes: {error}")),
        }
    }
    Err(said.join("; "))
}

/// The lengths that the frame may have at the end.
fn append(
    case: &Case,
    payload: &Payload,
    first: u64,
    faults: &Faults,
    errors: &mut usize,
    open: impl Fn() -> io::Result<Store>,
) -> Result<Vec<u64>, String> {
    let mut random = Random::new(case.seed);
    let mut go_on = |error: &EditError| {
        *errors += 1;
        match error {
            EditError::Store(_) => Ok(case.fault != Fault::Always || *errors < PATIENCE),
            error => Err(format!("failed for good: {error}")),
        }
    };
    let options = || match case.pool() {
        Some(pool) => EditOptions::new().pool(&pool),
        None => EditOptions::new(),
    };
    let mut committed = first;
    let len = payload.len();
    'editors: loop {
        let mut editor = match open().map_err(text)?.edit(faults, options()) {
            Ok(editor) => editor,
            Err(error) if go_on(&error)? => continue,
            Err(_) => return Ok(vec![committed]),
        };
        if editor.nbytes() != committed {
            return Err(format!("{} bytes after {committed} were committed", editor.nbytes()));
        }
        let mut appends = 0;
        loop {
            let at = editor.nbytes();
            if at < len {
                let least = (len - first) / MOST_APPENDS + 1;
                let piece = (case.piece_at(at, len) as u64).max(if appends < 3 { 1 } else { least }).min(len - at);
                let bytes = payload.bytes(at..at + piece);
                let result = match case.door {
                    Door::Send => editor.append_from(&bytes[..]).map(drop),
                    Door::Write | Door::Blocking => editor.append(&bytes),
                };
                if let Err(error) = result
                    && !go_on(&error)?
                {
                    return Ok(vec![committed]);
                }
                appends += 1;
                // After an editor is dropped, what was committed remains and nothing else.
                if case.polls().is_some() && random.below(12) == 0 {
                    continue 'editors;
                }
            }
            let done = editor.nbytes() == len;
            if done || random.below(6) == 0 {
                while let Err(error) = editor.commit() {
                    if !go_on(&error)? {
                        // The last write may have been made, and what comes after it have failed.
                        faults.clear();
                        return Ok(vec![editor.nbytes(), committed]);
                    }
                }
                committed = editor.nbytes();
                if done {
                    return Ok(vec![len]);
                }
            }
        }
    }
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Where a frame is that editors change one after the other.
pub(crate) enum Store {
    File(Arc<Mutex<dyn FrameFile + Send>>),
    Place(Arc<dyn SparsePlace>),
}

impl Store {
    /// The contiguous frame in a file, or the sparse one in a directory, locked.
    pub(crate) fn open(path: &Path, durable: bool) -> io::Result<Self> {
        Ok(match path.is_dir() {
            true => Self::Place(Arc::new(Directory::lock(path)?.io_mode(IoMode::Inline).durable(durable))),
            false => Self::File(Arc::new(Mutex::new(LockedFile::open(path, durable)?))),
        })
    }

    /// An editor above a file or a place that fails when it is told to.
    pub(crate) fn edit(self, faults: &Faults, options: EditOptions) -> Result<FrameEditor, EditError> {
        let faults = faults.clone();
        match self {
            Self::File(file) => FrameEditor::with_file(FaultyFile { file, faults }, options),
            Self::Place(place) => FrameEditor::sparse(FaultyPlace { place, faults }, options),
        }
    }
}

struct FaultyFile {
    file: Arc<Mutex<dyn FrameFile + Send>>,
    faults: Faults,
}

impl FaultyFile {
    fn get(&self) -> io::Result<MutexGuard<'_, dyn FrameFile + Send + 'static>> {
        let mut cx = Context::from_waker(Waker::noop());
        loop {
            // A call of a file cannot be anything but ready.
            if let Poll::Ready(result) = self.faults.poll(&mut cx) {
                result?;
                return Ok(self.file.lock().unwrap_or_else(PoisonError::into_inner));
            }
        }
    }
}

impl FrameFile for FaultyFile {
    fn size(&self) -> io::Result<u64> {
        self.get()?.size()
    }

    fn read_at(&self, range: Range<u64>) -> io::Result<Bytes> {
        self.get()?.read_at(range)
    }

    fn write_at(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.get()?.write_at(at, bytes)
    }

    fn truncate(&mut self, size: u64) -> io::Result<()> {
        self.get()?.truncate(size)
    }

    fn replace(&mut self, head: &[u8], tail_at: u64, tail: &[u8]) -> io::Result<()> {
        self.get()?.replace(head, tail_at, tail)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.get()?.sync()
    }
}

#[derive(Clone)]
struct FaultyPlace {
    place: Arc<dyn SparsePlace>,
    faults: Faults,
}

impl FaultyPlace {
    fn after_turn<T: Send + 'static>(
        &self,
        call: impl FnOnce(&dyn SparsePlace) -> BoxFuture<'static, io::Result<T>> + Send + 'static,
    ) -> BoxFuture<'static, io::Result<T>> {
        let this = self.clone();
        Box::pin(async move {
            this.faults.turn().await?;
            call(&*this.place).await
        })
    }
}

impl ChunkFiles for FaultyPlace {
    fn read_files(&self, ranges: Vec<(u32, Range<u64>)>) -> BoxFuture<'_, Vec<io::Result<Bytes>>> {
        Box::pin(async move {
            match self.faults.turn().await {
                Ok(()) => self.place.read_files(ranges).await,
                Err(error) => ranges.iter().map(|_| Err(error.kind().into())).collect(),
            }
        })
    }
}

impl SparsePlace for FaultyPlace {
    fn put_chunk(&self, id: u32, bytes: Bytes) -> BoxFuture<'static, io::Result<()>> {
        self.after_turn(move |place| place.put_chunk(id, bytes))
    }

    fn create_chunk(&self, id: u32, bytes: Bytes) -> BoxFuture<'static, io::Result<()>> {
        self.after_turn(move |place| place.create_chunk(id, bytes))
    }

    fn chunks(&self) -> BoxFuture<'static, io::Result<BTreeMap<u32, u64>>> {
        self.after_turn(|place| place.chunks())
    }

    fn index(&self) -> BoxFuture<'static, io::Result<Option<FileVersion>>> {
        self.after_turn(|place| place.index())
    }

    fn put_index(&self, index: Bytes, replaces: Option<FileVersion>) -> BoxFuture<'static, io::Result<()>> {
        self.after_turn(move |place| place.put_index(index, replaces))
    }

    fn remove_chunk(&self, id: u32) -> BoxFuture<'static, io::Result<()>> {
        self.after_turn(move |place| place.remove_chunk(id))
    }

    fn plan(&self) -> BoxFuture<'static, io::Result<Option<FileVersion>>> {
        self.after_turn(|place| place.plan())
    }

    fn put_plan(&self, plan: Bytes, replaces: Option<FileVersion>) -> BoxFuture<'static, io::Result<()>> {
        self.after_turn(move |place| place.put_plan(plan, replaces))
    }

    fn remove_plan(&self, version: FileVersion) -> BoxFuture<'static, io::Result<()>> {
        self.after_turn(move |place| place.remove_plan(version))
    }

    fn is_locked(&self) -> bool {
        self.place.is_locked()
    }

    fn ignores_conditions(&self) -> BoxFuture<'static, io::Result<bool>> {
        self.place.ignores_conditions()
    }
}
