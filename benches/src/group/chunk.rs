//! Groups `compress` and `decompress`: chunks in memory.

use std::cell::RefCell;
use std::time::Duration;

use super::{Schedule, Session, Subject};
use crate::matrix::Case;
use crate::peer::c::ffi::MAX_OVERHEAD;
use crate::peer::{ChunkCodec, Slot, name, ours, pure};
use crate::race::{Lane, Pace};
use crate::settings::Settings;
use crate::workload::{self, Source, Workload};
use crate::{Error, Result};

/// The most time for one race: with it, fast settings get dozens of rounds.
const COMPRESS: Duration = Duration::from_millis(400);
const DECOMPRESS: Duration = Duration::from_millis(200);

/// Measures all cases of the form on all data sets.
///
/// # Errors
/// When a data set cannot be loaded; a case that fails is noted and passed over.
pub fn run(session: &mut Session, sources: &[Source], time: Duration) -> Result<()> {
    let (form, only) = (session.form, session.only.clone());
    let cases_of = |source: &Source| {
        let mut cases = form.cases();
        if form.sized_workloads().contains(&source.name) {
            cases.extend(form.sized_cases());
        }
        cases.retain(|case| only.includes(case));
        cases
    };
    let cases = sources.iter().flat_map(cases_of);
    let mut schedule =
        Schedule::weighed(time, cases.map(|case| case.compress_weight() + case.decompress_weight()).sum());
    for source in sources {
        eprintln!("chunks of {}", source.name);
        let workload = source.load(workload::BYTES)?;
        let mut slots = Slots::default();
        for case in cases_of(source) {
            run_case(session, &workload, &case, &mut slots, &mut schedule);
        }
    }
    Ok(())
}

/// The chunks that one implementation has made, by piece; empty where it has made none.
type Chunks = Vec<Slot>;

/// Room for the chunks of the three implementations, kept from case to case: touching fresh pages takes longer than
/// most races.
#[derive(Default)]
struct Slots {
    chunks: [Chunks; 3],
    len: usize,
}

impl Slots {
    /// Empties the slots, after making them anew when there are not `count` of them for `len` bytes of data.
    fn clear(&mut self, count: usize, len: usize) -> &mut [Chunks; 3] {
        if (self.chunks[0].len(), self.len) != (count, len) {
            self.chunks = [(); 3].map(|()| (0..count).map(|_| Slot::touched(len + MAX_OVERHEAD)).collect());
            self.len = len;
        }
        self.chunks.iter_mut().flatten().for_each(|slot| slot.set_len(0));
        &mut self.chunks
    }
}

fn run_case(session: &mut Session, workload: &Workload, case: &Case, slots: &mut Slots, schedule: &mut Schedule) {
    let settings = Settings {
        codec: case.codec,
        filter: case.filter,
        level: case.level,
        threads: case.threads,
        typesize: workload.typesize,
        block_size: None,
    };
    let workload_name = match case.chunk {
        Some(bytes) => format!("{} in {} KiB chunks", workload.name, bytes >> 10),
        None => workload.name.to_owned(),
    };
    let subject = |group| Subject {
        group,
        workload: workload_name.clone(),
        role: workload.role,
        codec: case.codec.name(),
        filter: case.filter.name(),
        level: case.level,
        threads: case.threads,
    };
    let pieces: Vec<&[u8]> = workload.bytes.chunks_exact(case.chunk_len()).collect();
    let chunks = slots.clear(pieces.len(), case.chunk_len());
    let pace = schedule.next_of(case.compress_weight(), COMPRESS);
    let compressed = compress(session, &subject("compress"), &settings, &pieces, chunks, pace);
    let failed = compressed.is_err();
    session.note(&subject("compress"), compressed);
    // Also when it is not run.
    let pace = schedule.next_of(case.decompress_weight(), DECOMPRESS);
    if !failed {
        let result = decompress(session, &subject("decompress"), &settings, &pieces, &chunks[1], pace);
        session.note(&subject("decompress"), result);
    }
}

