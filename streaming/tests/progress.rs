//! Long work that is watched, and cancelled after every step.

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use common::{Random, data, frame, options};
use oxiblosc_core::frame::INDEX_FILE;
use oxiblosc_streaming::edit::EditOptions;
use oxiblosc_streaming::recover::RecoverOptions;
use oxiblosc_streaming::source::{FileSource, ProgressSource, RangeSource};
use oxiblosc_streaming::target::{FileTarget, MemoryTarget, OpenTarget, ProgressTarget, SparseTarget};
use oxiblosc_streaming::{ErrorKind, Pool, Progress, ReadOptions, WriteOptions, block_on, blocking};

/// Cancels itself after so many steps.
fn cancelled_after(steps: u64) -> Progress {
    let this: Arc<Mutex<Option<Progress>>> = Arc::default();
    let (inner, count) = (Arc::clone(&this), AtomicU64::new(0));
    let progress = Progress::with_observer(move |_| {
        if count.fetch_add(1, Relaxed) + 1 == steps
            && let Some(progress) = &*inner.lock().unwrap()
        {
            progress.cancel();
        }
    });
    *this.lock().unwrap() = Some(progress.clone());
    if steps == 0 {
        progress.cancel();
    }
    progress
}

/// All files below a path and their bytes.
fn files(path: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(path).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if entry.file_type().unwrap().is_dir() {
            found.extend(files(&entry.path()).into_iter().map(|(inner, bytes)| (format!("{name}/{inner}"), bytes)));
        } else {
            found.insert(name, fs::read(entry.path()).unwrap());
        }
    }
    found
}

/// Does the work with ever more steps, until it comes to its end: at least `least` of them. Before, it must fail as
/// cancelled work does and leave all files in `directory` as they were.
fn until_it_ends<T>(
    directory: &Path,
    least: u64,
    mut work: impl FnMut(&Progress) -> Result<T, Box<dyn std::error::Error>>,
) -> T {
    let before = files(directory);
    for steps in 0.. {
        let progress = cancelled_after(steps);
        match work(&progress) {
            Ok(done) => {
                assert!(steps >= least, "only {steps} steps");
                return done;
            }
            Err(error) => {
                assert_eq!(ErrorKind::of(&*error), ErrorKind::Cancelled, "{error}");
                assert!(progress.is_cancelled());
                assert!(files(directory) == before, "files have changed after {steps} steps");
            }
        }
    }
    unreachable!()
}

fn sparse(path: &Path, data: &[u8], options: WriteOptions) {
    let mut writer = blocking::FrameWriter::with_target(SparseTarget::create(path).unwrap(), options).unwrap();
    writer.write_all(data).unwrap();
    writer.finish().unwrap();
}

#[test]
fn cancelled_recoveries_leave_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let (input, output) = (directory.path().join("input"), directory.path().join("output"));
    let data = data(150_000);
    let whole = frame(&data, options());
    let mut damaged = whole.clone();
    let middle = damaged.len() / 2;
    damaged[middle..middle + 20].fill(0xff);
    for (bytes, what) in [(&whole[..], "whole"), (&whole[..whole.len() * 2 / 3], "cut"), (&damaged, "damaged")] {
        fs::write(&input, bytes).unwrap();
        let recovered = until_it_ends(directory.path(), 15, |progress| {
            Ok(RecoverOptions::new().progress(progress).recover(&input, &output)?)
        });
        let found = fs::read(&output).unwrap();
        fs::remove_file(&output).unwrap();
        let again = RecoverOptions::new().recover(&input, &output).unwrap();
        assert!(found == fs::read(&output).unwrap(), "{what}");
        assert_eq!((recovered.chunks, recovered.nbytes), (again.chunks, again.nbytes), "{what}");
        fs::remove_file(&output).unwrap();
    }
    fs::remove_file(&input).unwrap();

    // Directories, with their index and without.
    sparse(&input, &data, options());
    for index in [true, false] {
        if !index {
            fs::remove_file(input.join(INDEX_FILE)).unwrap();
        }
        until_it_ends(directory.path(), 15, |progress| {
            Ok(RecoverOptions::new().progress(progress).recover(&input, &output)?)
        });
        let found = files(&output);
        fs::remove_dir_all(&output).unwrap();
        RecoverOptions::new().recover(&input, &output).unwrap();
        assert!(found == files(&output));
        fs::remove_dir_all(&output).unwrap();
    }
}

#[test]
fn cancelled_seals_change_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("open");
    let data = data(150_000);
    let target = OpenTarget::new(futures::io::AllowStdIo::new(Vec::new()));
    let mut writer = blocking::FrameWriter::with_target(target, options()).unwrap();
    writer.write_all(&data).unwrap();
    writer.finish().unwrap();
    let bytes = writer.into_target().into_inner().into_inner();
    // Without its end, too.
    for len in [bytes.len(), bytes.len() - 40] {
        fs::write(&path, &bytes[..len]).unwrap();
        until_it_ends(directory.path(), 1, |progress| Ok(RecoverOptions::new().progress(progress).seal_file(&path)?));
        let reader = blocking::FrameReader::open(&path).unwrap();
        assert!(reader.bytes(0..reader.nbytes()).unwrap() == data);
    }
}

