//! Slices of arrays in files, read and written.

use std::path::Path;

use oxiblosc_core::nd::{AxisSelection, Geometry, Selection};
use oxiblosc_streaming::edit::EditOptions;
use oxiblosc_streaming::source::FileSource;
use oxiblosc_streaming::{Pool, ReadOptions, blocking};

use super::super::{Schedule, Session, Subject};
use super::{RACE, positions, settings, subject};
use crate::matrix::Form;
use crate::peer::name;
use crate::race::Lane;
use crate::workload::{self, Source, Workload};
use crate::{Error, Result};

/// Slices per round.
const READS: usize = 8;

/// An array that is measured.
struct Array {
    workload: &'static str,
    dtype: &'static str,
    shape: &'static [u64],
    chunks: &'static [u32],
    blocks: &'static [u32],
}

/// All are of [`workload::BYTES`], in chunks of 1 MiB.
const ARRAYS: [Array; 4] = [
    Array { workload: "smooth-f64", dtype: "<f8", shape: &[2048, 4096], chunks: &[256, 512], blocks: &[64, 128] },
    Array {
        workload: "image-u16",
        dtype: "<u2",
        shape: &[128, 512, 512],
        chunks: &[16, 128, 256],
        blocks: &[4, 64, 64],
    },
    Array {
        workload: "noisy-f32",
        dtype: "<f4",
        shape: &[16, 32, 128, 256],
        chunks: &[4, 16, 64, 64],
        blocks: &[2, 4, 32, 32],
    },
    Array {
        workload: "fmri-i16",
        dtype: "<i2",
        shape: &[8, 16, 32, 64, 128],
        chunks: &[4, 8, 16, 32, 32],
        blocks: &[2, 4, 8, 16, 32],
    },
];

/// One axis of a slice: how many items, and how far apart.
#[derive(Clone, Copy)]
struct Span {
    count: u64,
    step: u64,
}

const ALL: Span = Span { count: u64::MAX, step: 1 };

const fn some(count: u64) -> Span {
    Span { count, step: 1 }
}

const fn every(step: u64) -> Span {
    Span { count: u64::MAX, step }
}

/// What is read; the last axis is the one whose items lie side by side, and axes in front of those named are [`some`]`(1)`.
const READ: [(&str, [Span; 2]); 5] = [
    ("single item", [some(1), some(1)]),
    ("row", [some(1), ALL]),
    ("column", [ALL, some(1)]),
    ("window", [some(50), some(70)]),
    ("strided", [every(40), every(50)]),
];

pub(super) fn races(form: Form) -> usize {
    arrays(form).len() * (READ.len() + 4)
}

fn arrays(form: Form) -> &'static [Array] {
    if form == Form::Full { &ARRAYS } else { &ARRAYS[..1] }
}

pub(super) fn run(session: &mut Session, schedule: &mut Schedule) -> Result<()> {
    for array in arrays(session.form) {
        let source = Source::named(array.workload).ok_or_else(|| Error::new("no such data set"))?;
        let workload = source.load(workload::BYTES)?;
        let geometry = Geometry {
            shape: array.shape.to_vec(),
            chunk_shape: array.chunks.to_vec(),
            block_shape: array.blocks.to_vec(),
        };
        let settings = settings(workload.typesize);
        let directory = tempfile::tempdir().map_err(Error::new)?;
        let path = directory.path().join("array.b2nd");
        session.c.create_array(&path, &geometry, array.dtype, &settings, &workload.bytes)?;
        let subject = |what: &str| subject(format!("{}, {what}, {} dimensions", array.workload, array.shape.len()));
        for (what, spans) in READ {
            let subject = subject(what);
            let result = read(session, &subject, &path, array, &workload, &slices(array.shape, spans), schedule);
            session.note(&subject, result);
        }
        let orthogonal = subject("orthogonal lists");
        let result = orthogonal_lists(session, &orthogonal, &path, array, &workload, schedule);
        session.note(&orthogonal, result);
        let change = |what: &str| Subject { group: "changes", ..subject(what) };
        let result = super::change::run(session, &change, &path, array.shape, &workload, schedule);
        session.note(&change("append and resize"), result);
        let subject = change("set_slice");
        let result = write(session, &subject, &path, array, &workload, schedule);
        session.note(&subject, result);
    }
    Ok(())
}

