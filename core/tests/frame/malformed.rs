//! Every way in which a frame can be malformed has its own error.
//!
//! The tests take a good frame apart and put it together again with one thing wrong.

use oxiblosc_core::chunk::{ChunkContext, ChunkDecoder, ChunkEncoder, ChunkHeader, SpecialKind};
use oxiblosc_core::frame::{ExpectedIndex, FrameAudit, FrameError, FrameParams, Section};
use oxiblosc_core::{Inline, Limits};

use super::early::write_early;
use super::support::{
    chunk_bytes, decode, decode_sparse, encode, encode_chunk, noise, open, open_counting, open_sparse, registry,
    sparse_chunk, write, write_sparse,
};

const HEADER_LEN: usize = 97;

/// Three chunks of 400, 400 and 200 bytes, no metalayers.
fn good() -> Vec<u8> {
    write(&FrameParams::new(encode(4), 400), noise(1000).chunks(400), &[]).unwrap()
}

/// One metalayer `m` and one variable-length metalayer `v`, and no chunk.
fn with_metalayers() -> Vec<u8> {
    let mut params = FrameParams::new(encode(4), 400);
    params.metalayers.insert("m", &b"abc"[..]).unwrap();
    write(&params, [], &[("v", &[7])]).unwrap()
}

/// The frame with other bytes at `at`.
fn patched(mut file: Vec<u8>, at: usize, bytes: &[u8]) -> Vec<u8> {
    file[at..at + bytes.len()].copy_from_slice(bytes);
    file
}

/// As `patched`, counted from the end.
fn patched_end(file: Vec<u8>, before_end: usize, bytes: &[u8]) -> Vec<u8> {
    let at = file.len() - before_end;
    patched(file, at, bytes)
}

/// The good frame with another index, and with other totals in its header.
fn with_index(entries: &[u64], chunk_size: i32, nbytes: i64) -> Vec<u8> {
    let file = good();
    let end = open(&file).unwrap().chunks_end() as usize;
    with_chunks(&file[HEADER_LEN..end], entries, chunk_size, nbytes)
}

/// A frame with these bytes of chunks, and a stored index of these entries.
fn with_chunks(chunks: &[u8], entries: &[u64], chunk_size: i32, nbytes: i64) -> Vec<u8> {
    let file = good();
    let mut out = [&file[..HEADER_LEN], chunks].concat();
    let len = 8 * entries.len() as u32;
    out.extend([5, 1, 7, 8]);
    for size in [len, len.max(1), len + 32] {
        out.extend(size.to_le_bytes());
    }
    out.extend([0; 16]);
    out.extend(entries.iter().flat_map(|entry| entry.to_le_bytes()));
    out.extend(&file[file.len() - 35..]);
    let frame_len = (out.len() as u64).to_be_bytes();
    let out = patched(out, 16, &frame_len);
    let out = patched(out, 39, &(chunks.len() as u64).to_be_bytes());
    let out = patched(out, 58, &chunk_size.to_be_bytes());
    patched(out, 30, &nbytes.to_be_bytes())
}

#[track_caller]
fn refused(file: &[u8]) -> FrameError {
    let error = open(file).expect_err("the frame is malformed");
    // What it says must be one line for people.
    assert!(!error.to_string().contains('\n'), "{error}");
    error
}

fn limits(set: impl FnOnce(&mut Limits)) -> Limits {
    let mut limits = Limits::default();
    set(&mut limits);
    limits
}

macro_rules! assert_refused {
    ($file:expr, $pattern:pat $(if $guard:expr)? $(,)?) => {
        let error = refused(&$file);
        assert!(matches!(error, $pattern $(if $guard)?), "{error:?}");
    };
}

#[test]
fn the_good_ones_are_good() {
    for file in [good(), with_metalayers(), with_index(&[0, 432, 864], 400, 1000)] {
        let frame = open(&file).unwrap();
        decode(&file, &frame).unwrap();
    }
}

// 1

