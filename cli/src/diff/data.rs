//! Comparing items.

use std::collections::{HashSet, VecDeque};
use std::pin::Pin;

use bytes::{Bytes, BytesMut};
use futures::stream::{self, Stream, StreamExt};
use oxiblosc::nd::{ArrayMeta, NdArray, Selection, Tiling};
use oxiblosc::{Pool, ReadOptions, Registry, block_on};
use serde_json::{Value, json};

use super::item::Item;
use crate::args::DiffArgs;
use crate::cat::read_chunk;
use crate::detect::FileKind;
use crate::error::CliError;
use crate::input::{Input, Reader};

/// Bytes that are compared at once where nothing differs so far.
const STRIDE: usize = 4096;

type Pieces<'a> = Pin<Box<dyn Stream<Item = Result<Bytes, CliError>> + 'a>>;

/// One of the two that are compared.
pub(super) struct Side<'a> {
    /// `None` for a single chunk.
    pub(super) reader: Option<Reader>,
    pub(super) cbytes: u64,
    nbytes: u64,
    item_size: usize,
    dtype: Option<String>,
    /// How it is cut, if it is an array.
    tiling: Option<Tiling>,
    /// The decoded bytes in order: for an array in C order, else a piece for each chunk.
    pieces: Pieces<'a>,
}

impl<'a> Side<'a> {
    pub(super) fn open(
        input: &'a Input,
        args: &DiffArgs,
        options: &ReadOptions,
        pool: &Pool,
        registry: &Registry,
    ) -> Result<Self, CliError> {
        if input.kind == FileKind::Chunk {
            let (header, data) = read_chunk(input, &args.reading, pool, registry)?;
            return Ok(Self {
                reader: None,
                cbytes: header.cbytes as u64,
                nbytes: data.len() as u64,
                item_size: usize::from(header.typesize).max(1),
                dtype: None,
                tiling: None,
                pieces: Box::pin(stream::iter([Ok(Bytes::from(data))])),
            });
        }
        let reader = input.frame(options.clone())?;
        let mut side = Self {
            cbytes: reader.cbytes(),
            nbytes: reader.nbytes(),
            item_size: reader.typesize().max(1),
            dtype: None,
            tiling: None,
            pieces: Box::pin(reader.chunks().map(|chunk| chunk.map_err(|error| input.failed(error)))),
            reader: None,
        };
        if ArrayMeta::find(reader.metalayers()).is_some() {
            let array = NdArray::new(reader.clone()).map_err(|error| input.failed(error))?;
            let pieces = array.stream(&Selection::all()).map_err(|error| input.failed(error))?;
            side.pieces = Box::pin(pieces.map(|piece| piece.map_err(|error| input.failed(error))));
            side.nbytes = array.nbytes();
            side.item_size = array.item_size().max(1);
            side.dtype = array.dtype().map(str::to_owned);
            side.tiling = Some(array.tiling().clone());
        }
        side.reader = Some(reader);
        Ok(side)
    }

    fn next(&mut self) -> Result<Option<Bytes>, CliError> {
        loop {
            match block_on(self.pieces.next()).transpose()? {
                Some(piece) if piece.is_empty() => {}
                piece => return Ok(piece),
            }
        }
    }

    /// The number of chunks.
    fn nchunks(&self) -> u64 {
        self.reader.as_ref().map_or(1, Reader::nchunks)
    }

    /// The shape of an array; for all others the number of items.
    fn rows(&self) -> (Option<&[u64]>, u64) {
        let shape = self.tiling.as_ref().map(Tiling::shape);
        (shape, self.nbytes.div_ceil(self.item_size as u64))
    }
}

/// How the items of two sides differ.
pub(super) struct DataDiff {
    /// Items of either side.
    items: [u64; 2],
    /// Why they could not be compared.
    not_compared: Option<String>,
    /// How many differ, of those that both sides have.
    differing_items: u64,
    /// In how many chunks of the first side.
    differing_chunks: u64,
    nchunks: u64,
    first: Option<FirstDiff>,
    /// The largest distance between two numbers.
    largest: Option<f64>,
}

/// The first item that differs.
struct FirstDiff {
    item: u64,
    /// Where it is in an array.
    index: Option<Vec<u64>>,
    values: [Item; 2],
}

