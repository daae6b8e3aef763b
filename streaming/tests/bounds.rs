//! What a few hundred bytes may cost: every way into a frame takes memory and processor time in proportion to the bytes of
//! the frame and to what is asked for, whatever the frame claims to hold.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use oxiblosc_conformance::budget::{self, Heap, ResourceLimit};
use oxiblosc_core::chunk::{EncodeParams, SpecialKind, SpecialValue};
use oxiblosc_core::frame::{FrameParams, FrameWriter};
use oxiblosc_core::nd::Selection;
use oxiblosc_core::pipeline::FilterSlots;
use oxiblosc_core::{Chain, FilterId, Limits, Registry};
use oxiblosc_plugins as _;
use oxiblosc_streaming::blocking::FrameEditor;
use oxiblosc_streaming::edit::{EditError, EditOptions, copy};
use oxiblosc_streaming::nd::{ArrayError, ArrayOptions, NdArray};
use oxiblosc_streaming::recover::{RecoverError, RecoverOptions, recover, recover_into, seal};
use oxiblosc_streaming::source::{FileSource, RangeSource};
use oxiblosc_streaming::target::{MemoryTarget, SparseTarget};
use oxiblosc_streaming::{ErrorKind, Finding, FrameReader, Pool, ReadError, ReadOptions, WriteOptions, block_on};

#[global_allocator]
static HEAP: Heap = budget::heap();

const MIB: usize = 1 << 20;
/// For an item, a byte, a slice: the block or two that hold it, and what a reader needs to begin with.
const FEW: ResourceLimit = ResourceLimit::bytes(24 * MIB).time(Duration::from_secs(5));
/// For what looks at all of a frame.
const ALL: ResourceLimit = ResourceLimit::bytes(64 * MIB).time(Duration::from_secs(30));
/// For a recovery, which may write 64 MiB whatever the length of its input, and for what reads them back while another
/// thread still frees what the step before had.
const RECOVERY: ResourceLimit = ResourceLimit::bytes(192 * MIB).time(Duration::from_secs(30));

/// Frames of a few hundred bytes that stand for gigabytes or millions of chunks.
fn bombs() -> impl Iterator<Item = (String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../conformance/data/findings/bombs");
    let mut paths: Vec<_> = fs::read_dir(folder).expect("the findings").map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let bombs = paths.into_iter().map(|path| {
        (path.file_name().expect("a file").to_string_lossy().into_owned(), fs::read(&path).expect("a finding"))
    });
    let zeros = [(SpecialKind::Zero, 1, 1 << 20), (SpecialKind::Nan, 8, 2_147_483_600)].into_iter();
    let zeros = zeros.map(|(kind, typesize, chunk)| (format!("{kind:?}"), specials(kind, typesize, chunk, 1 << 26)));
    let mut known = HashSet::new();
    bombs.chain(zeros).filter(move |(_, bytes)| known.insert(bytes.clone()))
}

/// Memory is counted for the whole program, so that tests would count what others make beside their limits.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A frame of `count` chunks that are in the index alone.
fn specials(kind: SpecialKind, typesize: usize, chunk_size: usize, count: u64) -> Vec<u8> {
    let registry = Registry::linked().unwrap();
    let encode = EncodeParams { typesize, ..EncodeParams::default() };
    let mut writer = FrameWriter::new(&FrameParams::new(encode, chunk_size), registry).unwrap();
    assert!(writer.push_specials(kind, chunk_size, count).unwrap());
    let tail = writer.finish().unwrap();
    [writer.header(), tail].concat()
}

/// One pool for all: threads and their decoders are made before anything is counted.
fn pool() -> &'static Pool {
    static POOL: OnceLock<Pool> = OnceLock::new();
    POOL.get_or_init(|| Pool::new(2))
}

fn options() -> ReadOptions {
    ReadOptions::new().pool(pool())
}