/// Races the compressors and leaves their chunks: ours, those of C-Blosc2, those of blosc2-pure-rs.
fn compress(
    session: &mut Session,
    subject: &Subject,
    settings: &Settings,
    pieces: &[&[u8]],
    chunks: &mut [Chunks; 3],
    pace: Pace,
) -> Result<()> {
    let (mut ours, mut c, mut pure) =
        (ours::Chunks::new(settings)?, session.c.chunks(settings)?, pure::Chunks::new(settings)?);
    let len = pieces[0].len();
    let mut copy = vec![1; len];
    let [our_chunks, c_chunks, pure_chunks] = &mut *chunks;
    let mut lanes = [
        lane(name::OURS, &mut ours, pieces, our_chunks),
        lane(name::C, &mut c, pieces, c_chunks),
        lane(name::PURE, &mut pure, pieces, pure_chunks).optional(),
        Lane::new(name::COPY, |round| {
            copy.copy_from_slice(pieces[round % pieces.len()]);
            Ok(())
        }),
    ];
    let first = session.report.rows.len();
    session.measure(subject, len, pace, &mut lanes, |_| f64::NAN)?;
    drop(lanes);
    let first_chunks = [&chunks[0][0][..], &chunks[1][0], &chunks[2][0]];
    let codecs: [&mut dyn ChunkCodec; 3] = [&mut ours, &mut c, &mut pure];
    if let Err(e) = verify(codecs, first_chunks, pieces[0]) {
        session.report.rows.truncate(first);
        return Err(e);
    }
    for row in &mut session.report.rows[first..] {
        row.size_ratio = match &*row.peer {
            name::C => size_ratio(&chunks[0], |piece| chunks[1][piece].len()),
            name::PURE => size_ratio(&chunks[0], |piece| chunks[2][piece].len()),
            _ => size_ratio(&chunks[0], |_| len),
        };
    }
    Ok(())
}

pub(super) fn lane<'a>(
    name: &'static str,
    codec: &'a mut dyn ChunkCodec,
    pieces: &'a [&[u8]],
    chunks: &'a mut Chunks,
) -> Lane<'a> {
    Lane::new(name, move |round| {
        let piece = round % pieces.len();
        codec.compress(pieces[piece], &mut chunks[piece])
    })
}

/// Our bytes divided by the peer's, over the pieces that both have compressed.
fn size_ratio(ours: &Chunks, peer: impl Fn(usize) -> usize) -> f64 {
    let sizes = ours.iter().enumerate().map(|(piece, chunk)| (chunk.len(), peer(piece)));
    let (ours, peer) = sizes.filter(|(o, p)| *o > 0 && *p > 0).fold((0, 0), |(a, b), (o, p)| (a + o, b + p));
    ours as f64 / peer as f64
}

/// Every implementation must decode what every other one has made of `piece`.
fn verify(mut codecs: [&mut dyn ChunkCodec; 3], chunks: [&[u8]; 3], piece: &[u8]) -> Result<()> {
    const NAMES: [&str; 3] = [name::OURS, name::C, name::PURE];
    let mut decoded = vec![0; piece.len()];
    for (writer, chunk) in chunks.into_iter().enumerate() {
        for (reader, codec) in codecs.iter_mut().enumerate() {
            decoded.fill(0xaa);
            let names = format!("{} reading {}", NAMES[reader], NAMES[writer]);
            codec.decompress(chunk, &mut decoded).map_err(|e| Error::new(format!("{names}: {e}")))?;
            if decoded != piece {
                return Err(Error::new(format!("{names}: the decoded bytes differ")));
            }
        }
    }
    Ok(())
}

/// Races the decompressors on the chunks of C-Blosc2: the same bytes for all.
fn decompress(
    session: &mut Session,
    subject: &Subject,
    settings: &Settings,
    pieces: &[&[u8]],
    chunks: &Chunks,
    pace: Pace,
) -> Result<()> {
    let (mut ours, mut c, mut pure) =
        (ours::Chunks::new(settings)?, session.c.chunks(settings)?, pure::Chunks::new(settings)?);
    let chunks: Vec<(&[u8], &[u8])> =
        chunks.iter().zip(pieces).filter(|(c, _)| !c.is_empty()).map(|(c, p)| (&c[..], *p)).collect();
    let of = |round: usize| chunks[round % chunks.len()];
    let len = pieces[0].len();
    // One buffer for each, so that no destination is already in the cache after the work of another. They change hands every
    // few rounds: which physical pages a buffer consists of can make a copy a third slower.
    let buffers = [(); 4].map(|()| RefCell::new(vec![1; len]));
    let buffer = |lane: usize, round: usize| buffers[(lane + round / 4) % 4].borrow_mut();
    ours.decompress(of(0).0, &mut buffer(0, 0))?;
    c.decompress(of(0).0, &mut buffer(1, 0))?;
    if *buffer(0, 0) != of(0).1 {
        return Err(Error::new("the decoded bytes differ"));
    }
    let mut lanes = [
        Lane::new(name::OURS, |round| ours.decompress(of(round).0, &mut buffer(0, round))),
        Lane::new(name::C, |round| c.decompress(of(round).0, &mut buffer(1, round))),
        Lane::new(name::PURE, |round| pure.decompress(of(round).0, &mut buffer(2, round))).optional(),
        Lane::new(name::COPY, |round| {
            buffer(3, round).copy_from_slice(of(round).1);
            Ok(())
        }),
    ];
    let stored: usize = chunks.iter().map(|(chunk, _)| chunk.len()).sum();
    let ratio_to_data = stored as f64 / (len * chunks.len()) as f64;
    session.measure(subject, len, pace, &mut lanes, |peer| if peer == 3 { ratio_to_data } else { 1.0 })
}
