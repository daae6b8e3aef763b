//! Arrays, written and read in every way.

mod common;

use std::pin::Pin;
use std::task::Context;

use bytes::Bytes;
use common::{Counting, Flaky, Mood, Random, data};
use futures::{AsyncWriteExt, Sink, SinkExt, StreamExt, TryStreamExt};
use oxiblosc_core::chunk::EncodeParams;
use oxiblosc_core::frame::ChunkEntry;
use oxiblosc_core::id::FilterId;
use oxiblosc_core::nd::{ArrayMeta, Geometry, NdError, Partition, Tiling};
use oxiblosc_core::pipeline::FilterSlots;
use oxiblosc_streaming::edit::Store;
use oxiblosc_streaming::nd::{ArrayError, ArrayOptions, AxisSelection, NdArray, NdEditor, Selection, items};
use oxiblosc_streaming::source::RangeSource;
use oxiblosc_streaming::target::MemoryTarget;
use oxiblosc_streaming::{Pool, ReadError, ReadOptions, WriteOptions, block_on, blocking};

/// An array item by item.
struct Reference {
    shape: Vec<u64>,
    item_size: usize,
    bytes: Vec<u8>,
}

impl Reference {
    fn new(shape: &[u64], item_size: usize) -> Self {
        let bytes = data(shape.iter().product::<u64>() as usize * item_size);
        Self { shape: shape.to_vec(), item_size, bytes }
    }

    fn item(&self, index: &[u64]) -> &[u8] {
        let at = self.shape.iter().zip(index).fold(0, |at, (len, i)| at * len + i) as usize;
        &self.bytes[at * self.item_size..][..self.item_size]
    }

    /// The items at every combination of the members of the axes.
    fn product(&self, members: &[Vec<u64>]) -> Vec<u8> {
        let mut indices = vec![vec![]];
        for axis in members {
            let longer = |index: Vec<u64>| axis.iter().map(move |&i| [&index[..], &[i]].concat());
            indices = indices.into_iter().flat_map(longer).collect();
        }
        indices.iter().flat_map(|index| self.item(index).to_vec()).collect()
    }
}

/// A selection for an array, and the members of each axis.
fn random_selection(shape: &[u64], random: &mut Random) -> (Selection, Vec<Vec<u64>>) {
    let mut axes = Vec::new();
    let mut members = Vec::new();
    for &len in shape {
        let below = |random: &mut Random| random.below(len) as i64;
        let (axis, taken): (AxisSelection, Vec<u64>) = match random.below(8) {
            0 if len > 0 => {
                let i = below(random);
                (i.into(), vec![i as u64])
            }
            1 if len > 0 => {
                let list: Vec<i64> = (0..random.below(6)).map(|_| below(random)).collect();
                let taken = list.iter().map(|&i| i as u64).collect();
                (list.into(), taken)
            }
            2 if len > 0 => {
                let (start, step) = (below(random), 1 + random.below(4) as i64);
                let axis = AxisSelection::Slice { start: Some(start), stop: None, step: -step };
                (axis, (0..=start as u64).rev().step_by(step as usize).collect())
            }
            3..=5 => {
                let (a, b) = (random.below(len + 1) as i64, random.below(len + 1) as i64);
                let (start, stop, step) = (a.min(b), a.max(b), 1 + random.below(3) as i64);
                let axis = AxisSelection::from(start..stop).step(step);
                (axis, (start as u64..stop as u64).step_by(step as usize).collect())
            }
            _ => (AxisSelection::ALL, (0..len).collect()),
        };
        axes.push(axis);
        members.push(taken);
    }
    (Selection::axes(axes), members)
}

/// An array of up to five dimensions, sometimes empty, whose chunks and blocks divide nothing.
fn random_tiling(random: &mut Random) -> Tiling {
    let ndim = random.below(6) as usize;
    let longest = [1, 500, 40, 14, 8, 5][ndim];
    let (mut shape, mut chunk_shape, mut block_shape) = (vec![], vec![], vec![]);
    for _ in 0..ndim {
        shape.push(if random.chance(30) { 0 } else { 1 + random.below(longest) });
        let chunk = 1 + random.below(longest) as u32;
        chunk_shape.push(chunk);
        block_shape.push(1 + random.below(chunk.into()) as u32);
    }
    let item_size = [1, 2, 3, 4, 8, 16, 300][random.below(7) as usize];
    Geometry { shape, chunk_shape, block_shape }.tile(item_size).unwrap()
}

