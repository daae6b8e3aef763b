//! Round trips through frames, arrays and slices of them, on a pool.

use std::io::Write;

use bytes::Bytes;
use oxiblosc_core::chunk::{EncodeParams, SplitMode};
use oxiblosc_core::codec::{Codec, CodecContext, CodecError, CodecTraits};
use oxiblosc_core::nd::{Geometry, Selection};
use oxiblosc_core::pipeline::{FilterSlot, FilterSlots};
use oxiblosc_core::plugin_params::{Params, PluginParams};
use oxiblosc_core::registry::{CodecEntry, CodecInfo, FilterEntry, Registry};
use oxiblosc_core::{Chain, CodecId, provider};
use oxiblosc_streaming::blocking::{FrameReader, FrameWriter, NdArray, NdWriter};
use oxiblosc_streaming::nd::ArrayOptions;
use oxiblosc_streaming::{Pool, ReadOptions, WriteOptions};

use super::input::Kind;
use super::peer;
use super::promise::{Broken, Promise};
use super::session::Session;

/// One frame.
struct Frame {
    params: EncodeParams,
    data: Vec<u8>,
    /// The array that it holds.
    array: Option<Geometry>,
    lossy: bool,
}

const BYTES: usize = 300_000;
const CHUNK: usize = 64 << 10;
const BLOCK: usize = 12_000;
/// Frames with parameters.
const PARAMS: usize = 4;

/// Frames whose streams the codec makes.
pub(super) fn codec(session: &Session, entry: &CodecEntry, registry: &Registry, taken: &[Params]) {
    let traits = entry.info().traits;
    let mut frames = Vec::new();
    for (i, (geometry, typesize, meta)) in shapes(session).into_iter().enumerate() {
        let params = EncodeParams { codec: entry.info().id, codec_meta: meta, typesize, ..params() };
        if geometry.is_none() && traits.dict && i == 0 {
            frames.push(frame(session, EncodeParams { use_dict: true, ..params.clone() }, None, traits.lossy));
        }
        if geometry.is_none() {
            let split = SplitMode::Always;
            frames.push(frame(session, EncodeParams { split, ..params.clone() }, None, traits.lossy));
        }
        if i == 0 {
            // Readers are not told the parameters: the frame tells them.
            for taken in taken.iter().take(PARAMS) {
                let plugin_params = PluginParams::default().codec(entry.info().id, taken.clone());
                let params = EncodeParams { plugin_params, ..params.clone() };
                frames.push(frame(session, params, geometry.clone(), traits.lossy));
            }
        }
        frames.push(frame(session, params, geometry, traits.lossy));
    }
    run(session, registry, &frames);
    if let Some(python) = &session.settings.python {
        peer::compare(session, python, registry, entry.info().id.0, frames.iter().map(Frame::for_peer));
    }
}

/// Frames whose blocks the filter filters.
pub(super) fn filter(session: &Session, entry: &FilterEntry, registry: &Registry, taken: &[Params]) {
    let mut registry = registry.clone();
    let codec = codec_for_filters(&mut registry);
    let mut frames = Vec::new();
    for (i, (geometry, typesize, meta)) in shapes(session).into_iter().enumerate() {
        let mut filters = FilterSlots::single(entry.info().id);
        filters.0[5] = FilterSlot { id: entry.info().id, meta };
        let params = EncodeParams { codec, filters, typesize, ..params() };
        if i == 0 {
            for taken in taken.iter().take(PARAMS) {
                let plugin_params = PluginParams::default().filter(5, entry.info().id, taken.clone());
                let params = EncodeParams { plugin_params, ..params.clone() };
                frames.push(frame(session, params, geometry.clone(), entry.info().traits.lossy));
            }
        }
        frames.push(frame(session, params, geometry, entry.info().traits.lossy));
    }
    run(session, &registry, &frames);
    if let Some(python) = &session.settings.python {
        peer::compare(session, python, &registry, entry.info().id.0, frames.iter().map(Frame::for_peer));
    }
}

fn params() -> EncodeParams {
    let block_size = Some(BLOCK);
    EncodeParams { filters: FilterSlots::NONE, split: SplitMode::Never, block_size, ..EncodeParams::default() }
}

