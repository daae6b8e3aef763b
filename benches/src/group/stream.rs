//! Group `stream`: a file written and read from end to end.

use std::fs;
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use oxiblosc_streaming::source::FileSource;
use oxiblosc_streaming::{Pool, ReadOptions, WriteOptions, blocking};

use super::{Schedule, Session, Subject};
use crate::matrix::Form;
use crate::peer::{ChunkCodec, Slot, name, ours, pure};
use crate::race::Lane;
use crate::settings::{Codec, Filter, Settings};
use crate::workload::{self, Source, Workload};
use crate::{Error, Result};

const CHUNK: usize = 4 << 20;
/// The buffers that the data arrives in: no divisor of a chunk, as in real pipelines.
const BUFFER: usize = 100_000;
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
        Form::Full => (
            &["fmri-i16", "disparity-f32", "smooth-f64", "timestamps-i64"],
            &[(Codec::BloscLz, 5), (Codec::Lz4, 5), (Codec::Lz4Hc, 1), (Codec::Zlib, 1), (Codec::Zstd, 1)],
        ),
    };
    let mut cases = Vec::new();
    for workload in workloads {
        for &(codec, level) in codecs {
            for threads in [1, 2] {
                cases.push(Case { workload, codec, level, threads });
            }
        }
    }
    cases
}

/// Measures all cases of the form.
///
/// # Errors
/// When the data cannot be loaded; a case that fails is noted and passed over.
pub fn run(session: &mut Session, time: Duration) -> Result<()> {
    eprintln!("streams");
    let cases = cases(session.form);
    let mut schedule = Schedule::start(time, 2 * cases.len());
    let mut loaded: Option<Workload> = None;
    for case in cases {
        let source = Source::named(case.workload).ok_or_else(|| Error::new("no such data set"))?;
        let workload = match loaded.take() {
            Some(workload) if workload.name == case.workload => workload,
            _ => source.load(workload::BYTES)?,
        };
        let subject = |what: &str| Subject {
            group: "stream",
            workload: format!("{} {what} a file", case.workload),
            codec: case.codec.name(),
            filter: "shuffle",
            level: case.level,
            threads: case.threads,
        };
        let settings = Settings {
            codec: case.codec,
            filter: Filter::Shuffle,
            level: case.level,
            threads: case.threads,
            typesize: workload.typesize,
            block_size: None,
        };
        let files = Files::new()?;
        let written = write(session, &subject("to"), &settings, &workload, &files, &mut schedule);
        let failed = written.is_err();
        session.note(&subject("to"), written);
        if !failed {
            let read = read(session, &subject("from"), &settings, &workload, &files, &mut schedule);
            session.note(&subject("from"), read);
        }
        loaded = Some(workload);
    }
    Ok(())
}

/// A directory with a file for each of those who write.
struct Files {
    directory: tempfile::TempDir,
}

impl Files {
    fn new() -> Result<Self> {
        Ok(Self { directory: tempfile::tempdir().map_err(Error::new)? })
    }

    fn of(&self, name: &str) -> std::path::PathBuf {
        self.directory.path().join(format!("{name}.b2frame"))
    }
}

/// Work is done by `threads` threads; with one, by the caller's own.
fn pool(threads: usize) -> Pool {
    if threads == 1 { Pool::inline() } else { Pool::new(threads) }
}