#[test]
fn too_short_for_a_header() {
    for len in [0, 1, 9, 63] {
        assert_refused!(good()[..len], FrameError::TooShort { len: found, .. } if found == len as u64);
    }
    assert_refused!(good()[..86], FrameError::TooShort { len: 86, min: 87 });
}

#[test]
fn other_magic() {
    assert_refused!(patched(good(), 2, b"B"), FrameError::Magic { found } if found == *b"B2frame\0");
    assert_refused!([0; 200], FrameError::Magic { .. });
}

// 2

#[test]
fn unknown_first_byte() {
    for first in [0x00, 0x9A, 0x9F, 0xFF] {
        assert_refused!(patched(good(), 0, &[first]), FrameError::UnknownLayout { found } if found == first);
    }
}

#[test]
fn first_byte_of_another_age() {
    for first in [0x9B, 0x9C, 0x9D] {
        assert_refused!(
            patched(good(), 0, &[first]),
            FrameError::LayoutMismatch { offset: 57, expected: 0xD1, found: 0xD2, .. }
        );
    }
    let early = write_early(1000, 400, &[]);
    assert_refused!(patched(early.clone(), 0, &[0x9E]), FrameError::LayoutMismatch { offset: 57, .. });
    assert_refused!(patched(early, 0, &[0x9D]), FrameError::LayoutMismatch { offset: 64, expected: 0xD8, .. });
}

// 3

#[test]
fn unknown_version() {
    for version in 4..16 {
        assert_refused!(
            patched(good(), 25, &[0x10 | version]),
            FrameError::Version { found, min: 0, max: 3 } if found == version
        );
    }
    for version in 0..4 {
        open(&patched(good(), 25, &[0x10 | version])).unwrap();
    }
    assert_refused!(patched(write_early(1000, 400, &[]), 25, &[0x25]), FrameError::Version { found: 1, max: 0, .. });
}

// 4

#[test]
fn unknown_frame_type() {
    for kind in [2, 3, 0x10, 0xFF] {
        assert_refused!(patched(good(), 26, &[kind]), FrameError::FrameType { found, .. } if found == kind);
    }
    // The two kinds taken for each other: see `sparse`.
}

// 5

#[test]
fn header_length_out_of_bounds() {
    for len in [i32::MIN, -1, 0, 86, 87, 93] {
        assert_refused!(
            patched(good(), 11, &len.to_be_bytes()),
            FrameError::HeaderLen { found, min: 94, .. } if found == i64::from(len)
        );
    }
    let file = good();
    let frame_len = file.len() as i32;
    assert_refused!(patched(file, 11, &(frame_len + 1).to_be_bytes()), FrameError::FrameLen { .. });
    let limits = limits(|l| l.header_bytes = 96);
    let error = open_counting(&good(), limits).unwrap_err();
    assert!(matches!(error, FrameError::HeaderLen { found: 97, max: 96, .. }), "{error}");
}

// 6

#[test]
fn frame_length_out_of_bounds() {
    let file = good();
    let len = file.len() as u64;
    assert_refused!(
        patched(file.clone(), 16, &(len + 1).to_be_bytes()),
        FrameError::FrameLen { found, max, .. } if (found, max) == (len + 1, len)
    );
    assert_refused!(file[..file.len() - 1], FrameError::FrameLen { .. });
    // Not even the header is whole.
    let error = open_counting(&file[..87], limits(|_| {})).unwrap_err().to_string();
    assert_eq!(error, format!("frame length at offset 16 is {len}, but only 87 bytes are there"));
    assert_refused!(patched(file.clone(), 16, &u64::MAX.to_be_bytes()), FrameError::FrameLen { found: u64::MAX, .. });
    assert_refused!(patched(file, 16, &96_u64.to_be_bytes()), FrameError::FrameLen { found: 96, min: 97, .. });
    let empty = write(&FrameParams::new(encode(4), 400), [], &[]).unwrap();
    assert_refused!(patched(empty, 16, &119_u64.to_be_bytes()), FrameError::FrameLen { found: 119, min: 120, .. });
}

// 7

