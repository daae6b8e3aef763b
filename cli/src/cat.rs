//! `oxiblosc cat`.

use std::io::{self, SeekFrom, Write};
use std::ops::Range;

use futures::executor::block_on;
use futures::io::{AsyncBufReadExt, AsyncSeekExt};
use oxiblosc::core::Registry;
use oxiblosc::core::chunk::{ChunkContext, ChunkDecoder, ChunkError, ChunkHeader};
use oxiblosc::core::nd::ArrayMeta;
use oxiblosc::streaming::{Pool, ReadOptions};

use crate::args::CatArgs;
use crate::detect::Kind;
use crate::error::CliError;
use crate::input::Input;
use crate::pool;

pub(crate) fn run(args: &CatArgs, registry: &Registry) -> Result<(), CliError> {
    let input = Input::open(&args.input)?;
    match input.kind {
        Kind::Frame => frame(args, &input, registry),
        Kind::Chunk => chunk(args, &input, registry),
    }
}

fn frame(args: &CatArgs, input: &Input, registry: &Registry) -> Result<(), CliError> {
    let failed = |error| input.failed(error);
    let options = ReadOptions::new().pool(&pool(args.threads)).registry(registry);
    let reader = block_on(options.open(input.source.clone())).map_err(failed)?;
    if ArrayMeta::find(reader.metalayers()).is_some() {
        // The bytes of the chunks are not those of the array in C order.
        return Err(CliError::data(&input.name)("n-dimensional arrays (b2nd) cannot be written out yet"));
    }
    let bytes = match args.items {
        Some(items) => bytes_of(items, reader.items_len(), reader.typesize() as u64),
        None => 0..reader.nbytes(),
    };
    // Chunks are decoded ahead, as many as the limits of the reader allow, and written as they come.
    let mut stream = reader.into_async_read();
    if bytes.start > 0 {
        block_on(stream.seek(SeekFrom::Start(bytes.start))).map_err(|e| input.failed(e))?;
    }
    let mut left = bytes.end - bytes.start;
    while left > 0 {
        let decoded = block_on(stream.fill_buf()).map_err(|e| input.failed(e))?;
        if decoded.is_empty() {
            let reason = format!("the chunks end {left} bytes before the {} that the header promises", bytes.end);
            return Err(CliError::data(&input.name)(reason));
        }
        // Lossless: no more than the buffer holds.
        let len = left.min(decoded.len() as u64) as usize;
        write(&decoded[..len])?;
        stream.consume_unpin(len);
        left -= len as u64;
    }
    flush()
}

fn chunk(args: &CatArgs, input: &Input, registry: &Registry) -> Result<(), CliError> {
    let chunk = input.read_all()?;
    let (header, data) = decode_chunk(&chunk, &pool(args.threads), registry).map_err(|e| input.failed(e))?;
    match args.items {
        None => write(&data)?,
        Some(items) => {
            let typesize = u64::from(header.typesize);
            let bytes = bytes_of(items, data.len() as u64 / typesize, typesize);
            // Lossless: positions in `data`.
            write(&data[bytes.start as usize..bytes.end as usize])?;
        }
    }
    flush()
}

/// The decoded bytes of a chunk, with its header.
pub(crate) fn decode_chunk(
    chunk: &[u8],
    pool: &Pool,
    registry: &Registry,
) -> Result<(ChunkHeader, Vec<u8>), ChunkError> {
    let header = ChunkHeader::parse(chunk)?;
    let data = ChunkDecoder::new(registry).decode_on(chunk, &ChunkContext::default(), pool)?;
    Ok((header, data))
}

/// The part of the items `start..end` that exists, in bytes.
fn bytes_of((start, end): (u64, Option<u64>), len: u64, item_size: u64) -> Range<u64> {
    let end = end.map_or(len, |end| end.min(len));
    start.min(end) * item_size..end * item_size
}

fn write(bytes: &[u8]) -> Result<(), CliError> {
    io::stdout().lock().write_all(bytes).map_err(CliError::stdout)
}

fn flush() -> Result<(), CliError> {
    io::stdout().lock().flush().map_err(CliError::stdout)
}
