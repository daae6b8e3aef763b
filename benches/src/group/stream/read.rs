//! Frames read.

use bytes::Bytes;
use futures::TryStreamExt;
use futures::io::Cursor;
use oxiblosc_streaming::source::{FileSource, RangeSource};
use oxiblosc_streaming::{ReadOptions, block_on, blocking};

use super::super::{Schedule, Session, Subject};
use super::{CHUNK, RACE, Work};
use crate::peer::{ChunkCodec, name, ours};
use crate::race::Lane;
use crate::{Error, Result};

pub(super) const RACES: usize = 3;

pub(super) fn run(session: &mut Session, work: &Work<'_>, schedule: &mut Schedule) {
    for (what, forward) in [("from memory", false), ("from a pipe in memory", true)] {
        let subject = work.subject(what);
        let result = from_memory(session, &subject, work, forward, schedule);
        session.note(&subject, result);
    }
    let subject = work.subject("from a file");
    let result = from_file(session, &subject, work, schedule);
    session.note(&subject, result);
}

fn reader<S: RangeSource + 'static>(work: &Work<'_>, source: S) -> Result<blocking::FrameReader<S>> {
    blocking::FrameReader::with_options(source, ReadOptions::new().pool(&work.pool)).map_err(Error::new)
}

/// Reads all chunks, and drops each before the next one.
fn read_all<S: RangeSource + 'static>(reader: &blocking::FrameReader<S>) -> Result<()> {
    reader.chunks().try_for_each(|chunk| {
        std::hint::black_box(chunk.map_err(Error::new)?);
        Ok(())
    })
}

/// The frame that we have written, with random access or front to back, against the decoder on its chunks.
fn from_memory(
    session: &mut Session,
    subject: &Subject,
    work: &Work<'_>,
    forward: bool,
    schedule: &mut Schedule,
) -> Result<()> {
    let frame = Bytes::from(std::fs::read(work.file_of(name::OURS)).map_err(Error::new)?);
    let open = reader(work, frame.clone())?;
    let chunks: Vec<Bytes> = (0..open.nchunks())
        .map(|i| open.encoded_chunk(i))
        .collect::<std::result::Result<_, _>>()
        .map_err(Error::new)?;
    for (chunk, expected) in open.chunks().zip(work.data.chunks(CHUNK)) {
        if chunk.map_err(Error::new)? != expected {
            return Err(Error::new("we read bytes that differ from those written"));
        }
    }
    let mut decoder = ours::Chunks::new(&work.settings)?;
    let (mut encoded, mut decoded) = (Vec::new(), vec![1; CHUNK]);
    let mut lanes = [
        Lane::new(name::OURS, |_| {
            if !forward {
                return read_all(&reader(work, frame.clone())?);
            }
            block_on(async {
                let pipe = Cursor::new(frame.clone());
                let mut chunks = ReadOptions::new().pool(&work.pool).stream(pipe).await?;
                while let Some(chunk) = chunks.try_next().await? {
                    std::hint::black_box(chunk);
                }
                Ok(())
            })
            .map_err(|e: oxiblosc_streaming::ReadError| Error::new(e))
        }),
        Lane::new(name::IN_MEMORY, |_| {
            for chunk in &chunks {
                if forward {
                    // What comes through a pipe is copied out of it.
                    encoded.clear();
                    encoded.extend_from_slice(chunk);
                    decoder.decompress(&encoded, &mut decoded)?;
                } else {
                    decoder.decompress(chunk, &mut decoded)?;
                }
            }
            Ok(())
        }),
    ];
    session.measure(subject, work.data.len(), schedule.next(RACE), &mut lanes, |_| 1.0)
}

/// All read the file that C-Blosc2 has written.
fn from_file(session: &mut Session, subject: &Subject, work: &Work<'_>, schedule: &mut Schedule) -> Result<()> {
    let file = work.file_of(name::C);
    let count = work.data.len().div_ceil(CHUNK);
    let open = || reader(work, FileSource::open_inline(&file).map_err(Error::new)?);
    let c = session.c;
    let mut decoded = vec![1; CHUNK];
    let mut lanes = [
        Lane::new(name::OURS, |_| read_all(&open()?)),
        Lane::new(name::C, |_| {
            let mut frame = c.open_frame(&file, work.settings.threads)?;
            (0..count).try_for_each(|number| frame.chunk(number, &mut decoded))
        }),
        Lane::new(name::PURE, |_| {
            let schunk = blosc2_pure_rs::Schunk::open_lazy_frame(&file).map_err(Error::new)?;
            for number in 0..schunk.nchunks() {
                std::hint::black_box(schunk.decompress_chunk(number).map_err(Error::new)?);
            }
            Ok(())
        })
        .optional(),
    ];
    session.measure(subject, work.data.len(), schedule.next(RACE), &mut lanes, |_| 1.0)
}
