//! Generated combinations of everything, both ways.
//!
//! `OXIBLOSC_INTEROP_CASES` sets how many (2,100), `OXIBLOSC_INTEROP_SEED` where they start. A failure names the seed
//! of its case, with which that case alone comes back: `OXIBLOSC_INTEROP_SEED=<seed> OXIBLOSC_INTEROP_CASES=1`.

use std::path::Path;

use oxiblosc::chunk::SplitMode;
use oxiblosc::{CodecId, FilterId};
use serde_json::json;

use crate::arrays::{self, Array};
use crate::case::{CODECS, Case, decode, read_file, read_frame, write_file, write_frame};
use crate::random::{Random, seeds};
use crate::worker::Worker;

/// A few more than 2,000, as C-Blosc2 cannot write all of them.
const CASES: u64 = 2100;

const TYPESIZES: [usize; 21] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 32, 255, 256, 300];

/// Settings, data, and how they are stored.
#[derive(Clone)]
struct Generated {
    seed: u64,
    case: Case,
    data: Vec<u8>,
    /// Chunk size of a frame; a lone chunk if `None`.
    chunk_size: Option<usize>,
    layout: Layout,
}

/// Where a frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    Memory,
    File,
    Directory,
}

#[test]
fn combinations() {
    let Some(mut worker) = Worker::start() else { return };
    let seeds = seeds(CASES);
    let arrays = arrays::NAMES.map(arrays::load);
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut skipped = 0;
    for seed in seeds.clone() {
        let generated = Generated::new(seed, &arrays);
        // The paths are new each time: C-Blosc2 removes nothing that it overwrites.
        let path = |side| directory.path().join(format!("{side}-{seed}.b2frame"));
        generated.ours_to_python(&mut worker, &path("ours"));
        skipped += u64::from(!generated.for_c_blosc2().python_to_ours(&mut worker, &path("theirs")));
    }
    let count = seeds.end - seeds.start;
    println!("{count} cases from seed {}, {skipped} of them not written correctly by C-Blosc2", seeds.start);
    assert!(skipped <= count.div_ceil(20), "{skipped} of {count} cases could not be written by C-Blosc2");
}

impl Generated {
    fn new(seed: u64, arrays: &[Array]) -> Self {
        let mut random = Random::new(seed);
        let typesize = random.pick(&TYPESIZES);
        let (_, codec) = random.pick(&CODECS);
        let mut case = Case::new(codec, random.below(10) as u8, typesize, &pipeline(&mut random, typesize));
        case.split = random.pick(&[SplitMode::Always, SplitMode::Never, SplitMode::Auto, SplitMode::ForwardCompat]);
        case.dict = matches!(codec, CodecId::ZSTD | CodecId::LZ4 | CodecId::LZ4HC) && random.one_in(4);
        if random.one_in(2) {
            let items = 1 + random.spread(40_000 / typesize);
            case.block_size = Some(items * typesize + if random.one_in(8) { random.below(typesize) } else { 0 });
        }
        // Level 9 of zstd takes as long as hundreds of others.
        let max = if codec == CodecId::ZSTD && case.level == 9 { 40_000 } else { 300_000 };
        let mut length = length(&mut random, &case, max);
        let chunk_size = random.one_in(2).then(|| typesize * (1 + random.spread(max / typesize)));
        if chunk_size.is_some() {
            // Of a frame, C-Blosc2 reads whole items.
            length -= length % typesize;
        }
        let data = data(&mut random, arrays, typesize, length);
        let mut layout = random.pick(&[Layout::Memory, Layout::File, Layout::Directory]);
        if case.filters.iter().any(|&(_, meta)| meta > 127) {
            // python-blosc2 cannot open files with such a meta byte in the header, its own neither.
            layout = Layout::Memory;
        }
        // Files are dear; of other frames some have very many chunks.
        let fewest = if layout == Layout::Directory { (length / typesize).div_ceil(30) * typesize } else { 0 };
        let chunk_size = chunk_size.map(|size: usize| size.max(fewest));
        Self { seed, case, data, chunk_size, layout }
    }

