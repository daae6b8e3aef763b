//! Checks that every way to read a frame gives the same bytes.

use std::io::Read;

use bytes::Bytes;
use oxiblosc::blocking::FrameReader;
use oxiblosc::chunk::ChunkHeader;
use oxiblosc::frame::FrameHeader;
use oxiblosc::{CodecId, ReadError, ReadOptions, Registry};
use oxiblosc_conformance::data::Random;

use crate::bound::{MOST_CHUNKS, Setup};
use crate::place::Place;

/// Items and bytes asked for at once of a frame that is too long to be read as a whole.
const PART: u64 = 1 << 12;

/// The content of a frame of moderate size.
#[derive(Debug)]
pub struct Content {
    /// Each chunk, decoded; `None` for those that do not decode.
    pub chunks: Vec<Option<Bytes>>,
    /// All bytes; `None` unless every chunk decodes and they are as many as the header says.
    pub whole: Option<Bytes>,
}

impl Content {
    /// Decodes every chunk; `None` when the frame is too long for that.
    ///
    /// # Panics
    /// When a chunk has another length than the frame says.
    pub fn of<P: Place>(reader: &FrameReader<P>, setup: &Setup) -> Option<Self> {
        let (nchunks, nbytes) = (reader.nchunks(), reader.nbytes());
        if nchunks > MOST_CHUNKS || nbytes > setup.whole {
            return None;
        }
        let mut chunks = Vec::new();
        let mut sum = 0;
        for i in 0..nchunks {
            // Chunks that differ in size may each be as long as the limits allow.
            let announced = reader.encoded_chunk(i).ok().and_then(|chunk| ChunkHeader::parse(&chunk).ok());
            let announced = announced.map_or(0, |header| header.nbytes as u64);
            if sum + announced > 2 * setup.whole {
                return None;
            }
            let chunk = reader.chunk(i).ok();
            if let Some(chunk) = &chunk {
                sum += chunk.len() as u64;
                if let Some(size) = reader.chunk_size() {
                    let expected = (nbytes - i * size as u64).min(size as u64);
                    assert_eq!(chunk.len() as u64, expected, "the length of chunk {i}");
                }
            }
            chunks.push(chunk);
        }
        let all: Option<Vec<_>> = chunks.iter().cloned().collect();
        let whole = all.filter(|_| sum == nbytes).map(|chunks| chunks.concat().into());
        Some(Self { chunks, whole })
    }

    /// Decoded bytes of all chunks that decode.
    pub fn nbytes(&self) -> u64 {
        self.chunks.iter().flatten().map(|chunk| chunk.len() as u64).sum()
    }
}

/// Opens a frame.
pub fn open<P: Place>(place: &P, options: ReadOptions) -> Option<FrameReader<P>> {
    FrameReader::with_options(place.clone(), options).ok()
}

/// Reads what a frame says of itself.
pub fn check_head<P: Place>(reader: &FrameReader<P>) {
    for (name, content) in reader.metalayers().iter() {
        assert!(content.len() <= reader.frame().header_bytes().len());
        // One whose name is not text cannot be requested.
        if name.contains(char::REPLACEMENT_CHARACTER) {
            continue;
        }
        let first = reader.metalayers().iter().find(|(other, _)| *other == name).map(|(_, content)| content.clone());
        assert_eq!(reader.metalayer(&name), first.as_ref(), "metalayer {name:?}");
    }
    for name in reader.vlmetalayer_names().into_iter().filter(|name| !name.contains(char::REPLACEMENT_CHARACTER)) {
        let once = reader.vlmetalayer(&name).map_err(|e| e.to_string());
        assert_eq!(once, reader.vlmetalayer(&name).map_err(|e| e.to_string()), "metalayer {name:?}");
        assert!(!matches!(once, Ok(None)), "metalayer {name:?} is listed but not found");
    }
    assert_eq!(reader.items_len(), reader.nbytes() / reader.typesize() as u64);
}

/// Reads single bytes, for which little has to be decoded.
pub fn check_bytes<P: Place>(reader: &FrameReader<P>, setup: &Setup) {
    let nbytes = reader.nbytes();
    for at in [0, 1, nbytes / 2, nbytes.saturating_sub(1)] {
        if at < nbytes {
            expect_len(&reader.bytes(at..at + 1), 1);
            if let Ok(Some((chunk, offset))) = reader.locate(at) {
                assert!(chunk < reader.nchunks());
                // A chunk that is too long to be decoded as a whole may be read in part.
                let encoded = reader.encoded_chunk(chunk).ok().and_then(|chunk| ChunkHeader::parse(&chunk).ok());
                let size =
                    reader.chunk_size().or(encoded.map(|header| header.nbytes)).unwrap_or(setup.limits.chunk_bytes);
                assert!(offset < size, "byte {at} is byte {offset} of a chunk of {size}");
            }
        }
    }
    let beyond = reader.bytes(nbytes..nbytes + 1);
    assert!(beyond.is_err(), "there is a byte behind the last one");
}

