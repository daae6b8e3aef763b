//! What the writer writes opens again and decodes to what was put in.

use oxiblosc_core::chunk::{ChunkContext, ChunkDecoder, ChunkEncoder, ChunkHeader, SpecialKind};
use oxiblosc_core::frame::{
    ChunkEntry, FrameEditor, FrameError, FrameHeader, FrameParams, FrameWriteError, FrameWriter, Metalayers,
    Sequential, SpecialPlacement,
};
use oxiblosc_core::{Inline, Limits, Registry};

use super::support::{chunk_bytes, decode, encode, noise, open, open_counting, ramp, registry, stored_for, write};

#[test]
fn lengths_around_chunk_and_type_size() {
    for typesize in [1, 4, 8, 300] {
        for chunk_size in [1200, 4096, 70_000] {
            for len in
                [0, 1, 31, 32, 33, chunk_size - 1, chunk_size, chunk_size + 1, 3 * chunk_size, 3 * chunk_size + 7]
            {
                let data = ramp(len);
                let params = FrameParams::new(encode(typesize), chunk_size);
                let file = write(&params, data.chunks(chunk_size), &[]).unwrap();
                let (frame, rounds) = open_counting(&file, Limits::default()).unwrap();
                assert!(rounds <= 2, "{rounds} rounds");
                assert_eq!(frame.nchunks(), len.div_ceil(chunk_size) as u64);
                assert_eq!(frame.typesize(), typesize);
                assert_eq!(frame.chunk_size(), (len > 0).then_some(chunk_size));
                assert!(frame.is_in_order());
                assert_eq!(
                    decode(&file, &frame).unwrap(),
                    data,
                    "type size {typesize}, chunk size {chunk_size}, {len}"
                );
            }
        }
    }
}

#[test]
fn many_chunks_have_a_compressed_index_and_open_in_two_rounds() {
    let data = ramp(40 * 5000);
    let file = write(&FrameParams::new(encode(4), 40), data.chunks(40), &[("v", &noise(100_000))]).unwrap();
    let (frame, rounds) = open_counting(&file, Limits::default()).unwrap();
    assert_eq!((frame.nchunks(), rounds), (5000, 2));
    assert_eq!(decode(&file, &frame).unwrap(), data);
    let index_and_trailer = frame.frame_len() - frame.chunks_end();
    assert!(index_and_trailer < 100_000 + 5000 * 8, "{index_and_trailer}");
}

#[test]
fn an_empty_registry_stores_index_and_metalayers() {
    let params = FrameParams::new(encode(4), 40);
    let chunk = chunk_bytes(
        &write(&params, [&ramp(40)[..]], &[]).unwrap(),
        &open(&write(&params, [&ramp(40)[..]], &[]).unwrap()).unwrap(),
        0,
    )
    .unwrap();
    let mut writer = FrameWriter::new(&params, &Registry::empty()).unwrap();
    let mut file = writer.header();
    for _ in 0..1000 {
        assert_eq!(writer.push(&chunk).unwrap().unwrap().replacement, None);
        file.extend_from_slice(&chunk);
    }
    writer.set_vlmetalayer("n", &[7; 1000]).unwrap();
    let tail = writer.finish().unwrap();
    assert_eq!(writer.finish().unwrap(), tail, "finishing can be repeated");
    file.extend(tail);
    let header = writer.header();
    file[..header.len()].copy_from_slice(&header);
    let frame = open(&file).unwrap();
    assert_eq!(frame.nchunks(), 1000);
    let mut decoder = ChunkDecoder::new(&Registry::empty());
    assert_eq!(frame.vlmetalayer("n", &mut decoder).unwrap().unwrap(), [7; 1000]);
}

#[test]
fn zeros_take_an_index_entry_or_a_repeated_value() {
    let zeros = vec![0; 4000];
    let data: Vec<u8> = [&zeros[..], &ramp(4000), &zeros, &zeros[..2000]].concat();
    for (special, stored) in [(SpecialPlacement::Index, false), (SpecialPlacement::Stored, true)] {
        let mut params = FrameParams::new(encode(8), 4000);
        params.special = special;
        let file = write(&params, data.chunks(4000), &[]).unwrap();
        let frame = open(&file).unwrap();
        for (i, is_zero) in [(0, true), (1, false), (2, true), (3, true)] {
            let entry = frame.entry(i).unwrap();
            assert_eq!(entry == ChunkEntry::Special(SpecialKind::Zero), is_zero && !stored, "chunk {i}: {entry:?}");
        }
        assert_eq!(decode(&file, &frame).unwrap(), data);
    }
    // Chunks of variable size have no place whose length an entry could have.
    let parts = [&zeros[..100], &data[4000..4300], &zeros[..33], &zeros[..31]];
    let file = write(&FrameParams::new(encode(8), 0), parts, &[]).unwrap();
    let frame = open(&file).unwrap();
    assert!(frame.is_in_order());
    assert_eq!(frame.header().version, 3);
    assert_eq!(decode(&file, &frame).unwrap(), parts.concat());
}

