//! The settings of one round trip, for both sides.

use std::error::Error;
use std::path::Path;
use std::sync::LazyLock;

use bytes::Bytes;
use oxiblosc::chunk::{ChunkContext, ChunkDecoder, ChunkEncoder, ChunkFormat, EncodeParams, SplitMode};
use oxiblosc::nd::{ArrayMeta, FrameSizes, Plan, Selection};
use oxiblosc::pipeline::FilterSlots;
use oxiblosc::source::{FileSource, RangeSource};
use oxiblosc::target::SparseTarget;
use oxiblosc::{CodecId, FilterId, Inline, Pool, ReadError, ReadOptions, Registry, WriteOptions, blocking};
use serde_json::{Value, json};

/// The five codecs that both sides write, with their names.
pub(crate) const CODECS: [(&str, CodecId); 5] = [
    ("blosclz", CodecId::BLOSCLZ),
    ("lz4", CodecId::LZ4),
    ("lz4hc", CodecId::LZ4HC),
    ("zlib", CodecId::ZLIB),
    ("zstd", CodecId::ZSTD),
];

/// The filter pipelines of the matrix.
pub(crate) const PIPELINES: [&[(FilterId, u8)]; 4] =
    [&[], &[(FilterId::SHUFFLE, 0)], &[(FilterId::BITSHUFFLE, 0)], &[(FilterId::DELTA, 0), (FilterId::SHUFFLE, 0)]];

/// The settings of one round trip.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) codec: CodecId,
    pub(crate) codec_meta: u8,
    pub(crate) level: u8,
    pub(crate) typesize: usize,
    pub(crate) filters: Vec<(FilterId, u8)>,
    /// `None` for automatic.
    pub(crate) block_size: Option<usize>,
    pub(crate) split: SplitMode,
    pub(crate) dict: bool,
    /// The other side is told otherwise.
    pub(crate) format: ChunkFormat,
}

impl Case {
    pub(crate) fn new(codec: CodecId, level: u8, typesize: usize, filters: &[(FilterId, u8)]) -> Self {
        let filters = filters.to_vec();
        let (split, format) = (SplitMode::default(), ChunkFormat::Blosc2);
        Self { codec, codec_meta: 0, level, typesize, filters, block_size: None, split, dict: false, format }
    }

    /// Whether delta is among the filters.
    pub(crate) fn has_delta(&self) -> bool {
        self.filters.iter().any(|(id, _)| *id == FilterId::DELTA)
    }

    /// For this side.
    pub(crate) fn params(&self) -> EncodeParams {
        EncodeParams {
            codec: self.codec,
            codec_meta: self.codec_meta,
            level: self.level,
            typesize: self.typesize,
            filters: FilterSlots::from_list(&self.filters).expect("at most six filters"),
            block_size: self.block_size,
            split: self.split,
            use_dict: self.dict,
            format: self.format,
            ..EncodeParams::default()
        }
    }

    /// For the other side.
    pub(crate) fn to_json(&self) -> Value {
        let split = match self.split {
            SplitMode::Always => "always",
            SplitMode::Never => "never",
            SplitMode::Auto => "auto",
            SplitMode::ForwardCompat => "forward",
        };
        json!({
            "codec": self.codec.0,
            "codec_meta": self.codec_meta,
            "level": self.level,
            "typesize": self.typesize,
            "filters": self.filters.iter().map(|(id, meta)| [id.0, *meta]).collect::<Vec<_>>(),
            "blocksize": self.block_size.unwrap_or(0),
            "split": split,
            "dict": self.dict,
        })
    }

    /// A chunk made by this side.
    #[track_caller]
    pub(crate) fn encode(&self, data: &[u8]) -> Vec<u8> {
        let mut encoder = ChunkEncoder::new(&self.params(), registry()).expect("the plugins are linked");
        match encoder.encode(data, &ChunkContext::default(), &Inline) {
            Ok(chunk) => chunk,
            Err(error) => panic!("{self:?}, {} bytes: {error}", data.len()),
        }
    }
}

