//! Checks that copies of a frame, encoded again or not, hold what the frame holds.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use oxiblosc::blocking::FrameReader;
use oxiblosc::edit::{self, EditError};
use oxiblosc::frame::{Checksums, ChunkEntry, FingerprintKind, FrameLayout, Sequential};
use oxiblosc::sparse::MemoryDirectory;
use oxiblosc::target::{MemoryTarget, PlaceTarget};
use oxiblosc::{CodecId, EncodeParams, FilterSlots, Summary, WriteOptions, block_on, blocking};

use crate::bound::{MOST_CHUNKS, Setup};
use crate::place::Place;
use crate::reading::{Content, is_lossy, open};
use crate::script::Script;

/// Frames with more bytes of chunks are not copied.
const MOST_STORED: usize = 2 << 20;

/// Copies the frame in `place` as `script` says: as it is, compacted in a file, or encoded again.
///
/// # Panics
/// When a sound frame cannot be copied, or a copy differs from the frame.
pub fn check<P: Place>(place: &P, script: &mut Script<'_>, setup: &Setup) {
    let Some(reader) = open(place, setup.read()) else { return };
    // What entries of the index have in common is there as often in a copy.
    let stored = (0..reader.nchunks().min(MOST_CHUNKS)).map(|i| reader.encoded_chunk(i).map_or(0, |chunk| chunk.len()));
    if reader.nchunks() > MOST_CHUNKS || stored.sum::<usize>() > MOST_STORED {
        return;
    }
    // Chunks and their totals agree, or the copy may be of another length.
    let Some(content) = Content::of(&reader, setup).filter(|content| content.whole.is_some()) else {
        return damaged(&reader);
    };
    let original = Original { good: reader.verify().is_ok_and(|report| report.is_good()), reader, content };
    match script.byte() % 4 {
        0 | 1 => original.copy(setup),
        2 => original.compact(place, setup),
        _ => original.recompress(script, setup),
    }
}

/// Checks that a copy of a frame that does not decode is either refused or opens.
fn damaged<P: Place>(reader: &FrameReader<P>) {
    let mut target = MemoryTarget::new();
    if let Ok(summary) = block_on(edit::copy(reader.as_async(), &mut target)) {
        let copy = target.into_bytes();
        assert_eq!(summary.frame_len, copy.len() as u64, "the length of a copy");
        if let Err(e) = FrameReader::from_bytes(copy) {
            panic!("a copy does not open: {e}");
        }
    }
}

/// A frame of moderate size that decodes.
struct Original<P> {
    reader: FrameReader<P>,
    content: Content,
    /// Verification finds nothing wrong with it.
    good: bool,
}

impl<P: Place> Original<P> {
    fn copy(&self, setup: &Setup) {
        let Some((contiguous, summary)) = self.copied() else { return };
        assert_eq!(summary.frame_len, contiguous.len() as u64, "the length of a copy");
        self.compare(&contiguous, &summary, setup);
        let directory = MemoryDirectory::new();
        match block_on(edit::copy(self.reader.as_async(), &mut PlaceTarget::new(directory.clone()))) {
            Ok(summary) => {
                self.compare(&directory, &summary, setup);
                let reader = open(&directory, setup.read()).expect("it has just been opened");
                if let (Ok((back, _)), false) = (copied(&reader), self.promises()) {
                    assert!(back == contiguous, "the copy of a sparse copy differs from the copy");
                }
            }
            Err(e) => panic!("a frame can be copied to memory, but not to a directory: {e}"),
        }
        let reader = open(&contiguous, setup.read()).expect("it has just been opened");
        let (again, _) = copied(&reader).unwrap_or_else(|e| panic!("a copy cannot be copied: {e}"));
        assert!(again == contiguous, "the copy of a copy differs from it");
    }

    /// The copy in memory; `None` when that fails, as it may for a frame that is not sound.
    fn copied(&self) -> Option<(Bytes, Summary)> {
        match copied(&self.reader) {
            Ok(copied) => Some(copied),
            Err(e) => {
                assert!(!self.good, "a frame is sound, but cannot be copied: {e}");
                None
            }
        }
    }

    /// Sparse frames have no use for the promise, and drop it.
    fn promises(&self) -> bool {
        self.reader.metalayer(Sequential::NAME).is_some()
    }

    fn compact(&self, place: &P, setup: &Setup) {
        let scratch = Scratch::new();
        place.save(&scratch.0).expect("a file can be written");
        match blocking::compact(&scratch.0) {
            Ok(summary) => {
                let compacted = P::load(&scratch.0).expect("what was compacted can be read");
                self.compare(&compacted, &summary, setup);
            }
            Err(e) => {
                assert!(!self.good, "a frame is sound, but cannot be compacted: {e}");
                let kept = P::load(&scratch.0).expect("what was not compacted can be read");
                let reader = open(&kept, setup.read()).expect("what was not compacted opens");
                let same = Content::of(&reader, setup).is_some_and(|now| now.chunks == self.content.chunks);
                assert!(same, "compacting failed and changed the chunks: {e}");
            }
        }
    }

