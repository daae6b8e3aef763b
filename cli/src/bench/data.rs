//! What is measured: bytes in memory, and how they are to be encoded.

use bytes::{Bytes, BytesMut};
use futures::stream::StreamExt;
use oxiblosc::chunk::{ChunkFormat, EncodeParams};
use oxiblosc::nd::{ArrayMeta, ArrayOptions, NdArray, Partition, Selection};
use oxiblosc::{CodecId, Pool, ReadOptions, Registry, WriteOptions, block_on};

use crate::args::{BenchArgs, EncodingArgs, Source};
use crate::detect::{FileKind, HEAD_LEN};
use crate::error::{CliError, one_line};
use crate::inherited::Defaults;
use crate::input::{self, Input};
use crate::raw::RawInput;
use crate::units::show_bytes;

/// Bytes in memory, and how they are to be encoded.
pub(super) struct Data {
    pub(super) name: String,
    /// Decoded bytes: of an array in C order.
    pub(super) bytes: Bytes,
    /// Whether these are all of the input.
    pub(super) whole: bool,
    pub(super) params: EncodeParams,
    chunk_size: Option<usize>,
    /// Dtype, shape, and the shapes of chunks and blocks if they are given.
    array: Option<Array>,
    partition: Partition,
    /// The parameters in words.
    pub(super) description: String,
}

struct Array {
    dtype: String,
    item_size: usize,
    shape: Vec<u64>,
    cut: Option<(Vec<u32>, Vec<u32>)>,
}

impl Data {
    /// Reads the input, and checks the parameters by what it is.
    ///
    /// # Errors
    /// Nothing to measure, or more than is allowed; parameters that do not fit.
    pub(super) fn load(args: &BenchArgs, registry: &Registry) -> Result<Self, CliError> {
        let data = if is_frame(&args.input)? { Self::of_frame(args, registry)? } else { Self::of_raw(args, registry)? };
        if data.bytes.is_empty() {
            return Err(CliError::data(&data.name)("it is empty, so that there is nothing to measure"));
        }
        args.encoding.check(&data.params, data.array.is_some(), registry)?;
        if let Some(options) = data.array_options(registry, &Pool::inline()) {
            options.tiling().map_err(|error| CliError::Usage(one_line(&error)))?;
        }
        Ok(data)
    }

    fn of_raw(args: &BenchArgs, registry: &Registry) -> Result<Self, CliError> {
        let mut input = RawInput::open(&args.input, false, &args.decoding, args.quiet)?;
        let array = input.npy.as_ref().map(|header| Array {
            dtype: header.descr.clone(),
            item_size: header.item_size,
            shape: header.shape.clone(),
            cut: None,
        });
        let name = input.name.clone();
        if let Some(header) = input.npy.as_ref().filter(|header| header.nbytes > args.max_input as u64) {
            return Err(too_long(&name, header.nbytes, args.max_input));
        }
        let bytes = input.next(args.max_input)?.unwrap_or_default();
        let whole = bytes.len() < args.max_input || input.next(1)?.is_none();
        input.bar.finish_and_clear();
        let mut params = EncodeParams { codec: CodecId::ZSTD, ..EncodeParams::default() };
        params.typesize = array.as_ref().map_or(1, |array| array.item_size);
        let params = args.encoding.params(params, registry)?;
        Ok(Self::new(name, bytes, whole, params, None, array, &args.encoding, registry))
    }

    fn of_frame(args: &BenchArgs, registry: &Registry) -> Result<Self, CliError> {
        let input = Input::open(&args.input)?;
        let reader = input.frame(ReadOptions::new().registry(registry).pool(&Pool::per_processor()))?;
        let mut nbytes = reader.nbytes();
        let array = match ArrayMeta::find(reader.metalayers()) {
            Some(_) => Some(NdArray::new(reader.clone()).map_err(|e| input.failed(e))?),
            None => None,
        };
        nbytes = array.as_ref().map_or(nbytes, NdArray::nbytes);
        if nbytes > args.max_input as u64 {
            return Err(too_long(&input.name, nbytes, args.max_input));
        }
        let mut bytes = BytesMut::new();
        match &array {
            Some(array) => {
                let mut pieces = array.stream(&Selection::all()).map_err(|e| input.failed(e))?;
                while let Some(piece) = block_on(pieces.next()) {
                    bytes.extend_from_slice(&piece.map_err(|e| input.failed(e))?);
                }
            }
            None => {
                let mut chunks = reader.chunks();
                while let Some(chunk) = block_on(chunks.next()) {
                    bytes.extend_from_slice(&chunk.map_err(|e| input.failed(e))?);
                }
            }
        }
        let mut params = args.encoding.params(Defaults::of(&reader).params, registry)?;
        params.format = ChunkFormat::Blosc2;
        let array = array.map(|array| Array {
            dtype: array.dtype().map_or_else(|| format!("|V{}", array.item_size()), str::to_owned),
            item_size: array.item_size(),
            shape: array.shape().to_vec(),
            cut: Some((array.chunk_shape().to_vec(), array.block_shape().to_vec())),
        });
        let size = reader.chunk_size().filter(|size| *size > 0);
        Ok(Self::new(input.name.clone(), bytes.freeze(), true, params, size, array, &args.encoding, registry))
    }

