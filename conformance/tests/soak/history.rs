//! A frame with a long history, beside plain bytes that had the same one.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use bytes::Bytes;
use oxiblosc::blocking::FrameEditor;
use oxiblosc::chunk::SpecialValue;
use oxiblosc::edit::{self, EditError, EditOptions};
use oxiblosc::source::{FileSource, RangeSource};
use oxiblosc::sparse::MemoryDirectory;
use oxiblosc::target::{FileTarget, MemoryTarget, PlaceTarget, SparseTarget};
use oxiblosc::{FrameReader, ReadOptions, WriteOptions, block_on, blocking};
use oxiblosc_conformance::data::Random;
use oxiblosc_conformance::target::Faults;
use tempfile::TempDir;

use crate::append::Store;
use crate::case::Data;
use crate::payload::Payload;
use crate::place::BoxTarget;
use crate::tally::Tally;

/// Editors that one after the other change the frame.
const EDITORS: usize = 12;
/// A longer frame is not appended to.
const MOST_BYTES: usize = 6 << 20;

/// Runs one history; its seed is in every message.
pub(crate) fn run(seed: u64, end: Instant, tally: &Tally) {
    if let Err(error) = one(seed, end, tally) {
        panic!("history {seed}: {error}");
    }
}

fn one(seed: u64, end: Instant, tally: &Tally) -> Result<(), String> {
    let mut random = Random::new(seed);
    let chunk = [1000, 5000, 70_000, 300_000, 1 << 20][random.below(5)];
    let model = bytes(&mut random, chunk * 4 + 100);
    let options = || WriteOptions::default().chunk_size(chunk).checksums(seed.is_multiple_of(3));
    let write = |target: BoxTarget| -> Result<(), String> {
        let mut writer = blocking::FrameWriter::with_target(target, options()).map_err(text)?;
        writer.push(model.clone().into()).map_err(text)?;
        writer.finish().map_err(text).map(drop)
    };
    let directory = TempDir::new().map_err(text)?;
    let path = directory.path().join("history.b2frame");
    let mut history = History { chunk, model: model.clone(), random, tally, end };
    match seed % 4 {
        0 | 1 => {
            let in_file = seed.is_multiple_of(4);
            write(if in_file {
                Box::new(FileTarget::create(&path).map_err(text)?)
            } else {
                Box::new(SparseTarget::create(&path).map_err(text)?)
            })?;
            let open = || Store::open(&path, false);
            let source = || FileSource::open_inline(&path).map(|source| Box::new(source) as Box<dyn RangeSource>);
            history.run(open, source, in_file, || blocking::compact(&path).map(drop))
        }
        2 => {
            let place = MemoryDirectory::new();
            write(Box::new(PlaceTarget::new(place.clone())))?;
            let open = || Ok(Store::Place(Arc::new(place.clone())));
            // A frame of its own, which no commit changes.
            let source = || Ok(Box::new(place.snapshot()) as Box<dyn RangeSource>);
            history.run(open, source, true, || blocking::compact_place(place.clone()).map(drop))
        }
        _ => {
            let mut writer = blocking::FrameWriter::with_target(MemoryTarget::new(), options()).map_err(text)?;
            writer.push(model.into()).map_err(text)?;
            writer.finish().map_err(text)?;
            let frame = Arc::new(Mutex::new(writer.into_target().into_bytes()));
            let open = || Ok(Store::File(Arc::clone(&frame) as _));
            let copy = || frame.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let source = || Ok(Box::new(copy()) as Box<dyn RangeSource>);
            let compact = || {
                let reader = block_on(FrameReader::open(copy()))?;
                let mut target = MemoryTarget::new();
                block_on(edit::copy(&reader, &mut target))?;
                *frame.lock().unwrap_or_else(PoisonError::into_inner) = target.into_bytes();
                Ok(())
            };
            history.run(open, source, true, compact)
        }
    }
}

struct History<'a> {
    chunk: usize,
    /// What is committed.
    model: Vec<u8>,
    random: Random,
    tally: &'a Tally,
    end: Instant,
}

type Source = Box<dyn RangeSource>;