/// Reads items: a few, a few more, and some beyond the end.
pub fn check_items<P: Place>(reader: &FrameReader<P>) {
    let (typesize, items) = (reader.typesize() as u64, reader.items_len());
    let few = (PART / typesize).max(1);
    for start in [0, items / 2, items.saturating_sub(few)] {
        let end = (start + few).min(items);
        // A single item may have two gigabytes.
        if start < end && (end - start) * typesize <= PART.max(1 << 20) {
            expect_len(&reader.items(start..end), (end - start) * typesize);
        }
    }
    assert!(reader.items(items..items + 1).is_err(), "there is an item behind the last one");
}

fn expect_len(found: &Result<Bytes, ReadError>, len: u64) {
    if let Ok(bytes) = found {
        assert_eq!(bytes.len() as u64, len, "the result is not as long as the range");
    }
}

/// Checks that reading by chunk, by range, by item, by stream and by seeking gives the same bytes.
///
/// # Panics
/// When any of them differ, or one of them fails where the chunks themselves do not.
pub fn check_whole<P: Place>(reader: &FrameReader<P>, content: &Content, random: &mut Random) {
    check_chunk_stream(reader, content);
    let Some(whole) = &content.whole else { return check_islands(reader, content, random) };
    let nbytes = whole.len();
    let typesize = reader.typesize();
    let same = |range: std::ops::Range<usize>, found: Result<Bytes, ReadError>, how: &str| match found {
        Ok(found) => assert!(found == whole[range.clone()], "{how} {range:?} of {nbytes} differ"),
        Err(e) => panic!("all chunks decode, but {how} {range:?} of {nbytes} do not: {e}"),
    };
    same(0..nbytes, reader.bytes(0..nbytes as u64), "bytes");
    let boundary = content.chunks.first().and_then(Option::as_ref).map_or(0, Bytes::len);
    let across = boundary.saturating_sub(1)..(boundary + 1).min(nbytes);
    let others = (0..6).map(|_| {
        let start = random.below(nbytes + 1);
        start..start + random.below((nbytes - start).min(1 << 12) + 1)
    });
    for range in std::iter::once(across).chain(others) {
        same(range.clone(), reader.bytes(range.start as u64..range.end as u64), "bytes");
        let items = range.start / typesize..range.end / typesize;
        let found = reader.items(items.start as u64..items.end as u64);
        same(items.start * typesize..items.end * typesize, found, "the bytes of items");
    }
    let mut read = Vec::new();
    match reader.clone().into_read().read_to_end(&mut read) {
        Ok(_) => assert!(read == whole[..], "reading from front to back differs"),
        Err(e) => panic!("all chunks decode, but reading from front to back fails: {e}"),
    }
}

/// Checks that the stream of chunks gives them in order, up to the first that does not decode.
fn check_chunk_stream<P: Place>(reader: &FrameReader<P>, content: &Content) {
    let mut stream = reader.chunks();
    for (i, expected) in content.chunks.iter().enumerate() {
        match (stream.next(), expected) {
            (Some(Ok(found)), Some(expected)) => assert!(found == *expected, "chunk {i} of the stream differs"),
            (Some(Err(_)), None) => return,
            (Some(Err(e)), Some(_)) => panic!("chunk {i} decodes alone, but not in the stream: {e}"),
            (Some(Ok(_)), None) => panic!("chunk {i} decodes in the stream, but not alone"),
            (None, _) => panic!("the stream ends before chunk {i}"),
        }
    }
    match stream.next() {
        None => {}
        Some(Err(_)) if content.whole.is_none() => {}
        Some(Err(e)) => panic!("all chunks decode, but the stream ends with an error: {e}"),
        Some(Ok(_)) => panic!("the stream has more chunks than the frame"),
    }
}

/// Checks that ranges within sound chunks of a damaged frame, if they are of a common size, are what the chunks hold.
fn check_islands<P: Place>(reader: &FrameReader<P>, content: &Content, random: &mut Random) {
    let Some(size) = reader.chunk_size() else { return };
    for (i, chunk) in content.chunks.iter().enumerate() {
        let (Some(chunk), base) = (chunk, (i * size) as u64) else { continue };
        let start = random.below(chunk.len() + 1);
        let range = start..start + random.below(chunk.len() - start + 1);
        match reader.bytes(base + range.start as u64..base + range.end as u64) {
            Ok(found) => assert!(found == chunk[range.clone()], "bytes {range:?} of chunk {i} differ"),
            Err(e) => panic!("chunk {i} decodes, but its bytes {range:?} do not: {e}"),
        }
    }
}

/// Whether the codec or a filter of a frame is lossy.
pub(crate) fn is_lossy(header: &FrameHeader) -> bool {
    let zfp = CodecId::ZFP_ACCURACY.0..=CodecId::ZFP_RATE.0;
    let filter = |registry: &Registry| {
        header.filters.active().any(|(_, slot)| registry.filter(slot.id).is_ok_and(|f| f.info().traits.lossy))
    };
    zfp.contains(&header.codec.0) || Registry::linked().is_ok_and(filter)
}

/// A sequence of numbers that depends on the input alone.
pub fn numbers(input: &[u8]) -> Random {
    let fnv = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    Random::new(input.iter().fold(0xcbf2_9ce4_8422_2325, fnv))
}
