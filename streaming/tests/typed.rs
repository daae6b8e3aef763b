//! Items as values of Rust types, in frames and arrays, and pools of others' threads that do the work.

use std::fmt::Debug;
use std::io;
use std::sync::Arc;

use oxiblosc_core::chunk::EncodeParams;
use oxiblosc_plugins as _;
use oxiblosc_streaming::nd::{ArrayError, ArrayOptions, Element, items, values};
use oxiblosc_streaming::{ErrorKind, Pool, ReadError, ReadOptions, WriteError, WriteOptions, blocking};

const CHUNK_BYTES: usize = 96_000;

/// Lengths around nothing, a chunk of 96,000 bytes, and the pieces of 4 MiB in which values are made into bytes.
fn lengths(size: usize) -> Vec<usize> {
    let (chunk, piece) = (CHUNK_BYTES / size, (4 << 20) / size);
    vec![0, 1, 2, chunk - 1, chunk, chunk + 1, 3 * chunk + 7, piece - 1, piece, piece + chunk + 5]
}

fn options(typesize: usize) -> WriteOptions {
    let params = EncodeParams { typesize, level: 1, ..EncodeParams::default() };
    WriteOptions::new(params).chunk_size(CHUNK_BYTES).pool(&Pool::new(2))
}

/// What is written as values is written as their bytes, and comes back, in whole and in part.
fn comes_back<T: Element + PartialEq + Debug>(value: impl Fn(usize) -> T, bytes: impl Fn(T) -> Vec<u8>) {
    for len in lengths(size_of::<T>()) {
        let written: Vec<T> = (0..len).map(&value).collect();
        let expected: Vec<u8> = written.iter().flat_map(|&value| bytes(value)).collect();
        assert!(items(&written) == expected && values::<T>(&expected) == written, "{} of {}", len, T::DTYPE);

        let mut writer = blocking::FrameWriter::in_memory(options(size_of::<T>())).expect("a writer");
        // In two calls, so that the second one begins within a chunk.
        let (head, tail) = written.split_at(len / 3);
        writer.write_items(head).expect("values");
        writer.write_items(tail).expect("values");
        assert_eq!(writer.finish().expect("a frame").nbytes, expected.len() as u64);
        let reader = blocking::FrameReader::from_bytes(writer.into_bytes()).expect("a frame");
        assert!(reader.bytes(0..expected.len() as u64).expect("bytes") == expected);
        assert!(reader.items_as::<T>(0..len as u64).expect("values") == written);
        let (start, end) = (len / 2, len - len / 7);
        assert_eq!(reader.items_as::<T>(start as u64..end as u64).expect("values").len(), end - start);
        assert!(reader.items_as::<T>(start as u64..end as u64).expect("values") == written[start..end]);
        let error = reader.items_as::<T>(0..len as u64 + 1).expect_err("one too many");
        assert!(matches!(error, ReadError::OutOfRange { .. }), "{error}");
    }
}

#[test]
fn frames() {
    comes_back(|i| i as u8, |v| vec![v]);
    comes_back(|i| i as i16 ^ 0x155, |v| v.to_le_bytes().to_vec());
    comes_back(|i| i % 3 == 0, |v| vec![u8::from(v)]);
    comes_back(|i| i as f32 / 7.0, |v| v.to_le_bytes().to_vec());
    comes_back(|i| i as u64 * 0x9E37_79B9, |v| v.to_le_bytes().to_vec());
}

#[cfg(feature = "half")]
#[test]
fn halves() {
    comes_back(|i| half::f16::from_f32(i as f32 / 3.0), |v| v.to_le_bytes().to_vec());
    let options = ArrayOptions::of::<half::f16>([3, 5]);
    let mut writer = blocking::NdWriter::in_memory(options).expect("a writer");
    writer.write_items(&[half::f16::from_f32(1.5); 15]).expect("values");
    writer.finish().expect("an array");
    let array = blocking::NdArray::from_bytes(writer.into_bytes()).expect("an array");
    assert_eq!(array.dtype(), Some("<f2"));
    assert_eq!(array.item_as::<half::f16>(&[-1, 4]).expect("an item").to_f32(), 1.5);
}

