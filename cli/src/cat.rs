//! `oxiblosc cat`.

use std::io::{self, IsTerminal, SeekFrom};
use std::ops::Range;

use futures::io::{AsyncBufReadExt, AsyncSeekExt};
use futures::stream::StreamExt;
use oxiblosc::chunk::{ChunkContext, ChunkDecoder, ChunkError, ChunkHeader};
use oxiblosc::filter::BitshuffleRule;
use oxiblosc::nd::{ArrayError, ArrayMeta, NdArray, NdError, Selection};
use oxiblosc::{ChecksumPolicy, Pool, Registry, block_on};

use crate::args::{CatArgs, ReadingArgs};
use crate::detect::FileKind;
use crate::error::CliError;
use crate::input::{Input, InputSource, Reader};
use crate::item_range::selections;
use crate::progress;
use crate::stdout::StdoutWriter;

pub(crate) fn run(args: &CatArgs, registry: &Registry) -> Result<(), CliError> {
    let mut input = Input::open(&args.input)?;
    let pool = args.run.pool();
    let mut out = StdoutWriter::new(args.encode)?;
    if input.kind == FileKind::Chunk {
        chunk(args, &input, &pool, registry, &mut out)?;
        return out.finish();
    }
    // Decoded bytes on a terminal are confusing enough without a progress bar.
    let confusing = io::stdout().is_terminal() && !progress::is_json();
    let bar = progress::bar(None, args.run.quiet || confusing);
    input.watch(&bar);
    // A frame that is still being written is read to its current end, and then reported as unfinished.
    let options = args.reading.options(&pool, registry, ChecksumPolicy::Ignore).open_ended(true);
    let reader = input.frame(options)?;
    let (open_end, chunks) = (reader.open_end(), reader.nchunks());
    if args.items.is_none() && args.slice.is_none() {
        bar.set_length(reader.cbytes());
    }
    let done = match ArrayMeta::find(reader.metalayers()) {
        Some(_) => array(args, &input, reader, &mut out),
        None => frame(args, &input, reader, &mut out),
    };
    bar.finish_and_clear();
    done.and_then(|()| out.finish())?;
    match open_end.filter(|end| !end.closed) {
        Some(end) if !args.unfinished => Err(CliError::data(&input.name)(format!(
            "the open-ended frame is incomplete: its index is missing, and {} bytes after its {chunks} complete \
             chunks are left over; `oxiblosc seal` or `recover` makes a complete frame of it, and --unfinished accepts it \
             as it is",
            end.left_over
        ))),
        _ => Ok(()),
    }
}

fn frame(args: &CatArgs, input: &Input, reader: Reader, out: &mut StdoutWriter) -> Result<(), CliError> {
    not_an_array(args, input)?;
    let typesize = reader.typesize() as u64;
    let bytes = match args.items {
        // An incomplete item at the end does not count.
        Some(items) => bytes_of(items.resolve(reader.items_len()), typesize),
        None => 0..reader.nbytes(),
    };
    frame_bytes(input, reader, bytes, args.items.is_none(), &mut |decoded| out.write(decoded))
}

/// Calls `take` with the decoded bytes `bytes` of a frame, piece by piece. If these are `all`, the frame must end where its
/// header says.
pub(crate) fn frame_bytes(
    input: &Input,
    reader: Reader,
    bytes: Range<u64>,
    all: bool,
    take: &mut dyn FnMut(&[u8]) -> Result<(), CliError>,
) -> Result<(), CliError> {
    // Chunks are decoded ahead, within the limits of the reader, and written as they arrive.
    let mut stream = reader.into_async_read();
    if bytes.start > 0 {
        block_on(stream.seek(SeekFrom::Start(bytes.start))).map_err(|e| input.failed(e))?;
    }
    let mut left = bytes.end - bytes.start;
    while left > 0 {
        let decoded = block_on(stream.fill_buf()).map_err(|e| input.failed(e))?;
        if decoded.is_empty() {
            let reason = format!("the chunks end {left} bytes before the {} stated in the header", bytes.end);
            return Err(CliError::data(&input.name)(reason));
        }
        // Lossless: no more than the buffer holds.
        let len = left.min(decoded.len() as u64) as usize;
        take(&decoded[..len])?;
        stream.consume_unpin(len);
        left -= len as u64;
    }
    if all && !block_on(stream.fill_buf()).map_err(|e| input.failed(e))?.is_empty() {
        let reason = format!("the chunks continue past the {} bytes stated in the header", bytes.end);
        return Err(CliError::data(&input.name)(reason));
    }
    Ok(())
}

