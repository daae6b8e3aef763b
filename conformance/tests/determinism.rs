//! The same input and parameters give the same bytes: on every run, with every number of threads, and in every place
//! that holds the same kind of frame.
//!
//! There are four kinds, whose differences are the format's:
//!
//! | kind | targets | differs in |
//! |---|---|---|
//! | contiguous | file, seekable, spooled, memory, object, whatever their options | |
//! | open-ended, finished where it lies | file in place, seekable and open-ended | chunks of zeros are stored, and a header metalayer `oxiblosc` promises that chunks lie in order |
//! | open-ended, sealed | `OpenTarget` | the same, sealed by another hand: equal to the kind before |
//! | sparse | directory, place, prefix, memory | a file for each chunk |
//! | sparse, written where it lies | directory in place | chunks of zeros have files too, so that others find every chunk |
//!
//! With `OXIBLOSC_FIGURES=DIRECTORY` the number of comparisons goes to a file there.

#[path = "reliability/figures.rs"]
mod figures;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use futures::SinkExt;
use futures::io::Cursor;
use object_store::ObjectStoreExt;
use object_store::memory::InMemory;
use oxiblosc::chunk::EncodeParams;
use oxiblosc::frame::{FingerprintKind, SpecialPlacement};
use oxiblosc::nd::ArrayOptions;
use oxiblosc::object::{ObjectPrefix, ObjectTarget};
use oxiblosc::sparse::{Directory, MemoryDirectory};
use oxiblosc::target::{
    FileTarget, MemoryTarget, OpenTarget, PlaceTarget, SeekTarget, SparseTarget, SpoolTarget, Target,
};
use oxiblosc::{CodecId, FilterId, FilterSlots, IoMode, Pool, Registry, WriteOptions, block_on, recover};
use oxiblosc_conformance::data::Random;

const CHUNK: usize = 60_000;

/// Pools by the number of their threads; none is the default.
const POOLS: [Option<usize>; 5] = [None, Some(0), Some(1), Some(2), Some(7)];

fn pool(threads: Option<usize>) -> Option<Pool> {
    threads.map(Pool::new)
}

fn pooled(options: WriteOptions, threads: Option<usize>) -> WriteOptions {
    match pool(threads) {
        Some(pool) => options.pool(&pool),
        None => options,
    }
}

/// A series, noise, a chunk of zeros, and a short last chunk that is no whole number of items.
fn data(len: usize) -> Bytes {
    let mut random = Random::new(len as u64);
    let byte = |i: usize| match i / CHUNK % 5 {
        2 => 0,
        3 => random.next_u64() as u8,
        _ => (i / 64 + i % 4) as u8,
    };
    (0..len).map(byte).collect::<Vec<u8>>().into()
}

/// The frame that `target` holds when `data` have been handed over in pieces of this size.
fn written<T: Target>(target: T, options: WriteOptions, data: &Bytes, piece: usize) -> T {
    let mut sink = options.sink(target).expect("the options are possible");
    block_on(async {
        let mut rest = data.clone();
        while !rest.is_empty() {
            sink.feed(rest.split_to(piece.min(rest.len()))).await.expect("nothing fails");
        }
        sink.close().await.expect("nothing fails");
    });
    sink.into_target()
}

fn in_memory(options: WriteOptions, data: &Bytes) -> Vec<u8> {
    written(MemoryTarget::new(), options, data, usize::MAX).into_bytes()
}

/// Counts comparisons, and puts their number where figures are asked for.
struct Compared {
    name: &'static str,
    count: AtomicU64,
}

impl Compared {
    fn new(name: &'static str) -> Self {
        Self { name, count: AtomicU64::new(0) }
    }

    #[track_caller]
    fn equal<T: AsRef<[u8]>>(&self, what: &str, expected: &[u8], found: T) {
        self.count.fetch_add(1, Ordering::Relaxed);
        let found = found.as_ref();
        let differs = || expected.iter().zip(found).position(|(a, b)| a != b);
        assert!(
            expected == found,
            "{what}: {} bytes, expected {}; the first difference is at {:?}",
            found.len(),
            expected.len(),
            differs()
        );
    }
}