/// Both byte orders, rows of an odd length, and more than one slab.
#[test]
fn arrays() {
    let (rows, columns) = (1003, 301);
    let written: Vec<i32> = (0..rows * columns).map(|i| i ^ i << 9).collect();
    for (dtype, bytes) in [("<i4", i32::to_le_bytes as fn(i32) -> [u8; 4]), (">i4", i32::to_be_bytes)] {
        let shape = [rows as u64, columns as u64];
        let options = ArrayOptions::new(shape, dtype).chunks([100, 64]).blocks([20, 32]);
        let mut writer = blocking::NdWriter::in_memory(options).expect("a writer");
        writer.write_items(&written[..12_345]).expect("values");
        writer.write_items(&written[12_345..]).expect("values");
        writer.finish().expect("an array");
        let array = blocking::NdArray::from_bytes(writer.into_bytes()).expect("an array");
        let all = array.read(&"...".parse().expect("a selection")).expect("items");
        assert!(*all.bytes() == written.iter().flat_map(|&value| bytes(value)).collect::<Vec<u8>>(), "{dtype}");
        assert!(array.read_as::<i32>(&"...".parse().expect("a selection")).expect("values") == written);
        let column = array.read_as::<i32>(&"::-7, 300".parse().expect("a selection")).expect("values");
        let expected = (0..rows).rev().step_by(7).map(|row| written[(row * columns + 300) as usize]);
        assert!(column.into_iter().eq(expected));
        assert_eq!(array.item_as::<i32>(&[-1, 17]).expect("an item"), written[((rows - 1) * columns + 17) as usize]);
        let error = array.item_as::<f32>(&[0, 0]).expect_err("integers");
        assert!(matches!(error, ArrayError::Dtype { .. }), "{error}");
        assert!(array.item_as::<i32>(&[0]).is_err(), "an index is missing");
        assert!(array.read_as::<u32>(&"0".parse().expect("a selection")).is_err(), "another sign");
    }
}

/// An error of the type takes nothing and leaves the writer usable.
#[test]
fn other_types() {
    let mut writer = blocking::FrameWriter::in_memory(options(4)).expect("a writer");
    let error = writer.write_items(&[1u16]).expect_err("items have four bytes");
    assert!(matches!(error, WriteError::ItemSize { found: 4, expected: 2, dtype: "<u2" }), "{error}");
    assert_eq!(error.to_string(), "items have 4 bytes, and values of dtype `<u2` 2: set the type size");
    assert_eq!((error.kind(), error.is_resumable()), (ErrorKind::InvalidInput, false));
    writer.write_items(&[1.0f32]).expect("a value");
    assert_eq!(writer.finish().expect("a frame").nbytes, 4);
    let reader = blocking::FrameReader::from_bytes(writer.into_bytes()).expect("a frame");
    let error = reader.items_as::<f64>(0..1).expect_err("items have four bytes");
    assert_eq!((error.kind(), io::Error::from(error).kind()), (ErrorKind::InvalidInput, io::ErrorKind::InvalidInput));

    let mut writer = blocking::NdWriter::in_memory(ArrayOptions::of::<u8>([3])).expect("a writer");
    let error = writer.write_items(&[1i8]).expect_err("another type");
    assert!(matches!(error, ArrayError::Dtype { .. }), "{error}");
    writer.write_items(&[1u8, 2, 3]).expect("values");
    let error = writer.write_items(&[4u8]).expect_err("the array is full");
    assert!(matches!(error, ArrayError::Length { .. }), "{error}");
    writer.finish().expect("an array");
}

/// The frame is the same byte for byte, whoever's threads have made it, and they read it, too.
#[test]
fn threads_of_others() {
    let written: Vec<u32> = (0..700_001).map(|i: u32| i.wrapping_mul(i)).collect();
    let frame = |pool: &Pool| {
        let mut writer = blocking::FrameWriter::in_memory(options(4).pool(pool)).expect("a writer");
        writer.write_items(&written).expect("values");
        writer.finish().expect("a frame");
        writer.into_bytes()
    };
    let expected = frame(&Pool::inline());
    let rayon = rayon_core::ThreadPoolBuilder::new().num_threads(3).build().expect("threads");
    let runtime = tokio::runtime::Builder::new_multi_thread().build().expect("a runtime");
    let handle = runtime.handle().clone();
    let spawn = move |work| drop(handle.spawn_blocking(work));
    for pool in [Pool::from_rayon(Arc::new(rayon)), Pool::with_spawn(3, spawn)] {
        assert!(frame(&pool) == expected, "{pool:?}");
        let options = ReadOptions::new().pool(&pool);
        let reader = blocking::FrameReader::with_options(expected.clone(), options).expect("a frame");
        assert!(reader.items_as::<u32>(5..700_001).expect("values") == written[5..]);
        let chunks = reader.chunks().map(|chunk| chunk.expect("a chunk").len());
        assert_eq!(chunks.sum::<usize>(), 4 * written.len());
    }
}

/// Work that a runtime drops because it has gone is an error, and nobody waits for it.
#[test]
fn threads_that_have_gone() {
    let runtime = tokio::runtime::Builder::new_multi_thread().build().expect("a runtime");
    let handle = runtime.handle().clone();
    drop(runtime);
    let pool = Pool::with_spawn(2, move |work| drop(handle.spawn_blocking(work)));
    let mut writer = blocking::FrameWriter::in_memory(options(4).pool(&pool)).expect("a writer");
    let written = writer.write_items(&vec![1u32; 100_000]);
    let error = written.and_then(|()| writer.finish().map(drop)).expect_err("nobody does the work");
    assert_eq!(error.kind(), ErrorKind::Panicked);
}
