//! Frames that are cut, unfinished, open-ended or damaged, and writers that are killed.

mod common;

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use bytes::Bytes;
use common::{CHUNK, Random, data, decoded, decoded_file, frame, options};
use futures::io::{AsyncWriteExt, Cursor};
use oxiblosc_core::chunk::{ChunkContext, ChunkDecoder, ChunkEncoder, EncodeParams};
use oxiblosc_core::frame::{ChunkSize, FrameParams, FrameType, FrameWriter, INDEX_FILE, SpecialPlacement};
use oxiblosc_core::id::CodecId;
use oxiblosc_core::pipeline::FilterSlots;
use oxiblosc_core::{Inline, Registry};
use oxiblosc_streaming::edit::{copy, recompress};
use oxiblosc_streaming::nd::{ArrayOptions, NdArray};
use oxiblosc_streaming::recover::{
    Found, RecoverError, RecoverOptions, Recovered, recover, recover_into, seal, seal_file,
};
use oxiblosc_streaming::sparse::MemoryDirectory;
use oxiblosc_streaming::target::{FileTarget, MemoryTarget, OpenTarget, SparseTarget};
use oxiblosc_streaming::{FrameReader, Pool, WriteOptions, block_on, blocking};

fn recovered(bytes: &[u8]) -> Result<(Recovered, Vec<u8>), RecoverError> {
    let mut target = MemoryTarget::new();
    let recovered = block_on(recover_into(bytes.to_vec(), &mut target))?;
    let found = decoded(&target.into_bytes());
    assert_eq!(found.len() as u64, recovered.summary.nbytes);
    Ok((recovered, found))
}

/// Where the chunks of a frame lie, in order.
fn spans(frame: &[u8]) -> Vec<std::ops::Range<u64>> {
    let reader = blocking::FrameReader::from_bytes(frame.to_vec()).unwrap();
    let frame = reader.frame();
    (0..frame.nchunks())
        .filter_map(|i| {
            let span = frame.span(i).unwrap()?;
            let len = reader.encoded_chunk(i).unwrap().len() as u64;
            Some(span.start..span.start + len)
        })
        .collect()
}

/// Chunks with something in each of them.
fn small() -> WriteOptions {
    options().chunk_size(400).special(SpecialPlacement::Stored)
}

/// The frame as an open-ended target writes it.
fn open_ended(data: &[u8], options: WriteOptions) -> Vec<u8> {
    let mut sink = options.sink(OpenTarget::new(Cursor::new(Vec::new()))).unwrap();
    block_on(async {
        sink.write_all(data).await.unwrap();
        sink.close().await.unwrap();
    });
    sink.into_target().into_inner().into_inner()
}

#[test]
fn cut_at_every_byte() {
    let data = data(2 * CHUNK + 250);
    let plain = frame(&data, small());
    let promised = frame(&data, small().sequential(true));
    let open = open_ended(&data, small());
    // As a writer leaves it that is killed: everything but the header.
    let mut unfinished = plain.clone();
    unfinished[16..24].fill(0);
    unfinished[30..38].fill(0);
    unfinished[39..47].fill(0);
    for (name, frame, whole) in [
        ("plain", &plain, &plain),
        ("promised", &promised, &promised),
        ("open", &open, &promised),
        ("unfinished", &unfinished, &plain),
    ] {
        let spans = spans(whole);
        let header_len = spans[0].start as usize;
        for cut in 0..=frame.len() {
            let result = recovered(&frame[..cut]);
            if cut < header_len {
                assert!(matches!(result, Err(RecoverError::Head(_) | RecoverError::Io(_))), "{name} cut at {cut}");
                continue;
            }
            let expected = spans.iter().filter(|span| span.end <= cut as u64).count();
            // Behind the header of an unfinished frame there may never have been anything.
            let may_be_empty = cut == header_len && (name == "open" || name == "unfinished");
            if expected == 0 && !may_be_empty {
                assert!(matches!(result, Err(RecoverError::Nothing)), "{name} cut at {cut}: {result:?}");
                continue;
            }
            let (recovered, found) = result.unwrap_or_else(|e| panic!("{name} cut at {cut}: {e}"));
            assert_eq!(recovered.chunks, expected as u64, "{name} cut at {cut} of {}", frame.len());
            let len = data.len().min(expected * 400);
            assert_eq!(found, &data[..len], "{name} cut at {cut}");
            assert!(recovered.replaced.is_empty());
            if name == "plain" || name == "promised" {
                assert_eq!(recovered.lost_nbytes, Some((data.len() - len) as u64));
            }
            if name == "open" || name == "promised" {
                assert!(recovered.in_order, "{name} cut at {cut}");
            }
        }
    }
}