impl Drop for Compared {
    fn drop(&mut self) {
        let count = self.count.load(Ordering::Relaxed);
        if !std::thread::panicking() {
            figures::put("determinism.tsv", &["frames", "comparisons"], &[self.name.to_owned(), count.to_string()]);
        }
    }
}

/// Options that touch what lies beside the chunks.
fn options(extras: bool) -> WriteOptions {
    let params = EncodeParams { typesize: 8, ..EncodeParams::default() };
    let options = WriteOptions::new(params).chunk_size(CHUNK);
    match extras {
        true => options
            .checksums(true)
            .fingerprint(FingerprintKind::default())
            .metalayer("unit", &b"\xa1K"[..])
            .vlmetalayer("note", &b"\xa4note"[..]),
        false => options,
    }
}

#[test]
fn targets_of_contiguous_frames_hold_the_same() {
    let compared = Compared::new("contiguous");
    let directory = tempfile::tempdir().expect("there is room for temporary files");
    for (round, (len, extras)) in
        [(0, false), (1, true), (CHUNK, false), (9 * CHUNK + 77, false), (20 * CHUNK + 5, true)].into_iter().enumerate()
    {
        let data = data(len);
        let expected = in_memory(options(extras).pool(&Pool::inline()), &data);
        for threads in POOLS {
            let options = || pooled(options(extras), threads);
            let name = |target: &str| format!("{target}, {len} bytes, {threads:?} threads");
            let path = |target: &str| directory.path().join(format!("{target}-{round}-{threads:?}"));
            for piece in [4099, 1 << 20] {
                compared.equal(
                    &name("memory"),
                    &expected,
                    written(MemoryTarget::new(), options(), &data, piece).as_bytes(),
                );
                for mode in [IoMode::Offloaded, IoMode::Inline] {
                    let path = path("file");
                    drop(written(FileTarget::create(&path).expect("room").io_mode(mode), options(), &data, piece));
                    compared.equal(&name("file"), &expected, fs::read(path).expect("it is there"));
                    for limit in [0, 100_000, usize::MAX] {
                        let target = SpoolTarget::new(Vec::new()).memory_limit(limit).io_mode(mode);
                        compared.equal(
                            &name("spooled"),
                            &expected,
                            written(target, options(), &data, piece).into_inner(),
                        );
                    }
                }
                let target = SeekTarget::new(Cursor::new(Vec::new()));
                compared.equal(
                    &name("seekable"),
                    &expected,
                    written(target, options(), &data, piece).into_inner().into_inner(),
                );
                for (part, in_order) in
                    [50_000, ObjectTarget::PART_SIZE].into_iter().flat_map(|p| [(p, false), (p, true)])
                {
                    let store = Arc::new(InMemory::new());
                    let target = match in_order {
                        true => ObjectTarget::new(store.clone(), "o").memory_limit(part),
                        false => ObjectTarget::with_multipart(store.clone(), "o"),
                    };
                    drop(written(target.part_size(part), options(), &data, piece));
                    let found = block_on(async { store.get(&"o".into()).await?.bytes().await });
                    compared.equal(&name("object"), &expected, found.expect("it is there"));
                }
            }
        }
    }
}

#[test]
fn targets_of_open_ended_frames_hold_the_same() {
    let compared = Compared::new("open-ended");
    let directory = tempfile::tempdir().expect("there is room for temporary files");
    for len in [0, CHUNK + 1, 20 * CHUNK + 5] {
        let data = data(len);
        // What finishes such a frame where it lies writes what a sequential one is that goes elsewhere.
        let expected = in_memory(options(true).sequential(true), &data);
        for threads in POOLS {
            let options = || pooled(options(true), threads);
            let name = |target: &str| format!("{target}, {len} bytes, {threads:?} threads");
            for mode in [IoMode::Offloaded, IoMode::Inline] {
                let path = directory.path().join("in-place");
                drop(written(FileTarget::in_place(&path).expect("room").io_mode(mode), options(), &data, 50_000));
                compared.equal(&name("file in place"), &expected, fs::read(path).expect("it is there"));
            }
            let target = SeekTarget::new(Cursor::new(Vec::new())).open_ended(true);
            let found = written(target, options(), &data, 50_000).into_inner().into_inner();
            compared.equal(&name("seekable, open-ended"), &expected, found);
            let mut found =
                written(OpenTarget::new(Cursor::new(Vec::new())), options(), &data, 50_000).into_inner().into_inner();
            recover::seal(&mut found).expect("it is complete");
            compared.equal(&name("sealed"), &expected, found);
        }
    }
}