#[test]
fn negative_totals() {
    assert_refused!(
        patched(good(), 30, &(-1_i64).to_be_bytes()),
        FrameError::Negative { field: "nbytes", offset: 30, found: -1 }
    );
    assert_refused!(
        patched(good(), 39, &i64::MIN.to_be_bytes()),
        FrameError::Negative { field: "cbytes", offset: 39, found: i64::MIN }
    );
}

#[test]
fn chunks_section_longer_than_the_frame() {
    for cbytes in [1_000_000, i64::MAX] {
        assert_refused!(patched(good(), 39, &cbytes.to_be_bytes()), FrameError::ChunksSection { header_len: 97, .. });
    }
}

// 8

#[test]
fn type_size_not_positive() {
    for typesize in [0, -1, i32::MIN] {
        assert_refused!(
            patched(good(), 48, &typesize.to_be_bytes()),
            FrameError::Typesize { found } if found == typesize
        );
    }
}

// 9

#[test]
fn negative_chunk_size_with_data() {
    assert_refused!(
        patched(good(), 58, &(-1_i32).to_be_bytes()),
        FrameError::ChunkSize { offset: 58, found: -1, nbytes: 1000 }
    );
}

// 10

#[test]
fn more_chunks_than_an_index_can_hold() {
    let file = patched(good(), 30, &i64::MAX.to_be_bytes());
    assert_refused!(patched(file, 58, &1_i32.to_be_bytes()), FrameError::TooManyChunks { .. });
    let limits = limits(|l| l.chunks = 2);
    let error = open_counting(&good(), limits).unwrap_err();
    assert!(matches!(error, FrameError::TooManyChunks { found: 3, limit: 2 }), "{error}");
    let variable = patched(good(), 58, &0_i32.to_be_bytes());
    let error = open_counting(&variable, limits).unwrap_err();
    assert!(matches!(error, FrameError::TooManyChunks { found: 3, limit: 2 }), "{error}");
}

// 11

#[test]
fn too_many_filters() {
    assert_refused!(patched(good(), 70, &[7]), FrameError::FilterCount { offset: 70, found: 7, max: 6 });
}

// 12

#[test]
fn damaged_map_of_metalayers() {
    let marker = |at: usize, found: u8| {
        let file = patched(with_metalayers(), at, &[0x00]);
        assert_refused!(
            file,
            FrameError::MetalayerMarker { section: Section::Header, offset, found: Some(0), .. } if offset == at
        );
        assert_eq!(with_metalayers()[at], found);
    };
    marker(91, 0xDE);
    marker(94, 0xA1);
    marker(96, 0xD2);
    marker(104, 0xC6);
    assert_refused!(
        patched(with_metalayers(), 92, &17_u16.to_be_bytes()),
        FrameError::MetalayerCount { section: Section::Header, offset: 92, found: 17, max: 16 }
    );
    // Two entries where there is room for one: the second one's name is what follows.
    assert_refused!(
        patched(with_metalayers(), 92, &2_u16.to_be_bytes()),
        FrameError::MetalayerMarker { section: Section::Header, offset: 101, found: Some(0xDC), .. }
    );
}

// 13

#[test]
fn metalayer_outside_the_header() {
    for offset in [-1, 0, 86, 112, i32::MAX, i32::MIN] {
        assert_refused!(
            patched(with_metalayers(), 97, &offset.to_be_bytes()),
            FrameError::MetalayerRange { section: Section::Header, offset: found, .. } if found == i64::from(offset)
        );
    }
    for len in [4, 5, i32::MAX as u32, u32::MAX] {
        assert_refused!(
            patched(with_metalayers(), 105, &len.to_be_bytes()),
            FrameError::MetalayerRange { section: Section::Header, len: found, .. } if found == u64::from(len)
        );
    }
}

// 14

#[test]
fn no_trailer_length() {
    let file = good();
    let at = file.len() as u64 - 23;
    assert_refused!(
        patched_end(file, 23, &[0xCF]),
        FrameError::TrailerMarker { offset, found: Some(0xCF) } if offset == at
    );
}

// 15