    fn told(&self) -> String {
        let Self { seed, case, data, chunk_size, layout } = self;
        let len = data.len();
        format!("OXIBLOSC_INTEROP_SEED={seed}: {case:?}, {len} bytes, chunk size {chunk_size:?} in {layout:?}")
    }

    /// What this side makes of what it has written itself, and so must the other.
    fn ours_to_python(&self, worker: &mut Worker, path: &Path) {
        let (here, there) = match self.chunk_size {
            None => {
                let chunk = self.case.encode(&self.data);
                (decode(&chunk), worker.try_call("chunks.decompress", &json!({}), &[&chunk]))
            }
            Some(size) if self.layout == Layout::Memory => {
                let frame = write_frame(&self.case, size, &self.data);
                (read_frame(&frame), worker.try_call("frames.read", &json!({}), &[&frame]))
            }
            Some(size) => {
                write_file(&self.case, size, &self.data, path, self.layout == Layout::Directory);
                (read_file(path), worker.try_call("frames.read_chunks", &json!({ "path": path }), &[]))
            }
        };
        let here = here.unwrap_or_else(|e| panic!("ours to ours: {}: {e}", self.told()));
        if !self.is_lossy() {
            assert!(here == self.data, "ours to ours: {}", self.told());
        }
        let there = there.unwrap_or_else(|e| panic!("ours to python: {}: {e}", self.told())).into_blob();
        assert!(there == here, "ours to python: {}", self.told());
    }

    /// Whether C-Blosc2 could write the data.
    fn python_to_ours(&self, worker: &mut Worker, path: &Path) -> bool {
        let mut args = json!({ "case": self.case.to_json() });
        let (write, read) = match self.chunk_size {
            None => ("chunks.compress", "chunks.decompress"),
            Some(size) => {
                args["case"]["chunksize"] = size.into();
                if self.layout != Layout::Memory {
                    args["path"] = json!(path);
                    args["case"]["contiguous"] = json!(self.layout == Layout::File);
                }
                ("frames.write", if self.layout == Layout::Memory { "frames.read" } else { "frames.read_chunks" })
            }
        };
        let Ok(answer) = worker.try_call(write, &args, &[&self.data]) else { return false };
        let in_file = args["path"].is_string();
        let there = if self.is_lossy() {
            let (args, blobs) =
                if in_file { (json!({ "path": path }), vec![]) } else { (json!({}), vec![&answer.blobs[0][..]]) };
            match worker.try_call(read, &args, &blobs) {
                Ok(answer) => answer.into_blob(),
                Err(_) => return false,
            }
        } else {
            let reads_back = answer.value.as_bool().or_else(|| answer.value["reads_back"].as_bool());
            if reads_back != Some(true) {
                return false;
            }
            self.data.clone()
        };
        let here = match self.chunk_size {
            None => decode(&answer.blobs[0]),
            Some(_) if in_file => read_file(path),
            Some(_) => read_frame(&answer.blobs[0]),
        };
        let here = here.unwrap_or_else(|e| panic!("python to ours: {}: {e}", self.told()));
        assert!(here == there, "python to ours: {}", self.told());
        true
    }

    fn is_lossy(&self) -> bool {
        self.case.filters.iter().any(|(id, _)| is_lossy(*id))
    }

