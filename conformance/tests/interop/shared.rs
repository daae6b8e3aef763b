//! Frames and arrays that several writers have filled: their chunk files have numbers that no other writer gives.

use bytes::Bytes;
use oxiblosc::chunk::EncodeParams;
use oxiblosc::nd::ArrayOptions;
use oxiblosc::sparse::{Directory, MissingChunks, SharedWriter};
use oxiblosc::{WriteOptions, block_on};
use serde_json::json;

use crate::random::Random;
use crate::worker::Worker;

const CHUNK: usize = 10_000;

fn chunk(i: u64, round: u64) -> Bytes {
    (0..CHUNK / 4).flat_map(|item| (item as u32 * (i + 10 * round + 1) as u32).to_le_bytes()).collect()
}

/// Chunks written once, again, very often, and not at all; then the frame is written anew, over the old one.
#[test]
fn chunks_that_were_written_again() {
    let Some(mut worker) = Worker::start() else { return };
    let dir = tempfile::tempdir().expect("a temporary directory");
    for (seed, level) in [(1, 0), (2, 5), (3, 9)] {
        let path = dir.path().join(format!("{seed}.b2frame"));
        let params = EncodeParams { typesize: 4, level, ..EncodeParams::default() };
        let options = || WriteOptions::new(params.clone()).chunk_size(CHUNK).checksums(seed == 2);
        let mut random = Random::new(seed);
        for round in 0..3 {
            let nchunks = 40 - 7 * round;
            // The last one is short.
            let nbytes = nchunks * CHUNK as u64 - 4444;
            let place = Directory::new(&path).expect("a directory");
            let mut expected = vec![0; nbytes as usize];
            block_on(async {
                let writer = match round {
                    0 => SharedWriter::create(place, nbytes, options()).await,
                    _ => SharedWriter::replace(place, nbytes, options()).await,
                }
                .expect("a writer");
                for _ in 0..200 {
                    let (i, version) = (random.below(nchunks as usize) as u64, random.below(1000) as u64);
                    if i % 9 == 4 {
                        continue;
                    }
                    let len = writer.chunk_bytes(i).expect("a chunk") as usize;
                    let bytes = chunk(i, version).slice(..len);
                    expected[i as usize * CHUNK..][..len].copy_from_slice(&bytes);
                    writer.write(i, bytes).await.expect("it is written");
                }
                writer.commit(MissingChunks::Zero).await.expect("it is committed");
            });
            for op in ["frames.read_file", "frames.read_chunks"] {
                let answer = worker.call(op, json!({ "path": path }), &[]);
                assert_eq!(answer.value["nchunks"], nchunks, "seed {seed}, round {round}");
                assert!(answer.into_blob() == expected, "{op}, seed {seed}, round {round}");
            }
        }
    }
}

/// 64 MiB by four threads, each of which writes its chunks in an order of its own and some of them twice.
#[test]
fn an_array_of_64_mib_by_four_threads() {
    let Some(mut worker) = Worker::start() else { return };
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("array.b2nd");
    let params = EncodeParams { level: 1, ..EncodeParams::default() };
    let options = ArrayOptions::new([4096, 4096], "<i4").chunks([500, 1000]).blocks([50, 500]);
    let place = Directory::new(&path).expect("a directory");
    let writer =
        block_on(SharedWriter::create_array(place, options.frame(WriteOptions::new(params)))).expect("a writer");
    let items = |i: u64, add: u64| -> Bytes {
        let window = writer.tiling().expect("an array").chunk_window(i).expect("a chunk");
        let along = |axis: usize| window.origin[axis]..window.origin[axis] + window.shape[axis];
        along(0).flat_map(|y| along(1).flat_map(move |x| ((y * 10_000 + x + add) as i32).to_le_bytes())).collect()
    };
    std::thread::scope(|scope| {
        for share in 0..4 {
            let (writer, items) = (&writer, &items);
            scope.spawn(move || {
                let mut random = Random::new(share);
                let mut mine: Vec<u64> = (0..writer.nchunks()).filter(|i| i % 4 == share).collect();
                while !mine.is_empty() {
                    let i = mine.swap_remove(random.below(mine.len()));
                    for add in [7, 0].into_iter().skip(random.below(2)) {
                        block_on(writer.write(i, items(i, add))).expect("it is written");
                    }
                }
            });
        }
    });
    block_on(writer.commit(MissingChunks::Fail)).expect("it is committed");
    let expected: Vec<u8> =
        (0..4096).flat_map(|y| (0..4096).flat_map(move |x: i32| (y * 10_000 + x).to_le_bytes())).collect();
    let args = json!({ "path": path, "shape": [4096, 4096], "dtype": "<i4", "selections": [] });
    let whole = &worker.call("nd.look", args, &[&expected]).value["whole"];
    assert_eq!(whole, &json!([[4096, 4096], true, true, true]));
}