/// Where slices lie: first index, number of items and step along each axis.
type Slice = Vec<(u64, Span)>;

/// The same slices in every run.
fn slices(shape: &[u64], spans: [Span; 2]) -> Vec<Slice> {
    let front = shape.len() - spans.len();
    let mut next: Vec<_> = shape.iter().map(|&len| positions(len as usize)).collect();
    let slice = |_| {
        let axis = |(axis, &len): (usize, &u64)| {
            let span = if axis < front { some(1) } else { spans[axis - front] };
            let count = span.count.min(len.div_ceil(span.step));
            let room = len - (count - 1) * span.step;
            (next[axis]() as u64 % room, Span { count, ..span })
        };
        shape.iter().enumerate().map(axis).collect()
    };
    (0..READS).map(slice).collect()
}

fn indices(&(start, span): &(u64, Span)) -> impl Iterator<Item = u64> {
    (0..span.count).map(move |i| start + i * span.step)
}

fn selection(slice: &Slice) -> Selection {
    Selection::axes(slice.iter().map(|&(start, span)| {
        let (start, stop) = (start as i64, (start + (span.count - 1) * span.step + 1) as i64);
        AxisSelection::from(start..stop).step(span.step as i64)
    }))
}

type Window = Vec<std::ops::Range<u64>>;

/// A slice without steps.
fn window(slice: &Slice) -> Window {
    slice.iter().map(|(start, span)| *start..start + span.count).collect()
}

fn lists(slice: &Slice) -> Vec<Vec<i64>> {
    slice.iter().map(|axis| indices(axis).map(|i| i as i64).collect()).collect()
}

/// The bytes of a slice, item by item.
fn expected(array: &Array, workload: &Workload, slice: &Slice) -> Vec<u8> {
    let offsets = slice.iter().zip(array.shape).fold(vec![0], |offsets: Vec<u64>, (axis, len)| {
        offsets.iter().flat_map(|offset| indices(axis).map(move |i| offset * len + i)).collect()
    });
    let item = |at: u64| &workload.bytes[at as usize * workload.typesize..][..workload.typesize];
    offsets.into_iter().flat_map(|at| item(at).iter().copied()).collect()
}

fn read(
    session: &mut Session,
    subject: &Subject,
    path: &Path,
    array: &Array,
    workload: &Workload,
    slices: &[Slice],
    schedule: &mut Schedule,
) -> Result<()> {
    let source = FileSource::open_inline(path).map_err(Error::new)?;
    let reader = blocking::FrameReader::with_options(source, ReadOptions::new().pool(&Pool::inline()));
    let ours = blocking::NdArray::from_frame(&reader.map_err(Error::new)?).map_err(Error::new)?;
    let mut c = session.c.open_array(path)?;
    let len = slices[0].iter().map(|(_, span)| span.count as usize).product::<usize>() * workload.typesize;
    let mut buffer = vec![1; len];
    let selections: Vec<Selection> = slices.iter().map(selection).collect();
    // Windows have a function of their own in C; steps do not.
    let strided = slices.iter().flatten().any(|(_, span)| span.step > 1);
    let windows: Vec<Window> = slices.iter().map(window).collect();
    let mut lists: Vec<Vec<Vec<i64>>> = slices.iter().map(lists).collect();
    for (i, slice) in slices.iter().enumerate() {
        if strided {
            c.read_orthogonal(&mut lists[i], &mut buffer)?
        } else {
            c.read(&windows[i], &mut buffer)?
        }
        let (expected, read) = (expected(array, workload, slice), ours.read(&selections[i]).map_err(Error::new)?);
        if buffer != expected || read.bytes()[..] != expected {
            return Err(Error::new("a slice differs"));
        }
    }
    let mut lanes = [
        Lane::new(name::OURS, |_| {
            for selection in &selections {
                std::hint::black_box(ours.read(selection).map_err(Error::new)?);
            }
            Ok(())
        }),
        Lane::new(name::C, |_| match strided {
            false => windows.iter().try_for_each(|window| c.read(window, &mut buffer)),
            true => lists.iter_mut().try_for_each(|lists| c.read_orthogonal(lists, &mut buffer)),
        }),
    ];
    session.measure(subject, slices.len() * len, schedule.next(RACE), &mut lanes, |_| 1.0)
}

