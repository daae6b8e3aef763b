//! Frames edited in files, directories and memory.

mod common;

use std::fs;
use std::io::{self, Write};
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use common::disk::{Image, SharedDisk};
use common::{CHUNK, Random, data, frame, options};
use futures::io::AsyncWriteExt;
use oxiblosc_core::Inline;
use oxiblosc_core::chunk::{ChunkContext, ChunkDecoder, ChunkEncoder, EncodeParams, SpecialValue};
use oxiblosc_core::frame::{FrameParams, FrameWriter, SpecialPlacement};
use oxiblosc_core::id::CodecId;
use oxiblosc_streaming::blocking::{FrameEditor, FrameReader, compact};
use oxiblosc_streaming::edit::{EditError, EditOptions, FrameFile, copy, recompress};
use oxiblosc_streaming::recover::RecoverOptions;
use oxiblosc_streaming::sparse::MemoryDirectory;
use oxiblosc_streaming::target::{FileTarget, MemoryTarget, PlaceTarget, SparseTarget};
use oxiblosc_streaming::{Pool, ReadOptions, WriteOptions, block_on, blocking};

const SMALL: usize = 96;

fn small_options() -> WriteOptions {
    options().chunk_size(SMALL).pool(&Pool::inline())
}

fn edit() -> EditOptions {
    EditOptions::new().pool(&Pool::inline()).durable(false)
}

fn write_sparse(path: &Path, data: &[u8], options: WriteOptions) {
    let target = SparseTarget::create(path).unwrap().inline();
    let mut writer = blocking::FrameWriter::with_target(target, options).unwrap();
    writer.write_all(data).unwrap();
    writer.finish().unwrap();
}

fn all<S: oxiblosc_streaming::source::RangeSource + 'static>(reader: &FrameReader<S>) -> Vec<Vec<u8>> {
    reader.chunks().map(|chunk| chunk.unwrap().to_vec()).collect()
}

/// A chunk that compresses, or does not, or is one value.
fn chunk(random: &mut Random, len: usize) -> Vec<u8> {
    let step = random.below(256) as usize;
    match random.below(4) {
        0 => vec![0; len],
        1 => (0..len).map(|_| random.below(256) as u8).collect(),
        _ => (0..len).map(|i| (i / 4 * step) as u8).collect(),
    }
}

/// One random change, made to the frame and to the model of it.
fn change(editor: &mut FrameEditor, model: &mut Vec<Vec<u8>>, random: &mut Random) {
    let n = model.len();
    let short_last = model.last().is_some_and(|last| last.len() < SMALL);
    let i = random.below(n as u64 + 1) as usize;
    match random.below(9) {
        0 | 1 => {
            let len = random.below(3 * SMALL as u64) as usize;
            let bytes = chunk(random, len);
            editor.append(&bytes).unwrap();
            let mut rest = &bytes[..];
            if let Some(last) = model.last_mut() {
                let (part, behind) = rest.split_at((SMALL - last.len()).min(rest.len()));
                last.extend_from_slice(part);
                rest = behind;
            }
            model.extend(rest.chunks(SMALL).map(<[u8]>::to_vec));
        }
        2 if i < n || !short_last => {
            let data = chunk(random, SMALL);
            editor.insert(i as u64, &data).unwrap();
            model.insert(i, data);
        }
        3 if i < n => {
            let len = if i + 1 == n { 1 + random.below(SMALL as u64) as usize } else { SMALL };
            let data = chunk(random, len);
            editor.update(i as u64, &data).unwrap();
            model[i] = data;
        }
        4 if i < n => {
            editor.delete(i as u64).unwrap();
            model.remove(i);
        }
        5 if n > 0 && !short_last => {
            let order: Vec<u64> = (0..n).map(|k| ((k + i) % n) as u64).collect();
            editor.reorder(&order).unwrap();
            model.rotate_left(i % n);
        }
        6 if i < n && model[i].len().is_multiple_of(4) => {
            let (value, item) = special(random);
            editor.update_special(i as u64, value).unwrap();
            model[i] = item.repeat(model[i].len() / 4);
        }
        7 if !short_last => {
            let (value, item) = special(random);
            let len = 4 * random.below(60) as usize;
            editor.fill(value, len as u64).unwrap();
            model.extend(item.repeat(len / 4).chunks(SMALL).map(<[u8]>::to_vec));
        }
        _ => {
            let content = [random.below(256) as u8; 5];
            editor.set_vlmetalayer("v", &content).unwrap();
        }
    }
    assert_eq!(editor.nchunks(), model.len() as u64);
    assert_eq!(editor.nbytes(), model.iter().map(Vec::len).sum::<usize>() as u64);
    if !model.is_empty() {
        let i = random.below(model.len() as u64);
        assert_eq!(editor.chunk(i).unwrap(), model[i as usize]);
    }
}