#[test]
fn open_frames_are_sealed_where_they_lie() {
    for len in [0, 1, 399, 400, 401, 5000] {
        let data = data(len);
        let plain = frame(&data, small().sequential(true).vlmetalayer("name", &b"\xa3abc"[..]));
        let open = open_ended(&data, small().vlmetalayer("name", &b"\xa3abc"[..]));
        let mut sealed = open.clone();
        let recovered = seal(&mut sealed).unwrap();
        assert_eq!((recovered.found, recovered.nbytes), (Found::Open, len as u64));
        assert_eq!(sealed, plain, "{len} bytes");
        assert_eq!(seal(&mut sealed).unwrap().found, Found::Whole);
        assert_eq!(sealed, plain);

        // And wherever its writer was killed.
        for cut in (0..open.len()).step_by(37) {
            let mut bytes = open[..cut].to_vec();
            let Ok(recovered) = seal(&mut bytes) else {
                assert!(cut < spans(&plain).first().map_or(plain.len(), |span| span.start as usize));
                continue;
            };
            assert_eq!(decoded(&bytes), &data[..recovered.nbytes as usize]);
        }
    }
}

#[test]
fn frames_that_were_complete_are_not_sealed() {
    let frame = frame(&data(5000), small());
    let mut cut = frame[..frame.len() - 1].to_vec();
    assert!(matches!(seal(&mut cut), Err(RecoverError::Seal { .. })));
    assert_eq!(cut, frame[..frame.len() - 1]);
}

#[test]
fn data_that_look_like_an_index_stay_data() {
    // Items of eight bytes that are the offsets of the chunks before them.
    let params = oxiblosc_core::chunk::EncodeParams { typesize: 8, ..Default::default() };
    let options = || WriteOptions::new(params.clone()).chunk_size(64).special(SpecialPlacement::Stored);
    let mut data: Vec<u8> = (0..64u32).map(|i| (i * 37) as u8).collect();
    for _ in 0..12 {
        let so_far = frame(&data, options().sequential(true));
        let spans = spans(&so_far);
        let offsets = spans.iter().map(|span| span.start - spans[0].start);
        let mut more: Vec<u8> = offsets.flat_map(u64::to_le_bytes).collect();
        more.truncate(64);
        data.extend(more);
        let open = open_ended(&data, options());
        let (recovered, found) = recovered(&open).unwrap();
        assert_eq!(recovered.found, Found::Open);
        assert_eq!(found, data);
        data.resize(data.len().next_multiple_of(64), 1);
    }
}

#[test]
fn a_damaged_chunk_becomes_zeros_and_is_named() {
    let data = data(5000);
    let whole = frame(&data, small());
    let spans = spans(&whole);
    for i in [0, 3, spans.len() - 1] {
        let mut bytes = whole.clone();
        // A block of a Zstandard or BloscLZ stream, or its length: whatever it is, all of it.
        bytes[spans[i].start as usize + 32..spans[i].end as usize].fill(0xFF);
        let (recovered, found) = recovered(&bytes).unwrap();
        if !recovered.replaced.is_empty() {
            assert_eq!(recovered.replaced, [i as u64]);
            assert_eq!(recovered.lost_nbytes, Some(400.min(data.len() - 400 * i) as u64));
            let mut expected = data.clone();
            let end = data.len().min(400 * (i + 1));
            expected[400 * i..end].fill(0);
            assert_eq!(found, expected);
        }
    }
}

#[test]
fn a_wrong_length_costs_one_chunk_in_a_frame_that_promises_its_order() {
    let data = data(5000);
    let promised = frame(&data, small().sequential(true));
    let spans = spans(&promised);
    let cut = promised[..spans[spans.len() - 1].end as usize + 5].to_vec();
    for (name, whole) in [("open", open_ended(&data, small())), ("cut", cut)] {
        for (i, len) in [(5, 396u32), (5, 404), (11, 396), (11, 404), (0, 396)] {
            let mut bytes = whole.clone();
            let nbytes = spans[i].start as usize + 4;
            assert_eq!(bytes[nbytes..nbytes + 4], 400u32.to_le_bytes());
            bytes[nbytes..nbytes + 4].copy_from_slice(&len.to_le_bytes());
            let (recovered, found) = recovered(&bytes).unwrap();
            let mut expected = data.clone();
            expected[400 * i..400 * (i + 1)].fill(0);
            assert!(found == expected, "{name}: chunk {i} of {len} bytes");
            assert_eq!(recovered.replaced, [i as u64], "{name}: chunk {i} of {len} bytes");
            assert!(recovered.in_order);
        }
    }
}

#[test]
fn a_damaged_index_of_an_open_ended_frame_costs_no_chunk() {
    let data = data(5000);
    let whole = open_ended(&data, small());
    let index = spans(&frame(&data, small().sequential(true))).last().unwrap().end as usize;
    let mut bytes = whole.clone();
    bytes[index + 32..index + 48].fill(0xFF);
    let (recovered, found) = recovered(&bytes).unwrap();
    assert_eq!((recovered.found, recovered.replaced.len(), recovered.unused_bytes), (Found::Open, 0, 0));
    assert_eq!(found, data);
}

