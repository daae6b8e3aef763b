//! `oxiblosc copy`.

use std::path::Path;

use bytes::Bytes;
use futures::stream::StreamExt;
use oxiblosc::edit::{self, EditError};
use oxiblosc::frame::FrameType;
use oxiblosc::nd::{ArrayMeta, ArrayOptions, NdArray, Partition, Plan};
use oxiblosc::{ChecksumPolicy, Pool, Registry, WriteOptions, block_on, blocking};

use crate::args::{CopyArgs, CopyLayout, FrameKind, Source};
use crate::cat::{frame_bytes, slice_failed};
use crate::detect::FileKind;
use crate::error::{CliError, one_line};
use crate::inherited::{Defaults, with_metalayers};
use crate::input::{Input, InputSource, Reader};
use crate::item_range::selections;
use crate::writer::{ByteCounts, array_failed, write_failed, write_whole};
use crate::{output, progress};

pub(crate) fn run(args: &CopyArgs, registry: &Registry) -> Result<(), CliError> {
    if args.source.is(&args.destination) {
        return Err(CliError::Usage(format!("{}: source and destination are the same", args.source.name())));
    }
    let mut input = Input::open(&args.source)?;
    let written = match input.kind {
        FileKind::Chunk => chunk(args, &input)?,
        FileKind::Frame => {
            let bar = progress::bar(None, args.run.quiet);
            input.watch(&bar);
            let pool = args.run.pool();
            // Damaged chunks must not get valid checksums.
            let reader = input.frame(args.reading.options(&pool, registry, ChecksumPolicy::Check))?;
            let job = Copy { args, input: &input, reader: &reader, pool: &pool, registry };
            let written = if args.items.is_some() || args.slice.is_some() {
                job.part()
            } else {
                bar.set_length(reader.cbytes());
                job.whole()
            };
            bar.finish_and_clear();
            written?
        }
    };
    written.print_summary(&input.name, &args.destination.output_name(), args.run.quiet);
    Ok(())
}

/// Copies a single chunk, byte by byte.
fn chunk(args: &CopyArgs, input: &Input) -> Result<ByteCounts, CliError> {
    if args.items.is_some() || args.slice.is_some() {
        let message = format!("{} is a single chunk, which is copied whole; `oxiblosc cat` takes --items", input.name);
        return Err(CliError::Usage(message));
    }
    if args.layout == Some(CopyLayout::Sparse) || says_sparse(&args.destination) == Some(true) {
        let message =
            format!("{} is a single chunk, which is one file; `oxiblosc recompress` makes a frame", input.name);
        return Err(CliError::Usage(message));
    }
    let chunk = input.chunk()?;
    let encoded = chunk.len() as u64;
    write_whole(chunk, &args.destination)?;
    Ok(ByteCounts { decoded: encoded, encoded, warnings: Vec::new() })
}

/// Whether the name of a destination says that it is a sparse frame, or not; `None` if it says nothing.
fn says_sparse(destination: &Source) -> Option<bool> {
    let ends_with_slash = |path: &Path| path.as_os_str().as_encoded_bytes().ends_with(b"/");
    match destination {
        Source::Standard => Some(false),
        Source::Path(path) if ends_with_slash(path) => Some(true),
        Source::Path(path) => path.metadata().ok().map(|metadata| metadata.is_dir()),
        Source::Remote(object) if object.is_prefix() => Some(true),
        Source::Remote(_) => None,
    }
}

struct Copy<'a> {
    args: &'a CopyArgs,
    input: &'a Input,
    reader: &'a Reader,
    pool: &'a Pool,
    registry: &'a Registry,
}

