//! `oxiblosc verify`.

use std::io::{self, Write};
use std::sync::Arc;

use futures::executor::block_on;
use futures::stream::StreamExt;
use oxiblosc::core::Registry;
use oxiblosc::core::chunk::ChunkHeader;
use oxiblosc::core::frame::FrameAudit;
use oxiblosc::streaming::source::RangeSource;
use oxiblosc::streaming::{FrameReader, ReadError, ReadOptions};

use crate::args::VerifyArgs;
use crate::cat::decode_chunk;
use crate::detect::Kind;
use crate::error::CliError;
use crate::input::Input;
use crate::{pool, progress};

pub(crate) fn run(args: &VerifyArgs, registry: &Registry) -> Result<(), CliError> {
    let input = Input::open(&args.input)?;
    let checked = match input.kind {
        Kind::Frame => frame(args, &input, registry)?,
        Kind::Chunk => chunk(args, &input, registry)?,
    };
    if args.quiet {
        return Ok(());
    }
    let mut out = io::stdout().lock();
    writeln!(out, "{}: good, {checked}", input.name).and_then(|()| out.flush()).map_err(CliError::stdout)
}

fn chunk(args: &VerifyArgs, input: &Input, registry: &Registry) -> Result<String, CliError> {
    let chunk = input.read_all()?;
    let (header, data) = decode_chunk(&chunk, &pool(args.threads), registry).map_err(|e| input.failed(e))?;
    if header.cbytes < chunk.len() {
        let extra = chunk.len() - header.cbytes;
        let reason = format!("the chunk ends at offset {}, {extra} bytes before the file", header.cbytes);
        return Err(CliError::data(&input.name)(reason));
    }
    Ok(format!("1 chunk, {} bytes", data.len()))
}

fn frame(args: &VerifyArgs, input: &Input, registry: &Registry) -> Result<String, CliError> {
    let options = ReadOptions::new().pool(&pool(args.threads)).registry(registry);
    let reader = block_on(options.open(input.source.clone())).map_err(|e| input.failed(e))?;
    block_on(audit(&reader)).map_err(|e| input.failed(e))?;

    let bar = progress::bar(Some(reader.nbytes()), args.quiet);
    let mut chunks = reader.chunks();
    while let Some(chunk) = block_on(chunks.next()) {
        bar.inc(chunk.map_err(|e| input.failed(e))?.len() as u64);
    }
    bar.finish_and_clear();

    for name in reader.vlmetalayer_names() {
        block_on(reader.vlmetalayer(&name)).map_err(|e| input.failed(e))?;
    }
    Ok(format!("{} chunks, {} bytes", reader.nchunks(), reader.nbytes()))
}

/// The checks that need the headers of all chunks: they lie within the frame, agree with its header and add up.
async fn audit(reader: &FrameReader<Arc<dyn RangeSource>>) -> Result<(), ReadError> {
    let frame = reader.frame();
    let mut audit = FrameAudit::new(frame);
    for i in 0..frame.nchunks() {
        let header = match frame.span(i)? {
            Some(span) => {
                let end = span.end.min(span.start + ChunkHeader::EXTENDED_LEN as u64);
                reader.source().read_range(span.start..end).await?.into()
            }
            // Zeros, NaNs and the like have no bytes but those of a header.
            None => frame.special_chunk(i)?.unwrap_or_default(),
        };
        let header = ChunkHeader::parse(&header);
        let header = header.map_err(|source| ReadError::Decode { chunk: i, offset: None, source })?;
        audit.chunk(i, &header)?;
    }
    audit.finish()?;
    Ok(())
}
