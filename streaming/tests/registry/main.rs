//! Filters and codecs that are in a registry and nowhere else.

#[path = "../common/mod.rs"]
mod common;
mod entry_points;
mod errors;
mod missing;
mod vlmetalayers;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use oxiblosc_core::chunk::EncodeParams;
use oxiblosc_core::codec::{Codec, CodecContext, CodecError, CodecTraits};
use oxiblosc_core::filter::{BlockContext, Filter, FilterError, FilterTraits};
use oxiblosc_core::pipeline::FilterSlots;
use oxiblosc_core::registry::{CodecInfo, FilterInfo};
use oxiblosc_core::{CodecId, FilterId, Registry, provider};
use oxiblosc_streaming::{WriteOptions, blocking};

const SHIFT: FilterId = FilterId(220);
const RUNS: CodecId = CodecId(221);
const CHUNK: usize = 1000;

/// Adds one to every byte. Fails on the chunk whose number is `fails_on`: chunks begin with theirs.
#[derive(Clone)]
struct Shift {
    fails_on: Arc<AtomicU64>,
}

impl Shift {
    fn check(&self, ctx: &BlockContext<'_>, first: u8) -> Result<(), FilterError> {
        match ctx.block == 0 && u64::from(first) == self.fails_on.load(Ordering::SeqCst) {
            true => Err(FilterError::Other("it refuses".into())),
            false => Ok(()),
        }
    }
}

impl Filter for Shift {
    fn forward(&mut self, ctx: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
        self.check(ctx, src[0])?;
        dst.iter_mut().zip(src).for_each(|(d, s)| *d = s.wrapping_add(1));
        Ok(())
    }

    fn backward(&mut self, ctx: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
        self.check(ctx, src[0].wrapping_sub(1))?;
        dst.iter_mut().zip(src).for_each(|(d, s)| *d = s.wrapping_sub(1));
        Ok(())
    }
}

/// Pairs of a count and a byte.
#[derive(Clone)]
struct Runs;

impl Codec for Runs {
    fn compress(&mut self, _: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<Option<usize>, CodecError> {
        let mut len = 0;
        for run in src.chunk_by(|a, b| a == b).flat_map(|run| run.chunks(255)) {
            let Some(pair) = dst.get_mut(len..len + 2) else { return Ok(None) };
            pair.copy_from_slice(&[run.len() as u8, run[0]]);
            len += 2;
        }
        Ok(Some(len))
    }

    fn decompress(&mut self, _: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<usize, CodecError> {
        let mut at = 0;
        for pair in src.chunks(2) {
            let &[count, byte] = pair else { return Err(CodecError::Corrupt { offset: at, reason: "half a pair" }) };
            let Some(run) = dst.get_mut(at..at + usize::from(count)) else {
                return Err(CodecError::Corrupt { offset: at, reason: "a run is too long" });
            };
            run.fill(byte);
            at += usize::from(count);
        }
        Ok(at)
    }
}

/// Everything that is linked, and the two plugins, the filter failing on the chunk with the number in the second value.
fn registry_that_fails() -> (Registry, Arc<AtomicU64>) {
    let fails_on = Arc::new(AtomicU64::new(u64::MAX));
    let mut registry = Registry::linked().unwrap().clone();
    let filter = FilterInfo::new(SHIFT, "shift", FilterTraits::LOSSLESS, provider!());
    registry.add_filter(filter, Box::new(Shift { fails_on: Arc::clone(&fails_on) })).unwrap();
    registry.add_codec(CodecInfo::new(RUNS, "runs", CodecTraits::PLAIN, provider!()), Box::new(Runs)).unwrap();
    (registry, fails_on)
}

fn registry() -> Registry {
    registry_that_fails().0
}

fn params() -> EncodeParams {
    EncodeParams { codec: RUNS, filters: FilterSlots::single(SHIFT), ..EncodeParams::default() }
}

fn options(registry: &Registry) -> WriteOptions {
    WriteOptions::new(params()).chunk_size(CHUNK).registry(registry)
}

/// So many whole chunks. Each begins with its number, and none is stored, which would not take the plugins.
fn content(chunks: usize) -> Vec<u8> {
    let mut content: Vec<u8> = (0..chunks * CHUNK).map(|i| 100 + (i / 50 % 100) as u8).collect();
    content.chunks_mut(CHUNK).zip(0..).for_each(|(chunk, number)| chunk[0] = number);
    content
}

/// A frame that takes both plugins.
fn frame(chunks: usize, options: WriteOptions) -> Vec<u8> {
    let mut writer = blocking::FrameWriter::in_memory(options).unwrap();
    writer.push(Bytes::from(content(chunks))).unwrap();
    writer.finish().unwrap();
    writer.into_bytes()
}

/// Damages the first byte of the compressed block of chunk `i`, so that the codec finds it.
fn damage(frame: &mut [u8], i: u64, registry: &Registry) {
    let options = oxiblosc_streaming::ReadOptions::new().registry(registry);
    let reader = blocking::FrameReader::with_options(frame.to_vec(), options).unwrap();
    let span = reader.frame().span(i).unwrap().unwrap();
    // The header, the start of the block, the length of its stream.
    let at = span.start as usize + 32 + 4 + 4;
    assert_eq!((frame[at], frame[at + 1]), (1, i as u8 + 1), "the run that is the number of the chunk");
    frame[at] = 77;
}