#[test]
fn items_bytes_and_slices() {
    let _alone = alone();
    for (name, bytes) in bombs() {
        let (reader, _) = FEW.run(&HEAP, &format!("open {name}"), || block_on(options().open(bytes.clone())));
        let Ok(reader) = reader else { continue };
        let (items, nbytes) = (reader.items_len(), reader.nbytes());
        for item in [0, items / 2, items.saturating_sub(1)].into_iter().filter(|_| items > 0 && reader.typesize() < MIB)
        {
            let (found, _) =
                FEW.run(&HEAP, &format!("item {item} of {name}"), || block_on(reader.items(item..item + 1)));
            if let Ok(found) = found {
                assert_eq!(found.len(), reader.typesize());
            }
        }
        for byte in [0, nbytes / 2, nbytes.saturating_sub(1)].into_iter().filter(|_| nbytes > 0) {
            let _ = FEW.run(&HEAP, &format!("byte {byte} of {name}"), || block_on(reader.bytes(byte..byte + 1)));
        }
        let (array, _) = FEW.run(&HEAP, &format!("the array {name}"), || NdArray::new(reader));
        let Ok(array) = array else { continue };
        if array.item_size() < MIB && array.shape().iter().all(|&len| len > 0) {
            let last: Vec<i64> = array.shape().iter().map(|&len| len as i64 - 1).collect();
            let (item, _) = FEW.run(&HEAP, &format!("the last item of {name}"), || block_on(array.item(&last)));
            if let Ok(item) = item {
                assert_eq!(item.len(), array.item_size());
            }
        }
    }
}

#[test]
fn values_of_special_chunks() {
    let _alone = alone();
    let frame = specials(SpecialKind::Nan, 8, 2_147_483_600, 3);
    let reader = block_on(options().open(frame)).unwrap();
    let (items, _) = FEW.run(&HEAP, "NaNs", || block_on(reader.items(268_435_449..268_435_451)).unwrap());
    assert_eq!(items, f64::NAN.to_le_bytes().repeat(2));
    let (bytes, _) = FEW.run(&HEAP, "part of a NaN", || block_on(reader.bytes(2_147_483_605..2_147_483_609)).unwrap());
    assert_eq!(bytes, [f64::NAN.to_le_bytes()[5..].to_vec(), vec![0]].concat());
}

/// Reading one item of an array takes the memory of its block as stored, decoded and filtered, and less if nothing has to be
/// decoded, however it is selected.
#[test]
fn items_of_arrays_cost_a_block_at_most() {
    let _alone = alone();
    const BLOCK: usize = 4 * MIB;
    const FIXED: usize = 512 << 10;
    // Compressible, but not much.
    let noise = |i: u32| ((i / 2).wrapping_mul(0x9E37_79B9) >> 7).to_le_bytes();
    let directory = tempfile::tempdir().unwrap();
    // The most memory that is allocated when reading from memory, where nothing is fetched, and from a file.
    for (name, level, filters, item, [in_memory, in_file]) in [
        ("zeros", 5, FilterSlots::SHUFFLE, None, [0, 0]),
        ("one value", 5, FilterSlots::SHUFFLE, Some([1, 2, 3, 4]), [0, 0]),
        ("stored", 0, FilterSlots::NONE, None, [0, BLOCK]),
        ("compressed", 1, FilterSlots::NONE, None, [BLOCK, 2 * BLOCK]),
        ("filtered", 1, FilterSlots::SHUFFLE, None, [2 * BLOCK, 3 * BLOCK]),
        ("filtered by a reference", 1, FilterSlots::single(FilterId::DELTA), None, [3 * BLOCK, 5 * BLOCK]),
    ] {
        let params = EncodeParams { level, filters, typesize: 4, ..EncodeParams::default() };
        let frame = WriteOptions::new(params).pool(pool());
        let array = ArrayOptions::new([2048, 2048], "<i4").chunks([1024, 2048]).blocks([1024, 1024]).frame(frame);
        let mut sink = array.in_memory().unwrap();
        let at = |i: u32| item.unwrap_or(if name == "zeros" { [0; 4] } else { noise(i) });
        block_on(sink.push((0..2048 * 2048).flat_map(at).collect::<Vec<u8>>().into())).unwrap();
        block_on(sink.close()).unwrap();
        let mut bytes = sink.into_target().into_bytes();
        if let Some(item) = item {
            let mut editor = FrameEditor::from_bytes(bytes).unwrap();
            (0..2).for_each(|i| editor.update_special(i, SpecialValue::Value(&item)).unwrap());
            editor.commit().unwrap();
            bytes = editor.frame_bytes().unwrap().to_vec();
        }
        let path = directory.path().join(name);
        fs::write(&path, &bytes).unwrap();
        let memory: Box<dyn RangeSource> = Box::new(Bytes::from(bytes));
        let file: Box<dyn RangeSource> = Box::new(FileSource::open_inline(&path).unwrap());
        for (source, most) in [(Arc::new(memory), in_memory), (Arc::new(file), in_file)] {
            let expected = at(1500 * 2048 + 1700);
            let here = 4 * (2048 * 1024 + 1024 * 1024 + 476 * 1024 + 676);
            for way in ["item", "points", "bytes"] {
                // A new pool, which has no buffers to reuse, and whose threads start before memory is counted.
                let pool = Pool::new(2);
                block_on(pool.spawn(|| ())).unwrap();
                let reader = block_on(ReadOptions::new().pool(&pool).open(Arc::clone(&source))).unwrap();
                let array = NdArray::new(reader.clone()).unwrap();
                let budget = ResourceLimit::bytes(most + FIXED);
                let (found, spent) = budget.run(&HEAP, &format!("{name}, {way}"), || match way {
                    "item" => block_on(array.item(&[1500, 1700])).unwrap(),
                    "points" => block_on(array.read(&Selection::points([[1500, 1700]]))).unwrap().into_bytes(),
                    _ => block_on(reader.bytes(here..here + 4)).unwrap(),
                });
                println!("{name}, {way}: {spent} of {most}");
                assert_eq!(found, expected[..], "{name}, {way}");
            }
        }
    }
}