/// The files of a sparse frame, by name.
type Files = Vec<(String, Bytes)>;

fn files_of(directory: &Path) -> Files {
    let entries = fs::read_dir(directory).expect("it is there").map(|entry| entry.expect("it is there").path());
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut files: Files = entries.map(|path| (name(&path), fs::read(&path).expect("it is there").into())).collect();
    files.sort();
    files
}

#[test]
fn sparse_frames_have_the_same_files() {
    let compared = Compared::new("sparse");
    let directory = tempfile::tempdir().expect("there is room for temporary files");
    for (round, len) in [0, CHUNK, 20 * CHUNK + 5].into_iter().enumerate() {
        let data = data(len);
        let first = MemoryDirectory::new();
        drop(written(PlaceTarget::new(first.clone()), options(true).pool(&Pool::inline()), &data, usize::MAX));
        let mut expected = first.files();
        expected.sort();
        let stored = MemoryDirectory::new();
        let all_stored = options(true).special(SpecialPlacement::Stored);
        drop(written(PlaceTarget::new(stored.clone()), all_stored, &data, usize::MAX));
        let mut all_stored = stored.files();
        all_stored.sort();
        let compare = |what: &str, expected: &Files, found: Files| {
            let names = |files: &Files| files.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
            assert_eq!(names(&found), names(expected), "{what}");
            for ((name, expected), (_, found)) in expected.iter().zip(&found) {
                compared.equal(&format!("{what}, {len} bytes, {name}"), expected, found);
            }
        };
        let same = |what: &str, found: Files| compare(what, &expected, found);
        for threads in POOLS {
            let options = || pooled(options(true), threads);
            let path = |kind: &str| directory.path().join(format!("{kind}-{round}-{threads:?}"));
            for mode in [IoMode::Offloaded, IoMode::Inline] {
                let (created, in_place, place) =
                    (path("created"), path(&format!("{mode:?}")), path(&format!("at {mode:?}")));
                drop(written(SparseTarget::create(&created).expect("room").io_mode(mode), options(), &data, 4099));
                same("directory", files_of(&created));
                drop(written(SparseTarget::in_place(&in_place).expect("room").io_mode(mode), options(), &data, 50_000));
                compare("directory in place", &all_stored, files_of(&in_place));
                let target = PlaceTarget::new(Directory::new(&place).expect("room").io_mode(mode));
                drop(written(target, options(), &data, 50_000));
                same("place", files_of(&place));
            }
            let store = Arc::new(InMemory::new());
            drop(written(PlaceTarget::new(ObjectPrefix::new(Arc::clone(&store), "p")), options(), &data, 50_000));
            let object = |name: &str| block_on(async { store.get(&format!("p/{name}").into()).await?.bytes().await });
            let names = expected.iter().map(|(name, _)| (name.clone(), object(name).expect("it is there")));
            same("prefix", names.collect());
        }
    }
}