    fn recompress(&self, script: &mut Script<'_>, setup: &Setup) {
        let codecs = [CodecId::BLOSCLZ, CodecId::LZ4, CodecId::LZ4HC, CodecId::ZLIB, CodecId::ZSTD];
        let filters = [FilterSlots::NONE, FilterSlots::SHUFFLE];
        let (choice, kept) = (script.byte(), self.reader.chunk_size());
        let params = EncodeParams {
            codec: codecs[usize::from(choice) % codecs.len()],
            level: script.byte() % 10,
            filters: filters[usize::from(choice >> 7)],
            typesize: self.reader.typesize(),
            ..EncodeParams::default()
        };
        let bits = script.byte();
        let mut options = WriteOptions::new(params)
            .pool(&setup.pool)
            .checksums(bits & 1 > 0)
            .sequential(bits & 2 > 0)
            .fingerprint((bits & 4 > 0).then_some(FingerprintKind::Xxh3_64));
        let cut = bits & 8 > 0;
        if cut {
            let (size, typesize) = ([1, 100, 4096, 65536][usize::from(bits >> 4) % 4], self.reader.typesize());
            // No more chunks than are compared.
            let least = (self.content.nbytes().div_ceil(MOST_CHUNKS) as usize).next_multiple_of(typesize);
            options = options.chunk_size((size.max(typesize) / typesize * typesize).max(least));
        }
        let mut target = MemoryTarget::new();
        let summary = match block_on(edit::recompress(self.reader.as_async(), options, &mut target)) {
            Ok(summary) => summary,
            // A chunk size that does not suit an array, say, or is no whole number of items.
            Err(e) => {
                let whole = kept.is_none_or(|size| size % self.reader.typesize() == 0);
                assert!(cut || !whole || !self.good, "a frame is sound, but cannot be encoded again: {e}");
                return;
            }
        };
        let frame = Bytes::from(target.into_bytes());
        let copy = self.expect_same(&frame, &summary, setup);
        // A new frame without chunks does not state their size.
        if !cut && kept.is_some() && self.reader.nchunks() > 0 {
            assert_eq!(copy.chunk_size(), kept, "the chunk size of a frame that was encoded again");
        }
        match copy.verify() {
            Ok(report) => assert!(report.is_good(), "a frame that was encoded again is not good: {report}"),
            Err(e) => panic!("a frame that was encoded again cannot be verified: {e}"),
        }
    }

    /// A copy chunk by chunk.
    fn compare<C: Place>(&self, place: &C, summary: &Summary, setup: &Setup) {
        let copy = self.expect_same(place, summary, setup);
        // Frames of 2019 become other chunks.
        if self.reader.header().layout == FrameLayout::Current {
            let chunks = Content::of(&copy, setup).map(|content| content.chunks);
            assert!(chunks.as_ref() == Some(&self.content.chunks), "the chunks of a copy differ");
        }
        if self.good {
            match copy.verify() {
                Ok(report) => assert!(report.is_good(), "the copy of a good frame is not good: {report}"),
                Err(e) => panic!("a copy cannot be verified: {e}"),
            }
        }
        let stored: u64 = (0..copy.nchunks())
            .filter(|&i| !copy.frame().entry(i).is_ok_and(|entry| matches!(entry, ChunkEntry::Special(_))))
            .map(|i| copy.encoded_chunk(i).map_or(0, |chunk| chunk.len() as u64))
            .sum();
        assert_eq!(copy.cbytes(), stored, "the chunks of a copy, and their total");
    }

    /// Opens the copy; bytes and metalayers are those of the original.
    fn expect_same<C: Place>(&self, place: &C, summary: &Summary, setup: &Setup) -> FrameReader<C> {
        let copy = match FrameReader::with_options(place.clone(), setup.read()) {
            Ok(copy) => copy,
            Err(e) => panic!("a copy does not open: {e}"),
        };
        assert_eq!(copy.nbytes(), self.reader.nbytes(), "bytes of a copy");
        assert_eq!((copy.nchunks(), copy.nbytes()), (summary.chunks, summary.nbytes), "the totals of a copy");
        let whole = Content::of(&copy, setup).and_then(|content| content.whole);
        assert!(is_lossy(self.reader.header()) || whole == self.content.whole, "the bytes of a copy differ");
        let named = |name: &str| !name.contains(char::REPLACEMENT_CHARACTER);
        let metalayers = self.reader.metalayers().iter().filter(|(name, _)| *name != Sequential::NAME && named(name));
        for (name, content) in metalayers {
            // Of two with one name readers see the first.
            let first = self.reader.metalayer(&name).unwrap_or(content);
            assert_eq!(copy.metalayer(&name), Some(first), "metalayer {name:?} of a copy");
        }
        let vlmetalayers = self.reader.vlmetalayer_names().into_iter().filter(|name| *name != Checksums::NAME);
        for name in vlmetalayers.filter(|name| named(name)) {
            if let Ok(expected) = self.reader.vlmetalayer(&name) {
                assert_eq!(
                    copy.vlmetalayer(&name).ok(),
                    Some(expected),
                    "variable-length metalayer {name:?} of a copy"
                );
            }
        }
        copy
    }
}

fn copied<P: Place>(reader: &FrameReader<P>) -> Result<(Bytes, Summary), EditError> {
    let mut target = MemoryTarget::new();
    let summary = block_on(edit::copy(reader.as_async(), &mut target))?;
    Ok((target.into_bytes().into(), summary))
}

/// The name of a temporary file or directory, which is removed when this is dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        Self(std::env::temp_dir().join(format!("oxiblosc-fuzz-{}-{number}.b2frame", std::process::id())))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if fs::remove_file(&self.0).is_err() {
            let _ = fs::remove_dir_all(&self.0);
        }
    }
}