impl DataDiff {
    /// Whether it was possible to compare them.
    pub(super) fn is_compared(&self) -> bool {
        self.not_compared.is_none()
    }

    pub(super) fn is_equal(&self) -> bool {
        self.differing_items == 0 && self.items[0] == self.items[1] && self.not_compared.is_none()
    }

    pub(super) fn to_json(&self) -> Value {
        json!({
            "equal": self.is_equal(),
            "items": self.items,
            "not_compared": self.not_compared,
            "differing_items": self.differing_items,
            "differing_chunks": self.differing_chunks,
            "chunks": self.nchunks,
            "first": self.first.as_ref().map(|first| json!({
                "item": first.item,
                "index": first.index,
                "a": first.values[0].to_json(),
                "b": first.values[1].to_json(),
            })),
            "largest_difference": self.largest,
        })
    }

    pub(super) fn to_text(&self, names: [&str; 2]) -> String {
        let [a, b] = self.items;
        if let Some(reason) = &self.not_compared {
            return format!("data: not compared: {reason}");
        }
        let mut text = match self.differing_items {
            0 if a == b => format!("data: {a} items, all equal"),
            0 => format!("data: the first {} items are equal", a.min(b)),
            1 => format!("data: 1 of {} items differs, in 1 of {} chunks", a.min(b), self.nchunks),
            n => {
                let chunks = self.differing_chunks;
                format!("data: {n} of {} items differ, in {chunks} of {} chunks", a.min(b), self.nchunks)
            }
        };
        if let Some(FirstDiff { item, index, values: [a, b] }) = &self.first {
            let at = index.as_ref().map_or_else(String::new, |index| format!(" at {index:?}"));
            text += &format!("; the first is item {item}{at}: {a} and {b}");
        }
        if let Some(largest) = self.largest.filter(|_| self.differing_items > 1) {
            text += &format!("; the largest difference is {largest}");
        }
        if a != b {
            let (more, name) = if a > b { (a - b, names[0]) } else { (b - a, names[1]) };
            text += &format!("; {name} has {more} more");
        }
        text
    }
}