/// Every codec with every filter, at the lowest, the usual and the highest level, with dictionaries and without.
#[test]
fn chunks_of_all_codecs_and_filters() {
    let compared = Compared::new("codecs and filters");
    let data = data(5 * CHUNK + 77);
    let registry = Registry::linked().expect("the plugins are linked");
    let codecs: Vec<CodecId> = registry
        .codecs()
        .map(|entry| entry.info())
        // Those above 31 need an array.
        .filter(|info| info.traits.encode && info.id.0 < 32)
        .map(|info| info.id)
        .collect();
    assert!(codecs.len() >= 5, "{codecs:?}");
    let pipelines: [&[(FilterId, u8)]; 8] = [
        &[],
        &[(FilterId::SHUFFLE, 0)],
        &[(FilterId::BITSHUFFLE, 0)],
        &[(FilterId::DELTA, 0)],
        &[(FilterId::DELTA, 0), (FilterId::SHUFFLE, 0)],
        &[(FilterId::TRUNC_PREC, 10)],
        &[(FilterId::SHUFFLE, 0), (FilterId::BYTEDELTA, 8)],
        &[(FilterId::INT_TRUNC, 3), (FilterId::BITSHUFFLE, 0)],
    ];
    for &codec in &codecs {
        let dictionaries = [CodecId::LZ4, CodecId::LZ4HC, CodecId::ZSTD].contains(&codec);
        for filters in pipelines {
            for level in [1, 5, 9] {
                for use_dict in [false, true] {
                    if use_dict && (!dictionaries || filters.len() > 1) {
                        continue;
                    }
                    // The highest levels take their time, and filters are the same before them.
                    if level == 9 && filters.len() != 1 {
                        continue;
                    }
                    let filters = FilterSlots::from_list(filters).expect("at most six");
                    let params =
                        EncodeParams { codec, level, typesize: 8, filters, use_dict, ..EncodeParams::default() };
                    let options = || WriteOptions::new(params.clone()).chunk_size(CHUNK);
                    let expected = in_memory(options().pool(&Pool::inline()), &data);
                    for threads in [None, Some(1), Some(7)] {
                        let found = in_memory(pooled(options(), threads), &data);
                        compared.equal(&format!("{params:?}, {threads:?} threads"), &expected, found);
                    }
                }
            }
        }
    }
}

/// Arrays too, those of the codecs and filters that look at their shape included.
#[test]
fn arrays() {
    let compared = Compared::new("arrays");
    let items: Bytes = (0..90 * 70 * 4u32).flat_map(|i| ((i / 7) as f32).sin().to_le_bytes()).collect();
    let plain = EncodeParams::default();
    let lossless = |codec, filters: &[(FilterId, u8)]| EncodeParams {
        codec,
        codec_meta: if codec == CodecId::NDLZ { 4 } else { 0 },
        filters: FilterSlots::from_list(filters).expect("at most six"),
        ..plain.clone()
    };
    for params in [
        plain.clone(),
        lossless(CodecId::ZSTD, &[(FilterId::NDCELL, 4), (FilterId::SHUFFLE, 0)]),
        EncodeParams { codec_meta: 8, ..lossless(CodecId::ZFP_PRECISION, &[]) },
        EncodeParams { codec_meta: 50, ..lossless(CodecId::ZFP_RATE, &[]) },
    ] {
        for shape in [[90, 280], [280, 90]] {
            let array = |threads, rows: bool, piece: usize| {
                let options =
                    if rows { ArrayOptions::rows(&shape[1..], "<f4") } else { ArrayOptions::new(shape, "<f4") };
                let options = options.chunks([40, 64]).blocks([8, 32]);
                let options = options.frame(pooled(WriteOptions::new(params.clone()), threads));
                let mut sink = options.in_memory().expect("the options are possible");
                block_on(async {
                    let mut rest = items.clone();
                    while !rest.is_empty() {
                        sink.push(rest.split_to(piece.min(rest.len()))).await.expect("nothing fails");
                    }
                    sink.close().await.expect("nothing fails");
                });
                sink.into_target().into_bytes()
            };
            let expected = array(Some(0), false, usize::MAX);
            for threads in POOLS {
                for rows in [false, true] {
                    for piece in [4 * shape[1] as usize, 10_007] {
                        let what =
                            format!("{params:?}, {shape:?}, {threads:?} threads, rows {rows}, pieces of {piece}");
                        compared.equal(&what, &expected, array(threads, rows, piece));
                    }
                }
            }
        }
    }
}
