//! A large file, opened for one item, and read here and there.

use std::path::Path;

use oxiblosc_streaming::source::FileSource;
use oxiblosc_streaming::{Pool, ReadOptions, blocking};

use super::super::{Schedule, Session, Subject};
use super::{RACE, positions, settings, subject};
use crate::matrix::Form;
use crate::peer::name;
use crate::race::Lane;
use crate::workload::{self, Source, Workload};
use crate::{Error, Result};

const CHUNK: usize = 1 << 20;
/// Items read per round from a file that stays open.
const READS: usize = 64;

pub(super) const RACES: usize = 3;

pub(super) fn run(session: &mut Session, schedule: &mut Schedule) -> Result<()> {
    let source = Source::named("smooth-f64").ok_or_else(|| Error::new("no such data set"))?;
    let workload = source.load(workload::BYTES)?;
    let settings = settings(workload.typesize);
    // The data set several times over: a large index, and more than the caches hold.
    let repeats = if session.form == Form::Full { 16 } else { 4 };
    let directory = tempfile::tempdir().map_err(Error::new)?;
    let path = directory.path().join("large.b2frame");
    let mut frame = session.c.create_frame(&path, &settings)?;
    for _ in 0..repeats {
        workload.bytes.chunks(CHUNK).try_for_each(|chunk| frame.append(chunk))?;
    }
    drop(frame);

    let items = repeats * workload.bytes.len() / workload.typesize;
    let mib = (repeats * workload.bytes.len()) >> 20;
    let subject = |what: &str| subject(format!("{}, {what} of a {mib} MiB file", workload.name));
    let one = subject("open and 1 item");
    let result = open_and_read(session, &one, &path, &workload, items, schedule);
    session.note(&one, result);
    for count in [1, 10_000] {
        let some = subject(&if count == 1 { "1 item".into() } else { format!("{count} items") });
        let result = read(session, &some, &path, &workload, items, count, schedule);
        session.note(&some, result);
    }
    Ok(())
}

fn open(path: &Path) -> Result<blocking::FrameReader<FileSource>> {
    let source = FileSource::open_inline(path).map_err(Error::new)?;
    blocking::FrameReader::with_options(source, ReadOptions::new().pool(&Pool::inline())).map_err(Error::new)
}

fn range(start: usize, count: usize) -> std::ops::Range<u64> {
    start as u64..(start + count) as u64
}

/// The bytes of items that lie in one repetition of the data.
fn expected(workload: &Workload, start: usize, count: usize) -> &[u8] {
    let typesize = workload.typesize;
    let start = start % (workload.bytes.len() / typesize);
    &workload.bytes[start * typesize..(start + count) * typesize]
}

fn open_and_read(
    session: &mut Session,
    subject: &Subject,
    path: &Path,
    workload: &Workload,
    items: usize,
    schedule: &mut Schedule,
) -> Result<()> {
    let typesize = workload.typesize;
    let mut next = positions(items);
    let starts: Vec<usize> = (0..1024).map(|_| next()).collect();
    let start = |round: usize| starts[round % starts.len()];
    let c = session.c;
    let mut item = vec![0; typesize];
    let pure_item = |start: usize| -> Result<Vec<u8>> {
        let schunk = blosc2_pure_rs::Schunk::open_lazy_frame(path).map_err(Error::new)?;
        schunk.get_slice_items(start, start + 1).map_err(Error::new)
    };
    for &start in &starts[..8] {
        let expected = expected(workload, start, 1);
        c.open_frame(path, 1)?.items(start, typesize, &mut item)?;
        let ours = open(path)?.items(range(start, 1)).map_err(Error::new)?;
        if ours != expected || item != expected || pure_item(start)? != expected {
            return Err(Error::new(format!("item {start} differs")));
        }
    }
    let mut lanes = [
        Lane::new(name::OURS, |round| {
            std::hint::black_box(open(path)?.items(range(start(round), 1)).map_err(Error::new)?);
            Ok(())
        }),
        Lane::new(name::C, |round| c.open_frame(path, 1)?.items(start(round), typesize, &mut item)),
        Lane::new(name::PURE, |round| {
            std::hint::black_box(pure_item(start(round))?);
            Ok(())
        })
        .optional(),
    ];
    session.measure(subject, typesize, schedule.next(RACE), &mut lanes, |_| 1.0)
}

fn read(
    session: &mut Session,
    subject: &Subject,
    path: &Path,
    workload: &Workload,
    items: usize,
    count: usize,
    schedule: &mut Schedule,
) -> Result<()> {
    let typesize = workload.typesize;
    // Within one repetition, so that it can be compared.
    let per_repeat = workload.bytes.len() / typesize;
    let mut next = positions(items);
    let starts: Vec<usize> = std::iter::from_fn(|| Some(next()))
        .filter(|start| start % per_repeat + count <= per_repeat)
        .take(READS)
        .collect();
    let ours = open(path)?;
    let mut c = session.c.open_frame(path, 1)?;
    let pure = blosc2_pure_rs::Schunk::open_lazy_frame(path).map_err(Error::new)?;
    let mut buffer = vec![0; count * typesize];
    for &start in &starts {
        let expected = expected(workload, start, count);
        c.items(start, typesize, &mut buffer)?;
        if ours.items(range(start, count)).map_err(Error::new)? != expected || buffer != expected {
            return Err(Error::new(format!("items {start}.. differ")));
        }
    }
    let mut lanes = [
        Lane::new(name::OURS, |_| {
            for &start in &starts {
                std::hint::black_box(ours.items(range(start, count)).map_err(Error::new)?);
            }
            Ok(())
        }),
        Lane::new(name::C, |_| starts.iter().try_for_each(|&start| c.items(start, typesize, &mut buffer))),
        Lane::new(name::PURE, |_| {
            for &start in &starts {
                std::hint::black_box(pure.get_slice_items(start, start + count).map_err(Error::new)?);
            }
            Ok(())
        })
        .optional(),
    ];
    session.measure(subject, READS * count * typesize, schedule.next(RACE), &mut lanes, |_| 1.0)
}
