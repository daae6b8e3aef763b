//! Whatever a file holds, opening and decoding it ends with a result.

use oxiblosc_core::Limits;
use oxiblosc_core::chunk::ChunkDecoder;
use oxiblosc_core::frame::{Frame, FrameEditor, FrameParams, Sequential};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::early::write_early;
use super::support::{
    Directory, decode, decode_sparse, encode, noise, open_counting, open_sparse, ramp, registry, write, write_sparse,
};

/// Small frames of every kind.
fn frames() -> Vec<Vec<u8>> {
    let mut plain = FrameParams::new(encode(4), 400);
    plain.metalayers.insert("m", &b"abc"[..]).unwrap();
    plain.metalayers.insert("n", ramp(50)).unwrap();
    let mut sequential = FrameParams::new(encode(8), 400);
    sequential.sequential = true;
    let mut data = ramp(3000);
    data[400..1200].fill(0);
    vec![
        write(&plain, data.chunks(400), &[("v", &[7]), ("w", &ramp(300))]).unwrap(),
        write(&plain, [], &[("v", &[7])]).unwrap(),
        write(&sequential, data.chunks(400), &[]).unwrap(),
        write(&FrameParams::new(encode(2), 0), [&data[..10], &data[10..900], &data[900..]], &[]).unwrap(),
        // Long enough for an index with a body.
        write(&FrameParams::new(encode(4), 40), noise(4000).chunks(40), &[]).unwrap(),
        write_early(1000, 400, &[]),
        write_early(1001, 400, &[("first", b"\xa5hello")]),
    ]
}

/// Limits that make a test notice when something is allocated that the file does not justify.
fn limits() -> Limits {
    let mut limits = Limits::default();
    limits.chunk_bytes = 1 << 20;
    limits.metalayer_bytes = 1 << 20;
    limits
}

fn read_all(file: &[u8]) {
    let Ok((frame, rounds)) = open_counting(file, limits()) else { return };
    assert!(rounds <= 4);
    // A frame of 2^28 special chunks may be what a few flipped bits make of one.
    if frame.nchunks() < 10_000 && frame.nbytes() < 1 << 24 {
        let _ = decode(file, &frame);
        look_around(&frame);
    }
}

fn look_around(frame: &Frame) {
    let mut decoder = ChunkDecoder::new(registry()).with_limits(limits());
    for (name, _) in frame.trailer().vlmetalayers.iter() {
        let _ = frame.vlmetalayer(&name, &mut decoder);
    }
    let _ = frame.user_metadata(&mut decoder);
    let _ = Sequential::find(frame.metalayers());
    for i in [0, 1, frame.nchunks().wrapping_sub(1), frame.nchunks(), u64::MAX] {
        let _ = (frame.entry(i), frame.chunk_len(i), frame.span(i), frame.special_chunk(i));
    }
    if let Ok(mut editor) = FrameEditor::new(frame, registry()) {
        let _ = editor.delete(0);
        let _ = editor.make_variable();
        let _ = editor.set_vlmetalayer("new", b"x");
        let _ = editor.commit();
    }
}

#[test]
fn every_truncation() {
    for file in frames() {
        for len in 0..file.len() {
            read_all(&file[..len]);
        }
    }
}

#[test]
fn every_byte_of_the_metadata_replaced() {
    for file in frames() {
        let (frame, _) = open_counting(&file, limits()).unwrap();
        let metadata = (0..frame.header().header_len as usize).chain(frame.chunks_end() as usize..file.len());
        for at in metadata {
            for value in [0x00, 0x01, 0x7F, 0x80, 0xFF, file[at] ^ 0x01, file[at].wrapping_add(1)] {
                let mut damaged = file.clone();
                damaged[at] = value;
                read_all(&damaged);
            }
        }
    }
}

#[test]
fn every_byte_of_a_sparse_index_replaced() {
    let mut data = ramp(3000);
    data[400..1200].fill(0);
    let files = write_sparse(&FrameParams::new(encode(4), 400), data.chunks(400)).unwrap();
    let index = &files["chunks.b2frame"];
    for (at, byte) in index.iter().enumerate() {
        for value in [0x00, 0x7F, 0x80, 0xFF, byte ^ 0x01] {
            let mut damaged: Directory = files.clone();
            damaged.get_mut("chunks.b2frame").unwrap()[at] = value;
            // Files that the damaged index asks for and that are not there end the test, not the reader.
            let Ok(frame) = open_sparse(&damaged) else { continue };
            let known = (0..frame.nchunks().min(10_000)).all(|i| match frame.entry(i) {
                Ok(oxiblosc_core::frame::ChunkEntry::File { id }) => (id as usize) + 1 < damaged.len(),
                _ => true,
            });
            if known && frame.nchunks() < 10_000 && frame.nbytes() < 1 << 24 {
                let _ = decode_sparse(&damaged, &frame);
            }
            look_around(&frame);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2000, rng_seed: RngSeed::Fixed(0x0B10_5C02), failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn several_bytes_replaced(
        which in 0..7_usize,
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let mut file = frames().swap_remove(which);
        for (at, value) in damage {
            let at = at.index(file.len());
            file[at] = value;
        }
        if let Some(cut) = cut {
            file.truncate(cut.index(file.len()));
        }
        read_all(&file);
    }

    #[test]
    fn anything_behind_a_header(
        header in 0..7_usize,
        body in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let file = frames().swap_remove(header);
        let mut damaged = file[..64.min(file.len())].to_vec();
        damaged.extend(body);
        let len = damaged.len() as u64;
        damaged[16..24].copy_from_slice(&len.to_be_bytes());
        read_all(&damaged);
    }
}
