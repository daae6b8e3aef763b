//! Arrays of random shapes, written, read and changed on both sides, and compared with NumPy.
//!
//! `OXIBLOSC_INTEROP_CASES` and `OXIBLOSC_INTEROP_SEED` as for [`generated`](crate::generated); 500 arrays by default.

use std::fmt;
use std::path::Path;

use bytes::Bytes;
use oxiblosc::edit::EditOptions;
use oxiblosc::nd::{ArrayError, ArrayOptions, AxisSelection, Selection};
use oxiblosc::source::FileSource;
use oxiblosc::target::{SparseTarget, Target};
use oxiblosc::{FilterId, Pool, ReadError, ReadOptions, WriteOptions, blocking};
use serde_json::{Value, json};

use crate::case::{CODECS, Case};
use crate::random::{Random, seeds};
use crate::worker::Worker;

const ARRAYS: u64 = 500;
/// Most bytes of the items of an array.
const MAX_BYTES: usize = 60_000;
/// Most bytes of its chunks, padding included, and most chunks.
const MAX_STORED: usize = 400_000;
const MAX_CHUNKS: usize = 300;

/// What items are, and their size.
const DTYPES: [(&str, usize); 18] = [
    ("|u1", 1),
    ("|b1", 1),
    ("<i2", 2),
    ("|V3", 3),
    ("<f4", 4),
    (">i4", 4),
    ("|S5", 5),
    ("|V7", 7),
    ("<f8", 8),
    ("<M8[ns]", 8),
    ("[('a', '<i4'), ('b', '<f8')]", 12),
    ("<c16", 16),
    ("<U5", 20),
    ("[('x', '<f8', (3,)), ('n', 'S9')]", 33),
    ("|S255", 255),
    ("|V256", 256),
    ("|S300", 300),
    ("[('x', '<f4', (70,)), ('t', 'S20')]", 300),
];

/// The filter pipelines, beside none. C-Blosc2 cannot read parts of a chunk with delta.
const PIPELINES: [&[(FilterId, u8)]; 4] =
    [&[], &[(FilterId::SHUFFLE, 0)], &[(FilterId::BITSHUFFLE, 0)], &[(FilterId::SHUFFLE, 0), (FilterId::BYTEDELTA, 0)]];

#[test]
fn arrays() {
    let Some(mut worker) = Worker::start() else { return };
    let directory = tempfile::tempdir().expect("a temporary directory");
    let seeds = seeds(ARRAYS);
    for seed in seeds.clone() {
        let generated = Generated::new(seed);
        for ours in [true, false] {
            let path = directory.path().join(format!("{seed}-{ours}.b2nd"));
            generated.round(&mut worker, &path, ours);
        }
    }
    println!("{} arrays from seed {}", seeds.end - seeds.start, seeds.start);
}

/// An array in NumPy's memory.
#[derive(Clone)]
struct Model {
    dtype: &'static str,
    item_size: usize,
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

/// What to take along an axis.
#[derive(Debug, Clone)]
enum Part {
    Item(i64),
    Slice(Option<i64>, Option<i64>, i64),
    List(Vec<i64>),
}

/// What to take from an array, for both sides.
#[derive(Debug, Clone)]
enum Choice {
    Axes(Vec<Part>),
    Points(Vec<Vec<i64>>),
}

/// A change of an array, for both sides.
enum Step {
    Set(Choice, Vec<u8>),
    Resize(Vec<usize>),
    Append(usize, Vec<u8>),
}

/// Without the items: the seed brings them back.
impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Set(choice, items) => write!(f, "set {choice:?} to {} bytes", items.len()),
            Self::Resize(shape) => write!(f, "resize to {shape:?}"),
            Self::Append(axis, items) => write!(f, "append {} bytes along {axis}", items.len()),
        }
    }
}

/// An array and how it is stored.
struct Generated {
    seed: u64,
    case: Case,
    model: Model,
    chunks: Vec<u32>,
    blocks: Vec<u32>,
    contiguous: bool,
    /// Whether this side is told how many rows there will be.
    streamed: bool,
    /// Whether it promises that its chunks can be read front to back: chunks of zeros are then stored, too.
    sequential: bool,
}

