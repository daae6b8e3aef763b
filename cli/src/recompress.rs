//! `oxiblosc recompress`.

use futures::stream::{Stream, StreamExt};
use oxiblosc::chunk::{ChunkFormat, EncodeParams};
use oxiblosc::edit::{self, EditError};
use oxiblosc::frame::FrameType;
use oxiblosc::nd::{ArrayMeta, NdArray, Selection};
use oxiblosc::{ChecksumPolicy, Registry, WriteError, WriteOptions, block_on};

use crate::args::{Format, FrameKind, IntegrityArgs, ReadingArgs, RecompressArgs, Shape, Source, whole_items};
use crate::cat::read_chunk;
use crate::content::{InputType, write_options};
use crate::detect::FileKind;
use crate::error::CliError;
use crate::inherited::{Defaults, with_metalayers};
use crate::input::{Input, Reader};
use crate::writer::{ByteCounts, OutputWriter, WriteJob, warnings, write_failed};
use crate::{output, progress};

pub(crate) fn run(args: &RecompressArgs, registry: &Registry) -> Result<(), CliError> {
    args.result.check(&args.encoding)?;
    if args.result.layout == Some(FrameKind::Open) && args.input.is(&args.output) {
        let message = format!("{}: an open-ended frame would replace it before it is read", args.input.name());
        return Err(CliError::Usage(message));
    }
    let mut input = Input::open(&args.input)?;
    let pool = args.run.pool();
    let name = input.name.clone();
    let job = WriteJob {
        encoding: &args.encoding,
        result: &args.result,
        layout: args.result.layout.unwrap_or(FrameKind::Contiguous),
        pool: &pool,
        registry,
        input: &name,
        destination: &args.output,
    };
    let mut job = Recompress { job, reading: &args.reading };
    let written = match input.kind {
        FileKind::Chunk => job.chunk(&input)?,
        FileKind::Frame => {
            let bar = progress::bar(None, args.run.quiet);
            input.watch(&bar);
            // Damaged chunks must not get valid checksums.
            let reader = input.frame(args.reading.options(&pool, registry, ChecksumPolicy::Check))?;
            bar.set_length(reader.cbytes());
            if args.result.layout.is_none() && keeps_sparse(args, &reader) {
                job.job.layout = FrameKind::Sparse;
            }
            let written = job.frame(&input, &reader);
            bar.finish_and_clear();
            written?
        }
    };
    written.print_summary(&input.name, &args.output.output_name(), args.run.quiet);
    Ok(())
}

/// Whether the result is a sparse frame because the input is one and the output can be a directory.
fn keeps_sparse(args: &RecompressArgs, reader: &Reader) -> bool {
    let somewhere = match &args.output {
        Source::Standard => false,
        // An existing file, pipe or device cannot become a directory.
        Source::Path(path) => path.metadata().map_or(true, |metadata| metadata.is_dir()),
        Source::Remote(_) => true,
    };
    somewhere && args.result.format == Format::Frame && reader.header().frame_type == FrameType::Sparse
}

struct Recompress<'a> {
    job: WriteJob<'a>,
    reading: &'a ReadingArgs,
}