#[test]
fn special_values_need_no_chunk() {
    let params = FrameParams::new(encode(8), 80);
    let mut writer = FrameWriter::new(&params, registry()).unwrap();
    let mut file = writer.header();
    for kind in [SpecialKind::Nan, SpecialKind::Uninit] {
        assert_eq!(writer.push_special(kind, 80).unwrap(), None);
    }
    assert!(matches!(writer.push_special(SpecialKind::Nan, 12), Err(FrameWriteError::Special { nbytes: 12, .. })));
    // C-Blosc2 takes an entry for whole items, so these zeros need a chunk; it has two empty streams.
    let write = writer.push_special(SpecialKind::Zero, 13).unwrap().unwrap();
    assert_eq!(write.bytes(&[]).len(), 32 + 2 * 4 + 2 * 4);
    file.extend_from_slice(write.bytes(&[]));
    file.extend(writer.finish().unwrap());
    let header = writer.header();
    file[..header.len()].copy_from_slice(&header);
    let frame = open(&file).unwrap();
    let decoded = decode(&file, &frame).unwrap();
    assert_eq!(decoded.len(), 173);
    assert!(decoded[..80].chunks(8).all(|v| v == f64::NAN.to_bits().to_le_bytes()));
    assert!(decoded[80..].iter().all(|&b| b == 0));
}

#[test]
fn chunks_that_break_the_rules_are_refused_and_change_nothing() {
    let params = FrameParams::new(encode(4), 400);
    let parts = |lens: &[usize]| lens.iter().map(|&n| ramp(n)).collect::<Vec<_>>();
    let try_write = |lens: &[usize]| write(&params, parts(lens).iter().map(|p| &p[..]), &[]);
    assert!(matches!(
        try_write(&[400, 100, 100]),
        Err(FrameWriteError::ShortChunk { chunk: 1, len: 100, chunk_size: 400 })
    ));
    assert!(matches!(try_write(&[400, 404]), Err(FrameWriteError::ChunkSize { chunk: 1, expected: 400, found: 404 })));
    assert!(matches!(try_write(&[0]), Err(FrameWriteError::EmptyChunk { chunk: 0 })));
    let mut writer = FrameWriter::new(&params, registry()).unwrap();
    assert!(matches!(writer.push(&[5, 1, 7, 4]), Err(FrameWriteError::Chunk { chunk: 0, .. })));
    let mut blosc1 = [2, 1, 2, 1, 8, 0, 0, 0, 8, 0, 0, 0, 24, 0, 0, 0].to_vec();
    blosc1.extend([0; 8]);
    assert!(matches!(writer.push(&blosc1), Err(FrameWriteError::ChunkTooSmall { found: 24, min: 32, .. })));
    blosc1.push(0);
    assert!(matches!(writer.push(&blosc1), Err(FrameWriteError::ChunkBytes { expected: 24, found: 25, .. })));
    assert_eq!((writer.nchunks(), writer.nbytes(), writer.cbytes()), (0, 0, 0));
    writer.finish().unwrap();
    assert!(matches!(writer.push_special(SpecialKind::Zero, 400), Err(FrameWriteError::Finished)));
}

