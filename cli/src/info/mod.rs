//! `oxiblosc info`.

use std::fmt::{self, Write as _};
use std::io::{self, Write};
use std::sync::Arc;

use futures::executor::block_on;
use oxiblosc::core::chunk::{ChunkError, ChunkHeader};
use oxiblosc::core::frame::{Fingerprint, FrameType, Layout, MetaValue};
use oxiblosc::core::nd::ArrayMeta;
use oxiblosc::core::pipeline::FilterSlots;
use oxiblosc::core::{CodecId, Registry};
use oxiblosc::streaming::source::RangeSource;
use oxiblosc::streaming::{FrameReader, Pool, ReadError, ReadOptions};
use serde_json::{Map, Value, json};

use crate::args::InfoArgs;
use crate::detect::Kind;
use crate::error::CliError;
use crate::input::Input;
use crate::units::{ratio, show_bytes};

pub(crate) fn run(args: &InfoArgs, registry: &Registry) -> Result<(), CliError> {
    let input = Input::open(&args.input)?;
    let info = match input.kind {
        Kind::Frame => {
            // Nothing is decoded but the index and the metalayers; that needs no threads.
            let options = ReadOptions::new().pool(&Pool::inline()).registry(registry);
            let info = block_on(async { of_frame(&options.open(input.source.clone()).await?, registry).await });
            info.map_err(|e| input.failed(e))?
        }
        Kind::Chunk => of_chunk(&input.read_all()?, registry).map_err(|e| input.failed(e))?,
    };
    let mut out = io::stdout().lock();
    if args.json { writeln!(out, "{:#}", info.to_json()) } else { write!(out, "{info}") }
        .and_then(|()| out.flush())
        .map_err(CliError::stdout)
}

/// What there is to say about a frame or a chunk. What does not apply is `None`.
struct Info {
    kind: &'static str,
    version: u8,
    nbytes: u64,
    cbytes: u64,
    typesize: u64,
    chunksize: Option<u64>,
    blocksize: Option<u64>,
    nchunks: u64,
    codec: Named,
    level: Option<u8>,
    filters: Vec<Named>,
    meta: Map<String, Value>,
    vlmeta: Map<String, Value>,
    fingerprint: Option<Value>,
    sealed: bool,
    /// Shapes and dtype of an n-dimensional array.
    array: Option<ArrayMeta>,
}

/// A filter or codec with its byte of metadata.
struct Named {
    id: u8,
    /// `None` when there is no provider for the id.
    name: Option<&'static str>,
    meta: u8,
}

async fn of_frame(reader: &FrameReader<Arc<dyn RangeSource>>, registry: &Registry) -> Result<Info, ReadError> {
    let header = reader.header();
    // The settings in the header of a frame are those for chunks to come. What a first chunk says about itself is
    // nearer to the truth where the header has nothing to say.
    let first = match reader.nchunks() {
        0 => None,
        _ => {
            let chunk = reader.encoded_chunk(0).await?;
            let header = ChunkHeader::parse(&chunk);
            Some(header.map_err(|source| ReadError::Decode { chunk: 0, offset: None, source })?)
        }
    };
    let mut vlmeta = Map::new();
    for name in reader.vlmetalayer_names() {
        let content = reader.vlmetalayer(&name).await?.unwrap_or_default();
        vlmeta.insert(name, json_of(&content));
    }
    let (slots, blocksize) = match &first {
        Some(chunk) if header.layout == Layout::Early => (&chunk.filters, Some(chunk.blocksize as u64)),
        Some(chunk) if header.block_size == 0 => (&header.filters, Some(chunk.blocksize as u64)),
        _ => (&header.filters, Some(u64::from(header.block_size)).filter(|&size| size > 0)),
    };
    // A metalayer that cannot be read still shows among the others.
    let array = ArrayMeta::find(reader.metalayers()).and_then(Result::ok);
    Ok(Info {
        kind: match (header.layout, header.frame_type) {
            _ if array.is_some() => "b2nd",
            (Layout::Early | Layout::Beta, _) => "early-frame",
            (_, FrameType::Sparse) => "sparse-frame",
            (_, FrameType::Contiguous) => "frame",
        },
        version: header.version,
        nbytes: header.nbytes,
        cbytes: header.cbytes,
        typesize: header.typesize.into(),
        chunksize: header.chunk_size.fixed().map(|size| size as u64),
        blocksize,
        nchunks: reader.nchunks(),
        codec: Named::codec(header.codec, header.codec_meta, registry),
        level: Some(header.level),
        filters: Named::filters(slots, registry),
        meta: reader.metalayers().iter().map(|(name, content)| (name.into_owned(), json_of(content))).collect(),
        vlmeta,
        fingerprint: fingerprint(reader.frame().fingerprint()),
        sealed: true,
        array,
    })
}

