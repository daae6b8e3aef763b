//! Checksums and fingerprints: what they find, and how they survive edits.

use std::io::Write;

use futures::AsyncWriteExt;
use oxiblosc_core::chunk::{EncodeParams, SpecialValue};
use oxiblosc_core::frame::{ChecksumState, Checksums, Fingerprint, FingerprintKind, FrameError, FrameWriteError};
use oxiblosc_plugins as _;
use oxiblosc_streaming::edit::{EditError, EditOptions, copy};
use oxiblosc_streaming::target::MemoryTarget;
use oxiblosc_streaming::{
    ChecksumPolicy, Finding, FingerprintCheck, Pool, ReadError, ReadOptions, VerifyReport, WriteOptions, block_on,
    blocking,
};

fn data(len: usize) -> Vec<u8> {
    (0..len as u64).flat_map(|i| (i * i % 977).to_le_bytes()).take(len).collect()
}

fn options(kind: Option<FingerprintKind>, checksums: bool) -> WriteOptions {
    let params = EncodeParams { typesize: 4, ..EncodeParams::default() };
    WriteOptions::new(params).chunk_size(400).fingerprint(kind).checksums(checksums).vlmetalayer("v", &b"\xa1K"[..])
}

fn frame(data: &[u8], options: WriteOptions) -> Vec<u8> {
    let mut sink = options.in_memory().unwrap();
    let summary = block_on(async {
        sink.write_all(data).await.unwrap();
        sink.close().await.unwrap()
    });
    let bytes = sink.into_target().into_bytes();
    let stored = blocking::FrameReader::from_bytes(bytes.clone()).unwrap().frame().fingerprint();
    assert_eq!(summary.fingerprint, stored);
    bytes
}

fn verify(bytes: Vec<u8>, pool: &Pool) -> Result<VerifyReport, ReadError> {
    block_on(async { ReadOptions::new().pool(pool).open(bytes).await?.verify().await })
}

const KINDS: [Option<FingerprintKind>; 4] =
    [None, Some(FingerprintKind::Xxh3_32), Some(FingerprintKind::Xxh3_64), Some(FingerprintKind::Xxh3_128)];

#[test]
fn whole_frames_are_good() {
    let pool = Pool::new(1);
    for len in [0, 1, 399, 400, 401, 1999] {
        for kind in KINDS {
            for checksums in [false, true] {
                for sequential in [false, true] {
                    let mut content = data(len);
                    // Zeros are in the index alone, unless that is not allowed.
                    content.iter_mut().skip(400).take(400).for_each(|byte| *byte = 0);
                    let bytes = frame(&content, options(kind, checksums).sequential(sequential));
                    let report = verify(bytes.clone(), &pool).unwrap();
                    assert!(report.is_good(), "{report}");
                    assert_eq!(report.nbytes, len as u64);
                    assert_eq!(matches!(report.checksums, ChecksumState::Valid(_)), checksums);
                    assert_eq!(matches!(report.fingerprint, FingerprintCheck::Matches(_)), kind.is_some());
                    let policy = if checksums { ChecksumPolicy::Require } else { ChecksumPolicy::Check };
                    let options = ReadOptions::new().pool(&pool).checksums(policy);
                    let reader = blocking::FrameReader::with_options(bytes, options).unwrap();
                    assert_eq!(reader.bytes(0..len as u64).unwrap(), content);
                }
            }
        }
    }
}

/// Every kind of frame that vouches for all of its bytes.
#[test]
fn every_flipped_bit_is_found() {
    let pool = Pool::new(1);
    let content = data(1000);
    for (kind, checksums) in [(KINDS[3], true), (KINDS[1], true), (KINDS[2], false), (KINDS[0], true)] {
        let good = frame(&content, options(kind, checksums));
        let reader = blocking::FrameReader::from_bytes(good.clone()).unwrap();
        let spans: Vec<_> = (0..reader.nchunks()).map(|i| reader.frame().span(i).unwrap().unwrap()).collect();
        let end = reader.frame().chunks_end();
        let fingerprint_at = good.len() - Fingerprint::LEN;
        for bit in 0..8 * good.len() {
            let at = bit / 8;
            let mut bad = good.clone();
            bad[at] ^= 1 << (bit % 8);
            // Not even open: the error says why.
            let Ok(report) = verify(bad.clone(), &pool) else { continue };
            let chunk = spans.iter().position(|span| span.start <= at as u64 && (at as u64) < span.end.min(end));
            if let Some(chunk) = chunk {
                assert!(!report.is_good(), "bit {bit} of chunk {chunk} with {kind:?}");
                if checksums {
                    assert_eq!(report.bad_chunks().collect::<Vec<_>>(), [chunk as u64], "bit {bit}: {report}");
                    let options = ReadOptions::new().pool(&pool).checksums(ChecksumPolicy::Check);
                    let reader = blocking::FrameReader::with_options(bad, options).unwrap();
                    for i in 0..reader.nchunks() {
                        assert_eq!(reader.chunk(i).is_err(), i == chunk as u64, "bit {bit}, chunk {i}");
                        let first = 400 * i;
                        assert_eq!(reader.bytes(first..first + 1).is_err(), i == chunk as u64);
                    }
                }
            } else if kind.is_none() && at < fingerprint_at {
                // Lengths in the header that have changed look like an edit by other software.
                assert!(report.checksums.valid().is_none(), "bit {bit}");
            } else if kind.is_some() || at < fingerprint_at + 2 {
                assert!(!report.is_good(), "bit {bit} at {at} of {} with {kind:?}", good.len());
            }
        }
    }
}

