//! Sparse frames: a directory with one file per chunk.

mod common;

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use bytes::Bytes;
use common::{CHUNK, Random, data, lengths, options};
use futures::executor::block_on;
use oxiblosc_core::frame::{FrameError, INDEX_FILE, chunk_file_name};
use oxiblosc_streaming::blocking::compact;
use oxiblosc_streaming::edit::EditOptions;
use oxiblosc_streaming::source::FileSource;
use oxiblosc_streaming::sparse::{Directory, SparsePlace};
use oxiblosc_streaming::target::{FileTarget, SparseTarget};
use oxiblosc_streaming::{ErrorKind, FrameReader, Pool, ReadError, WriteOptions, blocking};

fn write(path: &Path, data: &[u8], options: WriteOptions) {
    let target = SparseTarget::create(path).unwrap().inline();
    let mut writer = blocking::FrameWriter::with_target(target, options).unwrap();
    writer.write_all(data).unwrap();
    let summary = writer.finish().unwrap();
    assert_eq!(summary.nbytes, data.len() as u64);
    let files = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len());
    assert_eq!(files.sum::<u64>(), summary.frame_len);
}

#[test]
fn every_length_comes_back() {
    let directory = tempfile::tempdir().unwrap();
    for (threads, offloaded) in [(0, false), (2, true)] {
        let pool = Pool::new(threads);
        for len in lengths() {
            let data = data(len);
            let path = directory.path().join("frame");
            let target = SparseTarget::create(&path).unwrap();
            let target = if offloaded { target } else { target.inline() };
            let options = options().pool(&pool).metalayer("m", &b"\x01"[..]).vlmetalayer("v", &b"\x02"[..]);
            let mut writer = blocking::FrameWriter::with_target(target, options).unwrap();
            writer.write_all(&data).unwrap();
            let summary = writer.finish().unwrap();
            assert_eq!((summary.nbytes, summary.chunks), (len as u64, len.div_ceil(CHUNK) as u64));

            let reader = blocking::FrameReader::open(&path).unwrap();
            assert!(reader.frame().is_sparse());
            assert_eq!(reader.bytes(0..len as u64).unwrap(), data);
            let chunks: Vec<Bytes> = reader.chunks().collect::<Result<_, _>>().unwrap();
            assert_eq!(chunks.concat(), data);
            for i in 0..reader.nchunks() {
                assert_eq!(reader.chunk(i).unwrap(), chunks[i as usize]);
            }
            for (start, end) in [(0, len / 3), (len / 2, len / 2 + 1), (len / 3, len)] {
                let end = end.min(len);
                assert_eq!(reader.bytes(start as u64..end as u64).unwrap(), &data[start..end]);
            }
            assert_eq!(reader.metalayer("m").unwrap(), &b"\x01"[..]);
            assert_eq!(reader.vlmetalayer("v").unwrap().unwrap(), &b"\x02"[..]);
        }
    }
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "temporary directories are left");
}

#[test]
fn parts_of_large_chunks_are_read_block_by_block() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("frame");
    let data: Vec<u8> = (0..1_000_000u32).flat_map(|i| i.wrapping_mul(0x9E37_79B9).to_le_bytes()).collect();
    write(&path, &data, options().chunk_size(1 << 20));
    let reader = block_on(async { FrameReader::open(FileSource::open(&path).await?).await }).unwrap();
    for range in [0..4, 1_500_000..1_500_100, 1_048_570..1_048_580, 3_999_999..4_000_000] {
        let found = block_on(reader.bytes(range.clone())).unwrap();
        assert_eq!(found, &data[range.start as usize..range.end as usize]);
    }
}

#[test]
fn a_slash_and_unknown_files_do_not_matter() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("frame");
    write(&path, &data(3 * CHUNK), options());
    fs::write(path.join("notes.txt"), "unknown").unwrap();
    fs::write(path.join("FFFFFFFF.chunk"), "stale").unwrap();
    let mut slash = path.clone().into_os_string();
    slash.push("/");
    for path in [path.as_os_str(), &slash] {
        assert_eq!(blocking::FrameReader::open(path).unwrap().bytes(0..3 * CHUNK as u64).unwrap(), data(3 * CHUNK));
    }
    let error = SparseTarget::create(&slash).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::AlreadyExists, "other files would be lost: {error}");
    assert!(error.to_string().contains("it contains \"notes.txt\""), "{error}");
}

