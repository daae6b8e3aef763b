//! Writes the data of a frame to standard output: `reader FRAME > DATA`.

use std::error::Error;
use std::io::{self, Write};

// Nothing else is needed to read what the codec has made.
use rle as _;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().nth(1).ok_or("usage: reader FRAME")?;
    let frame = oxiblosc::blocking::FrameReader::open(path)?;
    for chunk in frame.chunks() {
        io::stdout().write_all(&chunk?)?;
    }
    Ok(())
}