fn of_chunk(chunk: &[u8], registry: &Registry) -> Result<Info, ChunkError> {
    let header = ChunkHeader::parse(chunk)?;
    let codec = if header.is_extended() { CodecId(header.udcodec) } else { header.codec()? };
    Ok(Info {
        kind: if header.is_extended() { "chunk" } else { "blosc1-chunk" },
        version: header.version,
        nbytes: header.nbytes as u64,
        cbytes: header.cbytes as u64,
        typesize: header.typesize.into(),
        chunksize: Some(header.nbytes as u64),
        blocksize: (!header.has_vl_blocks()).then_some(header.blocksize as u64),
        nchunks: 1,
        codec: Named::codec(codec, header.codec_meta, registry),
        level: None,
        filters: Named::filters(&header.filters, registry),
        meta: Map::new(),
        vlmeta: Map::new(),
        fingerprint: None,
        sealed: true,
        array: None,
    })
}

/// Contiguous frame format document, trailer: types 1, 2 and 3 are digests of 32, 64 and 128 bits, type 0 is none.
fn fingerprint(fingerprint: Fingerprint) -> Option<Value> {
    let len = match fingerprint.kind {
        0 => return None,
        1 => 4,
        2 => 8,
        _ => 16,
    };
    Some(json!({ "type": fingerprint.kind, "digest": hex(&fingerprint.digest[..len]) }))
}

/// The content of a metalayer: msgpack by convention.
fn json_of(content: &[u8]) -> Value {
    let json = MetaValue::read(content).to_json();
    serde_json::from_str(&json).unwrap_or(Value::String(json))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Named {
    fn codec(id: CodecId, meta: u8, registry: &Registry) -> Self {
        Self { id: id.0, name: registry.codec(id).ok().map(|entry| entry.info().name), meta }
    }

    fn filters(slots: &FilterSlots, registry: &Registry) -> Vec<Self> {
        let name = |id| registry.filter(id).ok().map(|entry| entry.info().name);
        slots.active().map(|(_, slot)| Self { id: slot.id.0, name: name(slot.id), meta: slot.meta }).collect()
    }

    fn to_json(&self) -> Value {
        json!({ "id": self.id, "name": self.name, "meta": self.meta })
    }
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name {
            Some(name) => f.write_str(name)?,
            None => write!(f, "{} (no provider)", self.id)?,
        }
        if self.meta == 0 { Ok(()) } else { write!(f, "={}", self.meta) }
    }
}

impl Info {
    fn ratio(&self) -> Option<f64> {
        ratio(self.nbytes, self.cbytes)
    }

    fn to_json(&self) -> Value {
        json!({
            "kind": self.kind,
            "version": self.version,
            "nbytes": self.nbytes,
            "cbytes": self.cbytes,
            "ratio": self.ratio(),
            "typesize": self.typesize,
            "chunksize": self.chunksize,
            "blocksize": self.blocksize,
            "nchunks": self.nchunks,
            "codec": self.codec.to_json(),
            "level": self.level,
            "filters": self.filters.iter().map(Named::to_json).collect::<Vec<_>>(),
            "meta": self.meta,
            "vlmeta": self.vlmeta,
            "fingerprint": self.fingerprint,
            "sealed": self.sealed,
            "shape": self.array.as_ref().map(|array| &array.geometry.shape),
            "chunkshape": self.array.as_ref().map(|array| &array.geometry.chunk_shape),
            "blockshape": self.array.as_ref().map(|array| &array.geometry.block_shape),
            "dtype": self.array.as_ref().and_then(|array| array.dtype.as_ref()),
        })
    }
}

impl fmt::Display for Info {
    /// One line for each fact, for people.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = |key: &str, value: String| writeln!(f, "{key:<12} {value}");
        let size = |bytes: u64| match show_bytes(bytes) {
            short if bytes < 1024 => short,
            short => format!("{bytes} bytes ({short})"),
        };
        line("kind", format!("{}, version {}", self.kind, self.version))?;
        if let Some(ArrayMeta { geometry, dtype, .. }) = &self.array {
            line("shape", format!("{:?}", geometry.shape))?;
            line("chunkshape", format!("{:?}", geometry.chunk_shape))?;
            line("blockshape", format!("{:?}", geometry.block_shape))?;
            line("dtype", dtype.clone().unwrap_or_else(|| "not recorded".into()))?;
        }
        line("nbytes", size(self.nbytes))?;
        line("cbytes", size(self.cbytes))?;
        if let Some(ratio) = self.ratio() {
            line("ratio", format!("{ratio:.2}"))?;
        }
        line("typesize", self.typesize.to_string())?;
        line("chunksize", self.chunksize.map_or_else(|| "variable".into(), size))?;
        if let Some(blocksize) = self.blocksize {
            line("blocksize", size(blocksize))?;
        }
        line("nchunks", self.nchunks.to_string())?;
        line("codec", self.codec.to_string())?;
        if let Some(level) = self.level {
            line("level", level.to_string())?;
        }
        let mut filters = String::new();
        for (i, filter) in self.filters.iter().enumerate() {
            write!(filters, "{}{filter}", if i == 0 { "" } else { ", " })?;
        }
        line("filters", if filters.is_empty() { "none".into() } else { filters })?;
        for (key, layers) in [("meta", &self.meta), ("vlmeta", &self.vlmeta)] {
            for (name, content) in layers {
                line(key, format!("{name}: {content}"))?;
            }
        }
        if let Some(fingerprint) = &self.fingerprint {
            line("fingerprint", fingerprint.to_string())?;
        }
        Ok(())
    }
}
