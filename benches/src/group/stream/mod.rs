//! Group `stream`: frames written and read from end to end, in memory and in files.
//!
//! In memory a sink or a reader is compared with what it is made of: the encoder or decoder of chunks, which is given the same
//! buffers, or takes the chunks out of the same pipe, and leaves the same bytes in memory. In files it is compared with the
//! super-chunks of the peers.

mod read;
mod write;

use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use oxiblosc_streaming::{Pool, WriteOptions};

use super::{Schedule, Session, Subject};
use crate::matrix::Form;
use crate::peer::ours;
use crate::settings::{Codec, Filter, Settings};
use crate::workload::{self, Role, Source, Workload};
use crate::{Error, Result};

const CHUNK: usize = 4 << 20;
/// The most time for one race.
const RACE: Duration = Duration::from_secs(2);

struct Case {
    workload: &'static str,
    codec: Codec,
    level: u8,
    threads: usize,
}

fn cases(form: Form) -> Vec<Case> {
    let (workloads, codecs): (&[&str], &[(Codec, u8)]) = match form {
        Form::Short => (&["disparity-f32", "smooth-f64"], &[(Codec::Lz4, 5), (Codec::Zstd, 1)]),
        Form::Full | Form::Unseen => (
            &["fmri-i16", "disparity-f32", "smooth-f64", "timestamps-i64"],
            &[(Codec::BloscLz, 5), (Codec::Lz4, 5), (Codec::Lz4Hc, 1), (Codec::Zlib, 1), (Codec::Zstd, 1)],
        ),
    };
    let mut cases = Vec::new();
    for workload in workloads {
        for &(codec, level) in codecs {
            for threads in [1, 2] {
                // Of the short form every second one: each codec, data set and number of threads is in it.
                if form == Form::Full || (threads == 1) == (codec == Codec::Lz4) {
                    cases.push(Case { workload, codec, level, threads });
                }
            }
        }
    }
    cases
}

/// What is written and read, and how.
struct Work<'a> {
    case: &'a Case,
    settings: Settings,
    data: Bytes,
    options: WriteOptions,
    pool: Pool,
    directory: tempfile::TempDir,
}

impl<'a> Work<'a> {
    fn new(case: &'a Case, workload: &Workload, data: Bytes) -> Result<Self> {
        let settings = Settings {
            codec: case.codec,
            filter: Filter::Shuffle,
            level: case.level,
            threads: case.threads,
            typesize: workload.typesize,
            block_size: None,
        };
        // Work is done by `threads` threads; with one, by the caller's own.
        let pool = if case.threads == 1 { Pool::inline() } else { Pool::new(case.threads) };
        // What a reader needs that cannot seek; a few bytes of the header.
        let options = WriteOptions::new(ours::params(&settings)).chunk_size(CHUNK).pool(&pool).sequential(true);
        let directory = tempfile::tempdir().map_err(Error::new)?;
        Ok(Self { case, settings, data, options, pool, directory })
    }

    fn subject(&self, what: &str) -> Subject {
        Subject {
            group: "stream",
            role: Role::Tuned,
            workload: format!("{}, {what}", self.case.workload),
            codec: self.case.codec.name(),
            filter: "shuffle",
            level: self.case.level,
            threads: self.case.threads,
        }
    }

    fn file_of(&self, name: &str) -> PathBuf {
        self.directory.path().join(format!("{name}.b2frame"))
    }
}

/// Measures all cases of the form.
///
/// # Errors
/// When the data cannot be loaded; a case that fails is noted and passed over.
pub fn run(session: &mut Session, sources: &[Source], time: Duration) -> Result<()> {
    eprintln!("streams");
    let mut cases = cases(session.form);
    cases.retain(|case| {
        let only = &session.only;
        sources.iter().any(|source| source.name == case.workload)
            && only.includes_settings(case.codec, Filter::Shuffle, case.level, case.threads)
    });
    let mut schedule = Schedule::start(time, (write::RACES + read::RACES) * cases.len());
    let mut loaded: Option<(Workload, Bytes)> = None;
    for case in &cases {
        if loaded.as_ref().is_none_or(|(workload, _)| workload.name != case.workload) {
            let source = Source::named(case.workload).ok_or_else(|| Error::new("no such data set"))?;
            let mut workload = source.load(workload::BYTES)?;
            let data = std::mem::take(&mut workload.bytes).into();
            loaded = Some((workload, data));
        }
        let Some((workload, data)) = &loaded else { continue };
        let work = Work::new(case, workload, data.clone())?;
        write::run(session, &work, &mut schedule);
        read::run(session, &work, &mut schedule);
    }
    Ok(())
}