/// A few indices of each of the two last axes, in no order.
fn orthogonal_lists(
    session: &mut Session,
    subject: &Subject,
    path: &Path,
    array: &Array,
    workload: &Workload,
    schedule: &mut Schedule,
) -> Result<()> {
    const COUNT: usize = 20;
    let source = FileSource::open_inline(path).map_err(Error::new)?;
    let reader = blocking::FrameReader::with_options(source, ReadOptions::new().pool(&Pool::inline()));
    let ours = blocking::NdArray::from_frame(&reader.map_err(Error::new)?).map_err(Error::new)?;
    let mut c = session.c.open_array(path)?;
    let front = array.shape.len() - 2;
    let mut lists: Vec<Vec<i64>> = Vec::new();
    for (axis, &len) in array.shape.iter().enumerate() {
        let mut next = positions(len as usize);
        lists.push((0..if axis < front { 1 } else { COUNT }).map(|_| next() as i64).collect());
    }
    let selection = Selection::axes(lists.iter().map(|list| AxisSelection::from(list.clone())));
    let mut buffer = vec![1; COUNT * COUNT * workload.typesize];
    c.read_orthogonal(&mut lists, &mut buffer)?;
    if ours.read(&selection).map_err(Error::new)?.bytes()[..] != buffer[..] {
        return Err(Error::new("the items of the lists differ"));
    }
    let len = buffer.len();
    let mut lanes = [
        Lane::new(name::OURS, |_| {
            std::hint::black_box(ours.read(&selection).map_err(Error::new)?);
            Ok(())
        }),
        Lane::new(name::C, |_| c.read_orthogonal(&mut lists, &mut buffer)),
    ];
    session.measure(subject, len, schedule.next(RACE), &mut lanes, |_| 1.0)
}

/// A window is overwritten and committed: the file is a whole frame again after each.
fn write(
    session: &mut Session,
    subject: &Subject,
    path: &Path,
    array: &Array,
    workload: &Workload,
    schedule: &mut Schedule,
) -> Result<()> {
    let [our_path, c_path] = ["ours", "c"].map(|name| path.with_extension(name));
    for copy in [&our_path, &c_path] {
        std::fs::copy(path, copy).map_err(Error::new)?;
    }
    let slices = slices(array.shape, [some(50), some(70)]);
    let selections: Vec<Selection> = slices.iter().map(selection).collect();
    let windows: Vec<Window> = slices.iter().map(window).collect();
    // What is written is what another slice holds: data of the same kind.
    let items: Vec<Vec<u8>> = slices.iter().rev().map(|slice| expected(array, workload, slice)).collect();
    let len = items[0].len();
    // C-Blosc2 leaves it to the system when its bytes reach the disk, too.
    let editor =
        blocking::FrameEditor::with_options(&our_path, EditOptions::new().pool(&Pool::inline()).durable(false))
            .map_err(Error::new)?;
    let mut ours = blocking::NdEditor::new(editor).map_err(Error::new)?;
    let mut c = session.c.open_array(&c_path)?;
    let mut lanes = [
        Lane::new(name::OURS, |round| {
            let i = round % items.len();
            ours.write(&selections[i], &items[i]).map_err(Error::new)?;
            ours.commit().map_err(Error::new)
        }),
        Lane::new(name::C, |round| c.write(&windows[round % items.len()], &items[round % items.len()])),
    ];
    session.measure(subject, len, schedule.next(RACE), &mut lanes, |_| 1.0)?;
    drop(lanes);

    // Each reads what the other has written.
    let read = blocking::NdArray::open(&c_path).map_err(Error::new)?.read(&Selection::all()).map_err(Error::new)?;
    let mut buffer = vec![0; workload.bytes.len()];
    let whole: Vec<_> = array.shape.iter().map(|&len| 0..len).collect();
    drop(ours);
    session.c.open_array(&our_path)?.read(&whole, &mut buffer)?;
    if read.bytes()[..] != buffer { Err(Error::new("the arrays differ")) } else { Ok(()) }
}