impl Generated {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let (dtype, item_size) = random.pick(&DTYPES);
        let shape = shape(&mut random, MAX_BYTES / item_size);
        let (mut chunks, mut blocks) = cut(&mut random, &shape);
        while stored(&shape, &chunks, &blocks).is_none_or(|(n, items)| n > MAX_CHUNKS || items * item_size > MAX_STORED)
        {
            // Fewer and fuller ones.
            let axis = random.below(shape.len());
            (chunks[axis], blocks[axis]) = (shape[axis] as u32, shape[axis] as u32);
        }
        let (_, codec) = random.pick(&CODECS);
        // python-blosc2 cannot open frames with bytedelta for wider items, its own neither.
        let pipelines = if item_size < 128 { &PIPELINES[..] } else { &PIPELINES[..3] };
        let case = Case::new(codec, random.below(8) as u8, item_size, random.pick(pipelines));
        let items: usize = shape.iter().product();
        let mut model = Model { dtype, item_size, shape, bytes: Vec::new() };
        model.bytes = model.items(&mut random, items);
        let streamed = !model.shape.is_empty() && !model.shape[1..].contains(&0) && random.one_in(2);
        let contiguous = !random.one_in(4);
        let sequential = contiguous && random.one_in(3);
        Self { seed, case, model, chunks, blocks, contiguous, streamed, sequential }
    }

    fn told(&self) -> String {
        let Self { seed, case, model, chunks, blocks, contiguous, streamed, sequential } = self;
        let Model { dtype, shape, .. } = model;
        format!(
            "OXIBLOSC_INTEROP_SEED={seed} OXIBLOSC_INTEROP_CASES=1: {shape:?} in {chunks:?} in {blocks:?} of {dtype}, \
             {case:?}, contiguous: {contiguous}, streamed: {streamed}, sequential: {sequential}"
        )
    }

    /// One side writes the array; then both change it by turns. Both see the same every time.
    fn round(&self, worker: &mut Worker, path: &Path, ours: bool) {
        let told = format!("written by {}: {}", if ours { "us" } else { "C-Blosc2" }, self.told());
        let mut random = Random::new(self.seed ^ u64::from(ours) << 32);
        let mut model = self.model.clone();
        if ours {
            self.write(&mut random, path)
        } else {
            self.have_written(worker, path)
        }
        model.look(worker, &mut random, path, &told);
        let mut said = told;
        for turn in 0..3 {
            let ours = random.one_in(2);
            let (steps, grown) = model.steps(&mut random, &self.chunks, ours);
            said += &format!("\n{}: {steps:?}", if ours { "we" } else { "C-Blosc2" });
            if ours {
                change(path, &steps).unwrap_or_else(|e| panic!("turn {turn}, {said}: {e}"));
            }
            model.apply(worker, &steps, if ours { None } else { Some(path) }, &said);
            assert_eq!(model.shape, grown, "turn {turn}, {said}");
            model.look(worker, &mut random, path, &said);
        }
    }

    fn write(&self, random: &mut Random, path: &Path) {
        let shape: Vec<u64> = self.model.shape.iter().map(|&n| n as u64).collect();
        let options = match self.streamed {
            true => ArrayOptions::rows(&shape[1..], self.model.dtype),
            false => ArrayOptions::new(shape.clone(), self.model.dtype),
        };
        let frame = WriteOptions::new(self.case.params()).pool(&Pool::inline()).sequential(self.sequential);
        let options = options.chunks(self.chunks.clone()).blocks(self.blocks.clone()).frame(frame);
        let written = if self.contiguous {
            blocking::NdWriter::create(path, options).and_then(|mut writer| {
                push(&mut writer, random, &self.model.bytes)?;
                writer.finish()
            })
        } else {
            let target = SparseTarget::create(path).expect("room on the disk").inline();
            blocking::NdWriter::with_target(target, options).and_then(|mut writer| {
                push(&mut writer, random, &self.model.bytes)?;
                writer.finish()
            })
        };
        let summary = written.unwrap_or_else(|e| panic!("{}: {e}", self.told()));
        assert_eq!(summary.shape, shape, "{}", self.told());
    }

    fn have_written(&self, worker: &mut Worker, path: &Path) {
        let Model { dtype, shape, bytes, .. } = &self.model;
        let args = json!({
            "path": path, "shape": shape, "dtype": dtype, "chunks": self.chunks, "blocks": self.blocks,
            "case": self.case.to_json(), "contiguous": self.contiguous,
        });
        worker.try_call("nd.write", &args, &[bytes]).unwrap_or_else(|e| panic!("{}: {e}", self.told()));
    }
}