fn special(random: &mut Random) -> (SpecialValue<'static>, [u8; 4]) {
    match random.below(4) {
        0 => (SpecialValue::Nan, f32::NAN.to_le_bytes()),
        1 => (SpecialValue::Value(&[1, 2, 3, 4]), [1, 2, 3, 4]),
        2 => (SpecialValue::Uninit, [0; 4]),
        _ => (SpecialValue::Zero, [0; 4]),
    }
}

#[test]
fn random_changes_in_files() {
    random_changes_on_disk(false);
}

#[test]
fn random_changes_in_directories() {
    random_changes_on_disk(true);
}

fn random_changes_on_disk(sparse: bool) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("frame.b2frame");
    for seed in 0..30 {
        let mut random = Random::new(seed);
        let start = data(random.below(5 * SMALL as u64) as usize);
        if sparse {
            write_sparse(&path, &start, small_options());
        } else {
            fs::write(&path, frame(&start, small_options())).unwrap();
        }
        let mut model: Vec<Vec<u8>> = start.chunks(SMALL).map(<[u8]>::to_vec).collect();
        for _ in 0..8 {
            let mut editor = FrameEditor::with_options(&path, edit().chunk_size(SMALL)).unwrap();
            let before = model.clone();
            for _ in 0..1 + random.below(4) {
                change(&mut editor, &mut model, &mut random);
            }
            assert_eq!(all(&FrameReader::open(&path).unwrap()), before, "changed before the commit");
            if random.chance(4) {
                model = before;
                drop(editor);
            } else {
                editor.commit().unwrap();
                if random.chance(2) {
                    assert_eq!(all(&FrameReader::open(&path).unwrap()), model);
                    change(&mut editor, &mut model, &mut random);
                    editor.commit().unwrap();
                }
                drop(editor);
            }
            assert_eq!(all(&FrameReader::open(&path).unwrap()), model, "seed {seed}");
            if random.chance(4) {
                let summary = compact(&path).unwrap();
                assert_eq!(summary.chunks, model.len() as u64);
                assert_eq!(all(&FrameReader::open(&path).unwrap()), model);
            }
        }
    }
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "temporary files are left");
}

#[test]
fn random_changes_in_directories_in_memory() {
    for seed in 200..230 {
        let mut random = Random::new(seed);
        let start = data(random.below(5 * SMALL as u64) as usize);
        let mut model: Vec<Vec<u8>> = start.chunks(SMALL).map(<[u8]>::to_vec).collect();
        let directory = MemoryDirectory::new();
        let mut sink = small_options().sink(PlaceTarget::new(directory.clone())).unwrap();
        block_on(async {
            sink.write_all(&start).await.unwrap();
            sink.close().await.unwrap();
        });
        let read = |directory: &MemoryDirectory| {
            all(&FrameReader::with_options(directory.clone(), ReadOptions::new().pool(&Pool::inline())).unwrap())
        };
        for _ in 0..8 {
            let old = directory.snapshot();
            let before = model.clone();
            let mut editor = FrameEditor::sparse(directory.clone(), edit().chunk_size(SMALL)).unwrap();
            for _ in 0..1 + random.below(5) {
                change(&mut editor, &mut model, &mut random);
            }
            assert_eq!(read(&directory), before, "seed {seed}: changed before the commit");
            if random.chance(4) {
                model.clone_from(&before);
            } else {
                editor.commit().unwrap();
            }
            assert_eq!(read(&directory), model, "seed {seed}");
            assert_eq!(read(&old), before, "seed {seed}: a snapshot has changed");
        }
        // What a directory on the disk would hold.
        let copy = MemoryDirectory::from_files(directory.files());
        assert_eq!(read(&copy), model, "seed {seed}");
    }
}

