//! Several writers under one prefix of a bucket, without a word between them.

use std::process::{Command, Stdio};
use std::thread;

use bytes::Bytes;
use futures::future::join_all;
use object_store::path::Path;
use oxiblosc::chunk::EncodeParams;
use oxiblosc::nd::{ArrayOptions, NdArray};
use oxiblosc::object::ObjectPrefix;
use oxiblosc::source::ObjectSource;
use oxiblosc::sparse::{MissingChunks, ShareError, SharedWriter};
use oxiblosc::{FrameReader, WriteOptions, block_on};

use crate::server::{Server, uploads};

const SHAPE: [u64; 2] = [400, 310];

/// Whether the server ignores the conditions of puts the environment says in the processes that are started.
fn prefix(endpoint: &str, key: &str, ignores: bool) -> ObjectPrefix {
    ObjectPrefix::new(uploads(endpoint), key).accept_ignored_conditions(ignores)
}

fn options() -> ArrayOptions {
    ArrayOptions::new(SHAPE, "<i4").chunks([100, 100]).blocks([20, 50])
}

fn writer(endpoint: &str, key: &str, ignores: bool) -> SharedWriter<ObjectPrefix> {
    block_on(SharedWriter::open(prefix(endpoint, key, ignores))).expect("a writer")
}

/// The items of a chunk: each says where it is.
fn items(writer: &SharedWriter<ObjectPrefix>, i: u64) -> Bytes {
    let window = writer.tiling().expect("an array").chunk_window(i).expect("a chunk");
    let along = |axis: usize| window.origin[axis]..window.origin[axis] + window.shape[axis];
    along(0).flat_map(|y| along(1).flat_map(move |x| ((y * 1000 + x) as i32).to_le_bytes())).collect()
}

fn expected(missing: &[u64], writer: &SharedWriter<ObjectPrefix>) -> Vec<u8> {
    let mut values: Vec<i32> = (0..SHAPE[0]).flat_map(|y| (0..SHAPE[1]).map(move |x| (y * 1000 + x) as i32)).collect();
    for &i in missing {
        let window = writer.tiling().expect("an array").chunk_window(i).expect("a chunk");
        for y in window.origin[0]..window.origin[0] + window.shape[0] {
            let row = (y * SHAPE[1] + window.origin[1]) as usize;
            values[row..row + window.shape[1] as usize].fill(0);
        }
    }
    values.into_iter().flat_map(i32::to_le_bytes).collect()
}

/// Not a test in itself: one of the processes of [`processes_fill_an_array`]. Its share are the chunks whose number
/// leaves this remainder, all but the one that is left out.
#[test]
fn writer_of_a_share() {
    let Ok(endpoint) = std::env::var("OXIBLOSC_TEST_ENDPOINT") else { return };
    let number = |name: &str| std::env::var(name).expect("it is set").parse::<u64>().expect("a number");
    let (share, left_out) = (number("OXIBLOSC_TEST_NUMBER"), number("OXIBLOSC_TEST_LEFT_OUT"));
    let writer = writer(&endpoint, "shared/array.b2nd", std::env::var("OXIBLOSC_TEST_IGNORES").is_ok());
    let mine = (0..writer.nchunks()).filter(|&i| i % 4 == share && i != left_out);
    block_on(join_all(mine.map(|i| writer.write(i, items(&writer, i)))))
        .into_iter()
        .collect::<Result<(), _>>()
        .expect("the server takes chunks");
}

const SUM: &str = r"
import numpy as np
array = array[:]
print(array.shape, array.dtype, int((array.astype('i8') * np.arange(1, array.size + 1).reshape(array.shape)).sum()))
";

