//! Codecs that know the shape of a block, both ways: ndlz and zfp.

use oxiblosc::blocking::{NdArray, NdWriter};
use oxiblosc::chunk::{BlockMap, MapProgress, SplitMode};
use oxiblosc::nd::{ArrayOptions, Selection};
use oxiblosc::{CodecId, WriteOptions};

use crate::case::{Case, chunks_of};
use crate::worker::Worker;

/// Shapes of an array, its chunks and its blocks. Few are multiples of each other, so that chunks and blocks are padded
/// and cells cut off.
type Shapes = (&'static [u64], &'static [u32], &'static [u32]);

const PLANES: [Shapes; 8] = [
    (&[1, 1], &[1, 1], &[1, 1]),
    (&[3, 50], &[3, 50], &[3, 50]),
    (&[40, 40], &[40, 40], &[40, 40]),
    (&[100, 77], &[60, 40], &[31, 17]),
    (&[65, 130], &[33, 129], &[16, 64]),
    (&[7, 400], &[7, 133], &[5, 70]),
    (&[300, 9], &[128, 9], &[65, 3]),
    (&[257, 255], &[200, 200], &[64, 100]),
];

const FIELDS: [Shapes; 10] = [
    (&[4], &[4], &[4]),
    (&[1003], &[400], &[50]),
    (&[5000], &[4999], &[777]),
    (&[64, 64], &[32, 32], &[16, 16]),
    (&[101, 55], &[60, 41], &[13, 7]),
    (&[33, 4], &[32, 4], &[5, 4]),
    (&[20, 31, 17], &[11, 16, 17], &[5, 4, 9]),
    (&[8, 8, 64], &[8, 8, 64], &[8, 8, 64]),
    (&[9, 10, 11, 12], &[8, 7, 6, 12], &[4, 5, 4, 6]),
    (&[4, 4, 4, 30], &[4, 4, 4, 29], &[4, 4, 4, 4]),
];

#[test]
fn ndlz() {
    let Some(mut worker) = Worker::start() else { return };
    for (number, shapes) in PLANES.into_iter().enumerate() {
        for (dtype, typesize) in [("|u1", 1), ("<i4", 4), ("<f8", 8)] {
            for meta in [4, 8] {
                let mut case = Case::new(CodecId::NDLZ, 5, typesize, &[]);
                (case.codec_meta, case.split) = (meta, SplitMode::Always);
                for data in [picture(shapes.0, typesize), noise(shapes.0, typesize, number as u64)] {
                    let what = format!("{shapes:?} of {dtype}, cells of side {meta}");
                    let Outcome { back, ours, theirs } = both_ways(&mut worker, &case, dtype, shapes, &data, &what);
                    assert!(back == data, "{what}");
                    // Any choice of tokens is valid, but ours should not be a worse one.
                    let theirs = theirs.expect("C-Blosc2 writes it too");
                    assert!(ours * 100 <= theirs * 101, "{what}: {ours} > {theirs}");
                }
            }
        }
    }
}

#[test]
fn zfp_accuracy() {
    zfp(CodecId::ZFP_ACCURACY, &[3, 0, -1i8 as u8, -3i8 as u8, -9i8 as u8, -128i8 as u8]);
}

#[test]
fn zfp_precision() {
    zfp(CodecId::ZFP_PRECISION, &[1, 7, 20, 60, 255]);
}

#[test]
fn zfp_rate() {
    zfp(CodecId::ZFP_RATE, &[1, 13, 50, 99, 100]);
}

fn zfp(codec: CodecId, metas: &[u8]) {
    let Some(mut worker) = Worker::start() else { return };
    let mut compared = 0;
    for shapes in FIELDS {
        for (dtype, typesize) in [("<f4", 4), ("<f8", 8)] {
            for &meta in metas {
                let mut case = Case::new(codec, 5, typesize, &[]);
                case.codec_meta = meta;
                let what = format!("{codec} {shapes:?} of {dtype}, meta {meta}");
                let data = waves(shapes.0, typesize);
                let Outcome { ours, theirs, .. } = both_ways(&mut worker, &case, dtype, shapes, &data, &what);
                if let Some(theirs) = theirs {
                    assert_eq!(ours, theirs, "{what}: both write the same");
                    compared += 1;
                }
            }
        }
    }
    assert!(compared >= FIELDS.len() * metas.len(), "{compared} arrays written by both sides");
}

/// What a round trip gave.
struct Outcome {
    /// The items, as both sides read them.
    back: Vec<u8>,
    /// Bytes of the chunks made here.
    ours: u64,
    /// Bytes of the chunks made by C-Blosc2, if it can make them.
    theirs: Option<u64>,
}

/// Each side writes the array, and both read what each has written.
fn both_ways(worker: &mut Worker, case: &Case, dtype: &str, shapes: Shapes, data: &[u8], what: &str) -> Outcome {
    let (shape, chunks, blocks) = shapes;
    let frame = WriteOptions::new(case.params());
    let options = ArrayOptions::new(shape, dtype).chunks(chunks).blocks(blocks).frame(frame);
    let written = NdWriter::in_memory(options).and_then(|mut writer| {
        writer.push(data.to_vec().into())?;
        writer.finish()?;
        Ok(writer.into_bytes())
    });
    let frame = written.unwrap_or_else(|e| panic!("{what}: {e}"));
    let chunks_of_ours = chunks_of(&frame);
    let ours = chunks_of_ours.iter().map(|chunk| chunk.len() as u64).sum();
    let back = worker.call("nd_codecs.read", serde_json::json!({}), &[&frame]).into_blob();
    assert!(read(&frame, what) == back, "{what}: ours, read by both");

    // C-Blosc2's zfp writes past its buffer where a block does not get smaller.
    if case.codec != CodecId::NDLZ && chunks_of_ours.iter().any(|chunk| has_stored_block(chunk)) {
        return Outcome { back, ours, theirs: None };
    }
    let mut settings = case.to_json();
    settings["dtype"] = dtype.into();
    (settings["shape"], settings["chunks"], settings["blocks"]) = (shape.into(), chunks.into(), blocks.into());
    let answer = worker.call("nd_codecs.write", serde_json::json!({ "case": settings }), &[data]);
    let [frame, theirs_back] = answer.blobs.as_slice() else { panic!("a frame and its items") };
    assert!(read(frame, what) == *theirs_back, "{what}: theirs, read by both");
    assert!(back == *theirs_back, "{what}: ours and theirs");
    let sizes = answer.value.as_array().expect("one size per chunk");
    let theirs = sizes.iter().map(|size| size.as_u64().expect("a size")).sum();
    Outcome { back, ours, theirs: Some(theirs) }
}

/// Whether some block of a chunk is not compressed.
fn has_stored_block(chunk: &[u8]) -> bool {
    let map = match BlockMap::parse(&chunk[..32]).expect("a chunk made here") {
        MapProgress::Ready(map) => map,
        MapProgress::NeedPrefix(len) => match BlockMap::parse(&chunk[..len]).expect("a chunk made here") {
            MapProgress::Ready(map) => map,
            MapProgress::NeedPrefix(_) => panic!("a chunk without dictionary needs no more"),
        },
    };
    (0..map.block_count()).any(|block| map.span(block).len() >= map.block_bytes(block).map_or(0, |bytes| bytes.len()))
}

#[track_caller]
fn read(frame: &[u8], what: &str) -> Vec<u8> {
    let array = NdArray::from_bytes(frame.to_vec()).unwrap_or_else(|e| panic!("{what}: {e}"));
    array.read(&Selection::all()).unwrap_or_else(|e| panic!("{what}: {e}")).into_bytes().to_vec()
}

/// Every item of the array by its index along the axes.
fn items<const N: usize>(shape: &[u64], typesize: usize, item: impl Fn(&[u64]) -> [u8; N]) -> Vec<u8> {
    let count = shape.iter().product::<u64>();
    let index = |i: u64| {
        let mut rest = i;
        let mut index: Vec<u64> = shape
            .iter()
            .rev()
            .map(|&extent| {
                let along = rest % extent;
                rest /= extent;
                along
            })
            .collect();
        index.reverse();
        index
    };
    (0..count).flat_map(|i| item(&index(i))[..typesize].to_vec()).collect()
}

/// Smooth parts, flat parts, and parts where patterns come again.
fn picture(shape: &[u64], typesize: usize) -> Vec<u8> {
    items(shape, typesize, |index| {
        let (y, x) = (index[0], index[1]);
        let value = match (y / 24 + x / 24) % 4 {
            0 => 200,
            1 => (y % 8 * 8 + x % 8).wrapping_mul(0x9E37_79B9) >> 3,
            2 => (y % 5 * 8 + x % 4).wrapping_mul(0x85EB_CA6B) >> 5,
            _ => x / 3 + y / 5,
        };
        value.to_le_bytes()
    })
}

fn noise(shape: &[u64], typesize: usize, seed: u64) -> Vec<u8> {
    items(shape, typesize, |index| {
        let mix = |sum: u64, &i: &u64| (sum ^ i).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
        index.iter().fold(seed + 1, mix).to_le_bytes()
    })
}

/// Smooth values along every axis.
fn waves(shape: &[u64], typesize: usize) -> Vec<u8> {
    let value = |index: &[u64]| {
        let phase = |(axis, &i): (usize, &u64)| (i as f64 / (5.0 + axis as f64)).sin();
        index.iter().enumerate().map(phase).sum::<f64>() * 40.0
    };
    match typesize {
        4 => items(shape, 4, |index| (value(index) as f32).to_le_bytes()),
        _ => items(shape, 8, |index| value(index).to_le_bytes()),
    }
}
