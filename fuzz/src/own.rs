//! Frames that this library writes and of which there are no vectors: with checksums, fingerprints and a promise about
//! the order of their chunks, and without totals.

use bytes::Bytes;
use futures::SinkExt;
use futures::io::Cursor;
use oxiblosc::edit::EditOptions;
use oxiblosc::frame::FingerprintKind;
use oxiblosc::nd::ArrayOptions;
use oxiblosc::sparse::MemoryDirectory;
use oxiblosc::target::{MemoryTarget, OpenTarget, PlaceTarget};
use oxiblosc::{EncodeParams, Pool, WriteOptions, block_on, blocking};

use crate::place::bundle;

/// Decoded bytes of a chunk.
const CHUNK: usize = 1000;

/// What all frames of four-byte items have in common.
fn options() -> WriteOptions {
    let params = EncodeParams { typesize: 4, ..EncodeParams::default() };
    WriteOptions::new(params)
        .chunk_size(CHUNK)
        .pool(&Pool::inline())
        .metalayer("unit", &b"\xa1K"[..])
        .vlmetalayer("notes", &b"\xa8no clouds"[..])
}

fn vouched() -> WriteOptions {
    options().checksums(true).fingerprint(FingerprintKind::default())
}

/// A ramp, a chunk of zeros in the middle, and a short chunk at the end.
fn data() -> Bytes {
    let mut data: Vec<u8> = (0..1100_u32).flat_map(|i| (i * i).to_le_bytes()).collect();
    data[2 * CHUNK..3 * CHUNK].fill(0);
    data.into()
}

/// The contiguous ones, with their names.
pub(crate) fn contiguous() -> Vec<(String, Vec<u8>)> {
    let frame = |options: WriteOptions| {
        let mut writer = blocking::FrameWriter::in_memory(options).expect("the options are possible");
        writer.push(data()).and_then(|()| writer.finish()).expect("memory does not fail");
        writer.into_bytes()
    };
    let vouched = frame(vouched());
    let frames = [
        ("own-variable", variable(&vouched)),
        ("own-vouched", vouched),
        ("own-checksums", frame(options().checksums(true))),
        ("own-sequential", frame(options().sequential(true).fingerprint(FingerprintKind::Xxh3_32))),
        ("own-sequential-vouched", frame(self::vouched().sequential(true))),
        ("own-array", array()),
    ];
    frames.into_iter().map(|(name, frame)| (name.to_owned(), frame)).collect()
}

/// Those without totals: closed, abandoned, and an array whose rows were counted at the end.
pub(crate) fn open_ended() -> Vec<(String, Vec<u8>)> {
    let open = |options: WriteOptions, closed: bool| {
        let mut sink = options.sink(OpenTarget::new(Cursor::new(Vec::new()))).expect("the options are possible");
        block_on(async {
            sink.feed(data()).await?;
            if closed { sink.close().await.map(drop) } else { sink.flush().await }
        })
        .expect("memory does not fail");
        sink.into_target().into_inner().into_inner()
    };
    let rows = ArrayOptions::rows(&[10], "<u4").chunks([8, 5]).blocks([4, 5]).frame(options());
    let mut rows = rows.sink(OpenTarget::new(Cursor::new(Vec::new()))).expect("the options are possible");
    block_on(async {
        rows.feed(data()).await?;
        rows.close().await
    })
    .expect("memory does not fail");
    let frames = [
        ("own-open", open(options(), true)),
        ("own-open-vouched", open(vouched(), true)),
        ("own-open-abandoned", open(options(), false)),
        ("own-open-rows", rows.into_target().into_inner().into_inner()),
    ];
    frames.into_iter().map(|(name, frame)| (name.to_owned(), frame)).collect()
}

/// The sparse ones, as [bundles](bundle).
pub(crate) fn sparse() -> Vec<(String, Vec<u8>)> {
    let frame = |options: WriteOptions| {
        let directory = MemoryDirectory::new();
        let target = PlaceTarget::new(directory.clone());
        let mut writer = blocking::FrameWriter::with_target(target, options).expect("the options are possible");
        writer.push(data()).and_then(|()| writer.finish()).expect("memory does not fail");
        bundle(directory.files())
    };
    [("own-sparse-vouched", frame(vouched())), ("own-sparse-checksums", frame(options().checksums(true)))]
        .map(|(name, frame)| (name.to_owned(), frame))
        .into()
}

/// The frame with chunks that differ in size.
fn variable(frame: &[u8]) -> Vec<u8> {
    let mut editor = blocking::FrameEditor::with_file(frame.to_vec(), EditOptions::new().pool(&Pool::inline()))
        .expect("the frame opens");
    editor
        .make_variable()
        .and_then(|()| editor.insert(1, &[5; 12]))
        .and_then(|()| editor.commit())
        .expect("memory does not fail");
    editor.frame_bytes().expect("memory does not fail").to_vec()
}

fn array() -> Vec<u8> {
    let array = ArrayOptions::new([22, 50], "<u4").chunks([8, 20]).blocks([4, 10]).frame(vouched());
    let (target, _) = block_on(array.write(data(), MemoryTarget::new())).expect("memory does not fail");
    target.into_bytes()
}