#[test]
fn what_edits_have_not_committed_is_left_out_and_what_they_have_is_kept() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("edited");
    let (old, more) = (data(4 * 400 + 100), data(1000));
    fs::write(&path, frame(&old, small())).unwrap();
    let before = fs::read(&path).unwrap();
    let mut editor = blocking::FrameEditor::open(&path).unwrap();
    editor.append(&more).unwrap();
    // Chunks are there, the commit is not.
    let uncommitted = fs::read(&path).unwrap();
    assert!(uncommitted.len() > before.len());
    let (found, bytes) = recovered(&uncommitted).unwrap();
    assert_eq!((found.found, bytes), (Found::Whole, old.clone()));
    assert_eq!(found.unused_bytes, (uncommitted.len() - before.len()) as u64);

    editor.commit().unwrap();
    let committed = fs::read(&path).unwrap();
    let all = [old.clone(), more].concat();
    assert_eq!(recovered(&committed).unwrap().1, all);
    // Its end is cut: every complete chunk is there, and the chunk that was replaced is not.
    let last = spans(&committed).iter().map(|span| span.end).max().unwrap() as usize;
    for cut in last..committed.len() {
        let (found, bytes) = recovered(&committed[..cut]).unwrap();
        assert_eq!(bytes, all, "cut at {cut}");
        assert_eq!(found.lost_nbytes, Some(0));
    }
}

#[test]
fn a_directory_without_its_index() {
    let directory = tempfile::tempdir().unwrap();
    let (path, output) = (directory.path().join("sparse"), directory.path().join("recovered"));
    let data = data(9 * CHUNK + 99);
    let mut sink = options().metalayer("kind", &b"\xa1x"[..]).sink(SparseTarget::in_place(&path).unwrap()).unwrap();
    block_on(async {
        sink.write_all(&data).await.unwrap();
        AsyncWriteExt::flush(&mut sink).await.unwrap();
    });
    drop(sink);
    let found = recover(&path, &output).unwrap();
    assert_eq!((found.found, found.chunks, found.replaced.len()), (Found::Unfinished, 9, 0));
    assert_eq!(decoded_file(&output), &data[..9 * CHUNK]);
    let reader = blocking::FrameReader::open(&output).unwrap();
    assert_eq!(reader.metalayer("kind").map(|content| &content[..]), Some(&b"\xa1x"[..]));

    // The last file is not whole, another one is missing.
    let last = path.join("00000008.chunk");
    let bytes = fs::read(&last).unwrap();
    fs::write(&last, &bytes[..bytes.len() / 2]).unwrap();
    fs::remove_file(path.join("00000004.chunk")).unwrap();
    let found = recover(&path, &output).unwrap();
    assert_eq!(found.chunks, 7);
    assert_eq!(found.replaced, [4]);
    assert_eq!(decoded_file(&output)[5 * CHUNK..], data[5 * CHUNK..8 * CHUNK]);
    assert!(matches!(recover(directory.path(), &output), Err(RecoverError::NoFiles)));
    assert!(matches!(seal_file(directory.path()), Err(RecoverError::NoFiles)));
    assert!(matches!(seal_file(&path), Err(RecoverError::Seal { .. })));
}

#[test]
fn arrays_are_arrays_again() {
    let rows: Vec<u8> = (0..50 * 30u16).flat_map(u16::to_le_bytes).collect();
    let options = || ArrayOptions::rows(&[30], "<u2").chunks([8, 20]).blocks([4, 10]);
    let mut sink = options().sink(OpenTarget::new(Cursor::new(Vec::new()))).unwrap();
    block_on(async {
        sink.write_all(&rows).await.unwrap();
        sink.close().await.unwrap();
    });
    let open = sink.into_target().into_inner().into_inner();
    let mut sealed = open.clone();
    seal(&mut sealed).unwrap();
    block_on(async {
        let array = NdArray::open(sealed).await.unwrap();
        assert_eq!(array.shape(), [50, 30]);
        assert_eq!(array.read(&"...".parse().unwrap()).await.unwrap().bytes(), &rows[..]);

        for cut in [open.len() / 3, open.len() / 2, open.len() - 100] {
            let mut target = MemoryTarget::new();
            let found = recover_into(open[..cut].to_vec(), &mut target).await.unwrap();
            let array = NdArray::open(target.into_bytes()).await.unwrap();
            let whole = (found.chunks / 2 * 8).min(50) as usize;
            let read = array.read(&format!(":{whole}").parse().unwrap()).await.unwrap();
            assert_eq!(read.bytes(), &rows[..whole * 60], "cut at {cut}");
        }
    });

    // A shape that was known stays, with zeros for what is lost.
    let (target, _) = block_on(
        ArrayOptions::new([50, 30], "<u2").chunks([8, 20]).blocks([4, 10]).write(rows.clone(), MemoryTarget::new()),
    )
    .unwrap();
    let frame = target.into_bytes();
    let mut target = MemoryTarget::new();
    let found = block_on(recover_into(frame[..frame.len() / 2].to_vec(), &mut target)).unwrap();
    assert_eq!(found.chunks + found.replaced.len(), 14);
    let array = block_on(NdArray::open(target.into_bytes())).unwrap();
    assert_eq!(array.shape(), [50, 30]);
}

