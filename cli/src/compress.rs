//! `oxiblosc compress`.

use std::future::poll_fn;
use std::io::{self, IsTerminal};

use bytes::Bytes;
use futures::executor::block_on;
use oxiblosc::core::Registry;
use oxiblosc::core::chunk::{ChunkContext, ChunkEncoder, ChunkHeader, EncodeParams, SplitMode};
use oxiblosc::streaming::target::{Part, Target};
use oxiblosc::streaming::{WriteError, WriteOptions, blocking};

use crate::args::{CompressArgs, Format, Source, Split};
use crate::error::CliError;
use crate::plain::Plain;
use crate::select::resolve_filters;
use crate::units::{ratio, show_bytes};
use crate::{output, pool};

/// The input is taken in pieces of this size, or of the chunk size if that is smaller.
const PIECE: usize = 4 << 20;

pub(crate) fn run(args: &CompressArgs, registry: &Registry) -> Result<(), CliError> {
    // What the command line asks for comes first: bad usage must not depend on the input.
    let mut params = EncodeParams {
        codec: args.codec.resolve(registry)?,
        codec_meta: args.codec_meta,
        level: args.level,
        typesize: 1,
        filters: resolve_filters(&args.filters, registry)?,
        block_size: args.block_size,
        split: split_mode(args.split),
        use_dict: args.dict,
        ..EncodeParams::default()
    };
    if args.chunk_size.is_some_and(|size| size > ChunkHeader::MAX_NBYTES) {
        return Err(CliError::Usage(format!("--chunk-size: a chunk holds at most {} bytes", ChunkHeader::MAX_NBYTES)));
    }
    let mut input = Plain::open(&args.input, args.raw, args.quiet)?;
    params.typesize = args.typesize.map_or(input.item_size, |size| size as usize);
    let written = match args.format {
        Format::Frame => frame(args, params, &mut input, registry),
        Format::Chunk => chunk(args, &params, &mut input, registry),
    };
    input.bar.finish_and_clear();
    let written = written?;
    if !args.quiet && io::stderr().is_terminal() {
        let ratio = ratio(written.decoded, written.encoded).unwrap_or(1.0);
        let (decoded, encoded) = (show_bytes(written.decoded), show_bytes(written.encoded));
        eprintln!("{} to {}: {decoded} to {encoded}, {ratio:.2}x", args.input.name(), destination_name(&args.output));
    }
    Ok(())
}

/// Bytes that went in and came out.
struct Written {
    decoded: u64,
    encoded: u64,
}

fn frame(
    args: &CompressArgs,
    params: EncodeParams,
    input: &mut Plain,
    registry: &Registry,
) -> Result<Written, CliError> {
    let typesize = params.typesize;
    let mut options = WriteOptions::new(params).registry(registry).pool(&pool(args.threads));
    let mut piece = PIECE;
    if let Some(size) = args.chunk_size {
        let size = (size / typesize).max(1).saturating_mul(typesize);
        options = options.chunk_size(size);
        piece = piece.min(size);
    }
    let failed = |error| write_failed(&args.output, error);
    let target = output::target(&args.output)?;
    let mut writer = blocking::FrameWriter::with_target(target, options).map_err(failed)?;
    while let Some(bytes) = input.next(piece)? {
        writer.push(bytes).map_err(failed)?;
    }
    let summary = writer.finish().map_err(failed)?;
    Ok(Written { decoded: summary.nbytes, encoded: summary.frame_len })
}

fn chunk(
    args: &CompressArgs,
    params: &EncodeParams,
    input: &mut Plain,
    registry: &Registry,
) -> Result<Written, CliError> {
    let mut encoder = ChunkEncoder::new(params, registry).map_err(|e| CliError::Usage(e.to_string()))?;
    let mut data = Vec::new();
    while let Some(bytes) = input.next(PIECE)? {
        if data.len() + bytes.len() > ChunkHeader::MAX_NBYTES {
            let reason = format!("larger than the {} bytes that a chunk holds", ChunkHeader::MAX_NBYTES);
            return Err(CliError::data(input.name.as_str())(reason));
        }
        data.extend_from_slice(&bytes);
    }
    let mut context = ChunkContext::default();
    context.item_size = Some(params.typesize);
    let chunk = encoder.encode_on(&data, &context, &pool(args.threads)).map_err(CliError::data(input.name.as_str()))?;
    let encoded = chunk.len() as u64;
    write_whole(chunk.into(), &args.output)?;
    Ok(Written { decoded: data.len() as u64, encoded })
}

/// Writes bytes that are complete: the target need not know that they are no frame.
fn write_whole(mut bytes: Bytes, destination: &Source) -> Result<(), CliError> {
    let mut target = output::target(destination)?;
    let head = bytes.slice(..ChunkHeader::MIN_LEN.min(bytes.len()));
    block_on(async {
        while !bytes.is_empty() {
            poll_fn(|cx| target.poll_append(cx, Part::Chunk(0), &mut bytes)).await?;
        }
        poll_fn(|cx| target.poll_commit(cx, &head)).await?;
        poll_fn(|cx| target.poll_close(cx)).await
    })
    .map_err(output::failed(destination))
}

fn write_failed(destination: &Source, error: WriteError) -> CliError {
    match error {
        WriteError::Target(error) => output::failed(destination)(error),
        WriteError::Params(_) | WriteError::ChunkSize { .. } => CliError::Usage(error.to_string()),
        error => CliError::data(destination_name(destination))(error),
    }
}

fn destination_name(destination: &Source) -> String {
    match destination {
        Source::Standard => "standard output".into(),
        Source::Path(path) => path.display().to_string(),
    }
}

fn split_mode(split: Split) -> SplitMode {
    match split {
        Split::Auto => SplitMode::Auto,
        Split::Always => SplitMode::Always,
        Split::Never => SplitMode::Never,
        Split::Forward => SplitMode::ForwardCompat,
    }
}