#[test]
fn metalayers_of_both_kinds_come_back_in_order() {
    let mut params = FrameParams::new(encode(4), 400);
    for i in 0..16 {
        params.metalayers.insert(&format!("meta {i}"), vec![i; usize::from(i)]).unwrap();
    }
    let long = "x".repeat(31);
    assert!(matches!(
        params.metalayers.insert("17th", vec![]),
        Err(FrameWriteError::TooManyMetalayers { max: 16, .. })
    ));
    assert!(matches!(
        Metalayers::new().insert(&(long.clone() + "x"), vec![]),
        Err(FrameWriteError::MetalayerName { .. })
    ));
    let vl: Vec<(&str, Vec<u8>)> = vec![("", vec![]), (&long, ramp(100_000)), ("one", vec![1])];
    let vl_refs: Vec<(&str, &[u8])> = vl.iter().map(|(n, v)| (*n, &v[..])).collect();
    for len in [0, 1000] {
        let data = ramp(len);
        let file = write(&params, data.chunks(400), &vl_refs).unwrap();
        let frame = open(&file).unwrap();
        assert_eq!(frame.metalayers(), &params.metalayers);
        assert!(frame.trailer().vlmetalayers.names().eq(vl.iter().map(|(n, _)| *n)));
        let mut decoder = ChunkDecoder::new(registry());
        for (name, content) in &vl {
            assert_eq!(frame.vlmetalayer(name, &mut decoder).unwrap().as_ref(), Some(content), "{name:?}");
        }
        assert_eq!(frame.vlmetalayer("none", &mut decoder).unwrap(), None);
        assert_eq!(decode(&file, &frame).unwrap(), data);
    }
}

#[test]
fn the_promise_holds_until_a_length_changes() {
    let mut params = FrameParams::new(encode(4), 400);
    params.sequential = true;
    let zeros = vec![0; 1000];
    let file = write(&params, zeros.chunks(400), &[]).unwrap();
    let frame = open(&file).unwrap();
    let promise = Sequential::find(frame.metalayers()).unwrap();
    assert!(promise.holds(frame.header()));
    assert!(frame.is_in_order());
    assert!(!Sequential { cbytes: promise.cbytes + 1, ..promise }.holds(frame.header()));
    assert_eq!(decode(&file, &frame).unwrap(), zeros);
}

#[test]
fn blocks_of_variable_length() {
    let encode = encode(1);
    let mut encoder = ChunkEncoder::new(&encode, registry()).unwrap();
    for (chunk_size, flags) in [(1000, 0x93), (0, 0xD3)] {
        let mut writer = FrameWriter::new(&FrameParams::new(encode.clone(), chunk_size), registry()).unwrap();
        let mut file = writer.header();
        let mut data = Vec::new();
        for len in [1000, 1000, 990] {
            let part = ramp(len);
            let chunk = encoder.encode_blocks(&[&part[..10], &part[10..]], &ChunkContext::default(), &Inline).unwrap();
            file.extend(stored_for(&mut writer, &chunk).unwrap());
            data.extend(part);
        }
        let regular = encoder.encode(&ramp(10), &ChunkContext::default(), &Inline).unwrap();
        let mixed = writer.push(&regular).unwrap_err();
        assert!(matches!(mixed, FrameWriteError::MixedBlocks { chunk: 3, variable: false }), "{mixed}");
        file.extend(writer.finish().unwrap());
        let header = writer.header();
        file[..header.len()].copy_from_slice(&header);
        assert_eq!(file[25], flags);
        let frame = open(&file).unwrap();
        assert!(frame.header().vl_blocks);
        assert_eq!(decode(&file, &frame).unwrap(), data);
        let mut editor = FrameEditor::new(&frame, registry()).unwrap();
        assert!(matches!(editor.insert(0, &regular), Err(FrameWriteError::MixedBlocks { .. })));
        editor
            .delete(2)
            .or_else(|_| {
                editor.set_chunk_header(2, &ChunkHeader::parse(&chunk_bytes(&file, &frame, 2).unwrap()).unwrap())?;
                editor.delete(2)
            })
            .unwrap();
        assert_eq!(editor.nbytes(), 2000);
    }
}

#[test]
fn a_frame_that_was_not_finished_has_a_header_that_says_so() {
    let params = FrameParams::new(encode(4), 400);
    let header = FrameWriter::new(&params, registry()).unwrap().header();
    assert!(matches!(open(&header), Err(FrameError::Unfinished)));
    let header = FrameHeader::parse_unfinished(&header).unwrap();
    assert_eq!((header.frame_len, header.header_len, header.typesize), (0, 97, 4));
}

#[test]
fn bytes_after_the_frame_are_ignored() {
    let data = ramp(1000);
    let mut file = write(&FrameParams::new(encode(4), 400), data.chunks(400), &[]).unwrap();
    file.extend(ramp(100_000));
    let frame = open(&file).unwrap();
    assert_eq!(decode(&file, &frame).unwrap(), data);
}
