//! Writes a file into a frame, on four threads: `cargo run --example write DATA FRAME`.

use std::error::Error;
use std::fs::File;
use std::io;

use oxiblosc::{EncodeParams, FilterSlots, Pool, WriteOptions, blocking};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let [data, frame] = &arguments[..] else { return Err("usage: write DATA FRAME".into()) };

    let params = EncodeParams { codec: rle::RLE, filters: FilterSlots::NONE, ..EncodeParams::default() };
    let options = WriteOptions::new(params).chunk_size(1 << 16).pool(&Pool::new(4));
    let mut writer = blocking::FrameWriter::create(frame, options)?;
    io::copy(&mut File::open(data)?, &mut writer)?;
    let summary = writer.finish()?;
    println!("{} bytes in {} chunks, {:.1} times smaller", summary.nbytes, summary.chunks, summary.ratio());
    Ok(())
}
