//! Writing decoded bytes as a frame, an array or a chunk.

use std::future::poll_fn;
use std::io::{self, IsTerminal};

use bytes::Bytes;
use oxiblosc::chunk::{ChunkContext, ChunkEncoder, ChunkHeader, EncodeParams};
use oxiblosc::nd::ArrayError;
use oxiblosc::pipeline::FilterSlot;
use oxiblosc::target::{Part, Target};
use oxiblosc::{FilterId, Pool, Registry, WriteError, WriteOptions, block_on, blocking};
use serde_json::json;

use crate::abort_on_drop::AbortOnDrop;
use crate::args::{EncodingArgs, Format, FrameKind, OutputArgs, Source};
use crate::content::{InputType, array_options};
use crate::error::CliError;
use crate::output;
use crate::progress;
use crate::units::{ratio, show_bytes};

/// The input is taken in pieces of this size, or of the chunk size if that is smaller.
const PIECE: usize = 4 << 20;

/// What to make of an input, and where to write it.
pub(crate) struct WriteJob<'a> {
    pub(crate) encoding: &'a EncodingArgs,
    pub(crate) result: &'a OutputArgs,
    /// The layout of the result.
    pub(crate) layout: FrameKind,
    pub(crate) pool: &'a Pool,
    pub(crate) registry: &'a Registry,
    /// Name of the input in messages.
    pub(crate) input: &'a str,
    pub(crate) destination: &'a Source,
}

/// Takes decoded bytes and writes what the options request.
pub(crate) struct OutputWriter<'a> {
    kind: WriterKind,
    /// Bytes taken so far.
    taken: u64,
    /// The preferred number of bytes per call.
    pub(crate) piece: usize,
    input: &'a str,
    destination: &'a Source,
    warnings: Vec<&'static str>,
}

enum WriterKind {
    Frame(blocking::FrameWriter<AbortOnDrop>),
    Array(blocking::NdWriter<AbortOnDrop>),
    Chunk { encoder: ChunkEncoder, data: Vec<u8>, pool: Pool, item_size: usize },
}

/// The number of bytes taken and written.
pub(crate) struct ByteCounts {
    pub(crate) decoded: u64,
    pub(crate) encoded: u64,
    /// Warnings about other software.
    pub(crate) warnings: Vec<&'static str>,
}

impl<'a> OutputWriter<'a> {
    /// A writer of `content` to the destination, where nothing is visible before it is finished.
    ///
    /// # Errors
    /// Bad usage, if the request is not possible: nothing has been read or written yet.
    pub(crate) fn new(
        job: &WriteJob<'a>,
        content: &InputType,
        params: EncodeParams,
        write: WriteOptions,
    ) -> Result<Self, CliError> {
        let WriteJob { encoding, result, layout, pool, registry, input, destination } = *job;
        let usage = |error: &dyn std::error::Error| CliError::Usage(crate::error::one_line(error));
        encoding.check(&params, content.array.is_some(), registry)?;
        let warnings = warnings(&params, result.format, content.array.is_some());
        let mut piece = PIECE;
        let kind = if result.format.is_chunk() {
            let encoder = ChunkEncoder::new(&params, registry).map_err(|e| usage(&e))?;
            WriterKind::Chunk { encoder, data: Vec::new(), pool: pool.clone(), item_size: params.typesize }
        } else if let Some((dtype, shape)) = &content.array {
            let options = array_options(dtype, shape, encoding, result, write.registry(registry));
            // What the command line does not say about the array comes from the input.
            options.tiling().map_err(|e| match result.shapes_an_array() || encoding.typesize.is_some() {
                true => usage(&e),
                false => CliError::data(input)(e),
            })?;
            let target = output::target(destination, layout)?;
            let writer = blocking::NdWriter::with_target(target, options);
            WriterKind::Array(writer.map_err(|e| match e {
                ArrayError::Write(WriteError::Target(e)) => output::failed(destination)(e),
                e => usage(&e),
            })?)
        } else {
            let mut write = write.registry(registry);
            if let Some(size) = encoding.chunk_size_of(params.typesize) {
                write = write.chunk_size(size);
                piece = piece.min(size);
            }
            let target = output::target(destination, layout)?;
            let writer = blocking::FrameWriter::with_target(target, write);
            WriterKind::Frame(writer.map_err(|e| match e {
                WriteError::Target(e) => output::failed(destination)(e),
                e => usage(&e),
            })?)
        };
        Ok(Self { kind, taken: 0, piece, input, destination, warnings })
    }

    /// Takes the next bytes.
    pub(crate) fn push(&mut self, bytes: Bytes) -> Result<(), CliError> {
        self.taken += bytes.len() as u64;
        match &mut self.kind {
            WriterKind::Frame(writer) => writer.push(bytes).map_err(|e| write_failed(self.destination, e)),
            WriterKind::Array(writer) => writer.push(bytes).map_err(|e| array_failed(self.input, self.destination, e)),
            WriterKind::Chunk { data, .. } => {
                if data.len() + bytes.len() > ChunkHeader::MAX_NBYTES {
                    let most = ChunkHeader::MAX_NBYTES;
                    return Err(CliError::data(self.input)(format!(
                        "larger than the limit of {most} bytes for a \
                        chunk"
                    )));
                }
                data.extend_from_slice(&bytes);
                Ok(())
            }
        }
    }

