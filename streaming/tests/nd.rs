//! Arrays, written and read in every way.

mod common;

use std::pin::Pin;
use std::task::Context;

use bytes::Bytes;
use common::array::{Reference, options, params, random_selection, random_tiling};
use common::{Counting, Flaky, Mood, Random, data};
use futures::{AsyncWriteExt, Sink, SinkExt, StreamExt, TryStreamExt};
use oxiblosc_core::chunk::EncodeParams;
use oxiblosc_core::frame::ChunkEntry;
use oxiblosc_core::nd::{ArrayMeta, Geometry, NdError, Partition, Tiling};
use oxiblosc_streaming::nd::{ArrayError, ArrayOptions, NdArray, Selection, items};
use oxiblosc_streaming::source::{FileSource, RangeSource};
use oxiblosc_streaming::target::MemoryTarget;
use oxiblosc_streaming::{Pool, ReadError, ReadOptions, WriteOptions, block_on, blocking};

async fn open<S: RangeSource + 'static>(source: S, pool: &Pool) -> NdArray<S> {
    NdArray::new(ReadOptions::new().pool(pool).open(source).await.unwrap()).unwrap()
}

#[test]
fn what_is_written_is_read() {
    let pools = [Pool::inline(), Pool::new(1), Pool::new(3)];
    let mut random = Random::new(1);
    for round in 0..150 {
        let pool = &pools[round % 3];
        let tiling = random_tiling(&mut random);
        let reference = Reference::new(tiling.shape(), tiling.item_size());
        let growing = tiling.ndim() > 0 && !tiling.shape()[1..].contains(&0) && random.chance(2);
        let in_flight = [1, 1000, 96 << 20][random.below(3) as usize];
        let frame = WriteOptions::new(params(&mut random)).pool(pool).bytes_in_flight(in_flight);
        let mut sink = options(&tiling, growing).frame(frame).in_memory().unwrap();

        // Handed over in pieces of any length, copied or not.
        block_on(async {
            let mut rest = Bytes::from(reference.bytes.clone());
            while !rest.is_empty() {
                let most = if random.chance(2) { 50 } else { rest.len() as u64 };
                let piece = rest.split_to(rest.len().min(1 + random.below(most) as usize));
                match random.below(3) {
                    0 => sink.push(piece).await.unwrap(),
                    1 => sink.send(piece).await.unwrap(),
                    _ => sink.write_all(&piece).await.unwrap(),
                }
            }
            let summary = sink.close().await.unwrap();
            assert_eq!(summary.shape, tiling.shape());
            assert_eq!(summary.frame.nbytes, tiling.stored_bytes());
            assert_eq!(sink.close().await.unwrap(), summary);
        });

        let frame = sink.into_target().into_bytes();
        block_on(async {
            let array = open(frame, pool).await;
            assert_eq!(array.tiling(), &tiling);
            let whole = array.read(&Selection::all()).await.unwrap();
            assert_eq!(whole.shape(), tiling.shape());
            assert_eq!(*whole.bytes(), reference.bytes, "{tiling:?}");
            for _ in 0..5 {
                let (selection, members) = random_selection(tiling.shape(), &mut random);
                let expected = reference.product(&members);
                let found = array.read(&selection).await.unwrap();
                assert_eq!(*found.bytes(), expected, "{selection:?} of {tiling:?}");
                assert_eq!(found.shape().iter().product::<u64>() as usize * array.item_size(), expected.len());
                assert_eq!(array.selected_shape(&selection).unwrap(), found.shape());
                // What is in the buffer before does not matter.
                let mut buffer = vec![0xAA; expected.len()];
                array.read_into(&selection, &mut buffer).await.unwrap();
                assert_eq!(buffer, expected, "{selection:?} of {tiling:?}");
                let pieces: Vec<Bytes> = array.stream(&selection).unwrap().try_collect().await.unwrap();
                assert_eq!(pieces.concat(), expected, "{selection:?} of {tiling:?}");
            }
            if !reference.bytes.is_empty() {
                let points: Vec<Vec<i64>> = (0..random.below(50))
                    .map(|_| tiling.shape().iter().map(|&len| random.below(len) as i64).collect())
                    .collect();
                let items = points.iter().map(|p| p.iter().map(|&i| i as u64).collect::<Vec<_>>());
                let expected: Vec<u8> = items.flat_map(|index| reference.item(&index).to_vec()).collect();
                let found = array.read(&Selection::points(&points)).await.unwrap();
                assert_eq!(*found.bytes(), expected);
                if let Some(point) = points.first() {
                    assert_eq!(array.item(point).await.unwrap(), expected[..array.item_size()]);
                }
            }
        });
    }
}

