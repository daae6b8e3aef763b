//! Frames written.

use std::fs;
use std::io;
use std::path::Path;

use bytes::Bytes;
use oxiblosc_streaming::blocking::FrameWriter;
use oxiblosc_streaming::target::Target;

use super::super::{Schedule, Session, Subject};
use super::{CHUNK, RACE, Work};
use crate::peer::{name, ours, pure};
use crate::race::Lane;
use crate::{Error, Result};

pub(super) const RACES: usize = 1 + PIECES.len();

/// Lengths of the buffers: whole chunks, parts of them, and what does not divide them, as it comes from sockets and
/// decompressors.
const PIECES: [(&str, usize); 5] = [
    ("to memory", CHUNK),
    ("in pieces of 1 MiB to memory", 1 << 20),
    ("in pieces of 100 kB to memory", 100_000),
    ("in pieces of 64 KiB to memory", 64 << 10),
    ("in pieces of 4 KiB to memory", 4 << 10),
];

pub(super) fn run(session: &mut Session, work: &Work<'_>, schedule: &mut Schedule) {
    for (what, piece) in PIECES {
        let subject = work.subject(what);
        let result = to_memory(session, &subject, work, piece, schedule);
        session.note(&subject, result);
    }
    let subject = work.subject("to a file");
    let result = to_file(session, &subject, work, schedule);
    session.note(&subject, result);
}

/// Pushes all of `data` in buffers of `piece` bytes.
fn push_all<T: Target>(writer: &mut FrameWriter<T>, data: &Bytes, piece: usize) -> Result<()> {
    for start in (0..data.len()).step_by(piece) {
        writer.push(data.slice(start..data.len().min(start + piece))).map_err(Error::new)?;
    }
    writer.finish().map(drop).map_err(Error::new)
}

fn to_memory(
    session: &mut Session,
    subject: &Subject,
    work: &Work<'_>,
    piece: usize,
    schedule: &mut Schedule,
) -> Result<()> {
    let data = &work.data;
    let mut encoder = ours::Chunks::new(&work.settings)?;
    let mut chunk = Vec::with_capacity(CHUNK);
    let mut lanes = [
        Lane::new(name::OURS, |_| {
            let mut writer = FrameWriter::in_memory(work.options.clone()).map_err(Error::new)?;
            push_all(&mut writer, data, piece)?;
            std::hint::black_box(writer.into_bytes());
            Ok(())
        }),
        Lane::new(name::IN_MEMORY, |_| {
            // The same buffers, and in the end the same bytes in memory that has not been touched before; it need not grow.
            let mut encoded = Vec::with_capacity(data.len());
            if piece == CHUNK {
                data.chunks(CHUNK).try_for_each(|chunk| encoder.append(chunk, &mut encoded))?;
            } else {
                for mut bytes in data.chunks(piece) {
                    while !bytes.is_empty() {
                        let (taken, rest) = bytes.split_at(bytes.len().min(CHUNK - chunk.len()));
                        chunk.extend_from_slice(taken);
                        bytes = rest;
                        if chunk.len() == CHUNK {
                            encoder.append(&chunk, &mut encoded)?;
                            chunk.clear();
                        }
                    }
                }
            }
            std::hint::black_box(encoded);
            Ok(())
        }),
    ];
    session.measure(subject, data.len(), schedule.next(RACE), &mut lanes, |_| 1.0)
}

/// All are given whole chunks: the super-chunks of the others take nothing else.
fn to_file(session: &mut Session, subject: &Subject, work: &Work<'_>, schedule: &mut Schedule) -> Result<()> {
    let (data, settings) = (&work.data, &work.settings);
    let [our_file, c_file, pure_file] = [name::OURS, name::C, name::PURE].map(|name| work.file_of(name));
    let c = session.c;
    let mut lanes = [
        Lane::new(name::OURS, |_| {
            remove(&our_file)?;
            let mut writer = FrameWriter::create(&our_file, work.options.clone()).map_err(Error::new)?;
            push_all(&mut writer, data, CHUNK)
        }),
        Lane::new(name::C, |_| {
            remove(&c_file)?;
            let mut frame = c.create_frame(&c_file, settings)?;
            data.chunks(CHUNK).try_for_each(|chunk| frame.append(chunk))
        }),
        Lane::new(name::PURE, |_| {
            remove(&pure_file)?;
            let mut schunk = blosc2_pure_rs::Schunk::new(pure::cparams(settings)?, pure::dparams(settings)?);
            for chunk in data.chunks(CHUNK) {
                schunk.append_buffer(chunk).map_err(Error::new)?;
            }
            schunk.write_contiguous_frame_path(&pure_file).map(drop).map_err(Error::new)
        })
        .optional(),
    ];
    let first = session.report.rows.len();
    session.measure(subject, data.len(), schedule.next(RACE), &mut lanes, |_| 1.0)?;
    drop(lanes);

    let size = |path: &Path| Ok::<_, Error>(fs::metadata(path).map_err(Error::new)?.len() as f64);
    let our_size = size(&our_file)?;
    for row in &mut session.report.rows[first..] {
        row.size_ratio = our_size / size(if row.peer == name::C { &c_file } else { &pure_file })?;
    }
    let mut frame = session.c.open_frame(&our_file, 1)?;
    let mut decoded = vec![0; CHUNK];
    for (number, chunk) in data.chunks(CHUNK).enumerate() {
        frame.chunk(number, &mut decoded)?;
        if decoded != chunk {
            return Err(Error::new(format!("C-Blosc2 reads different bytes in chunk {number} of our file")));
        }
    }
    Ok(())
}

fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(Error::new(e)),
        _ => Ok(()),
    }
}
