//! Groups `compress`, `decompress` and `items` on data sets that come in their own length: those of packages, and the
//! generated ones. Only we and C-Blosc2 race here, so that there is time for many settings.

use std::time::Duration;

use super::{Schedule, Session, Subject, chunk};
use crate::matrix::{Case, Form};
use crate::peer::c::ffi::MAX_OVERHEAD;
use crate::peer::{ChunkCodec, Slot, c, name, ours};
use crate::race::{Lane, Pace};
use crate::settings::{Codec, Filter, Settings};
use crate::synthetic::Random;
use crate::workload::{Source, Workload};
use crate::{Error, Result};

/// The most time for one race.
const COMPRESS: Duration = Duration::from_millis(300);
const DECOMPRESS: Duration = Duration::from_millis(150);
const ITEMS: Duration = Duration::from_millis(60);
/// Reads of items in a round, and how many items a read may have.
const READS: usize = 64;
const COUNTS: [usize; 3] = [1, 100, 10_000];

/// The settings of one set. If the caller names levels, all that he names are measured; else some are drawn for each
/// codec and filter, so that all levels are seen over the sets.
fn cases(session: &Session, typesize: usize, random: &mut Random) -> Vec<Case> {
    let mut cases = Vec::new();
    for codec in Codec::ALL {
        for filter in Filter::ALL {
            // With items of one byte there is nothing to shuffle, and differences of bytes are not what users ask for.
            if typesize == 1 && matches!(filter, Filter::Shuffle | Filter::Bytedelta) {
                continue;
            }
            // One of each third, the thirds in a random order.
            let drawn = [1, 4, 7].map(|low| low + random.below(3) as u8);
            let first = random.below(3);
            for level in 1..=9 {
                let rank = drawn.iter().position(|&l| l == level).map(|third| (third + first) % 3);
                let case = Case { codec, filter, level, threads: 1, chunk: None };
                let included = session.only.includes(&case);
                let some = rank.is_some_and(|rank| rank < session.form.levels_of_sets());
                if included && (some || session.only.names_levels()) {
                    cases.push(case);
                }
            }
        }
    }
    if session.form == Form::Short && !session.only.names_levels() {
        let wanted = cases.len().min(4);
        for i in 0..wanted {
            let j = i + random.below(cases.len() - i);
            cases.swap(i, j);
        }
        cases.truncate(wanted);
    }
    cases
}

/// Measures these sets.
///
/// # Errors
/// None but those of the schedule; a set or a case that fails is noted and passed over.
pub fn run(session: &mut Session, workloads: &[(Source, Workload)], time: Duration) -> Result<()> {
    let mut random = Random::seeded(session.seed);
    let all: Vec<_> = workloads.iter().map(|(_, workload)| cases(session, workload.typesize, &mut random)).collect();
    let weight = |case: &Case| case.compress_weight() + case.decompress_weight() + 8;
    let mut schedule = Schedule::weighed(time, all.iter().flatten().map(weight).sum());
    for ((source, workload), cases) in workloads.iter().zip(all) {
        eprintln!("{} ({}, {})", source.name, source.kind, source.role.name());
        for (number, case) in cases.iter().enumerate() {
            let count = COUNTS[number % COUNTS.len()];
            run_case(session, workload, case, count, &mut schedule);
        }
    }
    Ok(())
}

fn run_case(session: &mut Session, workload: &Workload, case: &Case, count: usize, schedule: &mut Schedule) {
    let paces = [
        schedule.next_of(case.compress_weight(), COMPRESS),
        schedule.next_of(case.decompress_weight(), DECOMPRESS),
        schedule.next_of(8, ITEMS),
    ];
    let subject = |group, what: &str| Subject {
        group,
        workload: format!("{}{what}", workload.name),
        role: workload.role,
        codec: case.codec.name(),
        filter: case.filter.name(),
        level: case.level,
        threads: 1,
    };
    let result = race(session, workload, case, count, paces, &subject);
    session.note(&subject("compress", ""), result);
}

/// Whole chunks; a shorter set is one chunk.
fn pieces(bytes: &[u8], len: usize) -> Vec<&[u8]> {
    if bytes.len() < len { vec![bytes] } else { bytes.chunks_exact(len).collect() }
}