#[test]
fn a_missing_or_short_file_is_an_error_of_its_chunk() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("frame");
    let data: Vec<u8> = (0..5 * CHUNK).map(|i| (i / 100) as u8).collect();
    write(&path, &data, options());
    fs::remove_file(path.join(chunk_file_name(1))).unwrap();
    let short = fs::read(path.join(chunk_file_name(3))).unwrap();
    for cut in [0, 1, 31, 32, 33, short.len() - 1] {
        fs::write(path.join(chunk_file_name(3)), &short[..cut]).unwrap();
        let reader = blocking::FrameReader::open(&path).unwrap();
        let found: Vec<_> = reader.chunks().collect();
        assert_eq!(found.len(), 5);
        for (i, chunk) in found.into_iter().enumerate() {
            match (i, chunk) {
                (1, Err(ReadError::ChunkFile { chunk: 1, source })) => {
                    assert_eq!(source.kind(), io::ErrorKind::NotFound);
                    assert!(source.to_string().contains("00000001.chunk"), "{source}");
                }
                (3, Err(ReadError::Decode { chunk: 3, .. })) if cut < 32 => {}
                (3, Err(ReadError::Frame(FrameError::ChunkFile { chunk: 3, expected, found }))) => {
                    assert_eq!((expected, found), (short.len() as u64, cut as u64));
                }
                (_, Ok(chunk)) => assert_eq!(chunk, &data[i * CHUNK..][..CHUNK]),
                (_, Err(e)) => panic!("chunk {i}: {e}"),
            }
        }
        let at = CHUNK as u64;
        assert!(matches!(reader.bytes(at..at + 1), Err(ReadError::ChunkFile { chunk: 1, .. })));
        assert!(reader.bytes(3 * at..3 * at + 1).is_err());
        assert_eq!(reader.bytes(2 * at..3 * at).unwrap(), &data[2 * CHUNK..3 * CHUNK]);
    }
    // What follows a chunk in its file does not matter.
    fs::write(path.join(chunk_file_name(3)), [&short[..], b"more"].concat()).unwrap();
    let reader = blocking::FrameReader::open(&path).unwrap();
    assert_eq!(reader.chunk(3).unwrap(), &data[3 * CHUNK..4 * CHUNK]);
}

#[test]
fn nothing_is_there_until_the_end() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("frame");
    let target = SparseTarget::create(&path).unwrap();
    let mut writer = blocking::FrameWriter::with_target(target, options()).unwrap();
    writer.write_all(&data(3 * CHUNK)).unwrap();
    writer.flush().unwrap();
    assert!(!path.exists());
    drop(writer);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);

    let target = SparseTarget::in_place(&path).unwrap();
    let mut writer = blocking::FrameWriter::with_target(target, options()).unwrap();
    writer.write_all(&data(3 * CHUNK)).unwrap();
    writer.flush().unwrap();
    assert!(path.join(chunk_file_name(1)).exists() && !path.join(INDEX_FILE).exists());
    drop(writer);
    assert!(!path.join(INDEX_FILE).exists());

    let target = SparseTarget::in_place(&path).unwrap();
    let mut writer = blocking::FrameWriter::with_target(target, options()).unwrap();
    writer.write_all(&data(2 * CHUNK)).unwrap();
    writer.finish().unwrap();
    let reader = blocking::FrameReader::open(&path).unwrap();
    assert_eq!(reader.bytes(0..2 * CHUNK as u64).unwrap(), data(2 * CHUNK));
    assert_eq!(SparseTarget::in_place(&path).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
}

#[test]
fn an_old_frame_is_replaced_as_a_whole() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("frame");
    write(&path, &data(9 * CHUNK), options());
    write(&path, &data(2 * CHUNK), options());
    let reader = blocking::FrameReader::open(&path).unwrap();
    assert_eq!(reader.bytes(0..2 * CHUNK as u64).unwrap(), data(2 * CHUNK));
    assert_eq!(fs::read_dir(&path).unwrap().count(), 3);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
}

