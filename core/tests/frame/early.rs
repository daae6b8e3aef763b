//! The layout of 2019, written and read.

use oxiblosc_core::chunk::{ChunkFormat, ChunkHeader, EncodeParams, SpecialKind};
use oxiblosc_core::filter::BitshuffleRule;
use oxiblosc_core::frame::{BitshuffleAge, FrameLayout, FrameParams, FrameWriteError, FrameWriter};
use oxiblosc_core::pipeline::FilterSlots;
use oxiblosc_core::{CodecId, FilterId, Registry};

use super::support::{chunk_bytes, decode, encode, encode_chunk, open, ramp, registry, stored_for, write};

fn params(chunk_size: usize, filter: FilterId) -> FrameParams {
    let encode = EncodeParams {
        format: ChunkFormat::Early,
        codec: CodecId::LZ4,
        filters: FilterSlots::single(filter),
        ..encode(4)
    };
    FrameParams { layout: FrameLayout::Early, ..FrameParams::new(encode, chunk_size) }
}

/// An early frame of `len` bytes.
pub(crate) fn write_early(len: usize, chunk_size: usize, metalayers: &[(&str, &[u8])]) -> Vec<u8> {
    let mut params = params(chunk_size, FilterId::SHUFFLE);
    for (name, content) in metalayers {
        params.metalayers.insert(name, content.to_vec()).unwrap();
    }
    write(&params, ramp(len).chunks(chunk_size), &[]).unwrap()
}

#[test]
fn early_frames_round_trip() {
    for filter in [FilterId::SHUFFLE, FilterId::BITSHUFFLE, FilterId::DELTA] {
        for len in [0, 1, 4, 3999, 4000, 4001, 40_000, 40_001] {
            let mut params = params(4000, filter);
            let data = ramp(len);
            for metalayer in [false, true] {
                if metalayer {
                    params.metalayers.insert("first", &b"\xa5hello"[..]).unwrap();
                }
                let file = write(&params, data.chunks(4000), &[]).unwrap();
                assert_eq!(file[0], if metalayer { 0x9C } else { 0x9B });
                let frame = open(&file).unwrap();
                assert_eq!(frame.header().layout, FrameLayout::Early);
                assert_eq!(frame.bitshuffle_age(), BitshuffleAge::Before);
                assert_eq!(frame.chunk_context(0).bitshuffle, Some(BitshuffleRule::WholeBlockOrNothing));
                assert_eq!(frame.metalayers(), &params.metalayers);
                assert_eq!(decode(&file, &frame).unwrap(), data, "{filter:?} {len}");
                for i in 0..frame.nchunks() {
                    let header = ChunkHeader::parse(&chunk_bytes(&file, &frame, i).unwrap()).unwrap();
                    assert_eq!((header.version, header.udcodec, header.special()), (4, 0, None));
                }
                let index = frame.chunks_end() as usize;
                assert!(len == 0 || file[index] == 4, "the index has the version of its time, too");
            }
        }
    }
}

#[test]
fn an_empty_registry_writes_early_frames_too() {
    let chunk = {
        let file = write_early(400, 400, &[]);
        chunk_bytes(&file, &open(&file).unwrap(), 0).unwrap()
    };
    let mut writer = FrameWriter::new(&params(400, FilterId::SHUFFLE), &Registry::empty()).unwrap();
    let mut file = writer.header();
    for _ in 0..200 {
        file.extend(stored_for(&mut writer, &chunk).unwrap());
    }
    file.extend(writer.finish().unwrap());
    let header = writer.header();
    file[..header.len()].copy_from_slice(&header);
    let frame = open(&file).unwrap();
    assert_eq!(decode(&file, &frame).unwrap(), ramp(400).repeat(200));
}

#[test]
fn what_did_not_exist_in_2019_is_refused() {
    let feature = |result: Result<_, FrameWriteError>| match result {
        Err(FrameWriteError::EarlyFeature { what }) => what,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("accepted"),
    };
    let params = params(400, FilterId::SHUFFLE);
    let mut writer = FrameWriter::new(&params, registry()).unwrap();
    assert!(feature(writer.push(&encode_chunk(&[1; 400])).map(drop)).contains("version 5"));
    assert!(feature(writer.push(&encode_chunk(&[0; 400])).map(drop)).contains("special"));
    assert!(feature(writer.push_special(SpecialKind::Zero, 400).map(drop)).contains("special"));
    assert!(feature(writer.set_vlmetalayer("a", b"b")).contains("variable-length metalayers"));
    // A stored chunk is the same in all versions but for the number.
    let stored = encode_chunk(&super::support::noise(400));
    let write = writer.push(&stored).unwrap().unwrap();
    assert_eq!((write.bytes(&stored)[0], write.bytes(&stored)[22]), (4, 0));
    assert_eq!(write.bytes(&stored)[32..], stored[32..]);

    let variable = FrameParams { chunk_size: 0, ..params.clone() };
    assert!(feature(FrameWriter::new(&variable, registry()).map(drop)).contains("sizes"));
    let mut wide = params.clone();
    wide.encode.typesize = 256;
    assert!(matches!(FrameWriter::new(&wide, registry()), Err(FrameWriteError::Param { what: "type size", .. })));
    let mut codec = params;
    codec.encode.codec = CodecId(32);
    assert!(matches!(FrameWriter::new(&codec, registry()), Err(FrameWriteError::EarlyCodec { .. })));
}