fn processes_fill_an_array(server: &Server, ignores: bool) {
    const LEFT_OUT: u64 = 6;
    let endpoint = server.endpoint();
    let created = block_on(SharedWriter::create_array(prefix(&endpoint, "shared/array.b2nd", false), options()));
    if ignores {
        // This server takes every put, and writers would not be safe from each other: only by consent.
        assert!(matches!(created, Err(ShareError::ConditionalPutsIgnored(_))), "{created:?}");
        let prefix = prefix(&endpoint, "shared/array.b2nd", true);
        block_on(SharedWriter::create_array(prefix, options())).expect("a plan");
    } else {
        created.expect("a plan");
    }
    let processes: Vec<_> = (0..4)
        .map(|share: u64| {
            Command::new(std::env::current_exe().expect("this program"))
                .args(["sharing::writer_of_a_share", "--exact"])
                .env("OXIBLOSC_TEST_ENDPOINT", &endpoint)
                .env("OXIBLOSC_TEST_NUMBER", share.to_string())
                .env("OXIBLOSC_TEST_LEFT_OUT", LEFT_OUT.to_string())
                .envs(ignores.then_some(("OXIBLOSC_TEST_IGNORES", "1")))
                .stdout(Stdio::null())
                .spawn()
                .expect("it starts")
        })
        .collect();
    for mut process in processes {
        assert!(process.wait().expect("it ends").success());
    }
    let writer = writer(&endpoint, "shared/array.b2nd", ignores);
    let source = || ObjectSource::sparse(server.store(), Path::from("shared/array.b2nd"));
    let summary = block_on(async {
        assert!(FrameReader::open(source()).await.is_err(), "nobody has committed");
        // What is missing is named; it can be filled, or written late.
        let error = writer.commit(MissingChunks::Fail).await.expect_err("a chunk is missing").to_string();
        assert!(error.contains("1 of 16 chunks") && error.ends_with(&LEFT_OUT.to_string()), "{error}");
        let summary = writer.commit(MissingChunks::Zero).await.expect("the first commit");
        let array = NdArray::open(source()).await.expect("the array opens");
        let all = array.read(&"...".parse().expect("a selection")).await.expect("all of it");
        assert!(*all.bytes() == expected(&[LEFT_OUT], &writer));
        summary
    });
    let sum = |bytes: &[u8]| {
        let (words, _) = bytes.as_chunks::<4>();
        let weighted = (1..).zip(words).map(|(i, word)| i * i64::from(i32::from_le_bytes(*word)));
        format!("({}, {}) int32 {}", SHAPE[0], SHAPE[1], weighted.sum::<i64>())
    };
    if let Some(found) = server.python_on("shared/array.b2nd", SUM) {
        assert_eq!(found.trim(), sum(&expected(&[LEFT_OUT], &writer)));
    }
    // A repeated commit reports success again and changes nothing.
    let index = || server.get("shared/array.b2nd/chunks.b2frame").expect("the index");
    let before = index();
    let again = block_on(writer.commit(MissingChunks::Zero)).expect("it has succeeded");
    assert_eq!(again, summary);
    assert!(index() == before);
    // So is a writer that comes late, and nothing changes.
    let error = block_on(writer.write(1, items(&writer, 2))).expect_err("it is too late");
    assert!(matches!(error, ShareError::Committed(_)), "{error}");
    let array = block_on(NdArray::open(source())).expect("the array opens");
    let all = block_on(array.read(&"...".parse().expect("a selection"))).expect("all of it");
    assert!(*all.bytes() == expected(&[LEFT_OUT], &writer));
}

#[test]
fn processes_fill_an_array_in_s3s() {
    processes_fill_an_array(&Server::s3s(), false);
}

#[test]
fn processes_fill_an_array_in_moto() {
    if let Some(server) = Server::moto() {
        processes_fill_an_array(&server, false);
    }
}

/// At the same time, so that none can see the other's commit before it makes its own. Only the server can decide, by
/// a conditional put: the one of moto does; s3s-fs takes every put.
#[test]
fn of_two_racing_commits_one_wins() {
    let Some(server) = Server::moto() else { return };
    let endpoint = server.endpoint();
    let content = Bytes::from(vec![7; 3000]);
    for round in 0..8 {
        let key = format!("race/{round}");
        let create = |name: &str| {
            let params = EncodeParams::default();
            let options = WriteOptions::new(params).chunk_size(1000).metalayer(name, &b"\xc0"[..]);
            block_on(SharedWriter::create(prefix(&endpoint, &key, false), 3000, options))
        };
        let first = create("first").expect("a plan");
        assert!(matches!(create("second"), Err(ShareError::PlanDiffers { .. })));
        for i in 0..3 {
            block_on(first.write(i, content.slice(i as usize * 1000..(i as usize + 1) * 1000))).expect("a chunk");
        }
        let commit = || {
            let writer = writer(&endpoint, &key, false);
            thread::spawn(move || block_on(writer.commit(MissingChunks::Fail)))
        };
        let results = [commit(), commit()].map(|thread| thread.join().expect("no panic"));
        match &results {
            [Ok(_), Err(ShareError::Committed(_))] | [Err(ShareError::Committed(_)), Ok(_)] => {}
            // Both built the same index, and one found it there. The frame is read below.
            [Ok(one), Ok(other)] => assert_eq!(one, other, "round {round}"),
            both => panic!("round {round}: {both:?}"),
        }
        let ((Ok(summary), _) | (_, Ok(summary))) = (&results[0], &results[1]) else { unreachable!("one has won") };
        let index = server.get(&format!("{key}/chunks.b2frame")).expect("the index");
        let chunks = server.list(&key).into_iter().filter(|name| name.ends_with(".chunk"));
        let chunk_bytes: u64 = chunks.map(|name| server.len(&name).expect("a chunk")).sum();
        assert_eq!(summary.frame_len, chunk_bytes + index.len() as u64, "round {round}");
        let source = ObjectSource::sparse(server.store(), Path::from(key.as_str()));
        let reader = block_on(FrameReader::open(source)).expect("the frame opens");
        assert!(reader.metalayer("first").is_some(), "round {round}: the plan that was there first");
        assert_eq!(block_on(reader.bytes(0..3000)).expect("its bytes"), content);
    }
}
