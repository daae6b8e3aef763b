//! A disk that is full: writers get an error, and what was there before is still there.
//!
//! Files of a child, which is this program run again, cannot get longer than the system lets them; the error is the one
//! of a full disk but for its number.
#![cfg(unix)]

use std::fs;
use std::future::poll_fn;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::process::{Command, Stdio};

use bytes::Bytes;
use futures::{Sink, SinkExt};
use oxiblosc::source::FileSource;
use oxiblosc::sparse::Directory;
use oxiblosc::target::{FileTarget, PlaceTarget, SeekTarget, SparseTarget, SpoolTarget, Target};
use oxiblosc::{FrameReader, IoMode, WriteOptions, block_on, blocking};
use oxiblosc_conformance::data::Random;

const CHILD: &str = "OXIBLOSC_FULL_DISK";
/// Of 512 bytes, or of 1024 in some shells.
const BLOCKS: usize = 2000;
/// More than a file can have.
const LEN: usize = 9 << 20;
const WAYS: [&str; 7] = ["file", "in-place", "seek", "spool", "directory", "place", "append"];

fn noise(len: usize) -> Bytes {
    let mut random = Random::new(7);
    (0..len.div_ceil(8)).flat_map(|_| random.next_u64().to_le_bytes()).take(len).collect::<Vec<u8>>().into()
}

fn old() -> Vec<u8> {
    (0..100_000).map(|i| (i / 300) as u8).collect()
}

#[test]
fn whoever_writes_is_told() {
    for way in WAYS {
        for mode in ["offloaded", "inline"] {
            let directory = tempfile::tempdir().expect("there is room for temporary files");
            let path = directory.path().join("frame.b2frame");
            // What is there before, where a target replaces it or an editor appends to it.
            let before = match way {
                "file" | "append" => Some(Box::new(FileTarget::create(&path).expect("room")) as Box<dyn Target>),
                "directory" => Some(Box::new(SparseTarget::create(&path).expect("room")) as Box<dyn Target>),
                _ => None,
            };
            let replaces = before.is_some();
            if let Some(target) = before {
                let mut writer = blocking::FrameWriter::with_target(target, WriteOptions::default()).expect("options");
                writer.push(old().into()).and_then(|()| writer.finish()).expect("there is room");
            }
            let output = Command::new("sh")
                .args(["-c", &format!("trap '' XFSZ; ulimit -f {BLOCKS}; exec \"$0\" child --exact --nocapture")])
                .arg(std::env::current_exe().expect("this program"))
                .env(CHILD, format!("{way} {mode} {}", path.display()))
                .stdin(Stdio::null())
                .output()
                .expect("a shell");
            let said = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success(), "{way}, {mode}: {said}{}", String::from_utf8_lossy(&output.stderr));
            assert!(said.contains("told 3 times"), "{way}, {mode}: {said}");
            let reader = FileSource::open_inline(&path).map_err(|e| e.to_string());
            let reader = reader.and_then(|source| block_on(FrameReader::open(source)).map_err(|e| e.to_string()));
            match reader {
                Ok(reader) if replaces => {
                    let found = block_on(reader.bytes(0..reader.nbytes())).expect("the old frame is whole");
                    assert!(found == old(), "{way}, {mode}: what was there has changed");
                }
                Ok(reader) => panic!("{way}, {mode}: a frame of {} bytes is there", reader.nbytes()),
                Err(error) => assert!(!replaces, "{way}, {mode}: what was there is gone: {error}"),
            }
            let left: Vec<_> = fs::read_dir(directory.path()).expect("it is there").flatten().collect();
            assert!(left.len() <= 1, "{way}, {mode}: {left:?}");
        }
    }
}

/// Not a test in itself: what runs where files cannot get long.
#[test]
fn child() {
    let Ok(words) = std::env::var(CHILD) else { return };
    let words: Vec<&str> = words.splitn(3, ' ').collect();
    let [way, mode, path] = words[..] else { panic!("{CHILD} says too little") };
    let mode = if mode == "inline" { IoMode::Inline } else { IoMode::Offloaded };
    let path = PathBuf::from(path);
    let told = match way {
        "file" => write(FileTarget::create(&path).expect("room").io_mode(mode)),
        "in-place" => write(FileTarget::in_place(&path).expect("room").io_mode(mode)),
        "seek" => {
            let file = fs::File::create(&path).expect("room");
            match mode {
                IoMode::Inline => write(SeekTarget::new(futures::io::AllowStdIo::new(file))),
                IoMode::Offloaded => write(SeekTarget::new(::blocking::Unblock::new(file))),
            }
        }
        "spool" => {
            // It is the temporary file that cannot grow.
            let target = SpoolTarget::new(Vec::new()).memory_limit(0).io_mode(mode);
            write(target.directory(path.parent().unwrap_or(Path::new("."))))
        }
        "directory" => write(SparseTarget::create(&path).expect("room").io_mode(mode)),
        "place" => write(PlaceTarget::new(Directory::new(&path).expect("room").io_mode(mode))),
        _ => append(&path),
    };
    println!("told {told} times");
}

/// How many errors the writer gets before it stops: at most three.
fn write<T: Target>(target: T) -> usize {
    let mut sink = WriteOptions::default().sink(target).expect("the options are possible");
    let mut told = 0;
    block_on(async {
        let mut rest = noise(LEN);
        while told < 3 {
            let result = match rest.is_empty() {
                false => poll_fn(|cx| Pin::new(&mut sink).poll_ready(cx)).await.and_then(|()| {
                    let piece = rest.split_to((1 << 20).min(rest.len()));
                    Pin::new(&mut sink).start_send(piece)
                }),
                true => SinkExt::close(&mut sink).await,
            };
            match result {
                Ok(()) if rest.is_empty() && sink.summary().is_some() => panic!("all is well, it says"),
                Ok(()) => {}
                Err(_) => told += 1,
            }
        }
    });
    told
}

fn append(path: &Path) -> usize {
    let mut editor = blocking::FrameEditor::open(path).expect("it can be opened");
    (0..3).filter(|_| editor.append(&noise(LEN)).and_then(|()| editor.commit()).is_err()).count()
}