#[test]
fn random_changes_in_memory() {
    for seed in 100..140 {
        let mut random = Random::new(seed);
        let start = data(random.below(5 * SMALL as u64) as usize);
        let mut model: Vec<Vec<u8>> = start.chunks(SMALL).map(<[u8]>::to_vec).collect();
        let mut bytes = frame(&start, small_options());
        for _ in 0..8 {
            let mut editor = FrameEditor::with_file(bytes, edit().chunk_size(SMALL)).unwrap();
            for _ in 0..1 + random.below(5) {
                change(&mut editor, &mut model, &mut random);
            }
            editor.commit().unwrap();
            bytes = editor.frame_bytes().unwrap().to_vec();
            assert_eq!(all(&FrameReader::from_bytes(bytes.clone()).unwrap()), model, "seed {seed}");
        }
    }
}

/// A frame in memory that takes only so many bytes and then fails for good. Small writes are not torn, as on a disk.
struct Cut {
    bytes: Vec<u8>,
    left: usize,
}

impl FrameFile for Cut {
    fn size(&self) -> io::Result<u64> {
        Ok(self.bytes.len() as u64)
    }

    fn read_at(&self, range: Range<u64>) -> io::Result<Bytes> {
        self.bytes.read_at(range)
    }

    fn write_at(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        let in_header = at < 46;
        let n = if in_header && self.left < bytes.len() { 0 } else { self.left.min(bytes.len()) };
        self.left -= self.left.min(bytes.len());
        self.bytes.write_at(at, &bytes[..n])?;
        if n < bytes.len() { Err(io::Error::other("cut")) } else { Ok(()) }
    }

    fn truncate(&mut self, size: u64) -> io::Result<()> {
        if self.left == 0 {
            return Err(io::Error::other("cut"));
        }
        FrameFile::truncate(&mut self.bytes, size)
    }

    fn replace(&mut self, _: &[u8], _: u64, _: &[u8]) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn sync(&mut self) -> io::Result<()> {
        if self.left == 0 { Err(io::Error::other("cut")) } else { Ok(()) }
    }
}

#[test]
fn an_interrupted_commit_leaves_the_old_frame_or_the_new_one() {
    let data = data(3 * SMALL + 10);
    let old = frame(&data, small_options());
    let before: Vec<Vec<u8>> = data.chunks(SMALL).map(<[u8]>::to_vec).collect();
    let mut after = before.clone();
    after[3].extend([7; 50]);
    after[1] = vec![9; SMALL];
    after.remove(0);
    let mut seen = [0; 2];
    for left in 0.. {
        let file = Arc::new(Mutex::new(Cut { bytes: old.clone(), left }));
        let mut editor = FrameEditor::with_file(Arc::clone(&file), edit()).unwrap();
        let changes = |editor: &mut FrameEditor| {
            editor.append(&[7; 50])?;
            editor.update(1, &[9; SMALL])?;
            editor.delete(0)?;
            editor.commit()
        };
        let result = changes(&mut editor);
        drop(editor);
        let found = all(&FrameReader::from_bytes(file.lock().unwrap().bytes.clone()).unwrap());
        assert!(found == before || found == after, "after {left} bytes");
        seen[usize::from(found == after)] += 1;
        if result.is_ok() {
            assert_eq!(found, after);
            break;
        }
    }
    assert!(seen[0] > 100 && seen[1] > 0, "{seen:?}");
}

