//! Readers that follow what others commit.

mod common;

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{fs, io};

use bytes::Bytes;
use common::{CHUNK, data, frame, options};
use futures::future::BoxFuture;
use oxiblosc_streaming::blocking::compact;
use oxiblosc_streaming::edit::EditOptions;
use oxiblosc_streaming::source::RangeSource;
use oxiblosc_streaming::target::SparseTarget;
use oxiblosc_streaming::{WriteOptions, blocking};
use std::io::Write;

fn write(path: &std::path::Path, sparse: bool, content: &[u8], options: WriteOptions) {
    if sparse {
        let target = SparseTarget::create(path).unwrap().inline();
        let mut writer = blocking::FrameWriter::with_target(target, options).unwrap();
        writer.write_all(content).unwrap();
        writer.finish().unwrap();
    } else {
        fs::write(path, frame(content, options)).unwrap();
    }
}

#[test]
fn commits_are_followed() {
    for sparse in [false, true] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("growing.b2frame");
        let mut content = data(CHUNK / 2);
        write(&path, sparse, &content, options());
        let mut reader = blocking::FrameReader::open(&path).unwrap();
        assert!(!reader.refresh().unwrap());
        for round in 0..5u64 {
            let before = reader.clone();
            let more = data(CHUNK + 100 * round as usize);
            let mut editor = blocking::FrameEditor::with_options(&path, EditOptions::new().durable(false)).unwrap();
            editor.append(&more).unwrap();
            assert!(!reader.refresh().unwrap(), "nothing is committed yet");
            editor.commit().unwrap();
            drop(editor);
            let old = before.nbytes();
            content.extend(more);
            assert!(reader.refresh().unwrap());
            assert_eq!(reader.bytes(0..reader.nbytes()).unwrap(), content, "sparse {sparse}, round {round}");
            assert_eq!(before.nbytes(), old);
            if !sparse {
                assert_eq!(before.bytes(0..old).unwrap(), content[..old as usize]);
            }
        }
        // Another file under the same name.
        compact(&path).unwrap();
        assert!(reader.refresh().unwrap());
        assert_eq!(reader.bytes(0..reader.nbytes()).unwrap(), content);
        // What is no frame any more leaves the reader as it was.
        let index = if sparse { path.join("chunks.b2frame") } else { path.clone() };
        fs::rename(&index, directory.path().join("away")).unwrap();
        assert!(reader.refresh().is_err());
        assert_eq!(reader.nbytes(), content.len() as u64);
    }
}

/// A file of which the length is told as it was before a commit, and the bytes as they are after it.
struct BetweenCommits {
    bytes: Vec<u8>,
    before: u64,
    asked: AtomicUsize,
    /// How often the old length is told.
    stale: usize,
}

impl RangeSource for BetweenCommits {
    fn size(&self) -> BoxFuture<'_, io::Result<u64>> {
        let stale = self.asked.fetch_add(1, Ordering::SeqCst) < self.stale;
        let len = if stale { self.before } else { self.bytes.len() as u64 };
        Box::pin(std::future::ready(Ok(len)))
    }

    fn read_ranges(&self, ranges: Vec<Range<u64>>) -> BoxFuture<'_, io::Result<Vec<Bytes>>> {
        self.bytes.read_ranges(ranges)
    }
}

#[test]
fn a_commit_while_a_frame_is_opened_is_no_damage() {
    let content = data(5 * CHUNK);
    let before = frame(&content[..CHUNK], options());
    let mut editor = blocking::FrameEditor::with_file(before.clone(), EditOptions::new()).unwrap();
    editor.append(&content[CHUNK..]).unwrap();
    editor.commit().unwrap();
    let bytes = editor.frame_bytes().unwrap().to_vec();
    let before = before.len() as u64;
    let open = |stale, bytes: &[u8]| {
        let source = BetweenCommits { bytes: bytes.to_vec(), before, asked: AtomicUsize::new(0), stale };
        oxiblosc_streaming::block_on(oxiblosc_streaming::FrameReader::open(source))
    };
    assert_eq!(open(1, &bytes).unwrap().nbytes(), content.len() as u64);
    // One that stays cut off is damaged, and so is one that is as long as it was.
    assert!(open(usize::MAX, &bytes).is_err());
    assert!(open(1, &bytes[..bytes.len() - 1]).is_err());
}
