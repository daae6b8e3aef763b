//! Several writers, one sparse frame.

mod common;

use std::process::Command;

use bytes::Bytes;
use common::{CHUNK, Random, data, options};
use futures::future::join_all;
use oxiblosc_core::frame::FingerprintKind;
use oxiblosc_streaming::nd::{ArrayOptions, NdArray};
use oxiblosc_streaming::source::FileSource;
use oxiblosc_streaming::sparse::{Directory, Missing, ShareError, SharedWriter, SparsePlace};
use oxiblosc_streaming::{block_on, blocking};

fn chunk_of(data: &[u8], i: u64) -> Bytes {
    let start = i as usize * CHUNK;
    Bytes::copy_from_slice(&data[start..data.len().min(start + CHUNK)])
}

#[test]
fn writers_fill_a_frame_in_any_order() {
    for len in [1, CHUNK - 1, CHUNK, CHUNK + 1, 17 * CHUNK + 5] {
        for verified in [false, true] {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("frame");
            let data = data(len);
            let options = || match verified {
                true => options().checksums(true).fingerprint(FingerprintKind::default()),
                false => options(),
            };
            let writer = || SharedWriter::new(Directory::new(&path).unwrap(), len as u64, options()).unwrap();
            let writers = [writer(), writer(), writer()];
            let mut numbers: Vec<u64> = (0..writers[0].nchunks()).collect();
            let mut random = Random::new(len as u64);
            for i in (1..numbers.len()).rev() {
                numbers.swap(i, random.below(i as u64 + 1) as usize);
            }
            let writes = numbers.iter().map(|&i| writers[i as usize % 3].write(i, chunk_of(&data, i)));
            block_on(join_all(writes)).into_iter().collect::<Result<(), _>>().unwrap();
            assert!(blocking::FrameReader::open(&path).is_err(), "nobody has committed");
            let summary = block_on(writers[1].commit(Missing::Fail)).unwrap();
            assert_eq!((summary.chunks, summary.nbytes), (numbers.len() as u64, len as u64));
            let reader = blocking::FrameReader::open(&path).unwrap();
            assert_eq!(reader.bytes(0..reader.nbytes()).unwrap(), &data[..]);
            if verified {
                assert!(reader.verify().unwrap().is_good(), "{:?}", reader.verify());
            }
        }
    }
}

#[test]
fn missing_chunks_are_named_or_filled() {
    let directory = tempfile::tempdir().unwrap();
    let data = data(40 * CHUNK);
    let writer = SharedWriter::new(Directory::new(directory.path()).unwrap(), data.len() as u64, options()).unwrap();
    block_on(async {
        for i in (0..40).filter(|i| ![3, 17, 39].contains(i)) {
            writer.write(i, chunk_of(&data, i)).await.unwrap();
        }
        let error = writer.commit(Missing::Fail).await.unwrap_err();
        assert!(error.to_string().ends_with("3 of 40 chunks have not been written: 3, 17, 39"), "{error}");
        writer.write(17, chunk_of(&data, 17)).await.unwrap();
        writer.commit(Missing::Zero).await.unwrap();
    });
    let mut expected = data;
    expected[3 * CHUNK..4 * CHUNK].fill(0);
    expected[39 * CHUNK..].fill(0);
    let reader = blocking::FrameReader::open(directory.path()).unwrap();
    assert_eq!(reader.bytes(0..reader.nbytes()).unwrap(), &expected[..]);
}

#[test]
fn of_two_commits_one_wins_and_the_other_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let place = || Directory::new(directory.path()).unwrap();
    let data = data(3 * CHUNK);
    let one = SharedWriter::new(place(), data.len() as u64, options()).unwrap();
    let other = SharedWriter::new(place(), data.len() as u64, options().metalayer("x", &b"\xc0"[..])).unwrap();
    block_on(async {
        for i in 0..3 {
            one.write(i, chunk_of(&data, i)).await.unwrap();
        }
        let results = [one.commit(Missing::Fail).await, other.commit(Missing::Fail).await];
        assert!(results[0].is_ok());
        assert!(matches!(results[1], Err(ShareError::Committed(_))), "{:?}", results[1]);

        // With the consent of both the frame may be written again, but only by one of them.
        let (one, other) = (one.replace().await.unwrap(), other.replace().await.unwrap());
        assert!(other.commit(Missing::Fail).await.is_ok());
        assert!(matches!(one.commit(Missing::Fail).await, Err(ShareError::Committed(_))));
    });
    assert!(blocking::FrameReader::open(directory.path()).unwrap().metalayer("x").is_some());
}