fn options(tiling: &Tiling, growing: bool) -> ArrayOptions {
    let geometry = tiling.geometry();
    let dtype = format!("|V{}", tiling.item_size());
    let options = match growing {
        true => ArrayOptions::rows(&geometry.shape[1..], dtype),
        false => ArrayOptions::new(geometry.shape.clone(), dtype),
    };
    options.chunks(geometry.chunk_shape.clone()).blocks(geometry.block_shape.clone())
}

fn params(random: &mut Random) -> EncodeParams {
    let delta = FilterSlots::from_list(&[(FilterId::DELTA, 0), (FilterId::SHUFFLE, 0)]);
    let filters = [FilterSlots::SHUFFLE, FilterSlots::NONE, delta.unwrap()];
    EncodeParams {
        level: random.below(10) as u8,
        filters: filters[random.below(3) as usize],
        ..EncodeParams::default()
    }
}

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
        });
    }
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

impl Reference {
    /// With another shape: new items are zero.
    fn resized(&self, shape: &[u64]) -> Self {
        let mut bytes = Vec::new();
        let mut index = vec![0; shape.len()];
        for _ in 0..shape.iter().product::<u64>() {
            match index.iter().zip(&self.shape).all(|(i, len)| i < len) {
                true => bytes.extend_from_slice(self.item(&index)),
                false => bytes.resize(bytes.len() + self.item_size, 0),
            }
            for (i, len) in index.iter_mut().zip(shape).rev() {
                *i += 1;
                if *i < *len {
                    break;
                }
                *i = 0;
            }
        }
        Self { shape: shape.to_vec(), item_size: self.item_size, bytes }
    }

    /// Replaces the items at every combination of the members of the axes.
    fn write(&mut self, members: &[Vec<u64>], items: &[u8]) {
        let lens: Vec<u64> = members.iter().map(|axis| axis.len() as u64).collect();
        for (i, item) in items.chunks_exact(self.item_size).enumerate() {
            let (mut rest, mut at, mut stride) = (i as u64, 0, 1);
            for (axis, &len) in lens.iter().enumerate().rev() {
                at += members[axis][(rest % len) as usize] * stride;
                rest /= len;
                stride *= self.shape[axis];
            }
            self.bytes[at as usize * self.item_size..][..self.item_size].copy_from_slice(item);
        }
    }
}

/// A shape that is a little longer or shorter along some axes.
fn near(shape: &[u64], random: &mut Random) -> Vec<u64> {
    let len = |&len: &u64| match random.below(6) {
        0 => len + random.below(4),
        1 => len.saturating_sub(random.below(4)),
        2 => random.below(8),
        _ => len,
    };
    shape.iter().map(len).collect()
}

/// Changes an array at random, and has `reopen` look at it after every commit.
fn edit_at_random<S: Store>(
    mut editor: NdEditor<S>,
    mut reference: Reference,
    random: &mut Random,
    mut reopen: impl FnMut(NdEditor<S>, &Reference) -> NdEditor<S>,
) {
    for _ in 0..6 {
        for _ in 0..1 + random.below(3) {
            let shape = reference.shape.clone();
            match random.below(3) {
                0 => {
                    let (selection, members) = random_selection(&shape, random);
                    let count: usize = members.iter().map(Vec::len).product();
                    let items: Vec<u8> = (0..count * reference.item_size).map(|_| random.below(256) as u8).collect();
                    editor.write(&selection, &items).unwrap();
                    reference.write(&members, &items);
                }
                1 => {
                    let shape = near(&shape, random);
                    if shape.iter().product::<u64>() > 5000 {
                        continue;
                    }
                    editor.resize(&shape).unwrap();
                    reference = reference.resized(&shape);
                }
                _ if shape.is_empty() => {}
                _ => {
                    let axis = random.below(shape.len() as u64) as usize;
                    let mut longer = shape.clone();
                    let row: u64 = (0..shape.len()).filter(|&d| d != axis).map(|d| shape[d]).product();
                    let rows = if row == 0 { 0 } else { random.below(5) };
                    longer[axis] += rows;
                    let items: Vec<u8> =
                        (0..rows * row).flat_map(|_| vec![1 + random.below(255) as u8; reference.item_size]).collect();
                    editor.append(axis, &items).unwrap();
                    reference = reference.resized(&longer);
                    let members: Vec<Vec<u64>> = (0..shape.len())
                        .map(|d| if d == axis { shape[d]..longer[d] } else { 0..shape[d] }.collect())
                        .collect();
                    reference.write(&members, &items);
                }
            }
            assert_eq!(editor.shape(), reference.shape);
        }
        let (selection, members) = random_selection(&reference.shape, random);
        assert_eq!(*editor.read(&selection).unwrap().bytes(), reference.product(&members));
        editor.commit().unwrap();
        editor = reopen(editor, &reference);
    }
}