impl Copy<'_> {
    fn layout(&self) -> FrameKind {
        let sparse = match self.args.layout {
            Some(layout) => layout == CopyLayout::Sparse,
            None => says_sparse(&self.args.destination)
                .unwrap_or_else(|| self.reader.header().frame_type == FrameType::Sparse),
        };
        if sparse { FrameKind::Sparse } else { FrameKind::Contiguous }
    }

    /// Copies all chunks without decoding them.
    fn whole(&self) -> Result<ByteCounts, CliError> {
        let destination = &self.args.destination;
        let mut target = output::target(destination, self.layout())?;
        let summary = block_on(edit::copy(self.reader, &mut target)).map_err(|error| match error {
            EditError::Read(error) => self.input.failed(error),
            EditError::Decode { .. } | EditError::Frame(_) => self.input.failed(error),
            EditError::Store(error) => output::failed(destination)(error),
            EditError::Write(error) => write_failed(destination, error),
            error => CliError::data(destination.output_name())(error),
        })?;
        Ok(ByteCounts { decoded: summary.nbytes, encoded: summary.frame_len, warnings: Vec::new() })
    }

    /// Decodes the requested items and encodes them as the source is encoded.
    fn part(&self) -> Result<ByteCounts, CliError> {
        if ArrayMeta::find(self.reader.metalayers()).is_some() {
            let array = NdArray::new(self.reader.clone()).map_err(|e| self.input.failed(e))?;
            return self.part_of_array(&array);
        }
        let Some(items) = self.args.items else {
            return Err(CliError::Usage(format!("--slice: {} is not an array, use --items A:B", self.input.name)));
        };
        let typesize = self.reader.typesize() as u64;
        let items = items.resolve(self.reader.items_len());
        let destination = &self.args.destination;
        let mut options = self.options()?;
        // The first chunk of a frame of variable chunks says nothing about the others.
        if let Some(size) = self.reader.chunk_size().filter(|size| *size > 0) {
            options = options.chunk_size(size);
        }
        let target = output::target(destination, self.layout())?;
        let mut writer =
            blocking::FrameWriter::with_target(target, options).map_err(|error| write_failed(destination, error))?;
        let mut decoded = 0;
        let bytes = items.start * typesize..items.end * typesize;
        frame_bytes(self.input, self.reader.clone(), bytes, false, &mut |bytes| {
            decoded += bytes.len() as u64;
            writer.push(Bytes::copy_from_slice(bytes)).map_err(|error| write_failed(destination, error))
        })?;
        let summary = writer.finish().map_err(|error| write_failed(destination, error))?;
        Ok(ByteCounts { decoded, encoded: summary.frame_len, warnings: Vec::new() })
    }

    fn part_of_array(&self, array: &NdArray<InputSource>) -> Result<ByteCounts, CliError> {
        let destination = &self.args.destination;
        let failed = |error| slice_failed(self.input, array.shape(), error);
        let (selections, shape) = match (&self.args.slice, self.args.items) {
            (Some(slice), _) => {
                let plan = Plan::new(array.tiling(), slice).map_err(|error| failed(error.into()))?;
                (vec![slice.clone()], plan.shape().to_vec())
            }
            (None, items) => {
                // Fits: the metalayer holds lengths whose product has been checked.
                let len = array.shape().iter().product();
                let items = items.map_or(0..len, |items| items.resolve(len));
                (selections(array.shape(), items.clone()), vec![items.end - items.start])
            }
        };
        let options = self.array_options(array, shape)?;
        options.tiling().map_err(|error| CliError::Usage(one_line(&error)))?;
        let target = output::target(destination, self.layout())?;
        let mut writer = blocking::NdWriter::with_target(target, options)
            .map_err(|error| array_failed(&self.input.name, destination, error))?;
        let mut decoded = 0;
        for selection in &selections {
            let mut pieces = array.stream(selection).map_err(failed)?;
            while let Some(piece) = block_on(pieces.next()) {
                let piece = piece.map_err(failed)?;
                decoded += piece.len() as u64;
                writer.push(piece).map_err(|error| array_failed(&self.input.name, destination, error))?;
            }
        }
        let summary = writer.finish().map_err(|error| array_failed(&self.input.name, destination, error))?;
        Ok(ByteCounts { decoded, encoded: summary.frame.frame_len, warnings: Vec::new() })
    }

    /// Options for an array of this shape that is cut as the source, as far as it goes.
    fn array_options(&self, array: &NdArray<InputSource>, shape: Vec<u64>) -> Result<ArrayOptions, CliError> {
        let dtype = array.dtype().map_or_else(|| format!("|V{}", array.item_size()), str::to_owned);
        let options = ArrayOptions::new(shape.clone(), dtype).item_size(array.item_size()).frame(self.options()?);
        if shape.len() != array.ndim() || self.args.items.is_some() {
            // Other axes are cut anew, into chunks and blocks of as many bytes.
            let tiling = array.tiling();
            let (chunk_bytes, block_bytes) = (tiling.chunk_bytes().max(1), tiling.block_bytes().max(1));
            return Ok(options.partition(Partition { chunk_bytes, block_bytes, ..Partition::default() }));
        }
        let clipped = |lens: &[u32]| -> Vec<u32> {
            let clip = |(&len, &most): (&u32, &u64)| len.min(u32::try_from(most).unwrap_or(u32::MAX)).max(1);
            lens.iter().zip(&shape).map(clip).collect()
        };
        Ok(options.chunks(clipped(array.chunk_shape())).blocks(clipped(array.block_shape())))
    }

    /// Options for writing with the parameters and metalayers of the source.
    fn options(&self) -> Result<WriteOptions, CliError> {
        let Defaults { params, vouchers } = Defaults::of(self.reader);
        let options = WriteOptions::new(params)
            .pool(self.pool)
            .registry(self.registry)
            .checksums(vouchers.checksums)
            .fingerprint(vouchers.fingerprint);
        with_metalayers(self.reader, self.input, options)
    }
}