#[test]
fn verification_and_streams() {
    let _alone = alone();
    for (name, bytes) in bombs() {
        let Ok(reader) = block_on(options().open(bytes)) else { continue };
        let (report, _) = ALL.run(&HEAP, &format!("verify {name}"), || block_on(reader.verify()));
        if let Ok(report) = report
            && report.is_good()
        {
            assert_eq!((report.chunks, report.nbytes), (reader.nchunks(), reader.nbytes()), "{name}");
        }
        if reader.chunk_size().is_none_or(|len| len > MIB) {
            continue;
        }
        let _ = ALL.run(&HEAP, &format!("stream {name}"), || {
            block_on(async {
                let mut chunks = reader.chunks();
                for _ in 0..100 {
                    let Some(Ok(_)) = chunks.next().await else { break };
                }
            });
        });
    }
}

/// A frame of small chunks that decode to blocks of any length: runs of one byte, filtered.
fn runs(block: usize, blocks: usize, chunks: usize, filters: &[FilterId]) -> Vec<u8> {
    const RUN: [u8; 5] = [0xF9, 0xFF, 0xFF, 0xFF, 1];
    let streams_at = 32 + 4 * blocks;
    let mut chunk = vec![5, 1, 0x35, 4];
    for field in [block * blocks, block, streams_at + RUN.len() * blocks] {
        chunk.extend_from_slice(&(field as u32).to_le_bytes());
    }
    chunk.resize(32, 0);
    filters.iter().enumerate().for_each(|(slot, filter)| chunk[16 + slot] = filter.0);
    (0..blocks).for_each(|i| chunk.extend_from_slice(&((streams_at + RUN.len() * i) as u32).to_le_bytes()));
    (0..blocks).for_each(|_| chunk.extend_from_slice(&RUN));
    let params = FrameParams::new(EncodeParams { typesize: 4, ..EncodeParams::default() }, block * blocks);
    let mut writer = FrameWriter::new(&params, Registry::linked().unwrap()).unwrap();
    let mut frame = writer.header();
    for _ in 0..chunks {
        frame.extend_from_slice(writer.push(&chunk).unwrap().unwrap().bytes(&chunk));
    }
    let tail = writer.finish().unwrap();
    frame.splice(..writer.header_len() as usize, writer.header());
    [frame, tail].concat()
}