#[test]
fn a_crash_leaves_the_frame_as_it_was_or_as_it_is() {
    let mut random = Random::new(11);
    let directory = tempfile::tempdir().unwrap();
    let mut seen = [0; 2];
    for round in 0..40 {
        let start = data(random.below(5 * SMALL as u64) as usize);
        let options = small_options().checksums(round % 4 < 2);
        let mut image = if round % 2 == 0 {
            Image::contiguous(frame(&start, options))
        } else {
            let path = directory.path().join(round.to_string());
            write_sparse(&path, &start, options);
            Image::sparse(&path)
        };
        let mut model: Vec<Vec<u8>> = start.chunks(SMALL).map(<[u8]>::to_vec).collect();
        let open = |disk: &SharedDisk| disk.edit(edit().chunk_size(SMALL)).unwrap();
        for _ in 0..3 {
            let before = model.clone();
            let disk = SharedDisk::new(image);
            let mut editor = open(&disk);
            for _ in 0..1 + random.below(4) {
                change(&mut editor, &mut model, &mut random);
            }
            editor.commit().unwrap();
            drop(editor);
            let disk = disk.lock();
            for after in 0..=disk.actions() {
                let mut crashed = open(&SharedDisk::new(disk.crash(after, &mut random)));
                let found: Vec<Vec<u8>> = (0..crashed.nchunks()).map(|i| crashed.chunk(i).unwrap()).collect();
                assert!(
                    found == before || found == model,
                    "round {round}, after {after} of {} actions",
                    disk.actions()
                );
                seen[usize::from(found == model)] += 1;
            }
            image = disk.image().clone();
        }
    }
    assert!(seen[0] > 200 && seen[1] > 200, "{seen:?}");
}

#[test]
fn what_cannot_be_compacted_stays() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("frame.b2frame");
    let data = data(3 * SMALL);
    // A chunk that goes beyond its place, and one whose file is short.
    let mut damaged = frame(&data, small_options());
    let reader = FrameReader::from_bytes(damaged.clone()).unwrap();
    let at = reader.as_async().frame().span(2).unwrap().unwrap().start as usize;
    damaged[at + 12..at + 16].copy_from_slice(&10_000_i32.to_le_bytes());
    fs::write(&path, &damaged).unwrap();
    assert!(compact(&path).is_err());
    assert_eq!(fs::read(&path).unwrap(), damaged);
    fs::remove_file(&path).unwrap();

    write_sparse(&path, &data, small_options());
    let last = path.join("00000002.chunk");
    let chunk = fs::read(&last).unwrap();
    fs::write(&last, &chunk[..chunk.len() - 1]).unwrap();
    assert!(compact(&path).is_err());
    assert_eq!(fs::read(&last).unwrap(), chunk[..chunk.len() - 1]);
    fs::write(&last, &chunk).unwrap();
    assert_eq!(all(&FrameReader::open(&path).unwrap()).concat(), data);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "temporary files are left");
}

#[test]
fn a_failed_commit_can_be_repeated() {
    let old = frame(&data(2 * SMALL), small_options());
    for left in 0..600 {
        let file = Arc::new(Mutex::new(Cut { bytes: old.clone(), left }));
        let mut editor = FrameEditor::with_file(Arc::clone(&file), edit()).unwrap();
        editor.append_chunk(&[1; SMALL]).unwrap();
        if editor.commit().is_ok() {
            return;
        }
        // Enough again: what the store had not taken comes now.
        let refused = editor.append(&[1]).is_err();
        assert!(refused, "{left} bytes: something is left to be done");
        file.lock().unwrap().left = usize::MAX;
        editor.commit().unwrap();
        drop(editor);
        let found = all(&FrameReader::from_bytes(file.lock().unwrap().bytes.clone()).unwrap()).concat();
        assert_eq!(found, [data(2 * SMALL), vec![1; SMALL]].concat());
    }
    panic!("600 bytes should be enough");
}

