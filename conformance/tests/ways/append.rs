//! Bytes that are appended to a frame that is there already.

use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use oxiblosc::blocking;
use oxiblosc::edit::{self, EditError, EditOptions, FileStore, FrameEditor, Store};
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
        let open = || Ok(Shared { store: Arc::clone(&frame), faults: faults.clone() });
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
    let open = || {
        let store = FileStore::open(&path, durable)?;
        Ok(Shared { store: Arc::new(Mutex::new(store)), faults: faults.clone() })
    };
    let end = append(case, payload, first, faults, &mut errors, open)?;
    if case.seed.is_multiple_of(3) {
        edit::compact(&path).map_err(|e| format!("compaction: {e}"))?;
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
fn append<S: Store>(
    case: &Case,
    payload: &Payload,
    first: u64,
    faults: &Faults,
    errors: &mut usize,
    open: impl Fn() -> io::Result<Shared<S>>,
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
        let mut editor: FrameEditor<Shared<S>> = match options().edit(open().map_err(text)?) {
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

/// A store that fails on demand, and whose content tests can look at.
pub(crate) struct Shared<S> {
    pub(crate) store: Arc<Mutex<S>>,
    pub(crate) faults: Faults,
}

impl<S> Shared<S> {
    fn get(&self) -> io::Result<MutexGuard<'_, S>> {
        let mut cx = Context::from_waker(Waker::noop());
        loop {
            // A call of a store cannot be anything but ready.
            if let Poll::Ready(result) = self.faults.poll(&mut cx) {
                result?;
                return Ok(self.store.lock().unwrap_or_else(PoisonError::into_inner));
            }
        }
    }
}

impl<S: Store> Store for Shared<S> {
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

    fn sync(&mut self) -> io::Result<()> {
        self.get()?.sync()
    }

    fn is_sparse(&self) -> bool {
        self.store.lock().unwrap_or_else(PoisonError::into_inner).is_sparse()
    }

    fn read_chunk_file(&self, id: u32, range: Range<u64>) -> io::Result<Bytes> {
        self.get()?.read_chunk_file(id, range)
    }

    fn write_chunk_file(&mut self, id: u32, bytes: &[u8]) -> io::Result<()> {
        self.get()?.write_chunk_file(id, bytes)
    }

    fn replace_index(&mut self, index: &[u8]) -> io::Result<()> {
        self.get()?.replace_index(index)
    }

    fn remove_chunk_file(&mut self, id: u32) -> io::Result<()> {
        self.get()?.remove_chunk_file(id)
    }
}
