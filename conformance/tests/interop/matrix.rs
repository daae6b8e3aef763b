//! Real arrays through every codec, pipeline and kind of level, both ways.

use std::fmt;
use std::ops::AddAssign;

use bytes::Bytes;
use serde_json::json;

use crate::arrays::{self, Array};
use crate::case::{CODECS, Case, PIPELINES, chunks_of, decode, read_frame, write_frame};
use crate::worker::Worker;

const LEVELS: [u8; 4] = [0, 1, 5, 9];

#[test]
fn blosclz() {
    every_setting("blosclz", 0.02);
}

#[test]
fn lz4() {
    every_setting("lz4", 0.02);
}

#[test]
fn lz4hc() {
    every_setting("lz4hc", 0.01);
}

#[test]
fn zlib() {
    every_setting("zlib", 0.02);
}

#[test]
fn zstd() {
    every_setting("zstd", 0.02);
}

/// All arrays, pipelines and levels for one codec. Our chunks may be larger than C-Blosc2's by the part `tolerance`, in
/// the sum for every array.
fn every_setting(codec_name: &str, tolerance: f64) {
    let Some(mut worker) = Worker::start() else { return };
    let (_, codec) = CODECS.into_iter().find(|(name, _)| *name == codec_name).expect("one of the five");
    let mut all = Sizes::default();
    for name in arrays::NAMES {
        let array = arrays::load(name);
        let mut sum = Sizes::default();
        for pipeline in PIPELINES {
            for level in LEVELS {
                let case = Case::new(codec, level, array.typesize, pipeline);
                let sizes = both_ways(&array, &case, &mut worker);
                if level == 0 {
                    assert_eq!(sizes.ours, sizes.theirs, "{name} {case:?}: what is stored has one size");
                } else {
                    sum += sizes;
                }
            }
        }
        println!("{codec_name:7} {name:9} {sum}");
        assert!(sum.excess() <= tolerance, "{codec_name} {name}: {sum}, more than {:.0} %", tolerance * 100.0);
        all += sum;
    }
    println!("{codec_name:7} {:9} {all}", "all");
}

/// Bytes of chunks made here and by C-Blosc2.
#[derive(Debug, Default, Clone, Copy)]
struct Sizes {
    ours: usize,
    theirs: usize,
}

impl Sizes {
    fn excess(self) -> f64 {
        self.ours as f64 / self.theirs as f64 - 1.0
    }
}

impl AddAssign for Sizes {
    fn add_assign(&mut self, other: Self) {
        self.ours += other.ours;
        self.theirs += other.theirs;
    }
}

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { ours, theirs } = self;
        write!(f, "{ours:>9} bytes, C-Blosc2 {theirs:>9}: {:+.2} %", self.excess() * 100.0)
    }
}

/// Round trips in both directions.
fn both_ways(array: &Array, case: &Case, worker: &mut Worker) -> Sizes {
    // Three chunks, the last one short.
    let chunk_size = array.bytes.len() / 5 * 2 / array.typesize * array.typesize;

    let frame = write_frame(case, chunk_size, &array.bytes);
    let back = worker.call("frames.read", json!({}), &[&frame]).into_blob();
    assert!(back == array.bytes, "{} ours to python, frame: {case:?}", array.name);
    let ours = chunks_of(&frame);
    let chunks: Vec<_> = ours.iter().map(|chunk| &chunk[..]).collect();
    let back = worker.call("chunks.decompress_each", json!({}), &chunks).blobs.concat();
    assert!(back == array.bytes, "{} ours to python, chunks: {case:?}", array.name);

    let mut settings = case.to_json();
    settings["chunksize"] = chunk_size.into();
    let written = worker.call("frames.write", json!({ "case": settings }), &[&array.bytes]);
    assert_eq!(written.value["reads_back"], true, "{} {case:?}", array.name);
    let [frame, theirs @ ..] = written.blobs.as_slice() else { panic!("a frame and its chunks") };
    let back = read_frame(frame).unwrap_or_else(|e| panic!("{} python to ours, frame: {case:?}: {e}", array.name));
    assert!(back == array.bytes, "{} python to ours, frame: {case:?}", array.name);
    let back: Result<Vec<_>, _> = theirs.iter().map(|chunk| decode(chunk)).collect();
    let back = back.unwrap_or_else(|e| panic!("{} python to ours, chunks: {case:?}: {e}", array.name));
    assert!(back.concat() == array.bytes, "{} python to ours, chunks: {case:?}", array.name);

    Sizes { ours: ours.iter().map(Bytes::len).sum(), theirs: theirs.iter().map(Vec::len).sum() }
}