#[test]
fn wrong_numbers_lengths_and_files() {
    let directory = tempfile::tempdir().unwrap();
    let place = Directory::new(directory.path()).unwrap();
    let writer = SharedWriter::new(place.clone(), CHUNK as u64 + 8, options()).unwrap();
    block_on(async {
        assert!(matches!(writer.write(2, Bytes::new()).await, Err(ShareError::NoSuchChunk { chunk: 2, nchunks: 2 })));
        let error = writer.write(1, Bytes::from_static(b"7 bytes")).await.unwrap_err();
        assert!(matches!(error, ShareError::Length { chunk: 1, expected: 8, found: 7 }));
        writer.write(0, vec![1; CHUNK].into()).await.unwrap();
        place.put_chunk(1, Bytes::from_static(b"no chunk")).await.unwrap();
        assert!(matches!(writer.commit(Missing::Zero).await, Err(ShareError::Damaged { chunk: 1, .. })));
        writer.write(1, vec![2; 8].into()).await.unwrap();
        writer.commit(Missing::Zero).await.unwrap();
    });
}

fn array() -> ArrayOptions {
    ArrayOptions::new([50, 70], "<i4").chunks([20, 30]).blocks([10, 10])
}

/// The items of a window: each says where it is.
fn items(writer: &SharedWriter<Directory>, i: u64) -> Bytes {
    let window = writer.tiling().unwrap().chunk_window(i).unwrap();
    let (y, x) =
        (window.origin[0]..window.origin[0] + window.shape[0], window.origin[1]..window.origin[1] + window.shape[1]);
    y.flat_map(|y| x.clone().flat_map(move |x| ((y * 1000 + x) as i32).to_le_bytes())).collect()
}

/// Not a test of its own: a process of [`processes_fill_an_array`].
#[test]
fn writer_of_a_share() {
    let (Some(path), Ok(share)) = (std::env::var_os("OXIBLOSC_TEST_SHARE"), std::env::var("OXIBLOSC_TEST_NUMBER"))
    else {
        return;
    };
    let writer = SharedWriter::array(Directory::new(path).unwrap(), array()).unwrap();
    let share: u64 = share.parse().unwrap();
    for i in (0..writer.nchunks()).filter(|i| i % 4 == share) {
        block_on(writer.write(i, items(&writer, i))).unwrap();
    }
}

#[test]
fn processes_fill_an_array() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("array");
    let processes: Vec<_> = (0..4)
        .map(|share: u32| {
            Command::new(std::env::current_exe().unwrap())
                .args(["writer_of_a_share", "--exact", "--nocapture"])
                .env("OXIBLOSC_TEST_SHARE", &path)
                .env("OXIBLOSC_TEST_NUMBER", share.to_string())
                .stdout(std::process::Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    for mut process in processes {
        assert!(process.wait().unwrap().success());
    }
    let writer = SharedWriter::array(Directory::new(&path).unwrap(), array()).unwrap();
    block_on(async {
        writer.commit(Missing::Fail).await.unwrap();
        let array = NdArray::open(FileSource::open(&path).await.unwrap()).await.unwrap();
        assert_eq!(array.shape(), [50, 70]);
        let all = array.read(&"...".parse().unwrap()).await.unwrap();
        let expected: Vec<u8> =
            (0..50i32).flat_map(|y| (0..70).flat_map(move |x| (y * 1000 + x).to_le_bytes())).collect();
        assert_eq!(all.bytes(), &expected[..]);
    });
}