/// In pieces of any length.
fn push<T: Target>(writer: &mut blocking::NdWriter<T>, random: &mut Random, items: &[u8]) -> Result<(), ArrayError> {
    let mut rest = Bytes::copy_from_slice(items);
    while !rest.is_empty() {
        let most = rest.len();
        writer.push(rest.split_to(1 + random.spread(most - 1)))?;
    }
    Ok(())
}

fn open(path: &Path) -> Result<blocking::NdArray<FileSource>, ArrayError> {
    let options = ReadOptions::new().pool(&Pool::inline());
    let source = FileSource::open_inline(path).map_err(ReadError::from)?;
    blocking::NdArray::from_frame(&blocking::FrameReader::with_options(source, options)?)
}

/// Changes an array with our editor.
fn change(path: &Path, steps: &[Step]) -> Result<(), ArrayError> {
    let options = EditOptions::new().pool(&Pool::inline()).durable(false);
    let mut editor = blocking::NdEditor::new(blocking::FrameEditor::with_options(path, options)?)?;
    for step in steps {
        match step {
            Step::Set(choice, items) => editor.write(&choice.here(), items)?,
            Step::Resize(shape) => editor.resize(&shape.iter().map(|&n| n as u64).collect::<Vec<_>>())?,
            Step::Append(axis, items) => editor.append(*axis, items)?,
        }
    }
    editor.commit()
}

impl Model {
    /// Items that compress, or do not, or are zero.
    fn items(&self, random: &mut Random, count: usize) -> Vec<u8> {
        let len = count * self.item_size;
        let mut items = match random.below(4) {
            0 => vec![0; len],
            1 => random.bytes(len),
            _ => (0..len).map(|i| if i % self.item_size < 2 { (i / self.item_size) as u8 } else { 0 }).collect(),
        };
        if self.dtype == "|b1" {
            items.iter_mut().for_each(|item| *item &= 1);
        }
        items
    }

    fn args(&self) -> Value {
        json!({ "shape": self.shape, "dtype": self.dtype })
    }

    /// What both sides and NumPy say of an array in a file.
    fn look(&self, worker: &mut Worker, random: &mut Random, path: &Path, told: &str) {
        let mut choices = vec![Choice::Axes(vec![])];
        choices.extend((0..4).map(|_| self.choice(random, true)));
        let mut args = self.args();
        args["path"] = json!(path);
        args["selections"] = choices.iter().map(Choice::there).collect();
        let answer = worker.try_call("nd.look", &args, &[&self.bytes]);
        let answer = answer.unwrap_or_else(|e| panic!("{told}\nC-Blosc2, {choices:?}: {e}"));
        assert_eq!(
            answer.value["whole"],
            json!([self.shape, true, true, true]),
            "{told}\nC-Blosc2 reads something else"
        );

        let array = open(path).unwrap_or_else(|e| panic!("{told}\n{e}"));
        let shape: Vec<usize> = array.shape().iter().map(|&n| n as usize).collect();
        assert_eq!(shape, self.shape, "{told}");
        for ((choice, answer), expected) in choices.iter().zip(each(&answer.value["selections"])).zip(&answer.blobs) {
            assert_eq!(answer["agrees"], true, "{told}\nC-Blosc2 reads something else: {choice:?}");
            let found = array.read(&choice.here()).unwrap_or_else(|e| panic!("{told}\n{choice:?}: {e}"));
            assert_eq!(json!(found.shape()), answer["shape"], "{told}\n{choice:?}");
            assert!(found.bytes() == expected, "{told}\nNumPy reads something else: {choice:?}");
        }
    }

