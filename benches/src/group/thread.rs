//! Group `threads`: chunks and frames by wall clock, with 1, 2, 4, ... threads as far as the machine has cores. Each is
//! compared with one thread of our own and with as many of C-Blosc2.

use std::time::Duration;

use bytes::Bytes;
use oxiblosc_streaming::blocking::{FrameReader, FrameWriter};
use oxiblosc_streaming::{Pool, ReadOptions, WriteOptions};

use super::{Schedule, Session, Subject};
use crate::matrix::Form;
use crate::peer::{ChunkCodec, Slot, name, ours};
use crate::race::{Clock, Lane};
use crate::settings::{Codec, Filter, Settings};
use crate::workload::{Source, Workload};
use crate::{Error, Result};

const CHUNK: usize = 4 << 20;
const SMALL: usize = 64 << 10;
/// Data of a round, so that a round outlasts the start of threads.
const BYTES: usize = 16 << 20;
/// The most time for one race.
const RACE: Duration = Duration::from_secs(1);

struct Case {
    workload: &'static str,
    codec: Codec,
    threads: usize,
}

fn cases(form: Form) -> Vec<Case> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut counts: Vec<usize> = (0..).map(|power| 1 << power).take_while(|&count| count < cores).collect();
    counts.push(cores);
    let workloads: &[&str] =
        if form == Form::Short { &["disparity-f32"] } else { &["disparity-f32", "timestamps-i64"] };
    let mut cases = Vec::new();
    for workload in workloads {
        for codec in [Codec::Lz4, Codec::Zstd] {
            cases.extend(counts.iter().map(|&threads| Case { workload, codec, threads }));
        }
    }
    cases
}

/// Measures all cases of the form.
///
/// # Errors
/// When the data cannot be loaded; a case that fails is noted and passed over.
pub fn run(session: &mut Session, time: Duration) -> Result<()> {
    eprintln!("threads");
    let cases = cases(session.form);
    let mut schedule = Schedule::start(time, 6 * cases.len());
    let clock = std::mem::replace(&mut session.clock, Clock::Wall);
    for case in &cases {
        let source = Source::named(case.workload).ok_or_else(|| Error::new("no such data set"))?;
        let workload = source.load(BYTES)?;
        for len in [CHUNK, SMALL] {
            let result = chunks(session, case, &workload, len, &mut schedule);
            session.note(&subject(case, &workload, "compress"), result);
        }
        let result = streams(session, case, &workload, &mut schedule);
        session.note(&subject(case, &workload, "streams"), result);
    }
    session.clock = clock;
    Ok(())
}

fn settings(case: &Case, workload: &Workload, threads: usize) -> Settings {
    let level = if case.codec == Codec::Zstd { 1 } else { 5 };
    Settings {
        codec: case.codec,
        filter: Filter::Shuffle,
        level,
        threads,
        typesize: workload.typesize,
        block_size: None,
    }
}

fn subject(case: &Case, workload: &Workload, what: &str) -> Subject {
    Subject {
        group: "threads",
        workload: format!("{}, {what}", workload.name),
        role: workload.role,
        codec: case.codec.name(),
        filter: "shuffle",
        level: settings(case, workload, 1).level,
        threads: case.threads,
    }
}

fn chunks(session: &mut Session, case: &Case, workload: &Workload, len: usize, schedule: &mut Schedule) -> Result<()> {
    let [one, many] = [1, case.threads].map(|threads| settings(case, workload, threads));
    let (mut ours, mut alone, mut c) = (ours::Chunks::new(&many)?, ours::Chunks::new(&one)?, session.c.chunks(&many)?);
    let pieces: Vec<&[u8]> = workload.bytes.chunks_exact(len).collect();
    let slots = || pieces.iter().map(|_| Slot::default()).collect::<Vec<_>>();
    let mut chunks = [slots(), slots(), slots()];
    let compress = |codec: &mut dyn ChunkCodec, chunks: &mut Vec<Slot>| {
        pieces.iter().zip(chunks).try_for_each(|(piece, chunk)| codec.compress(piece, chunk))
    };
    let [of_ours, of_alone, of_c] = &mut chunks;
    let mut lanes = [
        Lane::new(name::OURS, |_| compress(&mut ours, of_ours)),
        Lane::new(name::ONE_THREAD, |_| compress(&mut alone, of_alone)),
        Lane::new(name::C, |_| compress(&mut c, of_c)),
    ];
    let what = |what: &str| subject(case, workload, &format!("{what} {} KiB chunks", len >> 10));
    session.measure(&what("compress"), workload.bytes.len(), schedule.next(RACE), &mut lanes, |_| 1.0)?;
    drop(lanes);

    let mut buffers = [(); 3].map(|()| vec![1; len]);
    let [to_ours, to_alone, to_c] = &mut buffers;
    let encoded = &chunks[2];
    let mut lanes = [
        Lane::new(name::OURS, |_| encoded.iter().try_for_each(|chunk| ours.decompress(chunk, to_ours))),
        Lane::new(name::ONE_THREAD, |_| encoded.iter().try_for_each(|chunk| alone.decompress(chunk, to_alone))),
        Lane::new(name::C, |_| encoded.iter().try_for_each(|chunk| c.decompress(chunk, to_c))),
    ];
    session.measure(&what("decompress"), workload.bytes.len(), schedule.next(RACE), &mut lanes, |_| 1.0)
}

/// Frames in memory: C-Blosc2 has nothing that does the same without copies, so it is ourselves that we compare with.
fn streams(session: &mut Session, case: &Case, workload: &Workload, schedule: &mut Schedule) -> Result<()> {
    let pools = [case.threads, 1].map(|threads| if threads == 1 { Pool::inline() } else { Pool::new(threads) });
    let data = Bytes::from(workload.bytes.clone());
    let params = ours::params(&settings(case, workload, 1));
    let write = |pool: &Pool| -> Result<Vec<u8>> {
        let options = WriteOptions::new(params.clone()).chunk_size(CHUNK / 4).pool(pool);
        let mut writer = FrameWriter::in_memory(options).map_err(Error::new)?;
        for start in (0..data.len()).step_by(CHUNK / 4) {
            writer.push(data.slice(start..data.len().min(start + CHUNK / 4))).map_err(Error::new)?;
        }
        writer.finish().map_err(Error::new)?;
        Ok(writer.into_bytes())
    };
    let mut lanes = [
        Lane::new(name::OURS, |_| write(&pools[0]).map(|frame| drop(std::hint::black_box(frame)))),
        Lane::new(name::ONE_THREAD, |_| write(&pools[1]).map(|frame| drop(std::hint::black_box(frame)))),
    ];
    let pace = schedule.next(RACE);
    session.measure(&subject(case, workload, "frame to memory"), data.len(), pace, &mut lanes, |_| 1.0)?;
    drop(lanes);

    let frame = Bytes::from(write(&pools[0])?);
    let read = |pool: &Pool| -> Result<()> {
        let options = ReadOptions::new().pool(pool);
        let reader = FrameReader::with_options(frame.clone(), options).map_err(Error::new)?;
        reader.chunks().try_for_each(|chunk| {
            std::hint::black_box(chunk.map_err(Error::new)?);
            Ok(())
        })
    };
    let mut lanes = [Lane::new(name::OURS, |_| read(&pools[0])), Lane::new(name::ONE_THREAD, |_| read(&pools[1]))];
    let pace = schedule.next(RACE);
    session.measure(&subject(case, workload, "frame from memory"), data.len(), pace, &mut lanes, |_| 1.0)
}