#[test]
fn the_files_may_come_in_pieces() {
    use oxiblosc_streaming::target::{Part, Target};
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("frame");
    let mut target = SparseTarget::create(&path).unwrap();
    let append = |target: &mut SparseTarget, id, mut bytes: Bytes| {
        while !bytes.is_empty() {
            block_on(std::future::poll_fn(|cx| target.poll_append(cx, Part::File(id), &mut bytes))).unwrap();
        }
    };
    append(&mut target, 4, Bytes::from_static(b"one "));
    append(&mut target, 4, Bytes::from_static(b"and two"));
    append(&mut target, 7, Bytes::from_static(b"three"));
    let index = Bytes::from_static(b"index");
    for _ in 0..2 {
        block_on(std::future::poll_fn(|cx| target.poll_commit(cx, &index))).unwrap();
    }
    assert_eq!(fs::read(path.join(chunk_file_name(4))).unwrap(), b"one and two");
    assert_eq!(fs::read(path.join(chunk_file_name(7))).unwrap(), b"three");
    assert_eq!(fs::read(path.join(INDEX_FILE)).unwrap(), b"index");
}

/// Bytes that do not compress.
fn noise(len: usize, seed: u64) -> Vec<u8> {
    let mut random = Random::new(seed);
    (0..len).map(|_| random.below(256) as u8).collect()
}

fn edit(path: &Path) -> blocking::FrameEditor {
    blocking::FrameEditor::with_options(path, EditOptions::new().pool(&Pool::inline()).durable(false)).unwrap()
}

/// One random commit, and the chunks that the frame has afterwards.
fn commit(path: &Path, model: &mut Vec<Vec<u8>>, size: usize, random: &mut Random, seed: u64) {
    let mut editor = edit(path);
    for change in 0..1 + random.below(2) {
        let new = noise(size, 100 * seed + change);
        let i = random.below(model.len().max(1) as u64);
        match random.below(5) {
            0 | 1 => {
                editor.append(&new).unwrap();
                model.push(new);
            }
            // The chunk with the highest number, as a rule.
            2 if !model.is_empty() => {
                editor.delete(model.len() as u64 - 1).unwrap();
                model.pop();
            }
            3 if !model.is_empty() => {
                editor.update_special(i, oxiblosc_core::chunk::SpecialValue::Zero).unwrap();
                model[i as usize] = vec![0; size];
            }
            4 if !model.is_empty() => {
                editor.update(i, &new).unwrap();
                model[i as usize] = new;
            }
            _ => {}
        }
    }
    editor.commit().unwrap();
}

#[test]
fn an_open_reader_gets_its_own_chunks_or_an_error() {
    // Of one block, and of several.
    for (size, commits) in [(96, 60), (300_000, 12)] {
        let mut random = Random::new(size as u64);
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("frame");
        let mut model: Vec<Vec<u8>> = (0..3).map(|i| noise(size, i)).collect();
        write(&path, &model.concat(), options().chunk_size(size));
        let mut readers = Vec::new();
        let (mut kept, mut gone) = (0, 0);
        for number in 0..commits {
            readers.push((blocking::FrameReader::open(&path).unwrap(), model.clone()));
            match number % 12 {
                7 => drop(compact(&path).unwrap()),
                9 => drop(block_on(EditOptions::new().compact_place(Directory::lock(&path).unwrap())).unwrap()),
                _ => commit(&path, &mut model, size, &mut random, 1000 + number),
            }
            for (reader, chunks) in &readers {
                for (i, chunk) in chunks.iter().enumerate() {
                    match reader.chunk(i as u64) {
                        Ok(found) => {
                            assert!(found == chunk, "commit {number}, chunk {i} is another one");
                            kept += 1;
                        }
                        Err(error) => {
                            assert_eq!(error.kind(), ErrorKind::Replaced, "{error:?}");
                            assert!(error.to_string().contains("open it again"), "{error}");
                            gone += 1;
                        }
                    }
                }
            }
            let reader = blocking::FrameReader::open(&path).unwrap();
            assert_eq!(reader.nchunks(), model.len() as u64);
            assert!(reader.bytes(0..reader.nbytes()).unwrap() == model.concat());
            assert!(reader.verify().unwrap().findings.is_empty());
        }
        assert!(kept > commits && gone > commits, "{kept} {gone}");
        // Of an old reader, which goes on with what there is now.
        let (mut reader, _) = readers.swap_remove(0);
        assert!(reader.refresh().unwrap());
        assert!(reader.bytes(0..reader.nbytes()).unwrap() == model.concat());
        // A file for each chunk, and the one with the highest number.
        let files = fs::read_dir(&path).unwrap().count();
        assert!(files <= model.len() + 2, "{files} files of {} chunks", model.len());
    }
}