#[test]
fn chunks_that_need_the_shape_of_a_lost_array_are_lost_with_it() {
    // One chunk of zeros, which need no codec and so no shape.
    let value = |i: u32| if i / 48 < 16 && i % 48 < 16 { 0.0 } else { f64::from(i).sin() };
    let items: Vec<u8> = (0..40 * 48).flat_map(|i| value(i).to_le_bytes()).collect();
    let encode = EncodeParams {
        codec: CodecId::ZFP_PRECISION,
        codec_meta: 30,
        typesize: 8,
        filters: FilterSlots::NONE,
        ..EncodeParams::default()
    };
    let options = ArrayOptions::new([40, 48], "<f8").chunks([16, 16]).blocks([16, 16]).frame(WriteOptions::new(encode));
    let (target, _) = block_on(options.write(items, MemoryTarget::new())).unwrap();
    let mut damaged = target.into_bytes().to_vec();
    // The number of dimensions: none of the shapes can be read any more.
    let at = damaged.windows(6).position(|bytes| bytes[..2] == [0x97, 0] && bytes[2] == 2).unwrap() + 2;
    damaged[at] = 200;
    let mut target = MemoryTarget::new();
    let recovered = block_on(recover_into(damaged, &mut target)).unwrap();
    assert!(recovered.damaged_array.is_some());
    let reader = blocking::FrameReader::from_bytes(target.into_bytes()).unwrap();
    assert_eq!((reader.nchunks(), recovered.chunks + recovered.replaced.len()), (9, 9));
    assert!(!recovered.replaced.is_empty(), "without its shape nothing else of it decodes");
    for i in 0..9 {
        assert!(reader.chunk(i).is_ok(), "chunk {i} is called saved, and does not decode");
    }
}

/// The metalayer is wrong about the chunks and right about their blocks, which these codecs have to know.
#[test]
fn chunks_that_need_the_shape_of_their_blocks_are_kept_with_it() {
    let pixels: Vec<u8> = (0..40 * 48u32).map(|i| (i / 96 % 7) as u8).collect();
    let reals: Vec<u8> = (0..40 * 48u32).flat_map(|i| f64::from(i).sin().to_le_bytes()).collect();
    for (codec, codec_meta, dtype, items) in
        [(CodecId::NDLZ, 4, "|u1", pixels), (CodecId::ZFP_PRECISION, 30, "<f8", reals)]
    {
        let typesize = items.len() / (40 * 48);
        let encode =
            EncodeParams { codec, codec_meta, typesize, filters: FilterSlots::NONE, ..EncodeParams::default() };
        let options =
            ArrayOptions::new([40, 48], dtype).chunks([16, 16]).blocks([16, 16]).frame(WriteOptions::new(encode));
        let directory = tempfile::tempdir().unwrap();
        let sparse = directory.path().join("sparse");
        block_on(options.clone().write(items.clone(), SparseTarget::create(&sparse).unwrap())).unwrap();
        let (target, _) = block_on(options.write(items, MemoryTarget::new())).unwrap();
        let whole = target.into_bytes();
        let original = blocking::FrameReader::from_bytes(whole.clone()).unwrap();

        // The last chunk is damaged, and the end is missing.
        let spans = spans(&whole);
        let mut cut = whole[..spans[8].end as usize].to_vec();
        damage_chunk_shape(&mut cut);
        cut[spans[8].start as usize + 32..].fill(0xEE);
        let mut target = MemoryTarget::new();
        let recovered = block_on(recover_into(cut, &mut target)).unwrap();
        let reader = blocking::FrameReader::from_bytes(target.into_bytes()).unwrap();
        assert!(recovered.damaged_array.is_some(), "{codec:?}: {recovered:?}");
        assert_eq!((recovered.found, recovered.chunks, reader.nchunks()), (Found::Cut, 8, 9), "{codec:?}");
        assert_eq!(recovered.replaced, [8]);
        for i in 0..8 {
            assert!(reader.chunk(i).unwrap() == original.chunk(i).unwrap(), "{codec:?}: chunk {i}");
        }

        let index = sparse.join("chunks.b2frame");
        let mut bytes = fs::read(&index).unwrap();
        damage_chunk_shape(&mut bytes);
        // The header is readable, the rest is not.
        let end = bytes.len();
        bytes.truncate(end - 60);
        fs::write(&index, bytes).unwrap();
        let output = directory.path().join("recovered");
        let recovered = recover(&sparse, &output);
        let recovered = match recovered {
            Err(RecoverError::Index(_)) => panic!("an index that is cut off does not keep chunks from being recovered"),
            recovered => recovered.unwrap(),
        };
        assert!(recovered.damaged_array.is_some() && recovered.replaced.is_empty(), "{codec:?}: {recovered:?}");
        let reader = blocking::FrameReader::open(&output).unwrap();
        for i in 0..9 {
            assert!(reader.chunk(i).unwrap() == original.chunk(i).unwrap(), "{codec:?}: chunk {i}");
        }
    }
}