fn same(array: &blocking::NdArray<impl RangeSource + 'static>, reference: &Reference) {
    assert_eq!(array.shape(), reference.shape);
    assert!(*array.read(&Selection::all()).unwrap().bytes() == reference.bytes);
}

#[test]
fn random_changes_are_those_of_the_reference() {
    let mut random = Random::new(5);
    for round in 0..60 {
        let tiling = random_tiling(&mut random);
        let reference = Reference::new(tiling.shape(), tiling.item_size());
        let frame = WriteOptions::new(params(&mut random)).pool(&Pool::inline());
        let mut writer = blocking::NdWriter::in_memory(options(&tiling, false).frame(frame)).unwrap();
        writer.push(reference.bytes.clone().into()).unwrap();
        writer.finish().unwrap();
        let frame = writer.into_bytes();
        if round % 3 < 2 {
            let editor = NdEditor::from_bytes(frame).unwrap();
            edit_at_random(editor, reference, &mut random, |editor, reference| {
                let frame = editor.into_store();
                same(&blocking::NdArray::from_bytes(frame.clone()).unwrap(), reference);
                NdEditor::from_bytes(frame).unwrap()
            });
        } else {
            // A sparse frame; the editor stays open.
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("array.b2nd");
            let target = oxiblosc_streaming::target::SparseTarget::create(&path).unwrap();
            let mut writer = blocking::NdWriter::with_target(target, options(&tiling, false)).unwrap();
            writer.push(reference.bytes.clone().into()).unwrap();
            writer.finish().unwrap();
            let editor = NdEditor::open(&path).unwrap();
            edit_at_random(editor, reference, &mut random, |editor, reference| {
                same(&blocking::NdArray::open(&path).unwrap(), reference);
                editor
            });
        }
    }
}

#[test]
fn what_is_not_committed_does_not_count() {
    let (_, reference, frame) = slices(true);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("array.b2nd");
    std::fs::write(&path, frame).unwrap();
    let mut editor = NdEditor::open(&path).unwrap();
    editor.write(&"0".parse().unwrap(), &[1; 1600]).unwrap();
    editor.resize(&[100, 500]).unwrap();
    editor.append(1, &[2; 800]).unwrap();
    same(&blocking::NdArray::open(&path).unwrap(), &reference);
    drop(editor);
    same(&blocking::NdArray::open(&path).unwrap(), &reference);

    let mut editor = NdEditor::open(&path).unwrap();
    let nd = |result: Result<(), ArrayError>| matches!(result, Err(ArrayError::Nd(_)));
    assert!(nd(editor.write(&"0".parse().unwrap(), &[1; 1599])));
    assert!(nd(editor.write(&"500".parse().unwrap(), &[1; 1600])));
    assert!(nd(editor.resize(&[100])));
    assert!(nd(editor.append(2, &[1; 1600])));
    assert!(matches!(editor.append(1, &[1; 1999]), Err(ArrayError::PartialRow { row_bytes: 2000, found: 1999 })));
    editor.commit().unwrap();
    same(&blocking::NdArray::open(&path).unwrap(), &reference);
    assert!(matches!(NdEditor::from_bytes(common::frame(&[1; 9], common::options())), Err(ArrayError::NotAnArray)));
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