fn race(
    session: &mut Session,
    workload: &Workload,
    case: &Case,
    count: usize,
    paces: [Pace; 3],
    subject: &dyn Fn(&'static str, &str) -> Subject,
) -> Result<()> {
    let typesize = workload.typesize;
    let settings =
        Settings { codec: case.codec, filter: case.filter, level: case.level, threads: 1, typesize, block_size: None };
    let (mut ours, mut c) = (ours::Chunks::new(&settings)?, session.c.chunks(&settings)?);
    let pieces = pieces(&workload.bytes, case.chunk_len() / typesize * typesize);
    let len = pieces[0].len();
    let mut chunks = [(); 2].map(|()| pieces.iter().map(|_| Slot::touched(len + MAX_OVERHEAD)).collect::<Vec<_>>());

    let [our_chunks, c_chunks] = &mut chunks;
    let mut lanes =
        [chunk::lane(name::OURS, &mut ours, &pieces, our_chunks), chunk::lane(name::C, &mut c, &pieces, c_chunks)];
    let first = session.report.rows.len();
    session.measure(&subject("compress", ""), len, paces[0], &mut lanes, |_| f64::NAN)?;
    drop(lanes);
    // Sizes are those of the whole set, also where the race did not get to its end.
    for (piece, data) in pieces.iter().enumerate() {
        if chunks[0][piece].is_empty() {
            ours.compress(data, &mut chunks[0][piece])?;
        }
        if chunks[1][piece].is_empty() {
            c.compress(data, &mut chunks[1][piece])?;
        }
    }
    let sizes = [0, 1].map(|side: usize| chunks[side].iter().map(|chunk| chunk.len()).sum::<usize>() as f64);
    if let Err(e) = verify(&mut ours, &mut c, &chunks, &pieces) {
        session.report.rows.truncate(first);
        return Err(e);
    }
    session.report.rows[first..].iter_mut().for_each(|row| row.size_ratio = sizes[0] / sizes[1]);

    let mut buffers = [(); 2].map(|()| vec![1; len]);
    let [to_ours, to_c] = &mut buffers;
    let of = |round: usize| &chunks[1][round % pieces.len()];
    let mut lanes = [
        Lane::new(name::OURS, |round| ours.decompress(of(round), to_ours)),
        Lane::new(name::C, |round| c.decompress(of(round), to_c)),
    ];
    session.measure(&subject("decompress", ""), len, paces[1], &mut lanes, |_| 1.0)?;
    drop(lanes);

    let count = count.min(len / typesize);
    let mut random = Random::seeded(len as u64);
    let starts: Vec<usize> = (0..READS).map(|_| random.below(len / typesize - count + 1)).collect();
    let what = if count == 1 { ", 1 item".to_owned() } else { format!(", {count} items") };
    items(
        session,
        &subject("items", &what),
        [&mut to_ours[..count * typesize], &mut to_c[..count * typesize]],
        paces[2],
        &starts,
        typesize,
        (&mut ours, &mut c),
        &chunks[1][0],
        pieces[0],
    )
}

/// Both must decode what the other one has made.
fn verify(ours: &mut ours::Chunks, c: &mut c::Chunks, chunks: &[Vec<Slot>; 2], pieces: &[&[u8]]) -> Result<()> {
    let mut decoded = vec![0xaa; pieces[0].len()];
    for (i, piece) in pieces.iter().enumerate() {
        c.decompress(&chunks[0][i], &mut decoded)?;
        if decoded != *piece {
            return Err(Error::new("C-Blosc2 reads other bytes than we wrote"));
        }
        decoded.fill(0xaa);
        ours.decompress(&chunks[1][i], &mut decoded)?;
        if decoded != *piece {
            return Err(Error::new("we read other bytes than C-Blosc2 wrote"));
        }
        decoded.fill(0xaa);
    }
    Ok(())
}

#[allow(clippy::too_many_arguments, reason = "the parts of one race")]
fn items(
    session: &mut Session,
    subject: &Subject,
    buffers: [&mut [u8]; 2],
    pace: Pace,
    starts: &[usize],
    typesize: usize,
    (ours, c): (&mut ours::Chunks, &mut c::Chunks),
    chunk: &[u8],
    piece: &[u8],
) -> Result<()> {
    let [to_ours, to_c] = buffers;
    let count = to_ours.len() / typesize;
    for &start in starts {
        ours.items(chunk, start, typesize, to_ours)?;
        c.items(chunk, start, count, to_c)?;
        let expected = &piece[start * typesize..][..count * typesize];
        if to_ours != expected || to_c != expected {
            return Err(Error::new(format!("items {start}.. differ")));
        }
    }
    let bytes = starts.len() * to_ours.len();
    let mut lanes = [
        Lane::new(name::OURS, |_| starts.iter().try_for_each(|&start| ours.items(chunk, start, typesize, to_ours))),
        Lane::new(name::C, |_| starts.iter().try_for_each(|&start| c.items(chunk, start, count, to_c))),
    ];
    session.measure(subject, bytes, pace, &mut lanes, |_| 1.0)
}
