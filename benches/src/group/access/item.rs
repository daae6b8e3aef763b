//! Items of a chunk in memory.

use super::super::{Schedule, Session, Subject};
use super::{RACE, positions};
use crate::matrix::Form;
use crate::peer::{ChunkCodec, Slot, name, ours, pure};
use crate::race::Lane;
use crate::settings::{Codec, Filter, Settings};
use crate::workload::{Role, Source, Workload};
use crate::{Error, Result};

const CHUNK: usize = 4 << 20;
/// Reads per round: one takes some microseconds.
const READS: usize = 64;

struct Case {
    codec: Codec,
    filter: Filter,
    /// Items per read.
    count: usize,
}

fn cases(form: Form) -> Vec<Case> {
    let mut cases = Vec::new();
    for codec in Codec::ALL {
        for filter in [Filter::Shuffle, Filter::Bitshuffle] {
            for count in [1, 10_000] {
                let fast = filter == Filter::Shuffle && matches!(codec, Codec::BloscLz | Codec::Lz4 | Codec::Zstd);
                if form == Form::Full || fast {
                    cases.push(Case { codec, filter, count });
                }
            }
        }
    }
    cases
}

const WORKLOADS: [&str; 3] = ["disparity-f32", "smooth-f64", "image-u16"];

pub(super) fn races(form: Form) -> usize {
    WORKLOADS.len() * cases(form).len()
}

pub(super) fn run(session: &mut Session, schedule: &mut Schedule) -> Result<()> {
    for name in WORKLOADS {
        let source = Source::named(name).ok_or_else(|| Error::new(format!("no data set is called {name}")))?;
        let workload = source.load(CHUNK)?;
        for case in cases(session.form) {
            let subject = Subject {
                group: "access",
                role: Role::Tuned,
                workload: format!("{name}, {} of a chunk", items(case.count)),
                codec: case.codec.name(),
                filter: case.filter.name(),
                level: 5,
                threads: 1,
            };
            let result = run_case(session, &subject, &case, &workload, schedule);
            session.note(&subject, result);
        }
    }
    Ok(())
}

fn items(count: usize) -> String {
    if count == 1 { "1 item".into() } else { format!("{count} items") }
}

fn run_case(
    session: &mut Session,
    subject: &Subject,
    case: &Case,
    workload: &Workload,
    schedule: &mut Schedule,
) -> Result<()> {
    let typesize = workload.typesize;
    let settings =
        Settings { codec: case.codec, filter: case.filter, level: 5, threads: 1, typesize, block_size: None };
    let (mut ours, mut c, mut pure) =
        (ours::Chunks::new(&settings)?, session.c.chunks(&settings)?, pure::Chunks::new(&settings)?);
    let mut chunk = Slot::default();
    c.compress(&workload.bytes, &mut chunk)?;

    let mut next = positions(CHUNK / typesize - case.count + 1);
    let starts: Vec<usize> = (0..READS).map(|_| next()).collect();
    let len = case.count * typesize;
    let mut buffers = [(); 4].map(|()| vec![1; len]);
    let [to_ours, to_c, to_pure, to_copy] = &mut buffers;
    for &start in &starts {
        let expected = &workload.bytes[start * typesize..][..len];
        ours.items(&chunk, start, typesize, to_ours)?;
        c.items(&chunk, start, case.count, to_c)?;
        pure.items(&chunk, start, case.count, to_pure)?;
        if [&*to_ours, to_c, to_pure].iter().any(|read| *read != expected) {
            return Err(Error::new(format!("items {start}.. differ")));
        }
    }

    let mut lanes = [
        Lane::new(name::OURS, |_| starts.iter().try_for_each(|&start| ours.items(&chunk, start, typesize, to_ours))),
        Lane::new(name::C, |_| starts.iter().try_for_each(|&start| c.items(&chunk, start, case.count, to_c))),
        Lane::new(name::PURE, |_| starts.iter().try_for_each(|&start| pure.items(&chunk, start, case.count, to_pure)))
            .optional(),
        Lane::new(name::COPY, |_| {
            for &start in &starts {
                to_copy.copy_from_slice(&workload.bytes[start * typesize..][..len]);
                std::hint::black_box(&mut *to_copy);
            }
            Ok(())
        }),
    ];
    session.measure(subject, READS * len, schedule.next(RACE), &mut lanes, |_| 1.0)
}