fn array(args: &CatArgs, input: &Input, reader: Reader, out: &mut StdoutWriter) -> Result<(), CliError> {
    let array = NdArray::new(reader).map_err(|e| input.failed(e))?;
    if let Some(items) = args.items {
        // Fits: the metalayer holds lengths whose product has been checked.
        let items = items.resolve(array.shape().iter().product());
        return selections(array.shape(), items).iter().try_for_each(|part| selection(&array, part, input, out));
    }
    selection(&array, args.slice.as_ref().unwrap_or(&Selection::all()), input, out)
}

/// Writes the selected items; a few bands of chunks are fetched and decoded ahead.
fn selection(
    array: &NdArray<InputSource>,
    selection: &Selection,
    input: &Input,
    out: &mut StdoutWriter,
) -> Result<(), CliError> {
    let failed = |error| slice_failed(input, array.shape(), error);
    let mut pieces = array.stream(selection).map_err(failed)?;
    while let Some(piece) = block_on(pieces.next()) {
        out.write(&piece.map_err(failed)?)?;
    }
    Ok(())
}

/// An error of reading a selection of an array, which may be that there are no such items.
pub(crate) fn slice_failed(input: &Input, shape: &[u64], error: ArrayError) -> CliError {
    match error {
        // An index out of range, or too many axes.
        ArrayError::Nd(error @ (NdError::OutOfBounds { .. } | NdError::Rank { .. } | NdError::ZeroStep { .. })) => {
            CliError::Usage(format!("--slice: {}: {error}; the shape is {shape:?}", input.name))
        }
        error => input.failed(error),
    }
}

fn chunk(
    args: &CatArgs,
    input: &Input,
    pool: &Pool,
    registry: &Registry,
    out: &mut StdoutWriter,
) -> Result<(), CliError> {
    not_an_array(args, input)?;
    let (header, data) = read_chunk(input, &args.reading, pool, registry)?;
    let typesize = u64::from(header.typesize);
    let bytes = match args.items {
        Some(items) => bytes_of(items.resolve(data.len() as u64 / typesize), typesize),
        None => 0..data.len() as u64,
    };
    // Lossless: positions in `data`.
    out.write(&data[bytes.start as usize..bytes.end as usize])
}

fn not_an_array(args: &CatArgs, input: &Input) -> Result<(), CliError> {
    match args.slice {
        Some(_) => Err(CliError::Usage(format!("--slice: {} is not an array, use --items A:B", input.name))),
        None => Ok(()),
    }
}

/// Reads a single chunk with these options.
pub(crate) fn read_chunk(
    input: &Input,
    reading: &ReadingArgs,
    pool: &Pool,
    registry: &Registry,
) -> Result<(ChunkHeader, Vec<u8>), CliError> {
    if reading.requires_checksums() {
        return Err(CliError::data(&input.name)("a single chunk, which has no checksum"));
    }
    let chunk = input.chunk()?;
    decode_chunk(&chunk, pool, registry, reading.bitshuffle()).map_err(|e| input.failed(e))
}

/// The decoded bytes of a chunk, with its header.
pub(crate) fn decode_chunk(
    chunk: &[u8],
    pool: &Pool,
    registry: &Registry,
    bitshuffle: Option<BitshuffleRule>,
) -> Result<(ChunkHeader, Vec<u8>), ChunkError> {
    let header = ChunkHeader::parse(chunk)?;
    let mut context = ChunkContext::default();
    context.bitshuffle = bitshuffle;
    let data = ChunkDecoder::new(registry).decode(chunk, &context, pool)?;
    Ok((header, data))
}

fn bytes_of(items: Range<u64>, item_size: u64) -> Range<u64> {
    items.start * item_size..items.end * item_size
}