/// Decoding takes one buffer per block, a second one if there are filters, however many, and the first block if others are
/// coded against it.
#[test]
fn large_blocks_are_verified_within_the_memory_in_flight() {
    let _alone = alone();
    const SHUFFLE: FilterId = FilterId::SHUFFLE;
    const DELTA: FilterId = FilterId::DELTA;
    let mut limits = Limits::default();
    limits.in_flight_bytes = 64 * MIB;
    for (block, blocks, filters, fits) in [
        (60 * MIB, 2, &[][..], true),
        (70 * MIB, 2, &[], false),
        (30 * MIB, 2, &[SHUFFLE], true),
        (40 * MIB, 1, &[SHUFFLE], false),
        (30 * MIB, 2, &[SHUFFLE, FilterId::BITSHUFFLE, SHUFFLE, FilterId::BYTEDELTA], true),
        (20 * MIB, 3, &[DELTA], true),
        (30 * MIB, 3, &[DELTA], false),
        (5 * MIB, 8, &[DELTA, SHUFFLE], true),
    ] {
        let name = format!("{blocks} blocks of {} MiB, {filters:?}", block / MIB);
        let frame = runs(block, blocks, 4, filters);
        let reader = block_on(options().limits(limits).open(frame)).unwrap();
        let budget = ResourceLimit::bytes(limits.in_flight_bytes + MIB).time(Duration::from_secs(60));
        let (report, spent) = budget.run(&HEAP, &name, || block_on(reader.verify()).unwrap());
        println!("{name}: {spent}");
        assert_eq!(report.is_good(), fits, "{name}: {report}");
        if fits {
            assert_eq!(report.nbytes, reader.nbytes(), "{name}");
        } else {
            let Finding::Chunk { chunk: 0, source } = &report.findings[0] else { panic!("{report}") };
            assert_eq!(source.kind(), ErrorKind::Limit);
            assert!(Chain(source).to_string().contains("`Limits::in_flight_bytes`"), "{}", Chain(source));
            assert_eq!(report.bad_chunks().count(), 4, "{name}");
        }
    }
    // The largest possible block, with the default limits.
    let block = 536_866_816;
    let reader = block_on(options().open(runs(block, 1, 1, &[SHUFFLE, FilterId::BITSHUFFLE]))).unwrap();
    let most = ResourceLimit::bytes(Limits::default().in_flight_bytes + MIB).time(Duration::from_secs(60));
    let (report, spent) = most.run(&HEAP, "a block of 512 MiB", || block_on(reader.verify()).unwrap());
    println!("a block of 512 MiB: {spent}");
    assert!(report.is_good() && report.nbytes == block as u64, "{report}");
}

#[test]
fn a_chunk_that_many_share_is_looked_at_once() {
    let _alone = alone();
    // The chunk is that of all entries of the index; a byte of it is wrong.
    let (_, mut bytes) = bombs().find(|(name, _)| name == "16.bin").unwrap();
    bytes[97 + 31] |= 0x70;
    let reader = block_on(options().open(bytes)).unwrap();
    let (report, _) = ALL.run(&HEAP, "a bad chunk that is shared", || block_on(reader.verify()).unwrap());
    assert!(!report.is_good() && report.findings.len() < 4, "{report}");
    assert_eq!(report.bad_chunks().count() as u64, reader.nchunks());
    assert!(report.findings.iter().any(|finding| matches!(finding, Finding::Duplicate { of: 0, .. })));
}

#[test]
fn appends_and_commits() {
    let _alone = alone();
    for (name, bytes) in bombs() {
        let (result, _) = ALL.run(&HEAP, &format!("append to {name}"), || -> Result<_, EditError> {
            let mut editor = FrameEditor::with_file(bytes, EditOptions::new().pool(pool()))?;
            let item = vec![7; editor.typesize().min(MIB)];
            let whole = editor.chunk_size().is_some_and(|len| len <= MIB);
            if whole {
                editor.append(&item)?;
            } else {
                editor.set_vlmetalayer("note", b"\xc0")?;
            }
            let added = if whole { item.len() as u64 } else { 0 };
            editor.commit()?;
            Ok((editor.nbytes(), added, editor.frame_bytes()?))
        });
        let Ok((nbytes, added, bytes)) = result else { continue };
        assert!(bytes.len() < 8 * MIB, "{name}: {} bytes", bytes.len());
        let (reader, _) = FEW.run(&HEAP, &format!("open {name} again"), || block_on(options().open(bytes)).unwrap());
        assert_eq!(reader.nbytes(), nbytes, "{name}");
        let (end, _) = FEW.run(&HEAP, &format!("the end of {name}"), || block_on(reader.bytes(nbytes - added..nbytes)));
        assert_eq!(end.unwrap(), vec![7; added as usize], "{name}");
    }
}