fn write(
    session: &mut Session,
    subject: &Subject,
    settings: &Settings,
    workload: &Workload,
    files: &Files,
    schedule: &mut Schedule,
) -> Result<()> {
    let data = Bytes::from(workload.bytes.clone());
    let options = WriteOptions::new(ours::params(settings)).chunk_size(CHUNK).pool(&pool(settings.threads));
    let [our_file, c_file, pure_file] = [name::OURS, name::C, name::PURE].map(|name| files.of(name));
    let (mut encoder, mut encoded) = (ours::Chunks::new(settings)?, Slot::default());
    let mut copy = vec![1; data.len()];
    let c = session.c;

    let mut lanes = [
        Lane::new(name::OURS, |_| {
            let mut writer = blocking::FrameWriter::create(&our_file, options.clone()).map_err(Error::new)?;
            for start in (0..data.len()).step_by(BUFFER) {
                writer.push(data.slice(start..data.len().min(start + BUFFER))).map_err(Error::new)?;
            }
            writer.finish().map(drop).map_err(Error::new)
        }),
        Lane::new(name::C, |_| {
            remove(&c_file)?;
            let mut frame = c.create_frame(&c_file, settings)?;
            data.chunks(CHUNK).try_for_each(|chunk| frame.append(chunk))
        }),
        Lane::new(name::IN_MEMORY, |_| data.chunks(CHUNK).try_for_each(|chunk| encoder.compress(chunk, &mut encoded))),
        Lane::new(name::PURE, |_| {
            let mut schunk = blosc2_pure_rs::Schunk::new(pure::cparams(settings)?, pure::dparams(settings)?);
            for chunk in data.chunks(CHUNK) {
                schunk.append_buffer(chunk).map_err(Error::new)?;
            }
            schunk.write_contiguous_frame_path(&pure_file).map(drop).map_err(Error::new)
        })
        .optional(),
        Lane::new(name::COPY, |_| {
            copy.copy_from_slice(&data);
            Ok(())
        })
        .optional(),
    ];
    let first = session.report.rows.len();
    session.measure(subject, data.len(), schedule.next(RACE), &mut lanes, |_| 1.0)?;
    drop(lanes);

    let size = |path: &Path| Ok::<_, Error>(fs::metadata(path).map_err(Error::new)?.len() as f64);
    let our_size = size(&our_file)?;
    for row in &mut session.report.rows[first..] {
        row.size_ratio = match row.peer {
            name::C => our_size / size(&c_file)?,
            name::PURE => our_size / size(&pure_file)?,
            name::COPY => our_size / data.len() as f64,
            _ => 1.0,
        };
    }
    let mut frame = session.c.open_frame(&our_file, 1)?;
    let mut decoded = vec![0; CHUNK];
    for (number, chunk) in data.chunks(CHUNK).enumerate() {
        frame.chunk(number, &mut decoded)?;
        if decoded != chunk {
            return Err(Error::new(format!("C-Blosc2 reads other bytes in chunk {number} of our file")));
        }
    }
    Ok(())
}

fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(Error::new(e)),
        _ => Ok(()),
    }
}

/// All read the file that C-Blosc2 has written.
fn read(
    session: &mut Session,
    subject: &Subject,
    settings: &Settings,
    workload: &Workload,
    files: &Files,
    schedule: &mut Schedule,
) -> Result<()> {
    let file = files.of(name::C);
    let pool = pool(settings.threads);
    let c = session.c;
    let open = || -> Result<blocking::FrameReader<FileSource>> {
        let source = FileSource::open_inline(&file).map_err(Error::new)?;
        blocking::FrameReader::with_options(source, ReadOptions::new().pool(&pool)).map_err(Error::new)
    };
    let reader = open()?;
    let chunks: Vec<Bytes> = (0..reader.nchunks())
        .map(|i| reader.encoded_chunk(i))
        .collect::<std::result::Result<_, _>>()
        .map_err(Error::new)?;
    for (chunk, expected) in reader.chunks().zip(workload.bytes.chunks(CHUNK)) {
        if chunk.map_err(Error::new)? != expected {
            return Err(Error::new("we read other bytes than were written"));
        }
    }
    let mut decoder = ours::Chunks::new(settings)?;
    let [mut to_c, mut to_memory] = [(); 2].map(|()| vec![1; CHUNK]);
    let mut copy = vec![1; workload.bytes.len()];
    let mut lanes = [
        Lane::new(name::OURS, |_| {
            open()?.chunks().try_for_each(|chunk| {
                std::hint::black_box(chunk.map_err(Error::new)?);
                Ok(())
            })
        }),
        Lane::new(name::C, |_| {
            let mut frame = c.open_frame(&file, settings.threads)?;
            (0..chunks.len()).try_for_each(|number| frame.chunk(number, &mut to_c))
        }),
        Lane::new(name::IN_MEMORY, |_| chunks.iter().try_for_each(|chunk| decoder.decompress(chunk, &mut to_memory))),
        Lane::new(name::PURE, |_| {
            let schunk = blosc2_pure_rs::Schunk::open_lazy_frame(&file).map_err(Error::new)?;
            for number in 0..schunk.nchunks() {
                std::hint::black_box(schunk.decompress_chunk(number).map_err(Error::new)?);
            }
            Ok(())
        })
        .optional(),
        Lane::new(name::COPY, |_| {
            copy.copy_from_slice(&workload.bytes);
            Ok(())
        })
        .optional(),
    ];
    session.measure(subject, workload.bytes.len(), schedule.next(RACE), &mut lanes, |_| 1.0)
}