/// Compares all items that both sides have, by their bytes: NaNs of the same bits are equal, and the two zeros are not.
///
/// # Errors
/// When one of them cannot be read.
pub(super) fn compare([mut a, mut b]: [Side<'_>; 2]) -> Result<DataDiff, CliError> {
    // Its chunks are where they are, whatever is compared.
    let mut chunks = ChunkNumbers::of(&a);
    if a.item_size != b.item_size {
        // What they have in common is bytes.
        for side in [&mut a, &mut b] {
            (side.item_size, side.dtype, side.tiling) = (1, None, None);
        }
    }
    let ((shape_a, items_a), (shape_b, items_b)) = (a.rows(), b.rows());
    let not_compared = match (shape_a, shape_b) {
        // What has the same rows, and another number of them, is compared as far as both go.
        (Some(a), Some(b)) if a.len() != b.len() || a.get(1..) != b.get(1..) => {
            Some(format!("the shapes are {a:?} and {b:?}"))
        }
        _ => None,
    };
    let mut diff = DataDiff {
        items: [items_a, items_b],
        not_compared,
        differing_items: 0,
        differing_chunks: 0,
        nchunks: a.nchunks(),
        first: None,
        largest: None,
    };
    if diff.not_compared.is_some() {
        return Ok(diff);
    }
    let shape = a.tiling.as_ref().map(|tiling| tiling.shape().to_vec());
    let dtype = a.dtype.clone().or_else(|| b.dtype.clone());
    let size = a.item_size;
    let (mut left, mut right) = (Bytes::new(), Bytes::new());
    let mut offset = 0;
    loop {
        // Items may be spread over pieces.
        for (rest, side, is_a) in [(&mut left, &mut a, true), (&mut right, &mut b, false)] {
            while rest.len() < size {
                let Some(piece) = side.next()? else { break };
                if is_a {
                    chunks.piece(piece.len() as u64);
                }
                *rest = if rest.is_empty() { piece } else { joined(rest, &piece) };
            }
        }
        let common = left.len().min(right.len());
        // Whole items, but for the last one of a frame, which may be incomplete.
        let len = if common >= size { common - common % size } else { common };
        if len == 0 {
            break;
        }
        let (these, those) = (left.split_to(len), right.split_to(len));
        let found = diff.add(offset, [&these, &those], size, dtype.as_deref(), &mut chunks);
        if let Some((item, values)) = found.filter(|_| diff.first.is_none()) {
            let index = shape.as_ref().map(|shape| index_of(item, shape));
            diff.first = Some(FirstDiff { item, index, values });
        }
        offset += len as u64;
    }
    diff.differing_chunks = chunks.seen.len() as u64;
    Ok(diff)
}

fn joined(a: &[u8], b: &[u8]) -> Bytes {
    let mut both = BytesMut::with_capacity(a.len() + b.len());
    both.extend_from_slice(a);
    both.extend_from_slice(b);
    both.freeze()
}

impl DataDiff {
    /// Adds the bytes from `offset` on, which are as many on both sides. Returns the first item that differs.
    fn add(
        &mut self,
        offset: u64,
        [a, b]: [&[u8]; 2],
        size: usize,
        dtype: Option<&str>,
        chunks: &mut ChunkNumbers,
    ) -> Option<(u64, [Item; 2])> {
        let mut first = None;
        let stride = (STRIDE / size).max(1) * size;
        for (i, (a, b)) in a.chunks(stride).zip(b.chunks(stride)).enumerate() {
            if a == b {
                continue;
            }
            let begin = offset + (i * stride) as u64;
            let items = a.chunks(size).zip(b.chunks(size)).enumerate();
            for (j, (a, b)) in items.filter(|(_, (a, b))| a != b) {
                let item = begin / size as u64 + j as u64;
                self.differing_items += 1;
                chunks.add(item * size as u64);
                let values = [Item::read(a, dtype), Item::read(b, dtype)];
                if let Some(distance) = values[0].distance(&values[1]) {
                    self.largest = Some(self.largest.map_or(distance, |largest| largest.max(distance)));
                }
                first.get_or_insert((item, values));
            }
        }
        first
    }
}

/// In which chunks bytes are that come in order.
struct ChunkNumbers {
    /// Of an array, with the size of its items.
    tiling: Option<(Tiling, u64)>,
    /// Where the next chunks of a frame begin, in bytes, with their numbers.
    starts: VecDeque<(u64, u64)>,
    end: u64,
    next: u64,
    seen: HashSet<u64>,
    /// The items from here to there along the last axis are in one chunk that has been seen.
    known: std::ops::Range<u64>,
}

impl ChunkNumbers {
    fn of(side: &Side<'_>) -> Self {
        let tiling = side.tiling.clone().map(|tiling| (tiling, side.item_size as u64));
        Self { tiling, starts: VecDeque::new(), end: 0, next: 0, seen: HashSet::new(), known: 0..0 }
    }

    /// A piece has been read: of a frame, a chunk.
    fn piece(&mut self, len: u64) {
        if self.tiling.is_none() {
            self.starts.push_back((self.end, self.next));
            (self.end, self.next) = (self.end + len, self.next + 1);
        }
    }

    /// The byte at `offset` is in one that counts.
    fn add(&mut self, offset: u64) {
        let Some((tiling, size)) = &self.tiling else {
            while self.starts.get(1).is_some_and(|(start, _)| *start <= offset) {
                self.starts.pop_front();
            }
            if let Some((_, chunk)) = self.starts.front() {
                self.seen.insert(*chunk);
            }
            return;
        };
        let item = offset / size;
        if self.known.contains(&item) {
            return;
        }
        let index = index_of(item, tiling.shape());
        // The item is one of the array.
        let Ok(at) = tiling.locate(&index) else { return };
        self.seen.insert(at.chunk);
        let row = tiling.shape().last().copied().unwrap_or(1);
        let chunk = tiling.geometry().chunk_shape.last().copied().map_or(1, u64::from).max(1);
        let column = index.last().copied().unwrap_or_default();
        let rest = (chunk - column % chunk).min(row - column).max(1);
        self.known = item..item + rest;
    }
}

/// The index of an item that is counted in C order.
fn index_of(mut item: u64, shape: &[u64]) -> Vec<u64> {
    let mut index: Vec<u64> = shape
        .iter()
        .rev()
        .map(|len| {
            let at = item % len.max(&1);
            item /= len.max(&1);
            at
        })
        .collect();
    index.reverse();
    index
}
