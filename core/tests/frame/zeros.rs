//! Chunks of zeros take next to no space, whatever their length and the block size of their frame.

use oxiblosc_core::Inline;
use oxiblosc_core::chunk::{ChunkContext, ChunkDecoder, ChunkEncoder, ChunkHeader, EncodeParams, SpecialKind};
use oxiblosc_core::frame::{
    ChunkEntry, ChunkWrite, FrameEditor, FrameParams, FrameWriteError, FrameWriter, SpecialPlacement,
};
use oxiblosc_core::pipeline::FilterSlots;

use super::editor::Place;
use super::support::{open, registry, sparse, stored_for, write};

/// Lengths around everything: what is one item or block, what is none, and the longest.
const LENGTHS: [usize; 14] = [
    1,
    3,
    31,
    33,
    255,
    1023,
    4097,
    65_537,
    1_000_001,
    10_000_001,
    268_435_457,
    536_866_817,
    2_147_483_613,
    ChunkHeader::MAX_NBYTES,
];

fn params(typesize: usize, block_size: Option<usize>, chunk_size: usize) -> FrameParams {
    let encode = EncodeParams { typesize, block_size, filters: FilterSlots::NONE, ..EncodeParams::default() };
    FrameParams { special: SpecialPlacement::Stored, ..FrameParams::new(encode, chunk_size) }
}

/// What is stored for zeros is a chunk that parses, holds as many, and is small.
fn check(chunk: &[u8], nbytes: usize, typesize: usize, block_size: Option<usize>, told: &str) {
    let header = ChunkHeader::parse(chunk).unwrap_or_else(|e| panic!("{told}: {e}"));
    assert_eq!((header.nbytes, header.cbytes), (nbytes, chunk.len()), "{told}");
    let most = 1 << 10;
    // Blocks of a usual size are kept.
    let whole_items = |block: usize| if block > typesize { block - block % typesize } else { block };
    let usual = block_size.map_or(0, |block| if block >= 256 { nbytes.div_ceil(whole_items(block)) * 8 } else { 0 });
    assert!(chunk.len() <= 32 + most.max(usual) + nbytes / (1 << 16) + 8, "{told}: {} bytes", chunk.len());
    // Decoding all of the long ones takes long.
    if nbytes <= 10_000_001 {
        let decoded = ChunkDecoder::new(registry()).decode(chunk, &ChunkContext::default(), &Inline).unwrap();
        assert!(decoded.len() == nbytes && decoded.iter().all(|&b| b == 0), "{told}");
    }
}

#[test]
fn zeros_of_every_length_are_small_and_parse() {
    for nbytes in LENGTHS {
        for typesize in [1, 2, 3, 8, 255, 300, 70_000] {
            for block_size in [None, Some(1), Some(2), Some(7), Some(8), Some(255), Some(256), Some(1024), Some(32_768)]
            {
                let told = format!("{nbytes} bytes, items of {typesize}, blocks of {block_size:?}");
                let params = params(typesize, block_size, nbytes);
                let mut writer = FrameWriter::new(&params, registry()).unwrap();
                let write = writer.push_special(SpecialKind::Zero, nbytes).unwrap();
                let bytes = write.and_then(|write| write.replacement).unwrap_or_else(|| panic!("{told}: not stored"));
                if typesize <= 300 || !nbytes.is_multiple_of(typesize) {
                    check(&bytes, nbytes, typesize, block_size, &told);
                }
                let mut writer = FrameWriter::new(&sparse(&params), registry()).unwrap();
                let write = writer.push_special(SpecialKind::Zero, nbytes).unwrap().unwrap();
                assert_eq!(write.bytes(&[]), bytes, "{told}");
            }
        }
    }
}

#[test]
fn zeros_set_by_an_editor_are_small_and_read() {
    for (typesize, block_size, nbytes) in [(2, 1, 10_000_001), (2, 8, 10_000_001), (2, 1, 268_435_457), (4, 1, 33)] {
        let told = format!("{nbytes} bytes, items of {typesize}, blocks of {block_size}");
        let params = FrameParams { special: SpecialPlacement::Index, ..params(typesize, Some(block_size), nbytes) };
        let mut writer = FrameWriter::new(&params, registry()).unwrap();
        // A repeated byte.
        let mut chunk = ChunkHeader::parse(&stored(&[7; 40])).unwrap().to_bytes();
        (chunk[2], chunk[3], chunk[31]) = (5, 1, 0x30);
        chunk[4..8].copy_from_slice(&(nbytes as u32).to_le_bytes());
        chunk[8..12].copy_from_slice(&1_u32.to_le_bytes());
        chunk[12..16].copy_from_slice(&33_u32.to_le_bytes());
        chunk.push(7);
        let write = writer.push(&chunk).unwrap().unwrap();
        let mut file = [writer.header(), write.bytes(&chunk).to_vec(), writer.finish().unwrap()].concat();
        let header = writer.header();
        file[..header.len()].copy_from_slice(&header);

        let frame = open(&file).unwrap();
        let mut editor = FrameEditor::new(&frame, registry()).unwrap();
        let ChunkWrite { replacement: Some(zeros), .. } =
            editor.update_special(0, SpecialKind::Zero, nbytes).unwrap().expect("part of an item is stored")
        else {
            panic!("{told}: a chunk of its own");
        };
        check(&zeros, nbytes, typesize, Some(block_size), &told);
        assert!(matches!(editor.entry(0).unwrap(), ChunkEntry::Stored { .. }));
    }
}