/// Makes the chunks of a two-dimensional array longer in its metalayer, which is a msgpack array that begins with
/// version and number of dimensions.
fn damage_chunk_shape(frame: &mut [u8]) {
    let at = frame.windows(3).position(|bytes| bytes == [0x97, 0, 2]).unwrap();
    // The shape is an array of two int64, and chunks and blocks are arrays of two int32.
    let chunk_shape = at + 3 + 1 + 2 * 9 + 1;
    assert_eq!(frame[chunk_shape..chunk_shape + 5], [0xD2, 0, 0, 0, 16]);
    frame[chunk_shape + 4] = 17;
}

#[test]
fn chunks_of_an_unknown_codec_stay_and_are_named() {
    let registry = Registry::empty();
    let data: Vec<u8> = (0..10 * CHUNK).map(|i| (i / 70) as u8).collect();
    let frame = frame(&data, options());
    let mut target = MemoryTarget::new();
    let options = RecoverOptions::new().registry(&registry);
    // Without codecs the index, which is compressed, cannot be read either; a cut frame has none.
    let recovered = block_on(options.recover_into(frame[..frame.len() - 60].to_vec(), &mut target)).unwrap();
    assert!(recovered.chunks >= 9 && !recovered.unchecked.is_empty() && recovered.replaced.is_empty(), "{recovered:?}");
    assert_eq!(decoded(&target.into_bytes()), &data[..recovered.nbytes as usize]);
}

#[test]
fn a_damaged_array_header_is_corrected_or_the_array_is_a_plain_frame() {
    let items: Vec<u8> = (0..3 * 7 * 11u64).flat_map(u64::to_le_bytes).collect();
    let options = ArrayOptions::new([3, 7, 11], "<u8").chunks([2, 4, 4]).blocks([2, 2, 3]);
    let (target, _) = block_on(options.write(items.clone(), MemoryTarget::new())).unwrap();
    let whole = target.into_bytes();
    let array = block_on(NdArray::open(whole.clone())).unwrap();
    let header_len = array.reader().header().header_len as usize;
    let stored = array.reader().frame().nchunks() * 384;
    let (mut corrected, mut plain) = (0, 0);
    // Signature and header length aside, without which nothing tells that this is a frame.
    for at in 15..header_len {
        for flip in [0x01, 0x40, 0x80, 0xff] {
            let mut damaged = whole.to_vec();
            damaged[at] ^= flip;
            let mut target = MemoryTarget::new();
            let Ok(recovered) = block_on(recover_into(damaged, &mut target)) else { continue };
            let context = format!("byte {at} ^ {flip:#x}: {recovered:?}");
            let bytes = target.into_bytes();
            let reader = block_on(FrameReader::open(bytes.clone())).expect(&context);
            let is_array = reader.metalayers().get("b2nd").is_some();
            if recovered.damaged_array.is_some() {
                assert!(!is_array, "{context}");
                assert_eq!(recovered.nbytes, stored, "{context}");
                block_on(reader.bytes(0..stored)).expect(&context);
                plain += 1;
            } else if is_array {
                let array = block_on(NdArray::open(bytes)).expect(&context);
                let read = block_on(array.read(&"...".parse().unwrap())).expect(&context);
                corrected += usize::from(at < 78 && read.bytes() == &items[..]);
            }
        }
    }
    assert!(corrected > 150 && plain > 100, "{corrected} corrected, {plain} plain frames");
}

#[test]
fn a_damaged_total_alone_loses_nothing() {
    let data = data(2 * CHUNK + 250);
    let whole = frame(&data, small());
    for difference in [-401, -400, -200, -1, 1, 100, 400, 1 << 20] {
        let mut damaged = whole.clone();
        damaged[30..38].copy_from_slice(&(data.len() as i64 + difference).to_be_bytes());
        let (recovered, found) = recovered(&damaged).unwrap();
        assert!(recovered.replaced.is_empty(), "{difference}: {recovered:?}");
        assert_eq!(found, data, "{difference}");
    }
}

#[test]
fn noise_is_refused_without_panic() {
    let mut random = Random::new(9);
    let whole = frame(&data(3000), small());
    for _ in 0..300 {
        let mut bytes = whole.clone();
        for _ in 0..1 + random.below(20) {
            let at = random.below(bytes.len() as u64) as usize;
            bytes[at] = random.below(256) as u8;
        }
        bytes.truncate(random.below(bytes.len() as u64 + 1) as usize);
        let mut target = MemoryTarget::new();
        let _ = block_on(recover_into(bytes.clone(), &mut target));
        let _ = seal(&mut bytes);
    }
}

