//! Reading from afar: what is asked for, and how long it takes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::StreamExt;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use oxiblosc::chunk::EncodeParams;
use oxiblosc::nd::{ArrayOptions, NdArray, Selection};
use oxiblosc::object::spawn;
use oxiblosc::source::ObjectSource;
use oxiblosc::{FrameReader, ReadOptions, WriteOptions, block_on};

use crate::proxy::{Proxy, Traffic};
use crate::server::{BUCKET, Server, alone, store};

const SIDE: u64 = 8192;
const KEY: &str = "array.b2nd";
/// How much of the end of an object is requested when it is opened.
const TAIL: u64 = 4 << 10;

/// Slices by the first index of each axis and the one behind its last: items, windows of all sizes that are and are not
/// aligned with the chunks, rows, columns, bands.
const SLICES: [[(u64, u64); 2]; 20] = [
    [(0, 1), (0, 1)],
    [(4100, 4101), (777, 778)],
    [(8191, 8192), (8191, 8192)],
    [(5000, 5001), (0, SIDE)],
    [(0, SIDE), (4321, 4322)],
    [(100, 200), (0, SIDE)],
    [(0, SIDE), (100, 200)],
    [(7, 8), (100, 4000)],
    [(1000, 1016), (2000, 2016)],
    [(1020, 1030), (1020, 1030)],
    [(8000, 8192), (8000, 8192)],
    [(3000, 3100), (3000, 6000)],
    [(6000, 6500), (6000, 6500)],
    [(0, 1024), (0, 1024)],
    [(512, 1536), (512, 1536)],
    [(0, 2048), (0, 2048)],
    [(1000, 3000), (1000, 3000)],
    [(4096, 8192), (2048, 6144)],
    [(2048, 4096), (0, SIDE)],
    [(500, 7500), (500, 7500)],
];

/// Numbers that compress to about half, so that chunks are large.
fn content() -> Vec<u8> {
    let value = |i: u64| (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 48) as u32 | ((i / 1000) as u32) << 16;
    (0..SIDE * SIDE).flat_map(|i| value(i).to_le_bytes()).collect()
}

fn put(store: &Arc<dyn ObjectStore>, key: &str, bytes: Vec<u8>) {
    let (store, key) = (Arc::clone(store), Path::from(key));
    block_on(spawn(async move { store.put(&key, bytes.into()).await })).expect("a runtime").expect("an upload");
}

/// Reads one slice with an array opened for it.
fn ours(proxy: &Proxy, slice: [(u64, u64); 2]) -> (u64, Traffic, Traffic) {
    proxy.take();
    block_on(async {
        let source = ObjectSource::new(store(&proxy.endpoint()), Path::from(KEY));
        let array = NdArray::open(source).await.expect("the array opens");
        let opening = proxy.take();
        let [rows, columns] = slice;
        let selection = Selection::axes([rows, columns].map(|(start, end)| start as i64..end as i64));
        let bytes = array.read(&selection).await.expect("a slice").into_bytes();
        let (words, _) = bytes.as_chunks::<4>();
        (words.iter().map(|word| u64::from(u32::from_le_bytes(*word))).sum(), opening, proxy.take())
    })
}

const THEIRS: &str = r"
import sys, blosc2
bucket, key, slices = sys.argv[1], sys.argv[2], eval(sys.argv[3])
for (a, b), (c, d) in slices:
    print('open', flush=True)
    input()
    array = blosc2.open(f's3://{bucket}/{key}', mode='r', lazy=True)
    print('opened', flush=True)
    input()
    print(int(array[a:b, c:d].astype('u8').sum()), flush=True)
    input()
";

/// What python-blosc2 asks for to open the array and to read each slice, with one process for all.
fn theirs(server: &Server, proxy: &Proxy) -> Option<Vec<(u64, Traffic, Traffic)>> {
    let slices = format!("{:?}", SLICES);
    let mut conversation = server.converse(THEIRS, &proxy.endpoint(), &[BUCKET, KEY, &slices])?;
    let mut found = Vec::new();
    for _ in SLICES {
        assert_eq!(conversation.hear(), "open");
        proxy.take();
        conversation.go_on();
        assert_eq!(conversation.hear(), "opened");
        let opening = proxy.take();
        conversation.go_on();
        let sum = conversation.hear().parse().expect("a number");
        found.push((sum, opening, proxy.take()));
        conversation.go_on();
    }
    Some(found)
}