#[test]
fn appending_continues_a_short_last_chunk() {
    let pool = Pool::new(2);
    for (first, second) in [(0, 1), (1, CHUNK), (CHUNK - 1, 2), (CHUNK, 1), (CHUNK + 7, 5 * CHUNK), (3, 0)] {
        let whole = data(first + second);
        let bytes = frame(&whole[..first], options());
        let mut editor = FrameEditor::with_file(bytes, EditOptions::new().pool(&pool).chunk_size(CHUNK)).unwrap();
        assert_eq!(editor.append_from(&whole[first..]).unwrap(), second as u64);
        editor.commit().unwrap();
        let reader = FrameReader::from_bytes(editor.frame_bytes().unwrap()).unwrap();
        assert_eq!(reader.nchunks(), whole.len().div_ceil(CHUNK) as u64);
        assert_eq!(all(&reader).concat(), whole);
    }
}

#[test]
fn one_editor_at_a_time() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("frame");
    fs::write(&path, frame(&data(10), small_options())).unwrap();
    let first = FrameEditor::open(&path).unwrap();
    let Err(EditError::Store(error)) = FrameEditor::open(&path) else { panic!("opened twice") };
    assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
    drop(first);
    FrameEditor::open(&path).unwrap();
}

#[test]
fn copies_and_other_parameters() {
    let directory = tempfile::tempdir().unwrap();
    let (file, sparse) = (directory.path().join("file"), directory.path().join("sparse"));
    let data = data(9 * CHUNK + 5);
    let options = options().metalayer("m", &b"\x01"[..]).vlmetalayer("v", &b"\x02"[..]).sequential(true);
    let reader = FrameReader::from_bytes(frame(&data, options)).unwrap();
    block_on(copy(reader.as_async(), &mut SparseTarget::create(&sparse).unwrap())).unwrap();
    let second = FrameReader::open(&sparse).unwrap();
    block_on(copy(second.as_async(), &mut FileTarget::create(&file).unwrap())).unwrap();
    let params = EncodeParams { codec: CodecId::ZSTD, typesize: 4, ..EncodeParams::default() };
    let mut memory = MemoryTarget::new();
    let third = FrameReader::open(&file).unwrap();
    let summary = block_on(recompress(third.as_async(), WriteOptions::new(params), &mut memory)).unwrap();
    let fourth = FrameReader::from_bytes(memory.into_bytes()).unwrap();
    assert_eq!((summary.nbytes, summary.chunks), (data.len() as u64, 10));
    assert_eq!(fourth.header().codec, CodecId::ZSTD);
    assert_eq!(all(&second).concat(), data);
    assert_eq!(all(&third).concat(), data);
    assert_eq!(all(&fourth).concat(), data);
    assert_eq!(second.metalayer("m").unwrap(), &b"\x01"[..]);
    assert_eq!(fourth.metalayer("m").unwrap(), &b"\x01"[..]);
    assert_eq!(second.vlmetalayer("v").unwrap().unwrap(), &b"\x02"[..]);
    assert_eq!(fourth.vlmetalayer("v").unwrap().unwrap(), &b"\x02"[..]);
}