#[test]
fn edits_keep_checksums_and_drop_the_fingerprint() {
    let pool = Pool::new(1);
    for sparse in [false, true] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("frame.b2frame");
        let options = options(Some(FingerprintKind::Xxh3_128), true);
        let content = data(1900);
        if sparse {
            let target = oxiblosc_streaming::target::SparseTarget::create(&path).unwrap().inline();
            let mut writer = blocking::FrameWriter::with_target(target, options).unwrap();
            writer.write_all(&content).unwrap();
            writer.finish().unwrap();
        } else {
            let mut writer = blocking::FrameWriter::create(&path, options).unwrap();
            writer.write_all(&content).unwrap();
            writer.finish().unwrap();
        }
        let check = |fingerprint: bool| {
            let reader = blocking::FrameReader::open(&path).unwrap();
            let report = reader.verify().unwrap();
            assert!(report.is_good(), "{report}");
            assert_eq!(reader.frame().checksums().valid().unwrap().chunks().len() as u64, reader.nchunks());
            assert_eq!(matches!(report.fingerprint, FingerprintCheck::Matches(_)), fingerprint, "{report}");
            reader
        };
        check(true);
        let edit = |change: &dyn Fn(&mut blocking::FrameEditor)| {
            let mut editor =
                blocking::FrameEditor::with_options(&path, EditOptions::new().pool(&pool).durable(false)).unwrap();
            change(&mut editor);
            editor.commit().unwrap();
            drop(editor);
            check(false)
        };
        edit(&|editor| editor.append(&data(150)).unwrap());
        edit(&|editor| editor.update(1, &data(400)).unwrap());
        edit(&|editor| editor.insert(0, &[9; 400]).unwrap());
        edit(&|editor| editor.update_special(2, SpecialValue::Zero).unwrap());
        edit(&|editor| editor.delete(3).unwrap());
        edit(&|editor| editor.reorder(&[2, 1, 0, 3, 4, 5]).unwrap());
        edit(&|editor| editor.set_vlmetalayer("w", b"\x01").unwrap());
        edit(&|editor| editor.delete_vlmetalayer("v").unwrap());
        let reader = edit(&|editor| editor.append(&data(5000)).unwrap());
        let all = reader.bytes(0..reader.nbytes()).unwrap();
        blocking::compact(&path).unwrap();
        let reader = check(false);
        assert_eq!(reader.bytes(0..reader.nbytes()).unwrap(), all);
        edit(&|editor| (0..editor.nchunks()).rev().for_each(|i| editor.delete(i).unwrap()));
        edit(&|editor| editor.append(&data(10)).unwrap());
    }
}

#[test]
fn damage_gets_no_checksum_of_its_own() {
    let good = frame(&data(1000), options(None, true));
    let reader = blocking::FrameReader::from_bytes(good.clone()).unwrap();
    let at = reader.frame().span(2).unwrap().unwrap().start as usize + 40;
    let mut bad = good.clone();
    bad[at] ^= 1;
    let mut editor = blocking::FrameEditor::from_bytes(bad.clone()).unwrap();
    let is_checksum = |e: &EditError| e.to_string().contains("checksum");
    assert!(is_checksum(&editor.append(&[1]).unwrap_err()));
    let reader = blocking::FrameReader::from_bytes(bad).unwrap();
    let mut target = MemoryTarget::new();
    let copied = block_on(copy(reader.as_async(), &mut target));
    assert!(is_checksum(&copied.unwrap_err()));

    // A header that is not what it was: the editor must not make it right.
    let mut bad = good;
    bad[63] ^= 1;
    let report = verify(bad.clone(), &Pool::new(1)).unwrap();
    assert!(matches!(report.findings[..], [Finding::Metadata]), "{report}");
    assert!(blocking::FrameEditor::from_bytes(bad.clone()).is_err());
    let options = ReadOptions::new().checksums(ChecksumPolicy::Check);
    let error = blocking::FrameReader::with_options(bad.clone(), options).unwrap_err();
    assert!(matches!(error, ReadError::Checksums { state: ChecksumState::Damaged }), "{error}");

    // Nor do copies, which would be without checksums. Recovery is asked for.
    let refused = |error: EditError| {
        assert!(matches!(error, EditError::Change(FrameWriteError::Checksums)), "{error}");
        let text = error.to_string();
        assert!(text.contains("software that does not keep checksums") && text.contains("recover"), "{text}");
    };
    let reader = blocking::FrameReader::from_bytes(bad.clone()).unwrap();
    refused(block_on(copy(reader.as_async(), &mut MemoryTarget::new())).unwrap_err());
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("frame.b2frame");
    std::fs::write(&path, &bad).unwrap();
    refused(blocking::compact(&path).unwrap_err());
    assert!(std::fs::read(&path).unwrap() == bad);
    let mut target = MemoryTarget::new();
    assert!(block_on(oxiblosc_streaming::recover::recover_into(bad, &mut target)).is_ok());
    let report = verify(target.into_bytes().to_vec(), &Pool::new(1)).unwrap();
    assert!(report.is_good() && report.checksums == ChecksumState::Absent, "{report}");
}