/// The chunks of an array, encoded with blocks that are not those of the array.
fn reblocked(tiling: &Tiling, array: &[u8], block_size: Option<usize>, params: EncodeParams) -> Vec<u8> {
    let meta = ArrayMeta::new(tiling.geometry().clone(), format!("|V{}", tiling.item_size()));
    let params = EncodeParams { typesize: tiling.item_size(), block_size, ..params };
    let options = WriteOptions::new(params).chunk_size(tiling.chunk_bytes()).pool(&Pool::inline());
    let mut sink = options.metalayer(ArrayMeta::NAME, meta.to_bytes().unwrap()).in_memory().unwrap();
    block_on(async {
        for number in 0..tiling.chunk_count() {
            let mut chunk = vec![0; tiling.chunk_bytes()];
            tiling.window_to_chunk(&tiling.whole(), array, number, &mut chunk).unwrap();
            sink.send(chunk.into()).await.unwrap();
        }
        sink.close().await.unwrap();
    });
    sink.into_target().into_bytes()
}

#[test]
fn blocks_of_chunks_need_not_be_those_of_the_array() {
    let pools = [Pool::inline(), Pool::new(3)];
    let mut random = Random::new(2);
    for round in 0..60 {
        let tiling = random_tiling(&mut random);
        let reference = Reference::new(tiling.shape(), tiling.item_size());
        let mut frame = reblocked(&tiling, &reference.bytes, None, params(&mut random));
        if tiling.chunk_count() > 0 && random.chance(2) {
            // The frame says no block size then; the chunks have their own.
            let size = (1 + random.below(40)) as usize * tiling.item_size();
            frame = reblocked(&tiling, &reference.bytes, Some(size), params(&mut random));
            frame[53..57].fill(0);
        }
        let (selection, members) = random_selection(tiling.shape(), &mut random);
        block_on(async {
            let array = open(frame, &pools[round % 2]).await;
            let found = array.read(&selection).await.unwrap();
            assert_eq!(*found.bytes(), reference.product(&members), "{selection:?} of {tiling:?}");
            let mut buffer = vec![0xAA; found.bytes().len()];
            array.read_into(&selection, &mut buffer).await.unwrap();
            assert_eq!(buffer, *found.bytes(), "{selection:?} of {tiling:?}");
        });
    }
}

/// More chunks than are decoded at a time; some hold nothing but zeros, or one value.
#[test]
fn large_arrays_are_read_into_buffers() {
    let shape = [1001, 5000];
    let mut values: Vec<u32> = (0..1001 * 5000).map(|i: u32| i.wrapping_mul(2_654_435_761) >> 20).collect();
    values[200 * 5000..450 * 5000].fill(0);
    values[600 * 5000..800 * 5000].fill(7);
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let mut sink = ArrayOptions::new(shape, "<u4").chunks([10, 2600]).blocks([5, 300]).in_memory().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("array.b2nd");
    block_on(async {
        sink.push(bytes.clone().into()).await.unwrap();
        sink.close().await.unwrap();
        std::fs::write(&path, sink.into_target().into_bytes()).unwrap();
        for threads in [0, 1, 4] {
            let array = open(FileSource::open_inline(&path).unwrap(), &Pool::new(threads)).await;
            let mut buffer = vec![0xAA; bytes.len()];
            array.read_into(&Selection::all(), &mut buffer).await.unwrap();
            assert!(buffer == bytes, "{threads} threads");
            let selection = "1:1000, 2599:2602".parse().unwrap();
            let mut buffer = vec![0xAA; 999 * 3 * 4];
            array.read_into(&selection, &mut buffer).await.unwrap();
            assert!(buffer == **array.read(&selection).await.unwrap().bytes(), "{threads} threads");
            for wrong in [buffer.len() - 1, buffer.len() + 1, 0] {
                let error = array.read_into(&selection, &mut vec![0; wrong]).await.unwrap_err();
                assert!(matches!(error, ArrayError::Nd(NdError::Buffer { .. })), "{error}");
            }
        }
    });
}