#[test]
fn trailer_length_out_of_bounds() {
    for len in [0, 24, 1_000_000, u32::MAX] {
        assert_refused!(
            patched_end(good(), 22, &len.to_be_bytes()),
            FrameError::TrailerLen { found, min: 25, .. } if found == u64::from(len)
        );
    }
    // One byte too short, its contents are not where they should be; one too long, it reaches into the index.
    assert_refused!(
        patched_end(good(), 22, &34_u32.to_be_bytes()),
        FrameError::MetalayerMarker { section: Section::Trailer, .. }
    );
    assert_refused!(patched_end(good(), 22, &36_u32.to_be_bytes()), FrameError::IndexLen { found: 56, room: 55, .. });
    // Behind the header of an empty frame there is nothing but the trailer.
    let empty = write(&FrameParams::new(encode(4), 400), [], &[]).unwrap();
    assert_refused!(
        patched_end(empty, 22, &34_u32.to_be_bytes()),
        FrameError::TrailerLen { found: 34, min: 35, max: 35, .. }
    );
    let limits = limits(|l| l.trailer_bytes = 34);
    let error = open_counting(&good(), limits).unwrap_err();
    assert!(matches!(error, FrameError::TrailerLen { found: 35, max: 34, .. }), "{error}");
}

// 16

#[test]
fn damaged_vlmetalayers() {
    let trailer = open(&with_metalayers()).unwrap().chunks_end() as usize;
    let file = |at: usize, bytes: &[u8]| patched(with_metalayers(), trailer + at, bytes);
    assert_refused!(file(6, &[0]), FrameError::MetalayerMarker { section: Section::Trailer, offset: 6, .. });
    assert_refused!(
        file(7, &8193_u16.to_be_bytes()),
        FrameError::MetalayerCount { section: Section::Trailer, offset: 7, found: 8193, max: 8192 }
    );
    for offset in [-1, 0, 60, i32::MAX] {
        assert_refused!(
            file(12, &offset.to_be_bytes()),
            FrameError::MetalayerRange { section: Section::Trailer, offset: found, .. } if found == i64::from(offset)
        );
    }
    // The value may not reach into the length field that follows.
    assert_refused!(
        file(20, &34_u32.to_be_bytes()),
        FrameError::MetalayerRange { section: Section::Trailer, len: 34, .. }
    );
}

// 17

#[test]
fn vlmetalayer_that_is_no_chunk_of_its_length() {
    let mut decoder = ChunkDecoder::new(registry());
    let trailer = open(&with_metalayers()).unwrap().chunks_end() as usize;
    let chunk = trailer + 24;
    let mut get = |file: Vec<u8>| {
        let frame = open(&file).expect("the frame opens all the same");
        frame.vlmetalayer("v", &mut decoder)
    };
    assert_eq!(get(with_metalayers()).unwrap().unwrap(), [7]);
    assert!(matches!(
        get(patched(with_metalayers(), trailer + 20, &32_u32.to_be_bytes())),
        Err(FrameError::VlmetalayerLen { expected: 33, found: 32, .. })
    ));
    assert!(matches!(get(patched(with_metalayers(), chunk + 3, &[0])), Err(FrameError::Vlmetalayer { .. })));
    let limits = limits(|l| l.metalayer_bytes = 0);
    let (frame, _) = open_counting(&with_metalayers(), limits).unwrap();
    let error = frame.vlmetalayer("v", &mut decoder).unwrap_err();
    assert!(matches!(error, FrameError::VlmetalayerLimit { found: 1, limit: 0, .. }), "{error}");
}

// 18

#[test]
fn no_room_for_an_index() {
    let file = good();
    let cbytes = file.len() - HEADER_LEN - 35;
    for room in [0, 1, 23] {
        assert_refused!(
            patched(file.clone(), 39, &((cbytes - room) as i64).to_be_bytes()),
            FrameError::NoIndex { room: found, .. } if found == room as u64
        );
    }
}

// 19