    fn apply(&mut self, worker: &mut Worker, steps: &[Step], path: Option<&Path>, told: &str) {
        let mut blobs: Vec<&[u8]> = vec![&self.bytes];
        let mut there = Vec::new();
        for step in steps {
            match step {
                Step::Set(choice, items) => {
                    there.push(json!(["set", choice.there()]));
                    blobs.push(items);
                }
                Step::Resize(shape) => there.push(json!(["resize", shape])),
                Step::Append(axis, items) => {
                    there.push(json!(["append", axis]));
                    blobs.push(items);
                }
            }
        }
        let mut args = self.args();
        args["steps"] = there.into();
        args["path"] = json!(path);
        let answer = worker.try_call("nd.apply", &args, &blobs).unwrap_or_else(|e| panic!("{told}\n{e}"));
        self.shape = serde_json::from_value(answer.value.clone()).expect("a shape is a list of numbers");
        self.bytes = answer.into_blob();
    }

    /// Up to three changes, and the shape after them.
    fn steps(&self, random: &mut Random, chunks: &[u32], ours: bool) -> (Vec<Step>, Vec<usize>) {
        let mut model = Self { bytes: Vec::new(), ..self.clone() };
        let steps = (0..1 + random.below(3)).map(|_| model.step(random, chunks, ours)).collect();
        (steps, model.shape)
    }

    fn step(&mut self, random: &mut Random, chunks: &[u32], ours: bool) -> Step {
        let ndim = self.shape.len();
        let kind = random.below(4);
        if ndim == 0 || kind < 2 {
            let choice = self.choice(random, ours);
            let count = choice.count(&self.shape);
            return Step::Set(choice, self.items(random, count));
        }
        // Axes whose chunks have no length cannot grow.
        let axis = random.below(ndim);
        let row: usize = (0..ndim).filter(|&other| other != axis).map(|other| self.shape[other]).product();
        let room = MAX_BYTES / self.item_size / row.max(1);
        if kind == 2 && row > 0 && chunks[axis] > 0 && self.shape[axis] < room {
            let most = (room - self.shape[axis]).min(self.shape[axis].max(4));
            let rows = random.spread(most);
            self.shape[axis] += rows;
            return Step::Append(axis, self.items(random, rows * row));
        }
        let mut shape = self.shape.clone();
        for (axis, len) in shape.iter_mut().enumerate() {
            match random.below(3) {
                0 => *len = random.spread((*len).max(1)).min(*len),
                1 if chunks[axis] > 0 => *len += random.below(2 + *len / 2),
                _ => {}
            }
        }
        if shape.iter().product::<usize>() * self.item_size > MAX_BYTES {
            shape.clone_from(&self.shape);
            shape[axis] /= 2;
        }
        self.shape.clone_from(&shape);
        Step::Resize(shape)
    }

    /// A selection. Unless it may be `any`, one that python-blosc2 can write into: of single items and slices.
    fn choice(&self, random: &mut Random, any: bool) -> Choice {
        let empty = self.shape.contains(&0);
        if any && !empty && random.one_in(5) {
            let point = |random: &mut Random| self.shape.iter().map(|&n| index(random, n)).collect();
            return Choice::Points((0..random.below(30)).map(|_| point(random)).collect());
        }
        let named = if random.one_in(5) { random.below(self.shape.len() + 1) } else { self.shape.len() };
        let part = |&len: &usize| match random.below(if any { 6 } else { 4 }) {
            0 if len > 0 => Part::Item(index(random, len)),
            1 => Part::Slice(None, None, 1),
            2 | 3 => {
                let (a, b) = (random.below(len + 1) as i64, random.below(len + 1) as i64);
                Part::Slice(Some(a.min(b)), Some(a.max(b)), 1)
            }
            4 if len > 0 => Part::List((0..random.below(len.min(8) + 1)).map(|_| index(random, len)).collect()),
            _ => {
                let mut bound = || (!random.one_in(3)).then(|| random.below(3 * len + 3) as i64 - len as i64 - 1);
                let (start, stop) = (bound(), bound());
                let step = 1 + random.below(5) as i64;
                Part::Slice(start, stop, if random.one_in(2) { step } else { -step })
            }
        };
        Choice::Axes(self.shape[..named].iter().map(part).collect())
    }
}

/// An index of an axis, sometimes counted from its end.
fn index(random: &mut Random, len: usize) -> i64 {
    let index = random.below(len) as i64;
    if random.one_in(3) { index - len as i64 } else { index }
}