/// In a frame with chunks of variable size, each special value of the index becomes a chunk.
#[test]
fn chunks_that_are_to_differ_in_size() {
    let _alone = alone();
    let mut limits = Limits::default();
    limits.in_flight_bytes = 4 * MIB;
    for (name, bytes) in bombs() {
        let Ok(mut editor) = FrameEditor::with_file(bytes, EditOptions::new().limits(limits).pool(pool())) else {
            continue;
        };
        let _ = ALL.run(&HEAP, &format!("let the chunks of {name} differ"), || editor.make_variable());
    }
    let make_variable = |chunks: u64| {
        let frame = specials(SpecialKind::Zero, 4, 1000, chunks);
        let mut editor = FrameEditor::with_file(frame, EditOptions::new().limits(limits).pool(pool())).unwrap();
        let budget = ResourceLimit::bytes(24 * MIB).time(Duration::from_secs(30));
        let (made, _) = budget.run(&HEAP, &format!("{chunks} chunks"), || editor.make_variable());
        let nchunks = editor.nchunks();
        made.map(|()| editor.commit().and_then(|()| editor.frame_bytes()).unwrap())
            .map_err(|error| (Box::new(error), nchunks))
    };
    let frame = make_variable(10_000).unwrap();
    let reader = block_on(options().open(frame)).unwrap();
    assert_eq!((reader.nchunks(), reader.chunk_size(), reader.nbytes()), (10_000, None, 10_000_000));
    assert!(block_on(reader.verify()).unwrap().is_good());
    for chunks in [100_000, 1 << 26] {
        let (error, nchunks) = make_variable(chunks).unwrap_err();
        assert_eq!((error.kind(), nchunks), (ErrorKind::Limit, chunks));
        assert!(error.to_string().contains("`Limits::in_flight_bytes`"), "{error}");
    }
}

#[test]
fn recovery_and_sealing() {
    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    let (old, new) = (directory.path().join("old"), directory.path().join("new"));
    for (name, bytes) in bombs() {
        fs::write(&old, &bytes).unwrap();
        let (recovered, _) = RECOVERY.run(&HEAP, &format!("recover {name}"), || recover(&old, &new));
        match recovered {
            Ok(recovered) => {
                let (reader, _) = RECOVERY.run(&HEAP, &format!("open {name}, recovered"), || {
                    block_on(options().open(fs::read(&new).unwrap())).unwrap()
                });
                assert_eq!(reader.nchunks(), recovered.chunks + recovered.replaced.len(), "{name}");
                let (report, _) =
                    RECOVERY.run(&HEAP, &format!("verify {name}, recovered"), || block_on(reader.verify()));
                // Metalayers that claim gigabytes are copied as they are.
                assert_eq!(report.unwrap().bad_chunks().next(), None, "{name}");
            }
            Err(error @ RecoverError::Output { .. }) => assert!(error.to_string().contains("output_bytes"), "{error}"),
            Err(_) => {}
        }
        let mut store = bytes;
        let _ = RECOVERY.run(&HEAP, &format!("seal {name}"), || seal(&mut store));
        for cut in [store.len() / 2, store.len().saturating_sub(36)] {
            fs::write(&old, &store[..cut]).unwrap();
            let _ = RECOVERY.run(&HEAP, &format!("recover {name} up to {cut}"), || recover(&old, &new));
        }
    }
}

#[test]
fn a_frame_of_one_value_comes_back_as_it_was() {
    let _alone = alone();
    let frame = specials(SpecialKind::Zero, 4, 1000, 1 << 26);
    let mut target = MemoryTarget::new();
    let (recovered, _) =
        FEW.run(&HEAP, "recover zeros", || block_on(recover_into(frame.clone(), &mut target)).unwrap());
    assert_eq!((recovered.chunks, recovered.nbytes), (1 << 26, 1000 << 26));
    assert!(target.into_bytes() == frame);
}