/// A frame made by this side.
#[track_caller]
pub(crate) fn write_frame(case: &Case, chunk_size: usize, data: &[u8]) -> Vec<u8> {
    let options = WriteOptions::new(case.params()).chunk_size(chunk_size).pool(pool());
    let written = blocking::FrameWriter::in_memory(options).and_then(|mut writer| {
        writer.push(data.to_vec().into())?;
        writer.finish()?;
        Ok(writer.into_bytes())
    });
    match written {
        Ok(frame) => frame,
        Err(error) => panic!("{case:?}, {} bytes in chunks of {chunk_size}: {error}", data.len()),
    }
}

/// A frame made by this side, in a file or in a directory.
#[track_caller]
pub(crate) fn write_file(case: &Case, chunk_size: usize, data: &[u8], path: &Path, sparse: bool) {
    let options = || WriteOptions::new(case.params()).chunk_size(chunk_size).pool(pool());
    let written = if sparse {
        let target = SparseTarget::create(path).expect("room on the disk").inline();
        blocking::FrameWriter::with_target(target, options()).and_then(|mut writer| {
            writer.push(data.to_vec().into())?;
            writer.finish()
        })
    } else {
        blocking::FrameWriter::create(path, options()).and_then(|mut writer| {
            writer.push(data.to_vec().into())?;
            writer.finish()
        })
    };
    if let Err(error) = written {
        panic!("{case:?}, {} bytes in chunks of {chunk_size}: {error}", data.len());
    }
}

/// What this side makes of a frame.
pub(crate) fn read_frame(frame: &[u8]) -> Result<Vec<u8>, String> {
    read_chunks(frame.to_vec())
}

/// What this side makes of a frame in a file or in a directory.
pub(crate) fn read_file(path: &Path) -> Result<Vec<u8>, String> {
    read_chunks(FileSource::open_inline(path).map_err(|e| e.to_string())?)
}

fn read_chunks<S: RangeSource + 'static>(source: S) -> Result<Vec<u8>, String> {
    let options = ReadOptions::new().pool(pool());
    let read = || {
        let reader = blocking::FrameReader::with_options(source, options)?;
        let mut data = Vec::new();
        for chunk in reader.chunks() {
            data.extend_from_slice(&chunk?);
        }
        Ok::<_, ReadError>(data)
    };
    read().map_err(|e| e.to_string())
}

/// What this side makes of a frame that may hold an array: its items in C order.
pub(crate) fn read_array(frame: &[u8]) -> Result<Vec<u8>, String> {
    let read = || -> Result<Option<Vec<u8>>, Box<dyn Error>> {
        let options = ReadOptions::new().pool(pool());
        let reader = blocking::FrameReader::with_options(frame.to_vec(), options)?;
        let Some(meta) = ArrayMeta::find(reader.as_async().metalayers()) else { return Ok(None) };
        let tiling = meta?.tiling(&FrameSizes::of(reader.as_async().frame()))?;
        let plan = Plan::new(&tiling, &Selection::all())?;
        let mut array = vec![0; plan.buffer_bytes()?];
        for chunk in plan.chunks() {
            chunk.copy_out(&reader.chunk(chunk.number())?, &mut array)?;
        }
        Ok(Some(array))
    };
    match read() {
        Ok(Some(array)) => Ok(array),
        Ok(None) => read_frame(frame),
        Err(error) => Err(error.to_string()),
    }
}

/// The encoded chunks of a frame.
pub(crate) fn chunks_of(frame: &[u8]) -> Vec<Bytes> {
    let options = ReadOptions::new().pool(pool());
    let reader = blocking::FrameReader::with_options(frame.to_vec(), options).expect("a frame made here");
    let nchunks = reader.as_async().nchunks();
    (0..nchunks).map(|i| reader.encoded_chunk(i).expect("a frame made here")).collect()
}

fn pool() -> &'static Pool {
    static POOL: LazyLock<Pool> = LazyLock::new(Pool::per_processor);
    &POOL
}

/// What this side makes of a chunk.
pub(crate) fn decode(chunk: &[u8]) -> Result<Vec<u8>, String> {
    ChunkDecoder::new(registry()).decode(chunk, &ChunkContext::default(), &Inline).map_err(|e| e.to_string())
}

pub(crate) fn registry() -> &'static Registry {
    Registry::linked().expect("the plugins are linked")
}