#[test]
fn killed_while_compacting() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("frame");
    let data = pattern(3 << 20);
    fs::write(&path, frame(&data, options().chunk_size(16 << 10))).unwrap();
    let mut random = Random::new(5);
    for _ in 0..6 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["writer_to_be_killed", "--exact"])
            .env("OXIBLOSC_TEST_WRITE_TO", &path)
            .env("OXIBLOSC_TEST_KIND", "compact")
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(20 + random.below(100)));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(decoded_file(&path), &data[..]);
    }
}

/// Where the system can exchange two names, a sparse frame is under its name at any time, and after any crash.
#[test]
#[cfg(target_os = "linux")]
fn directories_are_compacted_in_one_step() {
    use std::sync::atomic::{AtomicBool, Ordering};

    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("frame");
    let data = pattern(100_000);
    let mut sink = options().sink(SparseTarget::create(&path).unwrap()).unwrap();
    block_on(async {
        sink.write_all(&data).await.unwrap();
        sink.close().await.unwrap();
    });
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let looking = scope.spawn(|| {
            let mut looks = 0u64;
            while !done.load(Ordering::Relaxed) {
                assert!(path.join("chunks.b2frame").exists(), "there is no frame");
                looks += 1;
            }
            looks
        });
        for _ in 0..30 {
            blocking::compact(&path).unwrap();
        }
        done.store(true, Ordering::Relaxed);
        assert!(looking.join().unwrap() > 0);
    });
    assert_eq!(decoded_file(&path), &data[..]);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "old frames are left");
}

/// The pattern that the writer below writes.
fn pattern(len: usize) -> Vec<u8> {
    (0..len as u64).map(|i| ((i / 3) ^ (i >> 9)) as u8).collect()
}

/// Not a test in itself: the process that [`killed_writers`] kills.
#[test]
fn writer_to_be_killed() {
    let Some(path) = std::env::var_os("OXIBLOSC_TEST_WRITE_TO") else { return };
    let path = Path::new(&path);
    let data = pattern(64 << 20);
    let options = options().chunk_size(16 << 10);
    match std::env::var("OXIBLOSC_TEST_KIND").as_deref() {
        Ok("sparse") => {
            let target = SparseTarget::in_place(path).unwrap().inline();
            let mut writer = blocking::FrameWriter::with_target(target, options).unwrap();
            writer.write_all(&data).unwrap();
            writer.finish().unwrap();
        }
        Ok("compact") => loop {
            blocking::compact(path).unwrap();
        },
        Ok("append") => {
            let mut editor = blocking::FrameEditor::open(path).unwrap();
            let from = editor.nbytes() as usize;
            for part in data[from..].chunks(30_001) {
                editor.append(part).unwrap();
                editor.commit().unwrap();
            }
        }
        _ => {
            let target = FileTarget::in_place(path).unwrap().inline();
            let mut writer = blocking::FrameWriter::with_target(target, options).unwrap();
            writer.write_all(&data).unwrap();
            writer.finish().unwrap();
        }
    }
}

#[test]
fn killed_writers() {
    let mut random = Random::new(4);
    let directory = tempfile::tempdir().unwrap();
    let mut saved = 0;
    for round in 0..12 {
        let kind = ["file", "sparse", "append"][round % 3];
        let path = directory.path().join(format!("{kind}-{round}"));
        if kind == "append" {
            fs::write(&path, frame(&pattern(100), options().chunk_size(16 << 10))).unwrap();
        }
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["writer_to_be_killed", "--exact"])
            .env("OXIBLOSC_TEST_WRITE_TO", &path)
            .env("OXIBLOSC_TEST_KIND", kind)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(20 + random.below(150)));
        child.kill().unwrap();
        child.wait().unwrap();
        if !path.exists() {
            continue;
        }
        let output = directory.path().join(format!("recovered-{round}"));
        match recover(&path, &output) {
            Ok(recovered) => {
                let bytes = decoded_file(&output);
                assert_eq!(bytes, pattern(bytes.len()), "round {round}, {kind}");
                assert!(recovered.replaced.is_empty() && recovered.in_order, "round {round}, {kind}");
                if kind == "append" {
                    assert_eq!(recovered.found, Found::Whole, "an interrupted edit leaves the old frame");
                }
                saved += recovered.chunks;
            }
            // Killed before there was a header, or a chunk.
            Err(RecoverError::Head(_) | RecoverError::NoFiles | RecoverError::Nothing) => {}
            Err(error) => panic!("round {round}, {kind}: {error}"),
        }
        if kind == "file" && seal_file(&path).is_ok() {
            let bytes = decoded_file(&path);
            assert_eq!(bytes, pattern(bytes.len()), "round {round}, sealed");
        }
        let _ = fs::remove_dir_all(&output);
    }
    println!("{saved} chunks saved");
}