/// Geometries, type sizes and meta bytes.
fn shapes(session: &Session) -> Vec<(Option<Geometry>, usize, u8)> {
    let settings = &session.settings;
    let mut shapes = Vec::new();
    for &meta in &settings.metas {
        for (geometry, typesize) in &settings.geometries {
            shapes.push((Some(Geometry::clone(geometry)), *typesize, meta));
        }
        if settings.geometries.is_empty() {
            let mut typesizes = session.main_typesizes();
            if !session.wide_items().is_empty() {
                typesizes.push(300);
            }
            for (i, typesize) in typesizes.into_iter().enumerate() {
                shapes.push((None, typesize, meta));
                if i < 4 || typesize == 300 {
                    let array = Geometry { shape: vec![90, 70], chunk_shape: vec![40, 33], block_shape: vec![17, 11] };
                    shapes.push((Some(array), typesize, meta));
                }
            }
        }
    }
    shapes
}

fn frame(session: &Session, params: EncodeParams, array: Option<Geometry>, lossy: bool) -> Frame {
    let items = array.as_ref().and_then(Geometry::items).map_or(BYTES / params.typesize, |items| items as usize);
    let kind = if lossy { Kind::Floats } else { Kind::Mixed };
    // What is left over after the last item of a chunk is for frames alone.
    let odd = if array.is_some() || lossy { 0 } else { 3 };
    let data = kind.fill(items * params.typesize + odd, params.typesize, session.settings.seed);
    Frame { params, data, array, lossy }
}

fn run(session: &Session, registry: &Registry, frames: &[Frame]) {
    let pool = Pool::new(3);
    for frame in frames {
        let what = frame.to_string();
        session.watch.says(Promise::Frames, format!("  with: {what}"));
        // The pool works, and this thread waits: only the clock tells.
        session.watch.expect_bytes(frame.data.len() * 8);
        let result = session.watch.call(|| frame.round_trip(registry, &pool));
        let result = result.unwrap_or_else(|panic| Err(format!("panicked: {panic}")));
        let verdict = result.map_err(|why| Broken::new(Promise::Frames, format!("{why}\n  with: {what}")));
        session.verdict(Promise::Frames, verdict);
    }
}

impl Frame {
    fn round_trip(&self, registry: &Registry, pool: &Pool) -> Result<(), String> {
        let encoded = self.encode(registry, pool)?;
        if encoded != self.encode(registry, &Pool::inline())? {
            return Err("the frame depends on the number of threads that wrote it".into());
        }
        let options = ReadOptions::new().registry(registry).pool(pool);
        let reader = FrameReader::with_options(Bytes::from(encoded), options).map_err(|e| Chain(&e).to_string())?;
        if self.array.is_some() { self.slices_of_array(&reader) } else { self.slices(&reader) }
    }

    pub(super) fn encode(&self, registry: &Registry, pool: &Pool) -> Result<Vec<u8>, String> {
        let options = WriteOptions::new(self.params.clone()).registry(registry).pool(pool);
        match &self.array {
            None => {
                let chunk = CHUNK / self.params.typesize * self.params.typesize;
                let writer = FrameWriter::in_memory(options.chunk_size(chunk)).map_err(|e| Chain(&e).to_string())?;
                let mut writer = writer;
                writer.write_all(&self.data).map_err(|e| Chain(&e).to_string())?;
                writer.finish().map_err(|e| Chain(&e).to_string())?;
                Ok(writer.into_bytes())
            }
            Some(geometry) => {
                let options = ArrayOptions::new(geometry.shape.clone(), self.dtype())
                    .chunks(geometry.chunk_shape.clone())
                    .blocks(geometry.block_shape.clone())
                    .frame(options);
                let mut writer = NdWriter::in_memory(options).map_err(|e| Chain(&e).to_string())?;
                writer.write_all(&self.data).map_err(|e| Chain(&e).to_string())?;
                writer.finish().map_err(|e| Chain(&e).to_string())?;
                Ok(writer.into_bytes())
            }
        }
    }

    fn slices(&self, reader: &FrameReader<Bytes>) -> Result<(), String> {
        let read = |range: std::ops::Range<usize>| {
            reader.bytes(range.start as u64..range.end as u64).map_err(|e| Chain(&e).to_string())
        };
        let len = self.data.len();
        let whole = read(0..len)?;
        compare("the frame", &self.expected(&whole), &whole)?;
        for range in [0..1, 1..20, BLOCK - 5..BLOCK + 5, CHUNK - 300..CHUNK + 13_001, len / 2..len, len - 1..len] {
            let part = read(range.clone())?;
            compare(&format!("bytes {range:?}"), &whole[range], &part)?;
        }
        Ok(())
    }