    #[allow(clippy::too_many_arguments, reason = "they are the fields")]
    fn new(
        name: String,
        bytes: Bytes,
        whole: bool,
        mut params: EncodeParams,
        chunk_size: Option<usize>,
        mut array: Option<Array>,
        encoding: &EncodingArgs,
        registry: &Registry,
    ) -> Self {
        if let Some(size) = encoding.block_size {
            params.block_size = Some(size);
        }
        let recut = encoding.chunk_size.is_some() || encoding.block_size.is_some();
        if let Some(array) = &mut array {
            array.item_size = encoding.typesize.map_or(array.item_size, |size| size as usize);
            array.cut = array.cut.take().filter(|_| !recut);
        }
        let mut partition = Partition { slab_bytes: Some(ArrayOptions::SLAB_BYTES), ..Partition::default() };
        partition.chunk_bytes = encoding.chunk_size.unwrap_or(partition.chunk_bytes);
        partition.block_bytes = encoding.block_size.unwrap_or(partition.block_bytes);
        let chunk_size = encoding.chunk_size_of(params.typesize).or(chunk_size);
        let description = describe(&params, registry);
        Self { name, bytes, whole, params, chunk_size, array, partition, description }
    }

    /// Options for a frame of the data.
    pub(super) fn frame_options(&self, registry: &Registry, pool: &Pool) -> WriteOptions {
        let options = WriteOptions::new(self.params.clone()).registry(registry).pool(pool);
        match self.chunk_size {
            Some(size) if self.array.is_none() => options.chunk_size(size),
            _ => options,
        }
    }

    /// Options for an array of the data; `None` if it is none.
    pub(super) fn array_options(&self, registry: &Registry, pool: &Pool) -> Option<ArrayOptions> {
        let Array { dtype, item_size, shape, cut } = self.array.as_ref()?;
        let options = ArrayOptions::new(shape.clone(), dtype.as_str()).item_size(*item_size);
        let options = options.frame(self.frame_options(registry, pool));
        Some(match cut {
            Some((chunks, blocks)) => options.chunks(chunks.clone()).blocks(blocks.clone()),
            None => options.partition(self.partition),
        })
    }

    /// Bytes of an item, and the shape of an array; without one, the number of items.
    pub(super) fn items(&self) -> (usize, Vec<u64>) {
        match &self.array {
            Some(array) => (array.item_size.max(1), array.shape.clone()),
            None => {
                let size = self.params.typesize.max(1);
                (size, vec![(self.bytes.len() / size) as u64])
            }
        }
    }

    pub(super) fn is_array(&self) -> bool {
        self.array.is_some()
    }
}

fn too_long(name: &str, nbytes: u64, most: usize) -> CliError {
    let (nbytes, most) = (show_bytes(nbytes), show_bytes(most as u64));
    CliError::data(name)(format!(
        "it has {nbytes}, and at most {most} are measured: allow more with --max-input, or `oxiblosc copy` a part of it"
    ))
}

/// Whether the input is a frame. Standard input is taken as it is.
fn is_frame(source: &Source) -> Result<bool, CliError> {
    let name = source.name();
    match source {
        Source::Standard => Ok(false),
        // A pipe can be read only once.
        Source::Path(path) if !path.is_file() && !path.is_dir() => Ok(false),
        source => {
            let source = input::open(source).map_err(CliError::io(&name))?;
            let (_, head) = block_on(source.open(HEAD_LEN)).map_err(CliError::io(&name))?;
            Ok(matches!(FileKind::of(&head), Ok(FileKind::Frame)))
        }
    }
}

/// Codec, level and filters, as `info` names them.
fn describe(params: &EncodeParams, registry: &Registry) -> String {
    let codec =
        registry.codec(params.codec).map_or_else(|_| params.codec.0.to_string(), |entry| entry.info().name.into());
    let filters: Vec<String> = params
        .filters
        .active()
        .map(|(_, slot)| {
            registry.filter(slot.id).map_or_else(|_| slot.id.0.to_string(), |entry| entry.info().name.into())
        })
        .collect();
    let filters = if filters.is_empty() { "no filter".into() } else { filters.join(", ") };
    format!("{codec} level {}, {filters}", params.level)
}