#[test]
fn what_contradicts_its_checksum_is_lost_and_gets_no_new_one() {
    let data = data(5 * 400);
    let mut damaged = frame(&data, small().checksums(true));
    // The last byte of a chunk that is stored as it is: it decodes to something else.
    let spans = spans(&damaged);
    let mut found_one = false;
    for (i, span) in spans.iter().enumerate() {
        let at = span.end as usize - 1;
        damaged[at] ^= 1;
        let (recovered, found) = recovered(&damaged).unwrap();
        assert_eq!(recovered.replaced, [i as u64]);
        assert_eq!(recovered.lost_nbytes, Some(400));
        assert_eq!(found[i * 400..][..400], [0; 400]);
        damaged[at] ^= 1;
        found_one = true;
    }
    assert!(found_one);
}

#[test]
fn lost_metalayers_are_told() {
    let whole = frame(&data(1000), small().vlmetalayer("name", &b"\xa3abc"[..]));
    assert!(!recovered(&whole).unwrap().0.lost_vlmetalayers);
    assert!(recovered(&whole[..whole.len() - 10]).unwrap().0.lost_vlmetalayers);
}

#[test]
fn a_directory_with_a_damaged_index() {
    let directory = tempfile::tempdir().unwrap();
    let (path, saved) = (directory.path().join("frame"), directory.path().join("saved"));
    let data = data(2000);
    let mut sink = small().sink(SparseTarget::create(&path).unwrap()).unwrap();
    block_on(async {
        sink.write_all(&data).await.unwrap();
        sink.close().await.unwrap();
    });
    let index = fs::read(path.join("chunks.b2frame")).unwrap();
    for len in [0, 50, index.len() - 10] {
        fs::write(path.join("chunks.b2frame"), &index[..len]).unwrap();
        assert_eq!(recover(&path, &saved).unwrap().chunks, 5, "{len} bytes");
        assert_eq!(decoded_file(&saved), &data[..], "{len} bytes");
    }
}

/// A frame that is being written cannot be sealed, and one that is being edited cannot be edited by another process.
#[test]
#[cfg(unix)]
fn one_writer_at_a_time() {
    use oxiblosc_streaming::blocking::FrameEditor;
    use oxiblosc_streaming::edit::EditError;
    use std::io::ErrorKind;

    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("open");
    let mut sink = small().sink(FileTarget::in_place(&path).unwrap()).unwrap();
    block_on(async {
        sink.write_all(&data(2000)).await.unwrap();
        sink.flush().await.unwrap();
    });
    let busy = |error: RecoverError| matches!(error, RecoverError::Io(e) if e.kind() == ErrorKind::WouldBlock);
    assert!(busy(seal_file(&path).unwrap_err()));
    block_on(sink.close()).unwrap();
    drop(sink);
    seal_file(&path).unwrap();

    let path = directory.path().join("sparse");
    let write = |data: &[u8]| {
        let mut sink = small().sink(SparseTarget::create(&path).unwrap()).unwrap();
        block_on(async {
            sink.write_all(data).await.unwrap();
            sink.close().await.unwrap();
        });
    };
    write(&data(2000));
    let mut editor = FrameEditor::open(&path).unwrap();
    let other = FrameEditor::open(&path);
    assert!(matches!(other, Err(EditError::Store(e)) if e.kind() == ErrorKind::WouldBlock));
    // A new frame takes the place of the one that is being edited: what the editor does must not get into it.
    write(&data(900));
    assert!(editor.append(&data(800)).and_then(|_| editor.commit()).is_err());
    drop(editor);
    assert_eq!(decoded_file(&path), data(900));
    FrameEditor::open(&path).unwrap();
}

/// A frame with `chunks` as they are, each of which may state anything about itself.
fn frame_of(chunks: &[Vec<u8>], chunk_size: usize) -> Vec<u8> {
    let registry = Registry::linked().unwrap();
    let params = EncodeParams { codec: CodecId::LZ4, ..EncodeParams::default() };
    let mut writer = FrameWriter::new(&FrameParams::new(params, chunk_size), registry).unwrap();
    let stored: Vec<_> =
        chunks.iter().map(|chunk| writer.push(chunk).unwrap().unwrap().bytes(chunk).to_vec()).collect();
    let tail = writer.finish().unwrap();
    [writer.header(), stored.concat(), tail].concat()
}

fn lz4() -> ChunkEncoder {
    let params = EncodeParams { codec: CodecId::LZ4, typesize: 1, ..EncodeParams::default() };
    ChunkEncoder::new(&params, Registry::linked().unwrap()).unwrap()
}

/// Chunk `i` of the tests below, in blocks that differ in length.
fn parts(i: usize) -> Vec<Vec<u8>> {
    let bytes = data(400);
    [&bytes[..30 + i], &bytes[30 + i..]].map(<[u8]>::to_vec).to_vec()
}