/// An array of four chunks of fifty blocks, and its frame.
fn slices(compressible: bool) -> (Tiling, Reference, Vec<u8>) {
    let geometry = Geometry { shape: vec![500, 400], chunk_shape: vec![250, 200], block_shape: vec![25, 40] };
    let tiling = geometry.tile(4).unwrap();
    let mut reference = Reference::new(tiling.shape(), 4);
    let mut random = Random::new(3);
    if !compressible {
        reference.bytes.fill_with(|| random.below(256) as u8);
    }
    let mut sink = options(&tiling, false).in_memory().unwrap();
    block_on(async {
        sink.push(reference.bytes.clone().into()).await.unwrap();
        sink.close().await.unwrap();
    });
    (tiling, reference, sink.into_target().into_bytes())
}

#[test]
fn only_the_blocks_that_are_touched_are_read() {
    // What does not compress lets one foresee the bytes that are read.
    let (tiling, reference, frame) = slices(false);
    let block = tiling.block_bytes() as u64;
    block_on(async {
        let array = open(Counting::new(frame), &Pool::inline()).await;
        array.reader().source().take();
        for (selection, blocks, chunks) in [
            ("3, 7", 1, 1),
            ("0:25, 0:40", 1, 1),
            ("24:26, 39:41", 4, 1),
            ("249:251, 199:201", 4, 4),
            (":, 0", 20, 2),
            ("0, :", 10, 2),
            ("[499, 0], [0, 399]", 4, 4),
            ("::499, ::399", 4, 4),
        ] {
            let found = array.read(&selection.parse().unwrap()).await.unwrap();
            assert!(!found.bytes().is_empty());
            let (rounds, bytes) = array.reader().source().take();
            // Headers with block starts, then blocks.
            assert!(rounds <= 2, "{selection} took {rounds} rounds");
            let most = blocks * (block + 64) + chunks * (32 + 4 * 50);
            assert!(bytes <= most, "{selection} read {bytes} bytes, expected at most {most}");
        }
        let points = Selection::points([[0, 0], [1, 1], [499, 399], [0, 0]]);
        let found = array.read(&points).await.unwrap();
        let items = [[0, 0], [1, 1], [499, 399], [0, 0]].map(|index| reference.item(&index));
        assert_eq!(*found.bytes(), items.concat());
        let (rounds, bytes) = array.reader().source().take();
        assert!(rounds <= 2 && bytes <= 2 * (block + 300), "{rounds} rounds, {bytes} bytes");
        // Nothing at all for nothing.
        assert_eq!(array.read(&"5:5".parse().unwrap()).await.unwrap().shape(), [0, 400]);
        assert_eq!(array.reader().source().take(), (0, 0));
    });
}

#[test]
fn errors_say_which_chunk() {
    let (tiling, reference, mut frame) = slices(true);
    let reader = block_on(ReadOptions::new().open(frame.clone())).unwrap();
    let Ok(ChunkEntry::Stored { offset }) = reader.frame().entry(2) else { panic!("chunk 2 is not stored") };
    // The block starts.
    frame[offset as usize + 32..][..200].fill(0xff);
    for pool in [Pool::inline(), Pool::new(2)] {
        block_on(async {
            let array = open(frame.clone(), &pool).await;
            for selection in ["", "250:, :200", "[499, 2], [5]"] {
                let error = array.read(&selection.parse().unwrap()).await.unwrap_err();
                assert!(matches!(error, ArrayError::Read(ReadError::Decode { chunk: 2, .. })), "{selection}: {error}");
                let selection = selection.parse().unwrap();
                let items: u64 = array.selected_shape(&selection).unwrap().iter().product();
                let mut buffer = vec![0; items as usize * 4];
                let same = array.read_into(&selection, &mut buffer).await.unwrap_err();
                assert_eq!(same.to_string(), error.to_string());
            }
            // The others are still there.
            let found = array.read(&":250".parse().unwrap()).await.unwrap();
            assert_eq!(*found.bytes(), reference.bytes[..reference.bytes.len() / 2]);
            let pieces: Vec<_> = array.stream(&Selection::all()).unwrap().collect().await;
            assert!(pieces.iter().rev().skip(1).all(Result::is_ok) && pieces.last().is_some_and(Result::is_err));
            let read: usize = pieces.iter().flatten().map(Bytes::len).sum();
            assert!(read as u64 <= tiling.array_bytes() * 3 / 4);
        });
    }
}

