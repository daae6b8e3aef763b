//! A frame of a million chunks: opening it takes its index and no more, reading one chunk takes that chunk and no more.

mod common;

use bytes::Bytes;
use common::{Counting, options};
use oxiblosc_streaming::{Pool, ReadOptions, blocking};

/// Bytes of a chunk. Tiny ones are stored as they are: the frame is as large as it can be for its index.
const CHUNK: usize = 16;

/// Chunk `i`: different from its neighbours, so that a wrong one shows, and now and then all zeros, which is stored nowhere.
fn chunk(i: u64) -> [u8; CHUNK] {
    let mut chunk = [0; CHUNK];
    if !i.is_multiple_of(1000) {
        chunk[..8].copy_from_slice(&i.to_le_bytes());
        chunk[8..].copy_from_slice(&(!i).to_le_bytes());
    }
    chunk
}

fn frame(chunks: u64) -> Bytes {
    let options = options().chunk_size(CHUNK).pool(&Pool::inline());
    let mut writer = blocking::FrameWriter::in_memory(options).unwrap();
    let mut batch = Vec::new();
    for i in 0..chunks {
        batch.extend(chunk(i));
        if batch.len() >= 1 << 16 {
            writer.push(std::mem::take(&mut batch).into()).unwrap();
        }
    }
    writer.push(batch.into()).unwrap();
    assert_eq!(writer.finish().unwrap().chunks, chunks);
    writer.into_bytes().into()
}

#[test]
fn a_million_chunks_cost_their_index_and_one_costs_itself() {
    let mut of_opening = Vec::new();
    for chunks in [1_000, 1_000_000] {
        let frame = frame(chunks);
        let source = Counting::new(frame.clone());
        let reader =
            blocking::FrameReader::with_options(source, ReadOptions::new().pool(&Pool::inline()).cache_bytes(0))
                .unwrap();
        assert_eq!(reader.nchunks(), chunks);
        let (rounds, bytes) = reader.source().take();
        let behind_chunks = frame.len() as u64 - u64::from(reader.header().header_len) - reader.cbytes();
        // The first bytes, of which not all are of the header, and what is behind the chunks. Offsets that rise steadily take
        // less than a byte and a half each.
        assert!(rounds <= 2, "{rounds} rounds for {chunks} chunks");
        assert!(bytes <= behind_chunks + (8 << 10), "{bytes} bytes, index and trailer have {behind_chunks}");
        assert!(behind_chunks <= 4 * chunks + 1024, "index and trailer of {behind_chunks} bytes for {chunks} chunks");
        of_opening.push(bytes);

        for i in [0, 1, chunks / 2, chunks / 3, chunks - 1] {
            assert_eq!(reader.chunk(i).unwrap(), &chunk(i)[..], "chunk {i}");
            let (rounds, bytes) = reader.source().take();
            assert!(rounds <= 1 && bytes <= (CHUNK + 64) as u64, "chunk {i}: {rounds} rounds, {bytes} bytes");
            let at = i * CHUNK as u64 + 3;
            assert_eq!(reader.bytes(at..at + 1).unwrap(), &chunk(i)[3..4], "byte {at}");
            let (rounds, bytes) = reader.source().take();
            assert!(rounds <= 1 && bytes <= (CHUNK + 64) as u64, "byte {at}: {rounds} rounds, {bytes} bytes");
        }
    }
    // Not more than in proportion.
    assert!(of_opening[1] <= 1000 * of_opening[0], "{of_opening:?}");
}