/// The blocks of each chunk; `None` for one whose blocks have a fixed length.
fn blocks_of(frame: Vec<u8>) -> Vec<Option<Vec<Vec<u8>>>> {
    let reader = blocking::FrameReader::from_bytes(frame).unwrap();
    let mut decoder = ChunkDecoder::new(Registry::linked().unwrap());
    let mut blocks = |i| decoder.decode_blocks(&reader.encoded_chunk(i).unwrap(), &ChunkContext::default()).ok();
    (0..reader.nchunks()).map(&mut blocks).collect()
}

/// Such a frame has no room for a chunk of zeros as other frames have it.
#[test]
fn a_damaged_chunk_of_variable_blocks_becomes_one_of_zeros() {
    for chunk_size in [400, 0] {
        let chunks: Vec<_> =
            (0..4).map(|i| lz4().encode_blocks(&parts(i), &ChunkContext::default(), &Inline).unwrap()).collect();
        let whole = frame_of(&chunks, chunk_size);
        for (lost, span) in spans(&whole).into_iter().enumerate() {
            let mut bytes = whole.clone();
            bytes[span.start as usize + 32..span.end as usize].fill(0xFF);
            let mut target = MemoryTarget::new();
            let recovered = block_on(recover_into(bytes, &mut target)).unwrap();
            assert_eq!((recovered.chunks, recovered.lost_nbytes), (3, Some(400)), "chunk {lost}");
            assert_eq!(recovered.replaced, [lost as u64]);
            let expected = |i| if i == lost { vec![vec![0; 400]] } else { parts(i) };
            let expected: Vec<_> = (0..4).map(|i| Some(expected(i))).collect();
            assert_eq!(blocks_of(target.into_bytes()), expected, "chunk {lost}");
        }
    }
}

/// C-Blosc2 reads no frame with both kinds. The first chunk says which one all of them get.
#[test]
fn chunks_of_both_kinds_of_blocks_become_one_kind() {
    let regular = |i| lz4().encode(&parts(i).concat(), &ChunkContext::default(), &Inline).unwrap();
    let variable = |i| lz4().encode_blocks(&parts(i), &ChunkContext::default(), &Inline).unwrap();
    for variable_first in [true, false] {
        let encoded = |i: usize| if (i == 0) == variable_first { variable(i) } else { regular(i) };
        let mut params = FrameParams::new(lz4().params().clone(), 400);
        params.frame_type = FrameType::Sparse;
        let mut writer = FrameWriter::new(&params, Registry::linked().unwrap()).unwrap();
        // No writer takes such chunks: they come into its files later.
        (0..3).for_each(|i| drop(writer.push(&regular(i)).unwrap()));
        let index = (INDEX_FILE.to_owned(), Bytes::from(writer.finish().unwrap()));
        let files = (0..3).map(|i| (format!("{i:08X}.chunk"), Bytes::from(encoded(i))));
        let mut target = MemoryTarget::new();
        let directory = MemoryDirectory::from_files(files.chain([index]));
        let recovered = block_on(recover_into(directory, &mut target)).unwrap();
        assert_eq!((recovered.chunks, recovered.lost_nbytes), (3, Some(0)));
        let frame = target.into_bytes();
        assert_eq!(decoded(&frame), (0..3).flat_map(|i| parts(i).concat()).collect::<Vec<_>>());
        let expected = |i| if i == 0 { parts(i) } else { vec![parts(i).concat()] };
        let expected: Vec<_> = (0..3).map(|i| variable_first.then(|| expected(i))).collect();
        assert_eq!(blocks_of(frame), expected);
    }
}

/// The chunk size of a frame with one chunk may be any number, and so may the block size, which is for those who append.
#[test]
fn sizes_that_no_chunk_can_have_are_copied() {
    const MOST: u32 = i32::MAX as u32;
    let data = data(400);
    for (chunk_size, block_size) in [(MOST, 0), (400, MOST), (MOST, MOST)] {
        let mut frame = frame(&data, options().chunk_size(400));
        frame[53..57].copy_from_slice(&block_size.to_be_bytes());
        frame[58..62].copy_from_slice(&chunk_size.to_be_bytes());
        let reader = blocking::FrameReader::from_bytes(frame.clone()).unwrap();
        let mut copied = MemoryTarget::new();
        block_on(copy(reader.as_async(), &mut copied)).unwrap();
        let mut saved = MemoryTarget::new();
        assert_eq!(block_on(recover_into(frame, &mut saved)).unwrap().lost_nbytes, Some(0));
        for found in [copied.into_bytes(), saved.into_bytes()] {
            assert_eq!(decoded(&found), data);
            let header = blocking::FrameReader::from_bytes(found).unwrap().header().clone();
            assert_eq!((header.chunk_size, header.block_size), (ChunkSize::Fixed(chunk_size), block_size));
        }
        // No sink writes chunks of that size, and there are none of them.
        let mut again = MemoryTarget::new();
        block_on(recompress(reader.as_async(), options().pool(&Pool::inline()), &mut again)).unwrap();
        assert_eq!(decoded(&again.into_bytes()), data);
    }
}