#[test]
fn index_of_another_length() {
    let expected = ExpectedIndex::Exactly(24);
    for entries in [&[][..], &[0, 432], &[0, 432, 864, 0]] {
        assert_refused!(
            with_index(entries, 400, 1000),
            FrameError::IndexCount { expected: e, .. } if e == expected
        );
    }
    assert_refused!(
        with_index(&[], 0, 1000),
        FrameError::IndexCount { found: 0, expected: ExpectedIndex::MultipleOfEight, .. }
    );
    let file = good();
    let index = open(&file).unwrap().chunks_end() as usize;
    // The index claims to be longer than what is left, or is no chunk at all.
    assert_refused!(
        patched(patched(file.clone(), index + 12, &57_i32.to_le_bytes()), index + 4, &25_i32.to_le_bytes()),
        FrameError::IndexLen { found: 57, room: 56, .. }
    );
    assert_refused!(patched(file, index + 12, &(-1_i32).to_le_bytes()), FrameError::Index { .. });
}

// 20

#[test]
fn index_of_another_kind() {
    let file = good();
    let index = open(&file).unwrap().chunks_end() as usize;
    assert_refused!(patched(file.clone(), index + 3, &[4]), FrameError::IndexKind { reason, .. } if reason.contains("size"));
    // Not stored, blocks of variable length.
    let vl = patched(patched(file, index + 2, &[0x15]), index + 30, &[1]);
    let vl = patched(vl, index + 8, &1_i32.to_le_bytes());
    assert_refused!(vl, FrameError::IndexKind { reason, .. } if reason.contains("variable"));
}

#[test]
fn index_that_claims_gigabytes() {
    // 2^28 equal entries in 40 bytes are what C-Blosc2 writes for a frame filled with zeros, and cost nothing here.
    let nchunks: u32 = 268_435_455;
    let mut file = good()[..HEADER_LEN].to_vec();
    file.extend([5, 1, 5, 8]);
    for size in [8 * nchunks, 8, 40] {
        file.extend(size.to_le_bytes());
    }
    file.extend([0; 15]);
    file.push(0x30);
    file.extend((0x81_u64 << 56).to_le_bytes());
    file.extend(&good()[good().len() - 35..]);
    let frame_len = (file.len() as u64).to_be_bytes();
    let file = patched(file, 16, &frame_len);
    let file = patched(file, 39, &0_i64.to_be_bytes());
    let file = patched(file, 30, &(i64::from(nchunks) * 400).to_be_bytes());
    assert_refused!(file, FrameError::TooManyChunks { found, .. } if found == u64::from(nchunks));
    let (frame, _) = open_counting(&file, Limits::FORMAT).unwrap();
    assert_eq!(frame.nchunks(), nchunks.into());
    let last = chunk_bytes(&file, &frame, u64::from(nchunks) - 1).unwrap();
    assert_eq!(ChunkHeader::parse(&last).unwrap().special(), Some(SpecialKind::Zero));
    // The same number of entries in a chunk with a body would have to be expanded.
    let file = patched(file, HEADER_LEN + 31, &[0]);
    let error = open_counting(&file, Limits::FORMAT).unwrap_err();
    assert!(matches!(error, FrameError::Index { .. } | FrameError::IndexExpansion { .. }), "{error}");
}

// 21

#[test]
fn offset_outside_the_chunks() {
    let end = 432 + 432 + 232;
    for offset in [end - 31, end, 1 << 40, i64::MAX as u64] {
        assert_refused!(
            with_index(&[0, 432, offset], 400, 1000),
            FrameError::ChunkOffset { chunk: 2, offset: found, cbytes: 1096 } if found == offset
        );
    }
}

#[test]
fn chunk_longer_than_the_section() {
    let end = 432 + 432 + 232;
    let file = with_index(&[0, 432, end - 32], 400, 1000);
    let frame = open(&file).unwrap();
    let header = ChunkHeader::parse(&file[HEADER_LEN + 864..]).unwrap();
    assert!(matches!(
        frame.exact_span(2, &header),
        Err(FrameError::ChunkBounds { chunk: 2, found: 232, room: 32, .. })
    ));
    assert!(decode(&file, &frame).is_err());
}