#[test]
fn failures_of_the_source_are_passed_on_and_pass() {
    let (_, reference, frame) = slices(true);
    block_on(async {
        let array = open(Counting::slow(frame, 3), &Pool::new(2)).await;
        *array.reader().source().fails.lock().unwrap() = 1;
        let selection: Selection = "3:5".parse().unwrap();
        assert!(matches!(array.read(&selection).await, Err(ArrayError::Read(ReadError::Source(_)))));
        let found = array.read(&selection).await.unwrap();
        assert_eq!(*found.bytes(), reference.bytes[3 * 1600..5 * 1600]);
        let mut buffer = vec![0; found.bytes().len()];
        array.read_into(&selection, &mut buffer).await.unwrap();
        assert_eq!(buffer, *found.bytes());
    });
}

#[test]
fn what_does_not_fit_is_refused() {
    block_on(async {
        let mut sink = ArrayOptions::new([4, 3], "<i2").in_memory().unwrap();
        sink.push(Bytes::from(vec![1; 20])).await.unwrap();
        let missing = ArrayError::Length { expected: 24, found: 20 }.to_string();
        assert_eq!(sink.close().await.unwrap_err().to_string(), missing);
        let too_many = sink.push(Bytes::from(vec![1; 5])).await.unwrap_err();
        assert!(matches!(too_many, ArrayError::Length { expected: 24, found: 25 }));
        assert!(too_many.to_string().ends_with("requires 24 bytes, found more"), "{too_many}");
        // None of these harms the sink; a write takes what there is room for.
        assert_eq!(sink.write(&[1; 100]).await.unwrap(), 4);
        assert!(sink.write(&[1]).await.is_err());
        assert_eq!(sink.close().await.unwrap().shape, [4, 3]);
        assert!(sink.push(Bytes::new()).await.is_err());

        let mut sink = ArrayOptions::rows(&[3], "<i2").in_memory().unwrap();
        sink.push(Bytes::from(vec![1; 20])).await.unwrap();
        assert_eq!(sink.rows(), 4);
        assert!(matches!(sink.close().await, Err(ArrayError::PartialRow { row_bytes: 6, found: 2 })));
        sink.push(Bytes::from(vec![1; 4])).await.unwrap();
        assert_eq!(sink.close().await.unwrap().shape, [4, 3]);

        let error = |options: ArrayOptions| options.in_memory().map(drop).unwrap_err();
        assert!(matches!(error(ArrayOptions::new([4], "|O")), ArrayError::ItemSize { expected: None, .. }));
        let other = error(ArrayOptions::new([4], "<i2").item_size(3));
        assert!(matches!(other, ArrayError::ItemSize { expected: Some(2), found: 3, .. }));
        assert!(ArrayOptions::new([4], "|O").item_size(8).in_memory().is_ok());
        let extent = |e| matches!(e, ArrayError::Nd(NdError::Extent { .. }));
        assert!(extent(error(ArrayOptions::new([0], "<i2").chunks([0]).blocks([0]))));
        assert!(extent(error(ArrayOptions::rows(&[5, 0], "<i2"))));

        let plain = common::frame(&[1; 100], common::options());
        let reader = ReadOptions::new().open(plain).await.unwrap();
        assert!(matches!(NdArray::new(reader), Err(ArrayError::NotAnArray)));
        let (_, _, frame) = slices(true);
        let array = open(frame, &Pool::inline()).await;
        assert!(array.item(&[0]).await.is_err());
        assert!(array.read(&"500".parse().unwrap()).await.is_err());
        assert!(array.stream(&"0,0,0".parse().unwrap()).is_err());
    });
}

#[test]
fn memory_holds_a_slab_and_what_is_in_flight() {
    let pool = Pool::new(2);
    // Rows of 64 KiB in chunks of 16 rows: slabs of 1 MiB, 16 chunks of 64 KiB each.
    let frame = WriteOptions::default().pool(&pool).bytes_in_flight(1 << 20);
    let options = ArrayOptions::rows(&[1 << 16], "|u1").chunks([16, 1 << 12]).blocks([4, 1 << 12]).frame(frame);
    let mut sink = options.in_memory().unwrap();
    let row = Bytes::from(data(1 << 16));
    let mut most = 0;
    block_on(async {
        for _ in 0..500 {
            sink.push(row.clone()).await.unwrap();
            most = most.max(sink.held_bytes());
        }
        assert_eq!(sink.close().await.unwrap().shape, [500, 1 << 16]);
    });
    assert!(most <= 7 << 19, "{most} bytes held");
    block_on(async {
        let array = open(sink.into_target().into_bytes(), &pool).await;
        for number in [0, 15, 16, 250, 498, 499] {
            let found = array.read(&Selection::item(&[number])).await.unwrap();
            assert_eq!(found.bytes(), &row);
        }
    });
}