impl Recompress<'_> {
    fn chunk(&self, input: &Input) -> Result<ByteCounts, CliError> {
        let (header, data) = read_chunk(input, self.reading, self.job.pool, self.job.registry)?;
        let params = EncodeParams {
            codec: header.codec().map_err(|e| input.failed(e))?,
            codec_meta: header.codec_meta,
            typesize: header.typesize.into(),
            filters: header.filters,
            use_dict: header.has_dict(),
            ..EncodeParams::default()
        };
        let base = Defaults { params, vouchers: IntegrityArgs::default() };
        let content = InputType { item_size: None, array: None };
        let pieces = futures::stream::iter([Ok::<_, CliError>(data.into())]);
        self.write(base, content, Ok, pieces)
    }

    fn frame(&self, input: &Input, reader: &Reader) -> Result<ByteCounts, CliError> {
        let base = Defaults::of(reader);
        let array = match ArrayMeta::find(reader.metalayers()) {
            Some(_) => Some(NdArray::new(reader.clone()).map_err(|e| input.failed(e))?),
            None => None,
        };
        let WriteJob { encoding, result, .. } = self.job;
        let cut = encoding.chunk_size.is_some() || encoding.block_size.is_some() || encoding.typesize.is_some();
        let decoded = result.format.is_chunk() || result.shapes_an_array() || (array.is_some() && cut);
        if !decoded {
            return self.as_it_is(input, reader, array.as_ref().map(|array| array.tiling().block_bytes()), base);
        }
        match array {
            Some(array) => {
                let dtype = array.dtype().map_or_else(|| format!("|V{}", array.item_size()), str::to_owned);
                let shape = Shape::known(array.shape().to_vec());
                let content = InputType { item_size: Some(array.item_size()), array: Some((dtype, shape)) };
                let pieces = array.stream(&Selection::all()).map_err(|e| input.failed(e))?;
                let pieces = pieces.map(|piece| piece.map_err(|e| input.failed(e)));
                self.write(base, content, |options| with_metalayers(reader, input, options), pieces)
            }
            None => {
                let content = InputType { item_size: None, array: None };
                let pieces = reader.chunks().map(|chunk| chunk.map_err(|e| input.failed(e)));
                self.write(base, content, |options| with_metalayers(reader, input, options), pieces)
            }
        }
    }

    /// Recompresses chunk by chunk, each with the same items. The chunks and blocks of an array stay the same, too.
    fn as_it_is(
        &self,
        input: &Input,
        reader: &Reader,
        array_block: Option<usize>,
        base: Defaults,
    ) -> Result<ByteCounts, CliError> {
        let WriteJob { encoding, result, layout, pool, registry, destination, .. } = self.job;
        let mut params = encoding.params(base.params, registry)?;
        params.block_size = array_block.or(params.block_size);
        if result.format == Format::Early {
            params.format = ChunkFormat::Early;
        }
        encoding.check(&params, array_block.is_some(), registry)?;
        let mut options = write_options(params.clone(), result, base.vouchers, pool)?.registry(registry);
        // The chunk size of the input may not be a multiple of another item size.
        let kept = || reader.chunk_size().filter(|size| size % params.typesize != 0);
        let size = encoding.chunk_size_of(params.typesize);
        if let Some(size) = size.or_else(|| kept().map(|size| whole_items(size, params.typesize))) {
            options = options.chunk_size(size);
        }
        let mut target = output::target(destination, layout)?;
        let summary = block_on(edit::recompress(reader, options, &mut target)).map_err(|error| match error {
            EditError::Read(error) => input.failed(error),
            EditError::Decode { .. } | EditError::Frame(_) => input.failed(error),
            EditError::Store(error) => output::failed(destination)(error),
            // In that case nothing has been encoded.
            EditError::Params(_) => CliError::Usage(crate::error::one_line(&error)),
            EditError::Write(WriteError::Params(error)) => CliError::Usage(crate::error::one_line(&*error)),
            EditError::Write(error) => write_failed(destination, error),
            error => CliError::data(destination.output_name())(error),
        })?;
        let warnings = warnings(&params, result.format, ArrayMeta::find(reader.metalayers()).is_some());
        Ok(ByteCounts { decoded: summary.nbytes, encoded: summary.frame_len, warnings })
    }

    /// Decodes everything and writes it as `compress` would.
    fn write(
        &self,
        base: Defaults,
        content: InputType,
        adorn: impl FnOnce(WriteOptions) -> Result<WriteOptions, CliError>,
        mut pieces: impl Stream<Item = Result<bytes::Bytes, CliError>> + Unpin,
    ) -> Result<ByteCounts, CliError> {
        let WriteJob { encoding, result, pool, registry, .. } = self.job;
        let content = content.with(result)?;
        let params = content.params(encoding.params(base.params, registry)?, result.format);
        let mut options = write_options(params.clone(), result, base.vouchers, pool)?;
        if !result.format.is_chunk() {
            options = adorn(options)?;
        }
        let mut writer = OutputWriter::new(&self.job, &content, params, options)?;
        while let Some(piece) = block_on(pieces.next()) {
            writer.push(piece?)?;
        }
        writer.finish()
    }
}
