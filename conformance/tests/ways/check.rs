//! What has come out of a case is compared with what went in, by every way out.

use std::io::Read;

use bytes::Bytes;
use futures::TryStreamExt;
use futures::io::{AllowStdIo, AsyncReadExt, AsyncSeekExt, SeekFrom};
use oxiblosc::source::RangeSource;
use oxiblosc::{ChecksumPolicy, FrameReader, ReadOptions, Summary, block_on, blocking};
use oxiblosc_conformance::data::Random;

use crate::array::Shape;
use crate::case::{Case, Extras};
use crate::payload::Payload;
use crate::place::Place;

/// Longer frames are read as a stream of chunks, by parts and by a verification, and not as a whole as well.
const MOST_AT_ONCE: u64 = 24 << 20;

/// Compares what is there with the payload and with what the sink has said of it.
pub(crate) fn check(place: &Place, case: &Case, payload: &Payload, summary: Option<&Summary>) -> Result<(), String> {
    let reader =
        block_on(options(case).open(place.source(case.mode)?)).map_err(|e| format!("cannot be opened: {e}"))?;
    if let Some(summary) = summary {
        totals(place, &reader, summary)?;
    }
    let mut random = Random::new(case.seed);
    let shape = case.way.is_array().then(|| Shape::of(case));
    block_on(async {
        match &shape {
            Some(shape) => shape.check(reader.clone(), payload, &mut random).await?,
            None => {
                chunks(&reader, payload).await?;
                parts(&reader, payload, &mut random).await?;
            }
        }
        let report = reader.verify().await.map_err(|e| format!("cannot be verified: {e}"))?;
        if report.is_good() { Ok(()) } else { Err(format!("the verification says: {report}")) }
    })?;
    if shape.is_none() && payload.len() <= MOST_AT_ONCE {
        block_on(whole(&reader, payload, &mut random))?;
        plain(place, case, payload)?;
        if !case.way.is_sparse() {
            front_to_back(place, case, payload)?;
        }
    }
    Ok(())
}

fn options(case: &Case) -> ReadOptions {
    let mut options = ReadOptions::new();
    if let Some(pool) = case.pool() {
        options = options.pool(&pool);
    }
    match case.extras {
        // Editors keep checksums, and drop fingerprints.
        Extras::Checked => options.checksums(ChecksumPolicy::Require),
        Extras::LittleInFlight => options.chunks_ahead(1).bytes_ahead(1),
        _ => options,
    }
}

/// What the sink has said about the frame is what its header says, and the length of what is there.
fn totals<S: RangeSource + 'static>(place: &Place, reader: &FrameReader<S>, summary: &Summary) -> Result<(), String> {
    let chunk_size = reader.chunk_size().unwrap_or(1) as u64;
    for (what, said, found) in [
        ("bytes", summary.nbytes, reader.nbytes()),
        ("encoded bytes", summary.cbytes, reader.cbytes()),
        ("chunks", summary.chunks, reader.nchunks()),
        ("chunks of that size", summary.chunks, reader.nbytes().div_ceil(chunk_size)),
        ("bytes of the frame", summary.frame_len, place.len()),
    ] {
        if said != found {
            return Err(format!("the sink has said {said} {what}, there are {found}"));
        }
    }
    Ok(())
}

/// As a stream of chunks.
async fn chunks<S: RangeSource + 'static>(reader: &FrameReader<S>, payload: &Payload) -> Result<(), String> {
    let mut at = 0;
    let mut chunks = reader.chunks();
    while let Some(chunk) = chunks.try_next().await.map_err(|e| format!("the chunk at {at}: {e}"))? {
        payload.compare(at, &chunk)?;
        at += chunk.len() as u64;
    }
    if at == payload.len() { Ok(()) } else { Err(format!("a stream of {at} bytes, expected {}", payload.len())) }
}