#[test]
fn slow_and_failing_targets_lose_nothing() {
    let mut random = Random::new(4);
    for seed in 0..20 {
        let tiling = random_tiling(&mut random);
        let reference = Reference::new(tiling.shape(), tiling.item_size());
        let mood = Mood { pending: 3, most: 100, fails_at: 5 + seed..7 + seed, moves_on_failure: seed % 2 == 0 };
        let flaky = Flaky::new(&[], mood, seed);
        let growing = tiling.ndim() > 0 && !tiling.shape()[1..].contains(&0);
        let frame = WriteOptions::default().pool(&Pool::new(2)).bytes_in_flight(500);
        let mut sink = options(&tiling, growing).frame(frame).seekable(flaky.clone()).unwrap();
        block_on(async {
            let mut rest = Bytes::from(reference.bytes.clone());
            while !rest.is_empty() {
                let piece = rest.slice(..rest.len().min(77));
                // After a failure nothing has been taken.
                if sink.push(piece).await.is_ok() {
                    rest = rest.split_off(rest.len().min(77));
                }
            }
            while let Err(error) = sink.close().await {
                assert!(matches!(error, ArrayError::Write(error) if error.is_retryable()));
            }
            let array = open(flaky.bytes(), &Pool::inline()).await;
            let found = array.read(&Selection::all()).await.unwrap();
            assert_eq!(found.shape(), tiling.shape());
            assert_eq!(*found.bytes(), reference.bytes);
        });
    }
}

#[test]
fn a_sink_that_is_full_waits() {
    let frame = WriteOptions::default().pool(&Pool::new(1)).bytes_in_flight(1);
    let stuck = Flaky::new(&[], Mood { pending: 1, ..Mood::GOOD }, 0);
    let options = ArrayOptions::rows(&[10], "|u1").chunks([2, 3]).blocks([2, 3]).frame(frame);
    let mut sink = options.seekable(stuck).unwrap();
    let mut cx = Context::from_waker(std::task::Waker::noop());
    let mut taken = 0;
    // The target is never ready, so sooner or later nothing more is taken.
    for _ in 0..1000 {
        std::thread::yield_now();
        if Pin::new(&mut sink).poll_ready(&mut cx).is_ready() {
            Pin::new(&mut sink).start_send(Bytes::from(vec![1; 20])).unwrap();
            taken += 1;
        }
    }
    assert!(taken < 20, "{taken} slabs taken");
}

#[test]
fn chosen_shapes_bound_the_slab() {
    let partition = Partition { slab_bytes: Some(1 << 16), ..Partition::default() };
    let tiling = ArrayOptions::rows(&[1 << 14], "<f4").partition(partition).tiling().unwrap();
    assert_eq!(tiling.geometry().chunk_shape[0], 1);
    let tiling = ArrayOptions::rows(&[1 << 10], "<f4").partition(partition).tiling().unwrap();
    assert_eq!(tiling.geometry().chunk_shape, [16, 1 << 10]);
}

#[test]
fn items_are_values_of_rust_types() {
    let values = [1.5f32, -2.0, f32::MAX, 0.0, 3.25, 1e-20];
    let options = ArrayOptions::of::<f32>([2, 3]);
    let (target, _) = block_on(options.write(items(&values), MemoryTarget::new())).unwrap();
    let array = blocking::NdArray::from_bytes(target.into_bytes()).unwrap();
    let read = array.read(&Selection::all()).unwrap();
    assert_eq!((read.dtype(), read.to_vec::<f32>().unwrap()), (Some("<f4"), values.to_vec()));
    assert!(matches!(read.to_vec::<u32>(), Err(ArrayError::Dtype { expected: "<u4", .. })));

    let swapped: Vec<u8> = [7u16, 258].into_iter().flat_map(u16::to_be_bytes).collect();
    let (target, _) = block_on(ArrayOptions::new([2], ">u2").write(swapped, MemoryTarget::new())).unwrap();
    let array = blocking::NdArray::from_bytes(target.into_bytes()).unwrap();
    assert_eq!(array.read(&Selection::all()).unwrap().to_vec::<u16>().unwrap(), [7, 258]);
}