    /// Writes all complete chunks, and waits for that.
    pub(crate) fn flush(&mut self) -> Result<(), CliError> {
        match &mut self.kind {
            WriterKind::Frame(writer) => {
                block_on(writer.sink().flush()).map_err(|error| write_failed(self.destination, error))
            }
            WriterKind::Array(writer) => {
                block_on(writer.sink().flush()).map_err(|error| array_failed(self.input, self.destination, error))
            }
            WriterKind::Chunk { .. } => Ok(()),
        }
    }

    /// Writes the rest; only now does the destination get its name.
    pub(crate) fn finish(self) -> Result<ByteCounts, CliError> {
        let (input, destination) = (self.input, self.destination);
        let encoded = match self.kind {
            WriterKind::Frame(mut writer) => writer.finish().map_err(|e| write_failed(destination, e))?.frame_len,
            WriterKind::Array(mut writer) => {
                writer.finish().map_err(|e| array_failed(input, destination, e))?.frame.frame_len
            }
            WriterKind::Chunk { mut encoder, data, pool, item_size } => {
                let mut context = ChunkContext::default();
                context.item_size = Some(item_size);
                let chunk = encoder.encode(&data, &context, &pool).map_err(CliError::data(input))?;
                let len = chunk.len() as u64;
                write_whole(chunk.into(), destination)?;
                len
            }
        };
        Ok(ByteCounts { decoded: self.taken, encoded, warnings: self.warnings })
    }
}

impl ByteCounts {
    /// Prints a summary on a terminal, and warnings everywhere.
    pub(crate) fn print_summary(&self, input: &str, destination: &str, quiet: bool) {
        if quiet {
            return;
        }
        for warning in &self.warnings {
            warn(destination, warning);
        }
        if io::stderr().is_terminal() && !progress::is_json() {
            let ratio = ratio(self.decoded, self.encoded).unwrap_or(1.0);
            let (decoded, encoded) = (show_bytes(self.decoded), show_bytes(self.encoded));
            eprintln!("{input} to {destination}: {decoded} to {encoded}, {ratio:.2}x");
        }
    }
}

/// Prints a warning about a file.
pub(crate) fn warn(name: &str, warning: &str) {
    if progress::is_json() {
        progress::event(&json!({ "event": "warning", "message": format!("{name}: {warning}") }));
    } else {
        eprintln!("oxiblosc: warning: {name}: {warning}");
    }
}

/// What other software gets wrong with these parameters: known bugs of C-Blosc2 3.3 and python-blosc2 4.14.
pub(crate) fn warnings(params: &EncodeParams, format: Format, of_array: bool) -> Vec<&'static str> {
    let mut warnings = Vec::new();
    // It reads metadata as signed and fails on larger values; a bytedelta without metadata gets the type size.
    let overflows = |slot: FilterSlot| match (slot.id, slot.meta) {
        (FilterId::BYTEDELTA, 0) => params.typesize > 127,
        (_, meta) => meta > 127,
    };
    if format == Format::Frame && params.filters.active().any(|(_, slot)| overflows(slot)) {
        warnings.push("python-blosc2 cannot open it: filter metadata is negative or above 127");
    }
    // It does not read early frames at all.
    let deltas = params.filters.active().filter(|(_, slot)| slot.id == FilterId::DELTA).count();
    if deltas > 1 && format != Format::Early {
        warnings.push("C-Blosc2 does not correctly decode data with several delta filters");
    }
    if deltas == 1 && of_array && format == Format::Frame {
        warnings.push("python-blosc2 does not correctly decode parts of arrays with a delta filter");
    }
    warnings
}

/// Writes complete bytes; the target need not know that they are not a frame.
pub(crate) fn write_whole(mut bytes: Bytes, destination: &Source) -> Result<(), CliError> {
    let mut target = output::target(destination, FrameKind::Contiguous)?;
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

/// Writes a picture of `input` for an option of this command. It appears whole, or not at all.
pub(crate) fn write_picture(svg: String, input: &Source, destination: &Source) -> Result<(), CliError> {
    let refuse = |reason: &str| Err(CliError::Usage(format!("{}: {reason}", destination.output_name())));
    match destination {
        Source::Standard => refuse("the picture needs a file of its own, as the rest is printed here"),
        _ if input.is(destination) => refuse("the picture would overwrite the input"),
        _ => write_whole(svg.into(), destination),
    }
}

/// An error of writing a frame.
pub(crate) fn write_failed(destination: &Source, error: WriteError) -> CliError {
    match error {
        WriteError::Target(error) => output::failed(destination)(error),
        error => CliError::data(destination.output_name())(error),
    }
}

/// An error of writing an array, which may be that the input does not have as many items as the array.
pub(crate) fn array_failed(input: &str, destination: &Source, error: ArrayError) -> CliError {
    match error {
        ArrayError::Write(error) => write_failed(destination, error),
        error @ (ArrayError::Length { .. } | ArrayError::PartialRow { .. }) => CliError::data(input)(error),
        error => CliError::data(destination.output_name())(error),
    }
}