/// Single chunks, and bytes and items from anywhere.
async fn parts<S: RangeSource + 'static>(
    reader: &FrameReader<S>,
    payload: &Payload,
    random: &mut Random,
) -> Result<(), String> {
    if payload.len() == 0 {
        return if reader.nbytes() == 0 { Ok(()) } else { Err(format!("{} bytes, expected none", reader.nbytes())) };
    }
    for _ in 0..6 {
        let start = random.below(payload.len() as usize) as u64;
        let most = [1, 100, 40_000][random.below(3)];
        let end = (start + 1 + random.below(most) as u64).min(payload.len());
        let found = reader.bytes(start..end).await.map_err(|e| format!("bytes {start}..{end}: {e}"))?;
        same(&format!("bytes {start}..{end}"), payload, start..end, &found)?;
    }
    for _ in 0..if reader.items_len() > 0 { 3 } else { 0 } {
        let item = random.below(reader.items_len() as usize) as u64;
        let end = (item + 1 + random.below(1000) as u64).min(reader.items_len());
        let found = reader.items(item..end).await.map_err(|e| format!("items {item}..{end}: {e}"))?;
        let size = reader.typesize() as u64;
        same(&format!("items {item}..{end}"), payload, item * size..end * size, &found)?;
    }
    for _ in 0..2 {
        let chunk = random.below(reader.nchunks() as usize) as u64;
        let found = reader.chunk(chunk).await.map_err(|e| format!("chunk {chunk}: {e}"))?;
        let size = reader.chunk_size().unwrap_or(1) as u64;
        same(&format!("chunk {chunk}"), payload, chunk * size..((chunk + 1) * size).min(payload.len()), &found)?;
    }
    Ok(())
}

/// All at once, and as a reader with a position.
async fn whole<S: RangeSource + 'static>(
    reader: &FrameReader<S>,
    payload: &Payload,
    random: &mut Random,
) -> Result<(), String> {
    let all = 0..payload.len();
    let found = reader.bytes(all.clone()).await.map_err(|e| format!("all bytes: {e}"))?;
    same("all bytes", payload, all, &found)?;
    drop(found);
    let mut stream = reader.clone().into_async_read();
    for start in [0, random.below(1 + payload.len() as usize) as u64] {
        let mut found = Vec::new();
        stream.seek(SeekFrom::Start(start)).await.map_err(|e| e.to_string())?;
        stream.read_to_end(&mut found).await.map_err(|e| format!("read from {start}: {e}"))?;
        same(&format!("read from {start}"), payload, start..payload.len(), &found)?;
    }
    Ok(())
}

/// By the blocking reader.
fn plain(place: &Place, case: &Case, payload: &Payload) -> Result<(), String> {
    let text = |e: oxiblosc::ReadError| format!("the blocking reader: {e}");
    let reader = blocking::FrameReader::with_options(place.source(case.mode)?, options(case)).map_err(text)?;
    let mut found = Vec::new();
    reader.into_read().read_to_end(&mut found).map_err(|e| format!("the blocking reader: {e}"))?;
    same("the blocking reader", payload, 0..payload.len(), &found)
}

/// From front to back, as from a pipe.
fn front_to_back(place: &Place, case: &Case, payload: &Payload) -> Result<(), String> {
    let source = place.source(case.mode)?;
    let text = |e: oxiblosc::ReadError| format!("from front to back: {e}");
    let frame = block_on(async {
        let all = 0..source.size().await?;
        Ok::<_, std::io::Error>(source.read_ranges([all].into()).await?.concat())
    });
    let pipe = AllowStdIo::new(std::io::Cursor::new(frame.map_err(|e| e.to_string())?));
    let chunks: Vec<Bytes> = block_on(async {
        // Some frames are kept until their end has come: in memory, and beyond that in a file.
        let stream = options(case).spool_memory([0, 100_000, usize::MAX][case.seed as usize % 3]).stream(pipe).await?;
        stream.try_collect().await
    })
    .map_err(text)?;
    same("from front to back", payload, 0..payload.len(), &chunks.concat())
}

fn same(what: &str, payload: &Payload, range: std::ops::Range<u64>, found: &[u8]) -> Result<(), String> {
    if found.len() as u64 != range.end - range.start {
        return Err(format!("{what}: {} bytes, expected {}", found.len(), range.end - range.start));
    }
    payload.compare(range.start, found).map_err(|e| format!("{what}: {e}"))
}

/// Whatever is there is no frame, or it is the whole one: that of a writer who was told of an error after the frame had
/// become final.
pub(crate) fn nothing_or_all(place: &Place, case: &Case, payload: &Payload, all_taken: bool) -> Result<(), String> {
    let Ok(source) = place.source(case.mode) else { return Ok(()) };
    match block_on(ReadOptions::new().open(source)) {
        Err(_) => Ok(()),
        Ok(_) if all_taken => {
            check(place, case, payload, None).map_err(|e| format!("after errors, what is there: {e}"))
        }
        Ok(reader) => Err(format!("after errors, a frame of {} bytes is there", reader.nbytes())),
    }
}
