//! Frames with checksums and a fingerprint: C-Blosc2 opens and edits them, and what we say about them afterwards.

use std::io::Write;
use std::path::Path;

use oxiblosc::chunk::EncodeParams;
use oxiblosc::frame::{ChecksumState, FingerprintKind};
use oxiblosc::target::SparseTarget;
use oxiblosc::{ChecksumPolicy, Finding, FingerprintCheck, ReadOptions, VerifyReport, WriteOptions, blocking};
use serde_json::json;

use crate::worker::Worker;

const CHUNK: usize = 2000;

/// Four chunks; chunk 1 is incompressible, so that another incompressible one can take its place in the file.
fn content() -> Vec<u8> {
    (0..4 * CHUNK as u64).map(|i| if i / CHUNK as u64 == 1 { noise(i) } else { (i / 50) as u8 }).collect()
}

fn noise(i: u64) -> u8 {
    ((i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 51) as u8 ^ (i.wrapping_mul(0xD1B5_4A32_D192_ED03) >> 47) as u8
}

fn write(path: &Path, sparse: bool) {
    let params = EncodeParams { typesize: 8, ..EncodeParams::default() };
    let options = WriteOptions::new(params)
        .chunk_size(CHUNK)
        .metalayer("m", &b"\xc4\x03abc"[..])
        .fingerprint(FingerprintKind::default())
        .checksums(true);
    let result = if sparse {
        let target = SparseTarget::create(path).expect("a directory").inline();
        let mut writer = blocking::FrameWriter::with_target(target, options).expect("a writer");
        writer.write_all(&content()).and_then(|()| Ok(writer.finish().map(drop)?))
    } else {
        let mut writer = blocking::FrameWriter::create(path, options).expect("a writer");
        writer.write_all(&content()).and_then(|()| Ok(writer.finish().map(drop)?))
    };
    result.expect("a frame");
}

fn verify(path: &Path) -> VerifyReport {
    blocking::FrameReader::open(path).and_then(|reader| reader.verify()).expect("the frame opens")
}

#[test]
fn edits_by_others_are_told_from_damage() {
    let Some(mut worker) = Worker::start() else { return };
    let other: Vec<u8> = (0..CHUNK as u64).map(|i| noise(i + 99_999)).collect();
    let steps = [
        ("append", 0, true),
        ("insert", 1, true),
        ("update", 1, true),
        ("update", 2, true),
        ("delete", 1, false),
        ("vlmeta", 7, true),
        ("reorder", 0, false),
        ("meta", 0, true),
    ];
    let dir = tempfile::tempdir().expect("a temporary directory");
    for sparse in [false, true] {
        for (n, (step, i, takes_data)) in steps.into_iter().enumerate() {
            let path = dir.path().join(format!("{n}-{sparse}.b2frame"));
            write(&path, sparse);
            let report = verify(&path);
            assert!(report.is_good() && matches!(report.checksums, ChecksumState::Valid(_)), "{report}");
            let theirs = worker.call("frame_edits.chunks", json!({ "path": path }), &[]);
            assert_eq!(theirs.blobs.concat(), content());
            assert!(theirs.value["vlmeta"]["oxiblosc_checksums"].is_array(), "python reads the metalayer as a map");

            let data = if step == "meta" { &b"xyz"[..] } else { &other };
            let blobs: &[&[u8]] = if takes_data { &[data] } else { &[] };
            worker.call("frame_edits.edit", json!({ "path": path, "steps": [[step, i]] }), blobs);
            let report = verify(&path);
            let context = format!("{step} {i}, sparse {sparse}: {report}");
            if step == "meta" {
                // C-Blosc2 changes the header in place and leaves the trailer: only that is found to be different.
                assert!(matches!(report.findings[..], [Finding::Metadata, Finding::Fingerprint { .. }]), "{context}");
                continue;
            }
            assert!(report.is_good(), "{context}");
            assert_eq!(report.checksums, ChecksumState::Outdated, "{context}");
            assert_eq!(report.fingerprint, FingerprintCheck::Absent, "{context}");

            // Good data stays readable, and a reader that requires checksums is told why there are none.
            let open = |policy| {
                let options = ReadOptions::new().checksums(policy);
                let source = oxiblosc::source::FileSource::open_inline(&path).expect("the file opens");
                blocking::FrameReader::with_options(source, options)
            };
            let theirs = worker.call("frame_edits.chunks", json!({ "path": path }), &[]).blobs.concat();
            let reader = open(ChecksumPolicy::Check).expect("outdated checksums are ignored");
            assert_eq!(reader.bytes(0..reader.nbytes()).expect("good data"), theirs, "{context}");
            let error = open(ChecksumPolicy::Require).expect_err("there are no valid checksums").to_string();
            assert!(error.contains("changed by software"), "{error}");

            // Our editor does not carry worthless checksums on.
            let mut editor = blocking::FrameEditor::open(&path).expect("an editor");
            editor.append(&other).and_then(|()| editor.commit()).expect("an edit");
            assert_eq!(verify(&path).checksums, ChecksumState::Absent, "{context}");
        }
    }
}