/// An edit by software that does not know them outdates them; that is no reason to refuse a copy.
#[test]
fn outdated_checksums_are_left_out_of_a_copy() {
    let mut frame = frame(&data(1000), options(Some(FingerprintKind::Xxh3_32), true));
    // C-Blosc2 writes a trailer without a fingerprint.
    let fingerprint_at = frame.len() - Fingerprint::LEN;
    frame[fingerprint_at + 1..].fill(0);
    let reader = blocking::FrameReader::from_bytes(frame).unwrap();
    assert_eq!(*reader.frame().checksums(), ChecksumState::Outdated);
    let mut target = MemoryTarget::new();
    block_on(copy(reader.as_async(), &mut target)).unwrap();
    let copied = blocking::FrameReader::from_bytes(target.into_bytes()).unwrap();
    assert_eq!(*copied.frame().checksums(), ChecksumState::Absent);
    assert_eq!(copied.bytes(0..1000).unwrap(), reader.bytes(0..1000).unwrap());
}

/// Checksums of a later version: nothing can be compared with them, and that is no damage.
#[test]
fn checksums_of_another_algorithm_are_ignored_kept_by_copies_and_dropped_by_edits() {
    for kind in [None, Some(FingerprintKind::Xxh3_64)] {
        let good = frame(&data(1000), options(None, true).fingerprint(kind));
        let at = good.windows(7).position(|bytes| bytes == b"xxh3-64").unwrap();
        let mut renamed = good.clone();
        renamed[at..at + 7].copy_from_slice(b"blake-4");
        let open = |bytes: &[u8]| blocking::FrameReader::from_bytes(bytes.to_vec()).unwrap();
        // It is the name that is damaged if all else is as it was.
        assert_eq!(*open(&renamed).frame().checksums(), ChecksumState::Damaged);
        let metadata = good.windows(9).position(|bytes| bytes == b"\xa8metadata").unwrap() + 10;
        let mut later = renamed;
        later[metadata..metadata + 8].fill(0x55);
        // The fingerprint covers the trailer, so it is left out here.
        let fingerprint_at = later.len() - Fingerprint::LEN;
        later[fingerprint_at + 1..].fill(0);

        let reader = open(&later);
        assert_eq!(*reader.frame().checksums(), ChecksumState::Unknown);
        let report = verify(later.clone(), &Pool::new(1)).unwrap();
        assert!(report.is_good() && report.checksums == ChecksumState::Unknown, "{report}");
        for (policy, opens) in
            [(ChecksumPolicy::Ignore, true), (ChecksumPolicy::Check, true), (ChecksumPolicy::Require, false)]
        {
            let reader = blocking::FrameReader::with_options(later.clone(), ReadOptions::new().checksums(policy));
            assert_eq!(reader.is_ok(), opens, "{policy:?}");
        }
        let value = |bytes: &[u8]| open(bytes).frame().trailer().vlmetalayers.get(Checksums::NAME).cloned();
        let mut target = MemoryTarget::new();
        block_on(copy(reader.as_async(), &mut target)).unwrap();
        let copied = target.into_bytes();
        assert_eq!(value(&copied), value(&later));
        assert_eq!(open(&copied).frame().fingerprint(), Fingerprint::NONE);

        let mut editor = blocking::FrameEditor::from_bytes(later.clone()).unwrap();
        editor.append(&[1; 40]).unwrap();
        editor.commit().unwrap();
        assert_eq!(value(&editor.frame_bytes().unwrap()), None);
        let mut target = MemoryTarget::new();
        block_on(oxiblosc_streaming::recover::recover_into(later, &mut target)).unwrap();
        assert_eq!(value(&target.into_bytes()), None);
    }
}

#[test]
fn their_place_is_reserved() {
    let mut full = options(None, true);
    for i in 0..15 {
        full = full.vlmetalayer(format!("m{i}"), &b"\x01"[..]);
    }
    assert!(full.in_memory().is_err());
    assert!(options(None, false).vlmetalayer(Checksums::NAME, &b"\x01"[..]).in_memory().is_err());
    let error = FrameError::ChunkChecksum { chunk: 3, offset: Some(97), expected: 1, found: 2 }.to_string();
    assert!(error.starts_with("chunk 3 at offset 97: its bytes have"), "{error}");
}