fn stored(data: &[u8]) -> Vec<u8> {
    let params = EncodeParams { level: 0, typesize: 1, ..EncodeParams::default() };
    ChunkEncoder::new(&params, registry()).unwrap().encode(data, &ChunkContext::default(), &Inline).unwrap()
}

/// The chunks of ordinary frames are what they were before there was a bound: each block has a start and an empty
/// stream.
#[test]
fn zeros_in_blocks_of_a_usual_size_keep_them() {
    for (nbytes, block_size) in [(1_000_001, 1024), (1_000_001, 32_768), (4097, 256), (1001, 8), (65, 1)] {
        let mut writer = FrameWriter::new(&params(2, Some(block_size), nbytes), registry()).unwrap();
        let bytes = writer.push_special(SpecialKind::Zero, nbytes).unwrap().unwrap().replacement.unwrap();
        let blocksize = if block_size > 2 { block_size / 2 * 2 } else { block_size };
        let blocks = nbytes.div_ceil(blocksize);
        let header = ChunkHeader::parse(&bytes).unwrap();
        assert_eq!((header.blocksize, header.cbytes), (blocksize, 32 + 8 * blocks), "{nbytes} in {block_size}");
        let starts = (0..blocks).flat_map(|i| ((32 + 4 * blocks + 4 * i) as u32).to_le_bytes());
        assert!(bytes[32..].iter().copied().eq(starts.chain(vec![0; 4 * blocks])));
    }
}

/// Whatever writes headers: none that the parser refuses, and an error where there is none that it takes.
#[test]
fn no_writer_makes_a_header_that_no_reader_takes() {
    let too_long = ChunkHeader::MAX_NBYTES + 1;
    let mut writer = FrameWriter::new(&params(2, Some(1), 0), registry()).unwrap();
    assert!(matches!(writer.push_special(SpecialKind::Zero, too_long), Err(FrameWriteError::Special { .. })));
    assert!(oxiblosc_core::chunk::special_chunk(oxiblosc_core::chunk::SpecialValue::Zero, too_long, 1, 1).is_err());
    let encoder_of = |level, typesize, block_size| {
        let params = EncodeParams { level, typesize, block_size, ..EncodeParams::default() };
        ChunkEncoder::new(&params, registry()).unwrap()
    };
    for len in [0_usize, 1, 2, 15, 31, 32, 33, 127, 128, 129, 4095, 4096, 4097] {
        for (level, typesize, block_size) in
            [(0, 1, None), (5, 1, Some(1)), (5, 4, Some(7)), (9, 255, Some(64)), (5, 300, None), (1, 8, Some(1 << 30))]
        {
            for data in [vec![0; len], super::support::ramp(len), super::support::noise(len)] {
                let mut encoder = encoder_of(level, typesize, block_size);
                let chunk = encoder.encode(&data, &ChunkContext::default(), &Inline).unwrap();
                let header = ChunkHeader::parse(&chunk).unwrap();
                assert_eq!((header.nbytes, header.cbytes), (len, chunk.len()));
                if len > 0 {
                    let blocks: Vec<&[u8]> = data.chunks(100).collect();
                    let chunk = encoder.encode_blocks(&blocks, &ChunkContext::default(), &Inline).unwrap();
                    assert_eq!(ChunkHeader::parse(&chunk).unwrap().cbytes, chunk.len());
                }
            }
        }
    }
    // Metalayers, checksums and the index are chunks as well, with and without codecs.
    for registry in [registry(), &oxiblosc_core::Registry::empty()] {
        for chunks in [0_usize, 1, 3, 40] {
            let mut params = FrameParams { checksums: true, ..params(4, None, 64) };
            params.encode.level = 0;
            let mut writer = FrameWriter::new(&params, registry).unwrap();
            let chunk = stored(&[1; 64]);
            let mut file = writer.header();
            for _ in 0..chunks {
                file.extend(stored_for(&mut writer, &chunk).unwrap());
            }
            writer.set_vlmetalayer("v", &super::support::ramp(1000)).unwrap();
            file.extend(writer.finish().unwrap());
            let header = writer.header();
            file[..header.len()].copy_from_slice(&header);
            let frame = open(&file).unwrap();
            for (name, chunk) in frame.trailer().vlmetalayers.iter() {
                assert_eq!(ChunkHeader::parse(chunk).unwrap().cbytes, chunk.len(), "{name}");
            }
        }
    }
}

#[test]
fn a_frame_of_odd_zeros_reads_whole() {
    for (typesize, block_size) in [(2, 1), (2, 8), (8, 1), (300, 1), (3, 1024)] {
        let nbytes = 100_001;
        let zeros = vec![0; nbytes];
        let data = [&zeros[..], &super::support::ramp(nbytes), &zeros, &zeros[..77]].concat();
        let params = params(typesize, Some(block_size), nbytes);
        let place = Place::File(write(&params, data.chunks(nbytes), &[]).unwrap());
        assert!(place.chunks().concat() == data, "items of {typesize}, blocks of {block_size}");
    }
}