    fn slices_of_array(&self, reader: &FrameReader<Bytes>) -> Result<(), String> {
        let array = NdArray::from_frame(reader).map_err(|e| Chain(&e).to_string())?;
        let read = |selection: &Selection| {
            Ok::<_, String>(array.read(selection).map_err(|e| Chain(&e).to_string())?.into_bytes())
        };
        let whole = read(&Selection::all())?;
        compare("the array", &self.expected(&whole), &whole)?;
        let size = array.item_size();
        let (shape, rows) = (array.shape(), array.shape()[0] as usize);
        let row = self.data.len() / rows.max(1);
        for from in [0, rows / 3, rows - 1] {
            let to = rows.min(from + 3);
            let selection: Selection = format!("{from}:{to}").parse().map_err(|_| "a slice".to_owned())?;
            compare(&format!("rows {from}..{to}"), &whole[from * row..to * row], &read(&selection)?)?;
            let index: Vec<i64> =
                std::iter::once(from as i64).chain(shape[1..].iter().map(|&n| n as i64 - 1)).collect();
            let item = array.item(&index).map_err(|e| Chain(&e).to_string())?;
            compare(&format!("item {index:?}"), &whole[(from + 1) * row - size..(from + 1) * row], &item)?;
        }
        Ok(())
    }

    /// What the whole has to be: of a lossy plugin, what it is.
    fn expected(&self, whole: &[u8]) -> Vec<u8> {
        if self.lossy && whole.len() == self.data.len() { whole.to_vec() } else { self.data.clone() }
    }

    fn dtype(&self) -> String {
        match self.params.typesize {
            1 => "|u1".into(),
            2 => "<i2".into(),
            n @ (4 | 8) => format!("<f{n}"),
            n => format!("|S{n}"),
        }
    }

    fn for_peer(&self) -> peer::Exchange<'_> {
        let Self { params, data, array, lossy } = self;
        peer::Exchange {
            params,
            data,
            array: array.as_ref(),
            lossy: *lossy,
            dtype: self.dtype(),
            encode: Box::new(|registry| self.encode(registry, &Pool::inline())),
        }
    }
}

impl std::fmt::Display for Frame {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let EncodeParams { codec, codec_meta, typesize, filters, split, use_dict, plugin_params, .. } = &self.params;
        write!(
            f,
            "codec {} with meta {codec_meta}, filters {filters}, type size {typesize}, split {split:?}",
            codec.0
        )?;
        if *use_dict {
            f.write_str(", with a dictionary")?;
        }
        if !plugin_params.is_empty() {
            let of_filter = plugin_params.of_filter(5, filters.0[5].id);
            let params = plugin_params.of_codec(*codec).or(of_filter).map(ToString::to_string);
            write!(f, ", parameters {:?}", params.unwrap_or_default())?;
        }
        if let Some(geometry) = &self.array {
            write!(
                f,
                ", an array {:?}, chunks {:?}, blocks {:?}",
                geometry.shape, geometry.chunk_shape, geometry.block_shape
            )?;
        }
        Ok(())
    }
}

fn compare(what: &str, expected: &[u8], found: &[u8]) -> Result<(), String> {
    super::promise::same(Promise::Frames, expected, found, what).map_err(|broken| broken.detail)
}

/// A codec of the registry for frames whose filter is what matters, or one that is added to it.
fn codec_for_filters(registry: &mut Registry) -> CodecId {
    let usable = |id: CodecId| registry.codec(id).is_ok_and(|entry| entry.info().traits.encode);
    if usable(CodecId::BLOSCLZ) {
        return CodecId::BLOSCLZ;
    }
    for id in (160..=255).rev() {
        let info = CodecInfo::new(CodecId(id), "conformance-runs", CodecTraits::PLAIN, provider!());
        if registry.add_codec(info, Box::new(Runs)).is_ok() {
            return CodecId(id);
        }
    }
    CodecId::BLOSCLZ
}

/// Pairs of a count and a byte.
#[derive(Clone)]
struct Runs;

impl Codec for Runs {
    fn compress(&mut self, _: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<Option<usize>, CodecError> {
        let mut at = 0;
        for run in src.chunk_by(|a, b| a == b).flat_map(|run| run.chunks(255)) {
            let Some(pair) = dst.get_mut(at..at + 2) else { return Ok(None) };
            pair.copy_from_slice(&[run.len() as u8, run[0]]);
            at += 2;
        }
        Ok(Some(at))
    }

    fn decompress(&mut self, _: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<usize, CodecError> {
        let mut at = 0;
        for pair in src.chunks(2) {
            let &[count, byte] = pair else {
                return Err(CodecError::Corrupt { offset: src.len(), reason: "a count without a byte" });
            };
            let Some(run) = dst.get_mut(at..at + usize::from(count)) else {
                return Err(CodecError::Length { expected: dst.len(), found: at + usize::from(count) });
            };
            run.fill(byte);
            at += usize::from(count);
        }
        Ok(at)
    }
}