/// In a frame whose chunks and blocks differ in length, the boundaries are part of what is stored.
#[test]
fn other_parameters_keep_the_boundaries() {
    let registry = oxiblosc_core::Registry::linked().unwrap();
    let parts =
        |chunk: usize| -> Vec<Vec<u8>> { (0..=chunk).map(|block| data(7 + 31 * chunk + 300 * block)).collect() };
    for vl_blocks in [false, true] {
        let params = EncodeParams { codec: CodecId::LZ4, ..EncodeParams::default() };
        let mut writer = FrameWriter::new(&FrameParams::new(params.clone(), 0), registry).unwrap();
        let mut encoder = ChunkEncoder::new(&params, registry).unwrap();
        let mut body = Vec::new();
        for chunk in 0..5 {
            let encoded = match vl_blocks {
                true => encoder.encode_blocks(&parts(chunk), &ChunkContext::default(), &Inline),
                false => encoder.encode(&parts(chunk).concat(), &ChunkContext::default(), &Inline),
            };
            let encoded = encoded.unwrap();
            assert_eq!(writer.push(&encoded).unwrap().unwrap().replacement, None);
            body.extend(encoded);
        }
        let tail = writer.finish().unwrap();
        let frame = [writer.header(), body, tail].concat();
        let expected: Vec<_> = (0..5).map(|chunk| parts(chunk).concat()).collect();

        let reader = FrameReader::from_bytes(frame).unwrap();
        assert_eq!(all(&reader), expected);
        let mut memory = MemoryTarget::new();
        let other = EncodeParams { codec: CodecId::ZSTD, level: 9, ..params };
        block_on(recompress(reader.as_async(), WriteOptions::new(other.clone()), &mut memory)).unwrap();
        let again = FrameReader::from_bytes(memory.into_bytes()).unwrap();
        assert_eq!((again.header().codec, again.chunk_size()), (CodecId::ZSTD, None));
        assert_eq!(all(&again), expected);
        let mut decoder = ChunkDecoder::new(registry);
        for chunk in 0..5 {
            let encoded = again.encoded_chunk(chunk).unwrap();
            let blocks = decoder.decode_blocks(&encoded, &ChunkContext::default());
            assert_eq!(blocks.ok(), vl_blocks.then(|| parts(chunk as usize)));
        }
        // A chunk size makes it a frame like most others.
        let mut memory = MemoryTarget::new();
        block_on(recompress(reader.as_async(), WriteOptions::new(other).chunk_size(CHUNK), &mut memory)).unwrap();
        let fixed = FrameReader::from_bytes(memory.into_bytes()).unwrap();
        assert_eq!(fixed.chunk_size(), Some(CHUNK));
        assert_eq!(all(&fixed).concat(), expected.concat());
    }
}

/// The limit on copies goes by the length of all files, and not by that of the index alone.
#[test]
fn a_long_sparse_frame_is_copied() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("sparse");
    let stored = WriteOptions::new(EncodeParams { level: 0, ..EncodeParams::default() }).chunk_size(4 << 20);
    write_sparse(
        &path,
        &(0..70u32 << 20).map(|i| (i / 5) as u8).collect::<Vec<_>>(),
        stored.special(SpecialPlacement::Stored),
    );
    let reader = FrameReader::open(&path).unwrap();
    assert!(reader.cbytes() > RecoverOptions::OUTPUT_BYTES);
    let mut target = MemoryTarget::new();
    let copied = block_on(copy(reader.as_async(), &mut target)).unwrap();
    assert_eq!((copied.nbytes, copied.cbytes), (reader.nbytes(), reader.cbytes()));
}

/// C-Blosc2 compares names byte by byte, whatever they mean.
#[test]
fn names_that_are_not_text_are_copied() {
    let options = options().metalayer("m\u{e4}", &b"\x01"[..]).vlmetalayer("v\u{e4}", &b"\x02"[..]);
    let mut bytes = frame(&data(3 * CHUNK), options);
    for at in 0..bytes.len() - 2 {
        // The second byte of a letter without its first.
        if matches!(&bytes[at..at + 2], b"m\xc3" | b"v\xc3") {
            bytes[at + 1] = 0xA4;
        }
    }
    let reader = FrameReader::from_bytes(bytes).unwrap();
    let mut copied = MemoryTarget::new();
    block_on(copy(reader.as_async(), &mut copied)).unwrap();
    let mut again = MemoryTarget::new();
    block_on(recompress(reader.as_async(), small_options(), &mut again)).unwrap();
    for found in [copied.into_bytes(), again.into_bytes()] {
        assert!(found.windows(3).any(|name| name == b"m\xA4\xA4") && found.windows(3).any(|name| name == b"v\xA4\xA4"));
        let copy = FrameReader::from_bytes(found).unwrap();
        assert_eq!(copy.metalayer("m\u{fffd}\u{fffd}").unwrap(), &b"\x01"[..]);
        assert_eq!(copy.vlmetalayer("v\u{fffd}\u{fffd}").unwrap().unwrap(), &b"\x02"[..]);
    }
}