#[test]
fn an_edited_frame_is_not_a_damaged_one() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("frame");
    let data = noise(3 * 300_000, 1);
    write(&path, &data, options().chunk_size(300_000).checksums(true));
    let open = || block_on(async { FrameReader::open(FileSource::open(&path).await.unwrap()).await }).unwrap();
    let reader = open();
    let mut editor = edit(&path);
    editor.update(1, &noise(300_000, 2)).unwrap();
    editor.commit().unwrap();
    assert!(matches!(block_on(reader.bytes(400_000..400_100)), Err(ReadError::Replaced(_))));
    assert!(matches!(block_on(reader.verify()), Err(ReadError::Replaced(_))));

    // Without an edit a missing file is damage.
    let reader = open();
    fs::remove_file(path.join(chunk_file_name(0))).unwrap();
    let error = block_on(reader.bytes(0..100)).unwrap_err();
    assert!(matches!(error, ReadError::ChunkFile { chunk: 0, .. }), "{error:?}");
}

#[test]
fn what_killed_writers_leave_is_not_foreign() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("frame");
    write(&path, &data(3 * CHUNK), options());
    let left = [".00000028.chunk.wYjfaT.part", ".chunks.b2frame.aB3dE6.part", ".chunks.b2frame.plan.aB3dE6.part"];
    let leave = || left.iter().for_each(|name| fs::write(path.join(name), "half").unwrap());
    let count = || left.iter().filter(|name| path.join(name).exists()).count();
    leave();
    drop(SparseTarget::create(&path).unwrap());
    assert_eq!(count(), 3);
    // The plan may be that of a writer that is about to begin.
    drop(edit(&path));
    assert_eq!(count(), 1);
    leave();
    compact(&path).unwrap();
    assert_eq!(count(), 0);
    assert_eq!(blocking::FrameReader::open(&path).unwrap().bytes(0..3 * CHUNK as u64).unwrap(), data(3 * CHUNK));

    // Where others are writing, theirs are left alone.
    leave();
    fs::write(path.join("chunks.b2frame.plan"), "a plan").unwrap();
    drop(Directory::lock(&path));
    assert_eq!(count(), 3);
    fs::remove_file(path.join("chunks.b2frame.plan")).unwrap();

    for name in [".notes.part", ".notes.aB3dE6.part", ".00000028.chunk.aB.part", ".00000028.chunk.aB3dE6"] {
        fs::write(path.join(name), "of somebody else").unwrap();
        assert_eq!(SparseTarget::create(&path).unwrap_err().kind(), io::ErrorKind::AlreadyExists, "{name}");
        drop(edit(&path));
        fs::remove_file(path.join(name)).unwrap();
    }
}

#[test]
fn names_as_long_as_the_file_system_allows() {
    let directory = tempfile::tempdir().unwrap();
    for (len, letter) in [(242, "n"), (243, "n"), (250, "n"), (255, "n"), (126, "\u{e4}"), (127, "\u{e4}")] {
        let name = letter.repeat(len);
        let path = directory.path().join(&name);
        for round in 0..2_u64 {
            write(&path, &noise(3 * CHUNK, round), options());
            assert!(blocking::FrameReader::open(&path).unwrap().bytes(0..9).unwrap() == noise(3 * CHUNK, round)[..9]);
            compact(&path).unwrap();
        }
        fs::remove_dir_all(&path).unwrap();
        let target = FileTarget::create(&path).unwrap().inline();
        let mut writer = blocking::FrameWriter::with_target(target, options()).unwrap();
        writer.write_all(&data(3 * CHUNK)).unwrap();
        writer.finish().unwrap();
        compact(&path).unwrap();
        fs::remove_file(&path).unwrap();
    }
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn a_directory_that_is_opened_is_not_made() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a/b");
    assert_eq!(Directory::open(&path).unwrap_err().kind(), io::ErrorKind::NotFound);
    assert!(!directory.path().join("a").exists());
    Directory::new(&path).unwrap();
    assert!(block_on(Directory::open(&path).unwrap().chunks()).unwrap().is_empty());
    let error = blocking::FrameReader::open(&path).unwrap_err();
    assert!(error.to_string().contains("source") && error.kind() == ErrorKind::NotFound, "{error:?}");
    let file = path.join("file");
    fs::write(&file, "a file").unwrap();
    for error in [Directory::open(&file).unwrap_err(), Directory::new(&file).unwrap_err()] {
        assert_eq!(error.kind(), io::ErrorKind::NotADirectory);
        assert!(error.to_string().contains("this is a file"), "{error}");
    }
}