fn each(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

impl Choice {
    fn here(&self) -> Selection {
        match self {
            Self::Points(points) => Selection::points(points),
            Self::Axes(parts) => Selection::axes(parts.iter().map(|part| match part {
                Part::Item(index) => AxisSelection::Item(*index),
                &Part::Slice(start, stop, step) => AxisSelection::Slice { start, stop, step },
                Part::List(list) => list.clone().into(),
            })),
        }
    }

    fn there(&self) -> Value {
        match self {
            Self::Points(points) => json!({ "points": points }),
            Self::Axes(parts) => parts
                .iter()
                .map(|part| match part {
                    Part::Item(index) => json!(index),
                    Part::Slice(start, stop, step) => json!({ "slice": [start, stop, step] }),
                    Part::List(list) => json!({ "list": list }),
                })
                .collect(),
        }
    }

    /// Number of items.
    fn count(&self, shape: &[usize]) -> usize {
        let Self::Axes(parts) = self else {
            let Self::Points(points) = self else { return 0 };
            return points.len();
        };
        let parts = parts.iter().cloned().chain(std::iter::repeat(Part::Slice(None, None, 1)));
        parts.zip(shape).map(|(part, &len)| part.count(len as i64)).product()
    }
}

impl Part {
    /// As Python counts.
    fn count(&self, len: i64) -> usize {
        match self {
            Self::Item(_) => 1,
            Self::List(list) => list.len(),
            &Self::Slice(start, stop, step) => {
                let (low, high) = if step > 0 { (0, len) } else { (-1, len - 1) };
                let clip = |bound: i64| (if bound < 0 { bound + len } else { bound }).clamp(low, high);
                let (first, last) = if step > 0 { (low, high) } else { (high, low) };
                let (start, stop) = (start.map_or(first, clip), stop.map_or(last, clip));
                let distance = if step > 0 { stop - start } else { start - stop };
                (distance.max(0) as usize).div_ceil(step.unsigned_abs() as usize)
            }
        }
    }
}

/// Up to five dimensions, sometimes up to 16, sometimes one of length 0.
fn shape(random: &mut Random, max_items: usize) -> Vec<usize> {
    let ndim = if random.one_in(12) { 6 + random.below(11) } else { random.below(6) };
    let mut left = max_items.max(1);
    let mut shape: Vec<usize> = (0..ndim)
        .map(|axis| {
            let longest = (left as f64).powf(1.3 / (ndim - axis) as f64) as usize;
            let len = 1 + random.spread(longest.clamp(1, left) - 1 + usize::from(left == 1)).min(left - 1);
            left /= len;
            len
        })
        .collect();
    for i in (1..ndim).rev() {
        shape.swap(i, random.below(i + 1));
    }
    if ndim > 0 && random.one_in(20) {
        shape[random.below(ndim)] = 0;
    }
    shape
}

/// Chunks, some longer than the array, and blocks that divide nothing.
fn cut(random: &mut Random, shape: &[usize]) -> (Vec<u32>, Vec<u32>) {
    let mut chunk = |&len: &usize| {
        let most = if shape.len() > 5 { len } else { len + len / 3 + 1 };
        1 + if random.one_in(3) { random.spread(most.max(2) - 1) } else { random.below(most.max(1)) }
    };
    let chunks: Vec<usize> = shape.iter().map(&mut chunk).collect();
    let blocks = chunks.iter().map(|&len| 1 + random.below(len) as u32).collect();
    (chunks.into_iter().map(|len| len as u32).collect(), blocks)
}

/// Number of chunks and items in all of them, with padding.
fn stored(shape: &[usize], chunks: &[u32], blocks: &[u32]) -> Option<(usize, usize)> {
    let (mut count, mut items) = (1_usize, 1_usize);
    for ((&len, &chunk), &block) in shape.iter().zip(chunks).zip(blocks) {
        count = count.checked_mul(len.max(1).div_ceil(chunk as usize))?;
        items = items.checked_mul(chunk.div_ceil(block.max(1)) as usize * block as usize)?;
    }
    Some((count, items.checked_mul(count)?))
}