    /// The same without what C-Blosc2 stores in a way from which it cannot be restored, whatever reads it, or only by
    /// chance.
    fn for_c_blosc2(&self) -> Self {
        let Self { mut case, mut data, .. } = self.clone();
        // The third filter of a pipeline writes into the caller's data.
        case.filters.truncate(2);
        let has = |case: &Case, wanted: fn(FilterId) -> bool| case.filters.iter().any(|&(id, _)| wanted(id));
        if has(&case, is_lossy) {
            // Later blocks refer to the first one as it was before truncation.
            case.filters.retain(|&(id, _)| id != FilterId::DELTA);
        }
        if has(&case, |id| id == FilterId::DELTA || is_lossy(id)) {
            // A rest that does not fill a word is not written.
            data.truncate(data.len() / case.typesize * case.typesize);
        }
        // The block size in the header is the one asked for, that of the blocks a multiple of the type size.
        case.block_size = case.block_size.map(|size| match size {
            size if size > case.typesize => size / case.typesize * case.typesize,
            size => size,
        });
        if !data.len().is_multiple_of(case.typesize) {
            let chunk = self.chunk_size.unwrap_or(data.len()).min(data.len());
            let last = self.chunk_size.map_or(data.len(), |size| data.len() % size);
            case.block_size = case.block_size.filter(|&size| size < chunk.min(last));
        }
        Self { case, data, ..*self }
    }
}

fn is_lossy(id: FilterId) -> bool {
    matches!(id, FilterId::TRUNC_PREC | FilterId::INT_TRUNC)
}

/// Up to three filters in any order.
fn pipeline(random: &mut Random, typesize: usize) -> Vec<(FilterId, u8)> {
    let mut filters = Vec::new();
    for _ in 0..random.pick(&[0, 1, 1, 1, 2, 2, 3]) {
        let id = random.pick(&[
            FilterId::SHUFFLE,
            FilterId::SHUFFLE,
            FilterId::BITSHUFFLE,
            FilterId::DELTA,
            FilterId::TRUNC_PREC,
            FilterId::INT_TRUNC,
            FilterId::BYTEDELTA,
        ]);
        let meta = match id {
            FilterId::SHUFFLE if random.one_in(6) => 1 + random.below(20) as u8,
            // Without its meta byte it takes the type size of the frame, which a lone chunk does not have.
            FilterId::BYTEDELTA => typesize.min(255) as u8,
            FilterId::TRUNC_PREC if typesize == 4 => 1 + random.below(22) as u8,
            FilterId::TRUNC_PREC if typesize == 8 => 1 + random.below(51) as u8,
            FilterId::INT_TRUNC if matches!(typesize, 1 | 2 | 4 | 8) => 1 + random.below(8 * typesize - 1) as u8,
            FilterId::TRUNC_PREC | FilterId::INT_TRUNC => continue,
            _ => 0,
        };
        if !filters.iter().any(|(other, _)| *other == id) {
            filters.push((id, meta));
        }
    }
    filters
}

/// Nothing, little, around the limits of items and blocks, or anything.
fn length(random: &mut Random, case: &Case, max: usize) -> usize {
    let block = case.block_size.unwrap_or(1 << 15);
    let near = |random: &mut Random, n: usize| (n + random.below(3)).saturating_sub(1);
    match random.below(8) {
        0 => random.pick(&[0, 1, 31, 32, 33]),
        1 => near(random, case.typesize),
        2 => near(random, block),
        3 => {
            let blocks = 1 + random.below(8);
            near(random, block * blocks)
        }
        4 => case.typesize * random.spread(max / case.typesize),
        _ => random.spread(max),
    }
    .min(max)
}

/// Real data, or the kinds that take a way of their own through the encoder.
fn data(random: &mut Random, arrays: &[Array], typesize: usize, length: usize) -> Vec<u8> {
    let real = |random: &mut Random| {
        let bytes = &arrays[random.below(arrays.len())].bytes;
        let start = random.below(bytes.len() - length);
        bytes[start..][..length].to_vec()
    };
    match random.below(10) {
        0 => vec![0; length],
        1 => vec![random.below(256) as u8; length],
        2 => random.bytes(length),
        3 => {
            // Counting items.
            let item = |i: usize| (0..typesize).map(move |byte| if byte < 4 { (i >> (8 * byte)) as u8 } else { 0 });
            (0..length.div_ceil(typesize)).flat_map(item).take(length).collect()
        }
        4 => {
            // Zeros, and something behind them.
            let mut data = real(random);
            let zeros = random.below(length + 1);
            data[..zeros].fill(0);
            data
        }
        _ => real(random),
    }
}
