//! A frame, written on four threads and read back.

use std::io::Write;

use oxiblosc::{EncodeParams, FilterSlots, Pool, ReadOptions, WriteOptions, blocking};

#[test]
fn a_frame_comes_back() {
    let data: Vec<u8> = (0..1_000_000).map(|i| (i / 300) as u8).collect();
    let params = EncodeParams { codec: rle::RLE, filters: FilterSlots::NONE, ..EncodeParams::default() };
    let pool = Pool::new(4);

    let options = WriteOptions::new(params).chunk_size(50_000).pool(&pool);
    let mut writer = blocking::FrameWriter::in_memory(options).unwrap();
    writer.write_all(&data).unwrap();
    let summary = writer.finish().unwrap();
    assert_eq!(summary.chunks, 20);
    assert!(summary.ratio() > 50.0, "{summary:?}");

    let options = ReadOptions::new().pool(&pool);
    let reader = blocking::FrameReader::with_options(writer.into_bytes(), options).unwrap();
    assert_eq!(reader.bytes(0..1_000_000).unwrap(), data);
    assert_eq!(*reader.bytes(299..301).unwrap(), [0, 1]);
}