#[test]
fn cancelled_compactions_leave_the_old_frame() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("frame");
    let data = data(150_000);
    for is_sparse in [false, true] {
        match is_sparse {
            true => sparse(&path, &data, options()),
            false => fs::write(&path, frame(&data, options())).unwrap(),
        }
        let mut editor = blocking::FrameEditor::open(&path).unwrap();
        let chunk = vec![7; editor.chunk_size().unwrap()];
        editor.update(1, &chunk).unwrap();
        editor.commit().unwrap();
        drop(editor);
        let reader = blocking::FrameReader::open(&path).unwrap();
        let expected = reader.bytes(0..reader.nbytes()).unwrap();
        until_it_ends(directory.path(), 15, |progress| {
            Ok(blocking::compact_with_options(&path, EditOptions::new().progress(progress))?)
        });
        let reader = blocking::FrameReader::open(&path).unwrap();
        assert!(reader.bytes(0..reader.nbytes()).unwrap() == expected);
        if is_sparse { fs::remove_dir_all(&path).unwrap() } else { fs::remove_file(&path).unwrap() }
    }
}

#[test]
fn a_reader_and_its_streams_end_when_they_are_cancelled() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("frame");
    // 24 chunks that are far larger than what is read first.
    let mut random = Random::new(3);
    let data: Vec<u8> = (0..24 << 20).map(|_| random.below(256) as u8).collect();
    fs::write(&path, frame(&data, WriteOptions::default().chunk_size(1 << 20))).unwrap();
    for inline in [true, false] {
        for pool in [Pool::inline(), Pool::new(2)] {
            let open = |progress: &Progress| {
                let source = match inline {
                    true => FileSource::open_inline(&path).unwrap(),
                    false => block_on(FileSource::open(&path)).unwrap(),
                };
                let options = ReadOptions::new().pool(&pool).chunks_ahead(2);
                blocking::FrameReader::with_options(ProgressSource::new(source, progress), options).unwrap()
            };
            let progress = Progress::new();
            let reader = open(&progress);
            let before = progress.done();
            assert!(reader.bytes(0..reader.nbytes()).unwrap() == data);
            assert!(progress.done() - before >= data.len() as u64 && progress.done() < 25 << 20);
            let at = progress.done();
            progress.cancel();
            assert_eq!(reader.chunk(3).unwrap_err().kind(), ErrorKind::Cancelled);
            assert_eq!(reader.bytes(0..reader.nbytes()).unwrap_err().kind(), ErrorKind::Cancelled);
            assert_eq!(reader.verify().unwrap_err().kind(), ErrorKind::Cancelled);
            assert_eq!(progress.done(), at, "it goes on reading");

            // A stream gives what it has, and then the error.
            let progress = cancelled_after(6);
            let reader = open(&progress);
            let mut whole = 0;
            let error = reader.chunks().find_map(|chunk| match chunk {
                Ok(chunk) => {
                    assert!(chunk == data[whole << 20..][..1 << 20]);
                    whole += 1;
                    None
                }
                Err(error) => Some(error),
            });
            assert_eq!(error.expect("it is cancelled").kind(), ErrorKind::Cancelled);
            assert!(whole < 24);
        }
    }
}

/// What is behind the source stays within reach.
#[test]
fn a_watched_source_is_like_the_one_behind() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("frame");
    fs::write(&path, frame(&data(1000), options())).unwrap();
    let progress = Progress::new();
    let source = ProgressSource::new(FileSource::open_inline(&path).unwrap(), &progress);
    assert_eq!(source.request_cost(), source.get_ref().request_cost());
    assert!(source.is_immediate() && source.chunk_files().is_none());
    let mut reader = blocking::FrameReader::with_options(source, ReadOptions::new()).unwrap();
    fs::remove_file(&path).unwrap();
    fs::write(&path, frame(&data(2000), options())).unwrap();
    assert!(reader.refresh().unwrap());
    let before = progress.done();
    assert!(reader.bytes(0..reader.nbytes()).unwrap() == data(2000));
    assert!(progress.done() > before, "the new file is not watched");
}

#[test]
fn a_cancelled_writer_commits_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("frame");
    let data = data(150_000);
    until_it_ends(directory.path(), 15, |progress| {
        let target = ProgressTarget::new(FileTarget::create(&path)?, progress);
        let mut writer = blocking::FrameWriter::with_target(target, options())?;
        let written = writer.write_all(&data).and_then(|()| writer.finish().map_err(Into::into));
        if written.is_err() {
            // As its caller would.
            drop(writer);
            oxiblosc_streaming::blocking::settle();
        }
        written.map_err(|error: io::Error| error.into())
    });
    assert!(fs::read(&path).unwrap() == frame(&data, options()));

    let progress = Progress::new();
    let mut writer =
        blocking::FrameWriter::with_target(ProgressTarget::new(MemoryTarget::new(), &progress), options()).unwrap();
    writer.write_all(&data).unwrap();
    let summary = writer.finish().unwrap();
    assert_eq!(progress.done(), summary.frame_len);
    assert!(writer.into_target().into_inner().into_bytes() == frame(&data, options()));
}
