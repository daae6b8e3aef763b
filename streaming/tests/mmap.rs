//! Frames in mapped files.
#![cfg(feature = "mmap")]

mod common;

use common::{data, frame, lengths, options};
use oxiblosc_streaming::source::MmapSource;
use oxiblosc_streaming::{ReadOptions, blocking};

#[test]
fn mapped_frames_are_read() {
    let directory = tempfile::tempdir().unwrap();
    for len in lengths() {
        let path = directory.path().join("frame");
        std::fs::write(&path, frame(&data(len), options())).unwrap();
        // SAFETY: no other process uses the directory, and the source is dropped before the next file is written.
        let source = unsafe { MmapSource::open(&path).unwrap() };
        let reader = blocking::FrameReader::with_options(source, ReadOptions::new()).unwrap();
        assert_eq!(reader.bytes(0..len as u64).unwrap(), data(len));
    }
}