#[test]
fn chunk_shorter_than_any_in_a_frame() {
    let file = good();
    let frame = open(&file).unwrap();
    let mut header = ChunkHeader::parse(&file[HEADER_LEN..]).unwrap();
    header.cbytes = 24;
    assert!(matches!(
        frame.check_chunk(0, &header),
        Err(FrameError::ChunkTooSmall { chunk: 0, found: 24, min: 32, .. })
    ));
}

// 22, 23

#[test]
fn special_entries_that_no_writer_writes() {
    for entry in [0x80_u64 << 56, 0x83 << 56, 0x86 << 56, 0xC1 << 56, u64::MAX, (0x81 << 56) + 1] {
        let file = with_index(&[0, entry, 864], 400, 1000);
        let frame = open(&file).expect("the other chunks are fine");
        assert!(matches!(frame.entry(1), Err(FrameError::SpecialEntry { chunk: 1, found }) if found == entry));
        assert!(chunk_bytes(&file, &frame, 2).is_ok());
    }
}

#[test]
fn nan_in_a_frame_without_floats() {
    let nan = 0x82 << 56;
    for (typesize, fits) in [(1, false), (2, false), (4, true), (8, true), (16, false)] {
        let file = patched(with_index(&[0, nan, 864], 400, 1000), 48, &(typesize as i32).to_be_bytes());
        let entry = open(&file).unwrap().entry(1);
        assert_eq!(entry.is_ok(), fits, "{entry:?}");
        if let Err(error) = entry {
            assert!(matches!(error, FrameError::NanTypesize { chunk: 1, typesize: t } if t == typesize), "{error}");
        }
    }
    let file = patched(with_index(&[0, 432, nan], 400, 1001), 48, &4_i32.to_be_bytes());
    assert!(matches!(open(&file).unwrap().special_chunk(2), Err(FrameError::SpecialLen { chunk: 2, nbytes: 201, .. })));
}

#[test]
fn special_entry_without_a_length() {
    let file = with_index(&[0, 0x81 << 56, 864], 0, 1000);
    let frame = open(&file).unwrap();
    assert!(matches!(frame.entry(1), Err(FrameError::SpecialInVariable { chunk: 1 })));
    assert!(chunk_bytes(&file, &frame, 0).is_ok());
}

// 24

#[test]
fn chunk_of_another_length() {
    let file = with_index(&[0, 864, 432], 400, 1000);
    let frame = open(&file).unwrap();
    assert!(matches!(chunk_bytes(&file, &frame, 1), Err(FrameError::ChunkLen { chunk: 1, expected: 400, found: 200 })));
    assert!(matches!(chunk_bytes(&file, &frame, 2), Err(FrameError::ChunkLen { chunk: 2, expected: 200, found: 400 })));
}

#[test]
fn chunks_that_do_not_add_up() {
    let file = with_index(&[0, 432, 864], 0, 999);
    let frame = open(&file).unwrap();
    assert!(matches!(decode(&file, &frame), Err(FrameError::TotalLen { expected: 999, found: 1000 })));
}

// 25

#[test]
fn regular_chunks_among_variable_ones() {
    let file = with_index(&[0, 432, 864], 0, 1000);
    let frame = open(&file).unwrap();
    let mut audit = FrameAudit::new(&frame);
    let mut header = ChunkHeader::parse(&file[HEADER_LEN..]).unwrap();
    audit.chunk(0, &header).unwrap();
    header.blosc2_flags2 = 1;
    assert!(matches!(audit.chunk(1, &header), Err(FrameError::MixedBlocks { chunk: 1, variable: true })));
}

#[test]
fn chunks_of_both_kinds_in_one_frame() {
    let regular = encode_chunk(&noise(40));
    let mut encoder = ChunkEncoder::new(&encode(4), registry()).unwrap();
    let variable = encoder.encode_blocks(&[&noise(25)[..], &noise(15)], &ChunkContext::default(), &Inline).unwrap();
    for (first, second, of_variable) in [(&regular, &variable, true), (&variable, &regular, false)] {
        let chunks = [&first[..], second].concat();
        for chunk_size in [40, 0] {
            let file = with_chunks(&chunks, &[0, first.len() as u64], chunk_size, 80);
            let frame = open(&file).unwrap();
            // Each by itself is what its header says.
            assert_eq!(chunk_bytes(&file, &frame, 1).unwrap(), *second);
            let error = decode(&file, &frame).unwrap_err();
            assert!(
                matches!(error, FrameError::MixedBlocks { chunk: 1, variable } if variable == of_variable),
                "{error:?}"
            );
        }
    }
}

