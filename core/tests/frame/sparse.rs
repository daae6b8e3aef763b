//! Sparse frames: one file per chunk and one for the index.

use oxiblosc_core::chunk::ChunkHeader;
use oxiblosc_core::frame::{
    ChunkAddress, ChunkEntry, FrameError, FrameParams, FrameWriteError, FrameWriter, INDEX_FILE, chunk_file_id,
    chunk_file_name,
};

use super::support::{
    chunk_bytes, decode_sparse, encode, open, open_sparse, ramp, registry, sparse, sparse_chunk, write, write_sparse,
};

#[test]
fn lengths_around_the_chunk_size() {
    for len in [0, 1, 399, 400, 401, 4000, 4007] {
        let data = ramp(len);
        let files = write_sparse(&FrameParams::new(encode(4), 400), data.chunks(400)).unwrap();
        assert_eq!(files.len(), 1 + len.div_ceil(400));
        let frame = open_sparse(&files).unwrap();
        assert_eq!(frame.nchunks(), len.div_ceil(400) as u64);
        assert!(frame.is_sparse());
        assert_eq!(decode_sparse(&files, &frame).unwrap(), data);
        let stored: u64 = files.iter().filter(|(name, _)| *name != INDEX_FILE).map(|(_, f)| f.len() as u64).sum();
        assert_eq!(frame.header().cbytes, stored);
    }
}

#[test]
fn special_chunks_have_no_file_and_numbers_stay_dense() {
    let zeros = vec![0; 400];
    let data = [&zeros[..], &ramp(400), &zeros, &ramp(400)].concat();
    let files = write_sparse(&FrameParams::new(encode(4), 400), data.chunks(400)).unwrap();
    let names: Vec<&str> = files.keys().map(String::as_str).collect();
    assert_eq!(names, ["00000000.chunk", "00000001.chunk", INDEX_FILE]);
    let frame = open_sparse(&files).unwrap();
    assert_eq!(frame.entry(3).unwrap(), ChunkEntry::File { id: 1 });
    assert_eq!(decode_sparse(&files, &frame).unwrap(), data);
}

#[test]
fn names_are_eight_upper_case_digits() {
    for (id, name) in [(0, "00000000.chunk"), (0xABCD, "0000ABCD.chunk"), (u32::MAX, "FFFFFFFF.chunk")] {
        assert_eq!(chunk_file_name(id), name);
        assert_eq!(chunk_file_id(name), Some(id));
    }
    for name in ["0.chunk", "000000000.chunk", "0000abcd.chunk", "+0000000.chunk", "00000000", INDEX_FILE, ".b2lock"] {
        assert_eq!(chunk_file_id(name), None, "{name}");
    }
}

#[test]
fn several_writers_fill_one_frame_and_one_commits() {
    let data = ramp(4000);
    let params = FrameParams::new(encode(4), 400);
    let alone = write_sparse(&params, data.chunks(400)).unwrap();
    let mut writer = FrameWriter::new(&sparse(&params), registry()).unwrap();
    let frame = open_sparse(&alone).unwrap();
    let mut files = alone.clone();
    for i in 0..10 {
        let id = 100 + i as u32;
        let chunk = sparse_chunk(&alone, &frame, i).unwrap();
        writer.adopt(id, &chunk).unwrap();
        files.insert(chunk_file_name(id), chunk);
    }
    files.insert(INDEX_FILE.to_owned(), writer.finish().unwrap());
    let frame = open_sparse(&files).unwrap();
    assert_eq!(frame.entry(9).unwrap(), ChunkEntry::File { id: 109 });
    assert!(frame.header().cbytes >= 109 + 32);
    assert_eq!(decode_sparse(&files, &frame).unwrap(), data);

    let mut writer = FrameWriter::new(&sparse(&params), registry()).unwrap();
    let zero = super::support::encode_chunk(&[0; 400]);
    assert!(matches!(writer.adopt(0, &zero), Err(FrameWriteError::Adopted { chunk: 0 })));
    assert_eq!(writer.push(&zero).unwrap(), None);
    let write = writer.push(&super::support::encode_chunk(&ramp(400))).unwrap().unwrap();
    assert_eq!((write.address, write.replacement), (ChunkAddress::File(0), None));
}

#[test]
fn the_two_kinds_are_not_taken_for_each_other() {
    let data = ramp(1000);
    let params = FrameParams::new(encode(4), 400);
    let mut files = write_sparse(&params, data.chunks(400)).unwrap();
    assert!(matches!(open(&files[INDEX_FILE]), Err(FrameError::FrameType { found: 1, expected: 0 })));
    let contiguous = write(&params, data.chunks(400), &[]).unwrap();
    assert!(chunk_bytes(&contiguous, &open(&contiguous).unwrap(), 0).is_ok());
    files.insert(INDEX_FILE.to_owned(), contiguous);
    assert!(matches!(open_sparse(&files), Err(FrameError::FrameType { found: 0, expected: 1 })));
}

#[test]
fn a_chunk_file_must_hold_its_chunk_and_may_hold_more() {
    let data = ramp(1000);
    let files = write_sparse(&FrameParams::new(encode(4), 400), data.chunks(400)).unwrap();
    let frame = open_sparse(&files).unwrap();
    let chunk = &files["00000001.chunk"];
    let header = ChunkHeader::parse(chunk).unwrap();
    let len = chunk.len() as u64;
    frame.check_chunk_file(1, &header, len).unwrap();
    frame.check_chunk_file(1, &header, len + 7).unwrap();
    assert!(matches!(
        frame.check_chunk_file(1, &header, len - 1),
        Err(FrameError::ChunkFile { chunk: 1, expected, found }) if (expected, found) == (len, len - 1)
    ));
    assert!(matches!(frame.check_chunk_file(2, &header, len), Err(FrameError::ChunkLen { chunk: 2, .. })));
}
