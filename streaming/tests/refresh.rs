//! Readers that follow what others commit.

mod common;

use std::fs;

use common::{CHUNK, data, frame, options};
use oxiblosc_streaming::blocking::compact;
use oxiblosc_streaming::edit::EditOptions;
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
