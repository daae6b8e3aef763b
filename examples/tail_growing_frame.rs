//! Follows a frame that another program appends to, as `tail -f` does: here a thread appends a few readings at a time,
//! and each commit makes all of them visible to readers at once, or none.
//!
//! `cargo run --release --example tail_growing_frame`

use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::thread;
use std::time::Duration;

use oxiblosc::blocking::{FrameEditor, FrameReader, FrameWriter};
use oxiblosc::{EncodeParams, WriteOptions};

const READINGS: u32 = 5000;

/// The other program. It could be killed at any time: the frame is always whole.
fn append(path: &Path) -> Result<(), Box<dyn Error + Send + Sync>> {
    let mut editor = FrameEditor::open(path)?;
    for first in (0..READINGS).step_by(500) {
        let readings: Vec<u8> = (first..first + 500).flat_map(u32::to_le_bytes).collect();
        editor.append(&readings)?;
        editor.commit()?;
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let path = directory.path().join("readings.b2frame");
    let params = EncodeParams { typesize: 4, ..EncodeParams::default() };
    let mut writer = FrameWriter::create(&path, WriteOptions::new(params).chunk_size(4000))?;
    writer.flush()?;
    writer.finish()?;

    let mut reader = FrameReader::open(&path)?;
    let other = thread::spawn({
        let path = path.clone();
        move || append(&path)
    });
    let mut seen = 0;
    while seen < u64::from(READINGS) {
        // Reads header and index, and nothing else: only what is new is decoded.
        if !reader.refresh()? {
            thread::sleep(Duration::from_millis(5));
            continue;
        }
        let there = reader.items_len();
        let new = reader.items(seen..there)?;
        for (item, expected) in new.chunks_exact(4).zip(seen..) {
            assert_eq!(u32::from_le_bytes(item.try_into()?), expected as u32);
        }
        println!("{} new readings, {there} in all", there - seen);
        seen = there;
    }
    other.join().map_err(|_| "the other program panicked")?.map_err(|error| error as Box<dyn Error>)?;
    Ok(())
}
