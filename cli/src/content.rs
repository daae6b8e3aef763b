//! What is known about the data to be written.

use oxiblosc::chunk::{ChunkFormat, EncodeParams};
use oxiblosc::frame::FrameLayout as Age;
use oxiblosc::nd::{ArrayOptions, Partition};
use oxiblosc::{Pool, WriteOptions};

use crate::args::{EncodingArgs, FirstAxis, Format, IntegrityArgs, OutputArgs, Shape};
use crate::error::CliError;

/// What is known about the data to be written.
pub(crate) struct InputType {
    /// Bytes of an item, if the input states it.
    pub(crate) item_size: Option<usize>,
    /// Dtype and shape, if it is an array.
    pub(crate) array: Option<(String, Shape)>,
}

impl InputType {
    /// Adds what the command line says; where it is silent, what the input says stays.
    ///
    /// # Errors
    /// Options for arrays without an array.
    pub(crate) fn with(mut self, output: &OutputArgs) -> Result<Self, CliError> {
        if let Some((dtype, shape)) = &self.array {
            // Only a plain frame or a chunk needs no array; they take the items in order.
            if output.dtype.is_some() || output.shape.is_some() {
                let known = format!("the input is an array of dtype {dtype} and shape {:?} already", shape.lens);
                return Err(CliError::Usage(format!("--dtype and --shape: {known}")));
            }
        }
        if output.format != Format::Frame {
            self.array = None;
        }
        if let Some(dtype) = &output.dtype {
            self.array = Some((dtype.0.clone(), output.shape.clone().unwrap_or_else(Shape::line)));
            self.item_size = None;
        }
        if self.array.is_none() && output.shapes_an_array() {
            let message = "--shape, --chunks and --blocks: the input is not an array; set the type of its items with \
                --dtype";
            return Err(CliError::Usage(message.into()));
        }
        Ok(self)
    }

    /// Parameters for items of this size.
    pub(crate) fn params(&self, base: EncodeParams, format: Format) -> EncodeParams {
        let params = EncodeParams {
            typesize: self.item_size.unwrap_or(base.typesize),
            format: match format {
                Format::Frame | Format::Chunk => ChunkFormat::Blosc2,
                Format::Blosc1 => ChunkFormat::Blosc1,
                Format::Early => ChunkFormat::Early,
            },
            ..base
        };
        if format == Format::Chunk { params.standalone() } else { params }
    }
}

/// Options for writing a frame, with the `vouchers` of the input where the command line sets none. For an array they do
/// not include the chunk size.
pub(crate) fn write_options(
    params: EncodeParams,
    output: &OutputArgs,
    vouchers: IntegrityArgs,
    pool: &Pool,
) -> Result<WriteOptions, CliError> {
    let mut options = WriteOptions::new(params).pool(pool);
    if output.format == Format::Frame {
        let IntegrityArgs { checksums, fingerprint } = output.vouchers(vouchers);
        options = options.checksums(checksums).fingerprint(fingerprint);
    }
    if output.format == Format::Early {
        options = options.layout(Age::Early);
    }
    for layer in &output.metalayers {
        options = options.metalayer(&layer.name, layer.content()?);
    }
    for layer in &output.vlmetalayers {
        options = options.vlmetalayer(&layer.name, layer.content()?);
    }
    Ok(options)
}

/// Options for writing an array.
pub(crate) fn array_options(
    dtype: &str,
    shape: &Shape,
    encoding: &EncodingArgs,
    output: &OutputArgs,
    write: WriteOptions,
) -> ArrayOptions {
    let mut options = match shape.rows {
        FirstAxis::Known => ArrayOptions::new(shape.lens.clone(), dtype),
        FirstAxis::AsTheyCome => ArrayOptions::rows(shape.lens.get(1..).unwrap_or_default(), dtype),
    };
    let mut partition = Partition { slab_bytes: Some(ArrayOptions::SLAB_BYTES), ..Partition::default() };
    partition.chunk_bytes = encoding.chunk_size.unwrap_or(partition.chunk_bytes);
    partition.block_bytes = encoding.block_size.unwrap_or(partition.block_bytes);
    if let Some(typesize) = encoding.typesize {
        options = options.item_size(typesize as usize);
    }
    if let Some(chunks) = &output.chunks {
        options = options.chunks(chunks.0.clone());
    }
    if let Some(blocks) = &output.blocks {
        options = options.blocks(blocks.0.clone());
    }
    options.partition(partition).frame(write)
}