#[test]
fn limits_of_recovery_can_be_raised_and_lowered() {
    let _alone = alone();
    let (_, bytes) = bombs().find(|(name, _)| name == "15.bin").unwrap();
    let recovered = |options: RecoverOptions| block_on(options.recover_into(bytes.clone(), &mut MemoryTarget::new()));
    // 20,000 times 4032 bytes.
    assert!(matches!(
        recovered(RecoverOptions::new()),
        Err(RecoverError::Output { limit: RecoverOptions::OUTPUT_BYTES })
    ));
    assert_eq!(recovered(RecoverOptions::new().output_bytes(20_000 * 4032)).unwrap().chunks, 20_000);
    assert!(recovered(RecoverOptions::new().output_bytes(20_000 * 4032 - 1)).is_err());
    let past = std::time::Instant::now();
    assert!(matches!(recovered(RecoverOptions::new().deadline(past)), Err(RecoverError::Deadline)));
    let data: Vec<u8> = (0..100_000u32).map(|i| (i / 100) as u8).collect();
    let mut writer = oxiblosc_streaming::blocking::FrameWriter::in_memory(
        oxiblosc_streaming::WriteOptions::default().chunk_size(10_000),
    )
    .unwrap();
    std::io::Write::write_all(&mut writer, &data).unwrap();
    writer.finish().unwrap();
    let frame = writer.into_bytes();
    let with =
        |work| block_on(RecoverOptions::new().work_bytes(work).recover_into(frame.clone(), &mut MemoryTarget::new()));
    assert_eq!(with(100_000).unwrap().chunks, 10);
    assert!(matches!(with(99_999), Err(RecoverError::Work { limit: 99_999 })));
}

/// An index that names one chunk again and again would make a copy of gigabytes.
#[test]
fn copies_have_the_limit_of_recoveries() {
    let _alone = alone();
    let (_, bytes) = bombs().find(|(name, _)| name == "15.bin").unwrap();
    let reader = block_on(options().open(bytes)).unwrap();
    for sparse in [false, true] {
        let directory = tempfile::tempdir().unwrap();
        let (path, budget) =
            (directory.path().join("copy"), ResourceLimit::bytes(200 * MIB).time(Duration::from_secs(30)));
        let (copied, _) = budget.run(&HEAP, "copy a frame that repeats a chunk", || match sparse {
            true => block_on(copy(&reader, &mut SparseTarget::create(&path).unwrap().inline())),
            false => block_on(copy(&reader, &mut MemoryTarget::new())),
        });
        let error = copied.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
        assert!(
            matches!(
                error,
                EditError::Read(ReadError::Limit { limit: RecoverOptions::OUTPUT_BYTES, needed, .. })
                    if needed - 4032 <= RecoverOptions::OUTPUT_BYTES
            ),
            "{error:?}"
        );
        assert!(!path.exists());
    }
}

#[test]
fn results_have_a_limit() {
    let _alone = alone();
    let mut limits = Limits::default();
    limits.result_bytes = 1000;
    let frame = specials(SpecialKind::Zero, 4, 1000, 8);
    let reader = block_on(options().limits(limits).open(frame.clone())).unwrap();
    assert_eq!(block_on(reader.bytes(500..1500)).unwrap(), vec![0; 1000]);
    let too_long = |result| matches!(result, Err(ReadError::Limit { needed: 1004, limit: 1000, .. }));
    assert!(too_long(block_on(reader.items(0..251))));
    // Petabytes of zeros are refused before there is memory for any of them.
    let frame = specials(SpecialKind::Zero, 4, 1 << 30, 1 << 22);
    let reader = block_on(options().open(frame)).unwrap();
    let (result, _) = FEW.run(&HEAP, "petabytes", || block_on(reader.bytes(0..reader.nbytes())));
    assert!(matches!(result, Err(ReadError::Limit { .. })));
    // Chunks that are not what the header says do not get memory for what it says.
    let (_, mut bytes) = bombs().find(|(name, _)| name == "16.bin").unwrap();
    bytes[97 + 4..97 + 8].copy_from_slice(&3999u32.to_le_bytes());
    bytes[97 + 12..97 + 16].copy_from_slice(&4031u32.to_le_bytes());
    let reader = block_on(options().open(bytes)).unwrap();
    let (result, _) = FEW.run(&HEAP, "gigabytes", || block_on(reader.bytes(0..10 << 30)));
    assert!(matches!(result, Err(ReadError::Frame(_))), "{result:?}");
}

#[test]
fn slices_have_a_limit() {
    let _alone = alone();
    let (_, bytes) = bombs().find(|(name, _)| name == "35.bin").unwrap();
    let mut limits = Limits::default();
    limits.result_bytes = 1000;
    let reader: FrameReader<Vec<u8>> = block_on(options().limits(limits).open(bytes)).unwrap();
    let Ok(array) = NdArray::new(reader) else { return };
    let all = "...".parse().unwrap();
    let (result, _) = FEW.run(&HEAP, "all of an array", || block_on(array.read(&all)));
    assert!(matches!(result, Err(ArrayError::Read(ReadError::Limit { limit: 1000, .. }))), "{:?}", result.err());
}