#[test]
fn slices_take_fewer_requests_than_python() {
    let _alone = alone();
    let server = Server::s3s();
    let array = content();
    let params = EncodeParams { typesize: 4, level: 1, ..EncodeParams::default() };
    let mut sink = ArrayOptions::new([SIDE, SIDE], "<u4")
        .chunks([1024, 1024])
        .blocks([128, 1024])
        .frame(WriteOptions::new(params))
        .in_memory()
        .expect("a sink");
    block_on(async {
        futures::AsyncWriteExt::write_all(&mut sink, &array).await.expect("memory");
        sink.close().await.expect("memory");
    });
    put(&server.store(), KEY, sink.into_target().into_bytes());

    let proxy = Proxy::counting(server.port());
    let Some(theirs) = theirs(&server, &proxy) else { return };
    let (mut all, mut all_theirs) = (0, 0);
    println!("slice                            requests (opening + slice)   bytes       python: requests   bytes");
    for (slice, (sum, their_opening, their_slice)) in SLICES.into_iter().zip(theirs) {
        let (found, opening, reading) = ours(&proxy, slice);
        println!(
            "{:32} {} + {} {:>12}   {} + {} {:>12}",
            format!("{slice:?}"),
            opening.requests,
            reading.requests,
            opening.bytes + reading.bytes,
            their_opening.requests,
            their_slice.requests,
            their_opening.bytes + their_slice.bytes,
        );
        assert_eq!(found, sum, "{slice:?}");
        let requests = (opening.requests + reading.requests, their_opening.requests + their_slice.requests);
        let bytes = (opening.bytes + reading.bytes, their_opening.bytes + their_slice.bytes);
        assert!(requests.0 <= requests.1, "{slice:?}: {:?}, python {:?}", reading.log, their_slice.log);
        // The end is requested with the beginning, before anybody knows how much of it is needed.
        assert!(bytes.0 <= bytes.1 + TAIL, "{slice:?}: {:?}, python {:?}", reading.log, their_slice.log);
        assert!(opening.requests <= 2, "{:?}", opening.log);
        all += requests.0;
        all_theirs += requests.1;
    }
    println!("{all} requests, python {all_theirs}");
    assert!(3 * all <= 2 * all_theirs, "{all} requests, python {all_theirs}");
}

#[test]
fn latency_is_hidden() {
    const CHUNKS: u64 = 256;
    const CHUNK: usize = 256 << 10;
    const BANDWIDTH: u64 = 8 << 20;
    let _alone = alone();
    // s3s-fs digests the whole object for the ETag of each answer: that would be what takes time.
    let Some(server) = Server::moto() else { return };
    let options = WriteOptions::new(EncodeParams { typesize: 4, level: 1, ..EncodeParams::default() });
    let mut sink = options.chunk_size(CHUNK).in_memory().expect("a sink");
    let array = &content()[..CHUNKS as usize * CHUNK];
    block_on(async {
        futures::AsyncWriteExt::write_all(&mut sink, array).await.expect("memory");
        sink.close().await.expect("memory");
    });
    let frame = sink.into_target().into_bytes();

    let read = |source: ObjectSource| {
        let begin = Instant::now();
        let total = block_on(async {
            let mut chunks = ReadOptions::new().open(source).await.expect("a frame").chunks();
            let mut total = 0;
            while let Some(chunk) = chunks.next().await {
                total += chunk.expect("a chunk").len();
            }
            total
        });
        assert_eq!(total as u64, CHUNKS * CHUNK as u64);
        begin.elapsed()
    };
    put(&server.store(), KEY, frame);
    // Both over the same line, so that other work on the machine delays both.
    let [near, far] = [Duration::ZERO, Duration::from_millis(50)].map(|latency| {
        let proxy = Proxy::start(server.port(), latency, Some(BANDWIDTH));
        let took = read(ObjectSource::new(store(&proxy.endpoint()), Path::from(KEY)));
        (took, proxy.take())
    });
    println!("without latency {:?}, with 50 ms {:?}: {} requests", near.0, far.0, far.1.requests);
    // Read one after the other, the requests alone would wait longer than that.
    assert!(far.1.requests >= 16, "{} requests", far.1.requests);
    assert!(far.0 <= near.0.mul_f64(1.3), "{:?} without latency, {:?} with 50 ms", near.0, far.0);
}

/// What any server must do with what we ask of it.
fn conforms(server: &Server) {
    let options = WriteOptions::new(EncodeParams { typesize: 4, ..EncodeParams::default() });
    let mut sink = options.chunk_size(100_000).checksums(true).fingerprint(Some(Default::default())).in_memory();
    let sink = sink.as_mut().expect("a sink");
    let content = &content()[..1_234_567];
    block_on(async {
        futures::AsyncWriteExt::write_all(sink, content).await.expect("memory");
        sink.close().await.expect("memory");
    });
    let frame = sink.target().as_bytes().to_vec();
    put(&server.store(), "frame.b2frame", frame.clone());
    put(&server.store(), "empty", Vec::new());

    // By the URL, with the settings that programs find in their environment.
    let source = |key: &str| ObjectSource::new(server.store(), Path::from(key));
    let mut reader = block_on(FrameReader::open(source("frame.b2frame"))).expect("the frame opens");
    assert_eq!(block_on(reader.bytes(0..reader.nbytes())).expect("its bytes"), content);
    assert_eq!(block_on(reader.bytes(777_777..777_778)).expect("a byte"), content[777_777..777_778]);
    assert!(block_on(reader.verify()).expect("the source works").is_good());
    for key in ["none", "empty"] {
        assert!(block_on(FrameReader::open(source(key))).is_err(), "{key}");
    }
    // Another version: the old one is gone, and no reader gets a mixture.
    put(&server.store(), "frame.b2frame", frame[..frame.len() - 1].to_vec());
    assert!(block_on(reader.chunk(3)).is_err(), "the object was replaced");
    assert!(block_on(reader.refresh()).is_err(), "by one that is no frame");
    put(&server.store(), "frame.b2frame", frame);
    assert!(!block_on(reader.refresh()).expect("the frame is back"));
    assert!(block_on(reader.chunk(3)).is_ok());
}

#[test]
fn s3s_serves_frames() {
    conforms(&Server::s3s());
}

#[test]
fn moto_serves_frames() {
    if let Some(server) = Server::moto() {
        conforms(&server);
    }
}
