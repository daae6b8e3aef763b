//! Errors as programs and people meet them: of a known kind, each cause said once, nothing that only machines read.

mod common;

use std::error::Error;
use std::io;

use bytes::Bytes;
use common::{CHUNK, Flaky, Mood, data, frame, options};
use futures::{AsyncWriteExt, SinkExt, TryStreamExt};
use oxiblosc_core::chunk::EncodeParams;
use oxiblosc_core::nd::Selection;
use oxiblosc_core::pipeline::FilterSlots;
use oxiblosc_core::{Chain, FilterId, Limits, Registry};
use oxiblosc_streaming::blocking::FrameEditor;
use oxiblosc_streaming::nd::{ArrayOptions, NdArray};
use oxiblosc_streaming::recover;
use oxiblosc_streaming::source::FileSource;
use oxiblosc_streaming::sparse::{MemoryDirectory, MissingChunks, SharedWriter};
use oxiblosc_streaming::{
    ChecksumPolicy, ErrorKind, FrameReader, FrameStream, ReadError, ReadOptions, WriteError, WriteOptions, block_on,
    blocking,
};

type AnyError = Box<dyn Error + Send + Sync>;

/// What every error keeps to.
fn conforms(error: &(dyn Error + 'static), kind: ErrorKind) {
    let chain = Chain(error);
    assert_eq!(ErrorKind::of(error), kind, "{chain}");
    assert_eq!(ErrorKind::of(error).is_retryable(), matches!(kind, ErrorKind::Transient | ErrorKind::TimedOut));
    let mut next = Some(error);
    while let Some(error) = next {
        let text = error.to_string();
        assert!(!text.is_empty() && !text.contains('<') && !text.contains('\n'), "{text:?} in {chain}");
        for number in ["9223372036854775807", "18446744073709551615", "9223372036854775808"] {
            assert!(!text.contains(number), "{text:?} in {chain}");
        }
        next = error.source();
        if let Some(source) = next {
            assert!(!text.contains(&source.to_string()), "{text:?} repeats its cause, in {chain}");
        }
    }
}

fn all(errors: Vec<(AnyError, ErrorKind)>) {
    for (error, kind) in errors {
        conforms(&*error, kind);
        // As a program meets it that reads bytes.
        conforms(&io::Error::other(error), kind);
    }
}

fn open(frame: impl Into<Bytes>, options: ReadOptions) -> Result<FrameReader<Bytes>, ReadError> {
    block_on(options.open(frame.into()))
}

fn fails<T>(result: Result<T, impl Into<AnyError>>) -> AnyError {
    match result {
        Ok(_) => panic!("that was to fail"),
        Err(error) => error.into(),
    }
}

#[test]
fn of_reading() {
    let bytes = frame(&data(9 * CHUNK + 5), options().checksums(true));
    let plain = frame(&data(9 * CHUNK + 5), options());
    let reader = open(bytes.clone(), ReadOptions::new()).unwrap();
    let patched = |at: usize, with: &[u8]| {
        let mut bytes = plain.clone();
        bytes[at..at + with.len()].copy_from_slice(with);
        bytes
    };
    let chunk_0 = reader.header().header_len as usize;
    // The first block start of the first chunk.
    let torn = patched(chunk_0 + 32, &[0xFF; 4]);
    let mut checked = bytes.clone();
    checked[chunk_0 + 60] ^= 1;
    let mut few = Limits::default();
    few.chunks = 3;
    let read = |frame: Vec<u8>, options: ReadOptions| fails(block_on(open(frame, options).unwrap().chunk(0)));
    all(vec![
        (fails(open(Bytes::new(), ReadOptions::new())), ErrorKind::Damaged),
        (fails(open(vec![7; 5000], ReadOptions::new())), ErrorKind::Damaged),
        (fails(open(plain[..plain.len() - 1].to_vec(), ReadOptions::new())), ErrorKind::Damaged),
        (fails(open(patched(16, &[0; 8]), ReadOptions::new())), ErrorKind::Unfinished),
        (fails(open(patched(16, &[0xFF; 8]), ReadOptions::new())), ErrorKind::Damaged),
        (fails(open(plain.clone(), ReadOptions::new().limits(few))), ErrorKind::Limit),
        (fails(open(plain.clone(), ReadOptions::new().checksums(ChecksumPolicy::Require))), ErrorKind::Damaged),
        (read(torn.clone(), ReadOptions::new()), ErrorKind::Damaged),
        (read(checked, ReadOptions::new().checksums(ChecksumPolicy::Check)), ErrorKind::Damaged),
        (fails(open(plain.clone(), ReadOptions::new().registry(&Registry::empty()))), ErrorKind::NoProvider),
        (fails(block_on(reader.chunk(10))), ErrorKind::InvalidInput),
        (fails(block_on(reader.bytes(0..1 << 60))), ErrorKind::InvalidInput),
        (fails(reader.chunks_in(3..99)), ErrorKind::InvalidInput),
        (fails(block_on(FileSource::open("no such file"))), ErrorKind::NotFound),
        (fails(block_on(FrameStream::open(futures::io::Cursor::new(plain[..40].to_vec())))), ErrorKind::UnexpectedEnd),
        (
            fails(block_on(async {
                let pipe = futures::io::Cursor::new(torn.clone());
                let stream = ReadOptions::new().trust_order(true).stream(pipe).await?;
                stream.try_collect::<Vec<_>>().await
            })),
            ErrorKind::Damaged,
        ),
    ]);
    let unfinished = fails(open(patched(16, &[0; 8]), ReadOptions::new())).to_string();
    assert!(unfinished.contains("`seal`") && unfinished.contains("`recover`"), "{unfinished}");
}

/// An array of so many items that no machine has the memory, in a frame of some hundred bytes.
#[test]
fn of_memory() {
    let array = ArrayOptions::new([1 << 46], "|u1").chunks([1 << 30]).blocks([1 << 20]);
    let place = MemoryDirectory::new();
    let writer = block_on(SharedWriter::create_array(place.clone(), array)).unwrap();
    block_on(writer.commit(MissingChunks::Zero)).unwrap();
    // Within the limits, that is: their defaults end before memory does.
    let mut limits = Limits::default();
    limits.result_bytes = u64::MAX;
    let array = NdArray::new(block_on(ReadOptions::new().limits(limits).open(place)).unwrap()).unwrap();
    let error = fails(block_on(array.read(&Selection::all())));
    conforms(&*error, ErrorKind::OutOfMemory);
    assert!(error.to_string().contains("70368744177664 bytes"), "{error}");
    conforms(&*fails(block_on(array.reader().bytes(0..1 << 46))), ErrorKind::OutOfMemory);
}

#[test]
fn of_writing() {
    let mut closed = options().in_memory().unwrap();
    block_on(closed.close()).unwrap();
    let mut broken = Mood::GOOD;
    broken.fails_at = 0..u64::MAX;
    let flaky = |mood: &Mood| {
        let mut sink = options().seekable(Flaky::new(&[], mood.clone(), 1)).unwrap();
        block_on(async {
            sink.write_all(&data(9 * CHUNK)).await?;
            sink.close().await.map(drop).map_err(io::Error::from)
        })
    };
    let nan = WriteOptions::new(EncodeParams { typesize: 0, ..EncodeParams::default() });
    let level = WriteOptions::new(EncodeParams { level: 77, ..EncodeParams::default() });
    // Four bytes do not have so many bits of precision, which only the filter knows.
    let filters = FilterSlots::from_list(&[(FilterId::TRUNC_PREC, 44)]).unwrap();
    let mut precision =
        WriteOptions::new(EncodeParams { typesize: 4, filters, ..EncodeParams::default() }).in_memory().unwrap();
    let precision = block_on(async {
        precision.write_all(&data(CHUNK)).await?;
        precision.close().await.map(drop).map_err(io::Error::from)
    });
    let full = || io::Error::from(io::ErrorKind::StorageFull);
    all(vec![
        (fails(precision), ErrorKind::InvalidInput),
        (fails(flaky(&broken)), ErrorKind::Transient),
        (fails(block_on(closed.send(Bytes::from_static(b"more")))), ErrorKind::Closed),
        (fails(nan.in_memory()), ErrorKind::InvalidInput),
        (fails(level.in_memory()), ErrorKind::InvalidInput),
        (fails(options().chunk_size(3).in_memory()), ErrorKind::InvalidInput),
        (fails(options().registry(&Registry::empty()).in_memory()), ErrorKind::NoProvider),
        (fails(options().metalayer("m".repeat(99), vec![1]).in_memory()), ErrorKind::InvalidInput),
        (fails(blocking::FrameWriter::create("no such directory/x", options())), ErrorKind::NotFound),
        (WriteError::from(full()).into(), ErrorKind::StorageFull),
    ]);
}

#[test]
fn of_edits_and_recovery() {
    let bytes = frame(&data(9 * CHUNK + 5), options());
    let mut editor = FrameEditor::from_bytes(bytes.clone()).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str, bytes: &[u8]| {
        let path = directory.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    let out = directory.path().join("out");
    all(vec![
        (fails(editor.delete(99)), ErrorKind::InvalidInput),
        (fails(editor.update(0, &[1; 5])), ErrorKind::InvalidInput),
        (fails(FrameEditor::from_bytes(bytes[..100].to_vec())), ErrorKind::Damaged),
        (fails(FrameEditor::open("no such file")), ErrorKind::NotFound),
        (fails(recover::recover("no such file", &out)), ErrorKind::NotFound),
        (fails(recover::recover(at("noise", &[7; 5000]), &out)), ErrorKind::Damaged),
        (fails(recover::recover(at("head", &bytes[..50]), &out)), ErrorKind::Damaged),
    ]);
}

#[test]
fn of_sharing() {
    let place = MemoryDirectory::new();
    let one = block_on(SharedWriter::create(place.clone(), 3 * CHUNK as u64, options())).unwrap();
    let other = block_on(SharedWriter::open(place.clone())).unwrap();
    block_on(one.write(0, Bytes::from(data(CHUNK)))).unwrap();
    all(vec![
        (fails(block_on(SharedWriter::open(MemoryDirectory::new()))), ErrorKind::NotFound),
        (fails(block_on(one.write(7, Bytes::new()))), ErrorKind::InvalidInput),
        (fails(block_on(one.write(1, Bytes::from_static(b"short")))), ErrorKind::InvalidInput),
        (fails(block_on(one.commit(MissingChunks::Fail))), ErrorKind::Unfinished),
    ]);
    block_on(one.commit(MissingChunks::Zero)).unwrap();
    conforms(&*fails(block_on(other.write(1, Bytes::from(data(CHUNK))))), ErrorKind::AlreadyExists);
}
