//! `oxiblosc verify`.

use std::io::{self, Write};

use futures::stream::StreamExt;
use oxiblosc::core::Registry;
use oxiblosc::core::chunk::ChunkDecoder;
use oxiblosc::core::frame::{ChunkEntry, FrameAudit, chunk_file_name};
use oxiblosc::core::nd::ArrayMeta;
use oxiblosc::streaming::nd::NdArray;
use oxiblosc::streaming::{ReadError, block_on};

use crate::args::VerifyArgs;
use crate::cat::decode_chunk;
use crate::chunk_headers::{AT_ONCE, chunk_headers};
use crate::detect::Kind;
use crate::error::CliError;
use crate::input::{Input, Reader};
use crate::progress;

/// Missing chunk files that are named; of more, only how many.
const NAMED: usize = 8;

pub(crate) fn run(args: &VerifyArgs, registry: &Registry) -> Result<(), CliError> {
    let input = Input::open(&args.input)?;
    let checked = match input.kind {
        Kind::Frame => frame(args, &input, registry)?,
        Kind::Chunk => chunk(args, &input, registry)?,
    };
    if args.run.quiet {
        return Ok(());
    }
    let mut out = io::stdout().lock();
    writeln!(out, "{}: good, {checked}", input.name).and_then(|()| out.flush()).map_err(CliError::stdout)
}

fn chunk(args: &VerifyArgs, input: &Input, registry: &Registry) -> Result<String, CliError> {
    let chunk = input.chunk()?;
    let (header, data) = decode_chunk(&chunk, &args.run.pool(), registry, None).map_err(|e| input.failed(e))?;
    let extra = input.bytes_behind(header.cbytes);
    if extra > 0 {
        let reason = format!("the chunk ends at offset {}, {extra} bytes before the file", header.cbytes);
        return Err(CliError::data(&input.name)(reason));
    }
    Ok(format!("1 chunk, {} bytes", data.len()))
}

fn frame(args: &VerifyArgs, input: &Input, registry: &Registry) -> Result<String, CliError> {
    let reader = input.frame(&args.run.pool(), registry, None)?;
    let mut nbytes = reader.nbytes();
    if ArrayMeta::find(reader.metalayers()).is_some() {
        // The shapes make sense, and together with the sizes of the frame.
        nbytes = NdArray::new(reader.clone()).map_err(|e| input.failed(e))?.nbytes();
    }
    if let Some(missing) = block_on(audit(&reader)).map_err(|e| input.failed(e))? {
        return Err(CliError::data(&input.name)(missing));
    }

    let bar = progress::bar(Some(reader.nbytes()), args.run.quiet);
    let mut chunks = reader.chunks();
    while let Some(chunk) = block_on(chunks.next()) {
        bar.inc(chunk.map_err(|e| input.failed(e))?.len() as u64);
    }
    bar.finish_and_clear();

    for name in reader.vlmetalayer_names() {
        block_on(reader.vlmetalayer(&name)).map_err(|e| input.failed(e))?;
    }
    reader.frame().user_metadata(&mut ChunkDecoder::new(registry)).map_err(|e| input.failed(e))?;
    let chunks = reader.nchunks();
    Ok(format!("{chunks} {}, {nbytes} bytes", if chunks == 1 { "chunk" } else { "chunks" }))
}

/// The checks that need the headers of all chunks: they lie within the frame, agree with its header and add up. When
/// chunk files are missing, says which.
async fn audit(reader: &Reader) -> Result<Option<String>, ReadError> {
    let frame = reader.frame();
    let mut audit = FrameAudit::new(frame);
    let mut missing = Vec::new();
    let mut start = 0;
    while start < frame.nchunks() {
        let end = frame.nchunks().min(start + AT_ONCE);
        for (chunk, header) in (start..end).zip(chunk_headers(reader, start..end).await?) {
            match (header, frame.entry(chunk)?) {
                (Err(ReadError::ChunkFile { source, .. }), ChunkEntry::File { id })
                    if source.kind() == io::ErrorKind::NotFound =>
                {
                    missing.push(format!("{} (chunk {chunk})", chunk_file_name(id)));
                }
                (header, _) => audit.chunk(chunk, &header?)?,
            }
        }
        start = end;
    }
    if missing.is_empty() {
        audit.finish()?;
        return Ok(None);
    }
    let (count, all) = (missing.len(), frame.nchunks());
    let more = if count > NAMED { format!(" and {} more", count - NAMED) } else { String::new() };
    missing.truncate(NAMED);
    Ok(Some(format!("{count} of {all} chunk files are missing: {}{more}", missing.join(", "))))
}