// 26

#[test]
fn sparse_frame_with_impossible_file_numbers() {
    let mut files = write_sparse(&FrameParams::new(encode(4), 400), noise(400).chunks(400)).unwrap();
    let index = files.get_mut(oxiblosc_core::frame::INDEX_FILE).unwrap();
    index[HEADER_LEN + 32..HEADER_LEN + 40].copy_from_slice(&(1_u64 << 32).to_le_bytes());
    assert!(matches!(open_sparse(&files), Err(FrameError::ChunkId { chunk: 0, id: 0x1_0000_0000 })));
}

#[test]
fn chunk_files_that_are_missing_or_short() {
    let mut files = write_sparse(&FrameParams::new(encode(4), 400), noise(1000).chunks(400)).unwrap();
    let frame = open_sparse(&files).unwrap();
    let chunk = files["00000001.chunk"].clone();
    let header = ChunkHeader::parse(&chunk).unwrap();
    for len in [32, chunk.len() - 1] {
        files.insert("00000001.chunk".into(), chunk[..len].to_vec());
        let error = frame.check_chunk_file(1, &header, len as u64).unwrap_err();
        assert!(matches!(error, FrameError::ChunkFile { chunk: 1, found, .. } if found == len as u64), "{error:?}");
        assert!(decode_sparse(&files, &frame).is_err());
    }
    // The frame opens without its files; the other chunks are still there. (What a missing file is called is for those
    // who read files to say.)
    files.remove("00000001.chunk");
    let frame = open_sparse(&files).unwrap();
    assert!(sparse_chunk(&files, &frame, 0).is_ok() && sparse_chunk(&files, &frame, 2).is_ok());
}

// 28

#[test]
fn early_frame_with_a_wrong_end() {
    let file = write_early(1000, 400, &[]);
    let len = file.len() as u64;
    let mut longer = file.clone();
    longer.push(0);
    open(&longer).expect("what follows the frame is ignored");
    assert_refused!(
        patched(longer, 16, &(len + 1).to_be_bytes()),
        FrameError::EarlyEnd { expected, found } if (expected, found) == (len, len + 1)
    );
    let empty = write_early(0, 400, &[]);
    let mut longer = empty;
    longer.push(0);
    assert_refused!(patched(longer, 16, &65_u64.to_be_bytes()), FrameError::EarlyEnd { expected: 64, found: 65 });
}

#[test]
fn early_frame_that_contradicts_itself_about_metalayers() {
    let without = write_early(1000, 400, &[]);
    assert_refused!(
        patched(without.clone(), 63, &[0xC3]),
        FrameError::EarlyMetalayers { first: 0x9B, expected: 0xC2, found: 0xC3 }
    );
    assert_refused!(patched(without, 0, &[0x9C]), FrameError::EarlyMetalayers { first: 0x9C, .. });
    let with = write_early(1000, 400, &[("a", b"b")]);
    assert_refused!(patched(with, 63, &[0x00]), FrameError::EarlyMetalayers { found: 0, .. });
}

#[test]
fn reading_less_than_asked_for_is_an_error_and_not_a_loop() {
    let mut opener = oxiblosc_core::frame::FrameOpener::new(1000, registry(), Limits::default());
    opener.step().unwrap();
    assert!(matches!(opener.step(), Err(FrameError::MissingBytes { .. })));
    // A source that ends before it said it would.
    let file = good();
    let mut opener = oxiblosc_core::frame::FrameOpener::new(file.len() as u64, registry(), Limits::default());
    opener.step().unwrap();
    opener.feed(0, file[..1000].to_vec().into());
    let missing = opener.step().unwrap_err();
    assert!(matches!(missing, FrameError::MissingBytes { start: 1193, end } if end == file.len() as u64), "{missing}");
}