impl History<'_> {
    /// `keeps` says that a reader may go on reading what it has opened after others have committed.
    fn run(
        &mut self,
        open: impl Fn() -> io::Result<Store>,
        source: impl Fn() -> io::Result<Source>,
        keeps: bool,
        compact: impl Fn() -> Result<(), EditError>,
    ) -> Result<(), String> {
        for _ in 0..EDITORS {
            if Instant::now() > self.end {
                break;
            }
            let reader = block_on(ReadOptions::new().open(source().map_err(text)?)).map_err(text)?;
            let before = self.model.clone();
            self.compare(&reader, &before)?;
            self.edit(open().map_err(text)?)?;
            if keeps {
                self.compare(&reader, &before).map_err(|e| format!("a reader of what was there before: {e}"))?;
            }
            drop(reader);
            if self.random.below(3) == 0 {
                compact().map_err(|e| format!("compaction: {e}"))?;
                self.tally.compactions();
            }
            let reader = block_on(ReadOptions::new().open(source().map_err(text)?)).map_err(text)?;
            let model = self.model.clone();
            self.compare(&reader, &model)?;
            let report = block_on(reader.verify()).map_err(text)?;
            if !report.is_good() {
                return Err(format!("the verification says: {report}"));
            }
        }
        Ok(())
    }

    /// One editor, with some commits, and perhaps with changes that it never commits.
    fn edit(&mut self, store: Store) -> Result<(), String> {
        let faults = Faults::none();
        let mut editor = store.edit(&faults, EditOptions::new()).map_err(text)?;
        if self.random.below(2) == 0 {
            let call = faults.calls() + self.random.below(30) as u64;
            faults.fail_from(call, 1 + self.random.below(3) as u64);
        }
        let mut model = self.model.clone();
        for _ in 0..1 + self.random.below(12) {
            self.change(&mut editor, &mut model)?;
            self.tally.edits();
            if editor.nbytes() != model.len() as u64 {
                return Err(format!("the editor has {} bytes, expected {}", editor.nbytes(), model.len()));
            }
            if self.random.below(3) == 0 {
                self.again(|| editor.commit())?;
                self.model.clone_from(&model);
                self.tally.commits();
                self.tally.bytes(self.model.len() as u64);
            }
        }
        Ok(())
    }

    /// Makes one change to both.
    fn change(&mut self, editor: &mut FrameEditor, model: &mut Vec<u8>) -> Result<(), String> {
        let (chunk, nchunks) = (self.chunk, editor.nchunks() as usize);
        let range = |i: usize, model: &[u8]| i * chunk..((i + 1) * chunk).min(model.len());
        let some = (nchunks > 0).then(|| self.random.below(nchunks.max(1)));
        match (self.random.below(8), some) {
            (0..=2, _) if model.len() < MOST_BYTES => {
                let len = self.random.below(2 * chunk + 1);
                let data = bytes(&mut self.random, len);
                // What was appended before an error stays.
                let start = model.len();
                model.extend_from_slice(&data);
                self.again(|| {
                    let taken = editor.nbytes() as usize - start;
                    editor.append(&data[taken..])
                })
            }
            (3, Some(i)) => {
                let range = range(i, model);
                let data = bytes(&mut self.random, range.len());
                self.again(|| editor.update(i as u64, &data))?;
                model[range].copy_from_slice(&data);
                Ok(())
            }
            (4, Some(i)) => {
                let range = range(i, model);
                self.again(|| editor.delete(i as u64))?;
                model.drain(range);
                Ok(())
            }
            (5, Some(i)) if model.len() < MOST_BYTES => {
                let data = bytes(&mut self.random, chunk);
                self.again(|| editor.insert(i as u64, &data))?;
                model.splice(i * chunk..i * chunk, data);
                Ok(())
            }
            (6, Some(i)) => {
                self.again(|| editor.update_special(i as u64, SpecialValue::Zero))?;
                let range = range(i, model);
                model[range].fill(0);
                Ok(())
            }
            (7, Some(_)) => {
                // A short last chunk stays where it is.
                let whole = model.len() / chunk;
                let mut order: Vec<u64> = (0..nchunks as u64).collect();
                for i in (1..whole).rev() {
                    order.swap(i, self.random.below(i + 1));
                }
                self.again(|| editor.reorder(&order))?;
                let old = model.clone();
                let moved = order.iter().flat_map(|&from| old[range(from as usize, &old)].iter().copied());
                *model = moved.collect();
                Ok(())
            }
            _ => {
                let data = bytes(&mut self.random, 200);
                self.again(|| editor.set_vlmetalayer("note", &data))
            }
        }
    }

    /// Makes a call again until the store has taken it.
    fn again(&self, mut call: impl FnMut() -> Result<(), EditError>) -> Result<(), String> {
        loop {
            match call() {
                Ok(()) => return Ok(()),
                Err(EditError::Store(_)) => self.tally.fault(),
                Err(error) => return Err(format!("failed for good: {error}")),
            }
        }
    }

    /// Reads all of it from several threads: as a stream and in parts.
    fn compare(&mut self, reader: &FrameReader<Source>, model: &[u8]) -> Result<(), String> {
        if reader.nbytes() != model.len() as u64 {
            return Err(format!("the frame has {} bytes, expected {}", reader.nbytes(), model.len()));
        }
        let seeds = [self.random.next_u64(), self.random.next_u64()];
        thread::scope(|scope| {
            let parts = seeds.map(|seed| scope.spawn(move || parts(reader, model, seed)));
            let whole = whole(reader, model);
            parts.into_iter().map(|part| part.join().expect("no reader panics")).fold(whole, Result::and)
        })
    }
}

fn whole(reader: &FrameReader<Source>, model: &[u8]) -> Result<(), String> {
    use futures::TryStreamExt;
    let chunks: Vec<Bytes> = block_on(reader.chunks().try_collect()).map_err(text)?;
    if chunks.concat() == model { Ok(()) } else { Err("a stream of the frame has other bytes".into()) }
}

fn parts(reader: &FrameReader<Source>, model: &[u8], seed: u64) -> Result<(), String> {
    let mut random = Random::new(seed);
    for _ in 0..if model.is_empty() { 0 } else { 6 } {
        let start = random.below(model.len());
        let end = (start + 1 + random.below(100_000)).min(model.len());
        let found = block_on(reader.bytes(start as u64..end as u64)).map_err(text)?;
        if found != model[start..end] {
            return Err(format!("bytes {start}..{end} are others"));
        }
    }
    Ok(())
}

/// Bytes of all kinds.
fn bytes(random: &mut Random, len: usize) -> Vec<u8> {
    let data = [Data::Noise, Data::Series, Data::Zeros, Data::Mixed][random.below(4)];
    Payload::new(data, len as u64, 1 + random.below(5000) as u64, random.next_u64()).bytes(0..u64::MAX)
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
