//! The state shared by all handles and streams of an open frame.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, PoisonError};

use bytes::Bytes;
use oxiblosc_core::chunk::{ChunkError, ChunkHeader};
use oxiblosc_core::frame::{ChunkEntry, Frame, FrameError};

use super::ChecksumPolicy;
use super::chunk_offsets::{ChunkOffsets, OffsetRun, OffsetTable};
use super::decoding::Decoding;
use super::open_end::OpenEndedState;
use super::requests::SourceRequests;
use super::stored_range::StoredRange;
use crate::budget::Budget;
use crate::compute::JobPanicked;
use crate::error::ReadError;
use crate::source::RangeSource;
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, Ordering};

/// How many chunk headers are requested in one round.
const HEADERS_AT_ONCE: usize = 4096;
/// The first guess for the length of a chunk file is its decoded length plus an eighth plus this.
const FILE_OVERHEAD: u64 = 4 << 10;
/// No chunk is longer.
const LONGEST_CHUNK: u64 = i32::MAX as u64;

pub(crate) struct ReaderInner<S> {
    pub(crate) source: Arc<S>,
    /// The source since the last refresh, unless the original source itself sees the newest bytes.
    pub(crate) newer: Option<Arc<dyn RangeSource>>,
    /// The first bytes of the frame, read to open it; often the first chunk begins in them.
    pub(crate) head: Bytes,
    /// Offset of the frame in the source.
    pub(crate) start: u64,
    pub(crate) frame: Frame,
    pub(crate) decoding: Arc<Decoding>,
    pub(crate) ahead: ReadAhead,
    /// The memory budget shared with others.
    pub(crate) budget: Option<Budget>,
    /// The requests in flight to the source.
    pub(crate) requests: SourceRequests,
    pub(crate) requests_in_flight: usize,
    /// Whether the frame promises that its chunks are in order without gaps.
    pub(crate) gapless: bool,
    /// Whether chunks are compared with their checksums.
    pub(crate) checked: bool,
    pub(crate) checksums: ChecksumPolicy,
    /// The state of a frame without totals.
    pub(crate) growing: Option<OpenEndedState>,
    /// Whether such a frame may be opened.
    pub(crate) open_ended: bool,
    /// The offsets of chunks of varying length, once they have been needed.
    pub(crate) starts: Mutex<Option<Arc<[OffsetRun]>>>,
    /// Whether the headers of all chunks have been found to agree with the frame.
    pub(crate) headers_checked: AtomicBool,
}

/// Checks that `found` matches the request: of the same lengths, and the same bytes where ranges overlap.
fn answers(asked: &[Range<u64>], found: &[Bytes]) -> Result<(), ReadError> {
    if !found.iter().map(|bytes| bytes.len() as u64).eq(asked.iter().map(|range| range.end - range.start)) {
        return Err(wrong_answer("it returned other lengths than asked for").into());
    }
    for ((one, first), (other, second)) in asked.iter().zip(found).zip(asked.iter().zip(found).skip(1)) {
        let both = one.start.max(other.start)..one.end.min(other.end);
        if both.is_empty() {
            continue;
        }
        // Lossless: both lie within buffers, whose lengths have just been compared.
        let of = |bytes: &Bytes, start: u64| bytes.slice((both.start - start) as usize..(both.end - start) as usize);
        if of(first, one.start) != of(second, other.start) {
            return Err(wrong_answer("it returned different bytes for the same range").into());
        }
    }
    Ok(())
}

/// The error for a source that violates its contract.
fn wrong_answer(what: &str) -> std::io::Error {
    std::io::Error::new(std::io::ErrorKind::InvalidData, format!("the source violated its contract: {what}"))
}

/// The limits of read-ahead.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReadAhead {
    pub(crate) chunks: usize,
    pub(crate) bytes: usize,
}

impl<S: RangeSource + 'static> ReaderInner<S> {
    /// The decoded content of a variable-length metalayer.
    pub(crate) async fn vlmetalayer(self: &Arc<Self>, name: &str) -> Result<Option<Bytes>, ReadError> {
        if self.frame.trailer().vlmetalayers.get(name).is_none() {
            return Ok(None);
        }
        let (shared, wanted) = (Arc::clone(self), name.to_owned());
        let decode = move || shared.decoding.with_decoder(|decoder| shared.frame.vlmetalayer(&wanted, decoder));
        let result = self.decoding.pool.spawn(decode).await;
        let content = result.map_err(|panic| ReadError::MetalayerPanicked { name: name.to_owned(), panic })??;
        Ok(content.map(Bytes::from))
    }
}

impl<S: RangeSource + 'static> ReaderInner<S> {
    /// Whether a variable-length metalayer can be read.
    pub(crate) async fn check_vlmetalayer(self: &Arc<Self>, name: &str) -> Result<(), ReadError> {
        let (shared, wanted) = (Arc::clone(self), name.to_owned());
        let check = move || shared.decoding.with_decoder(|decoder| shared.frame.check_vlmetalayer(&wanted, decoder));
        let result = self.decoding.pool.spawn(check).await;
        Ok(result.map_err(|panic| ReadError::MetalayerPanicked { name: name.to_owned(), panic })??)
    }
}

impl<S: RangeSource + 'static> ReaderInner<S> {
    /// The current source, as an owned handle.
    fn source(&self) -> Arc<dyn RangeSource> {
        match &self.newer {
            Some(newer) => Arc::clone(newer),
            None => Arc::clone(&self.source) as _,
        }
    }

    /// The current source.
    pub(crate) fn source_ref(&self) -> &dyn RangeSource {
        match &self.newer {
            Some(newer) => newer,
            None => &*self.source,
        }
    }

    /// Reads each range in one round. A chunk file may be too short; the result is then shorter.
    pub(crate) async fn fetch(&self, wanted: Vec<StoredRange>) -> Result<Vec<Bytes>, ReadError> {
        self.fetch_each(wanted).await?.into_iter().collect()
    }

    /// As [`fetch`](Self::fetch); a missing chunk file does not affect the others.
    async fn fetch_each(&self, wanted: Vec<StoredRange>) -> Result<Vec<Result<Bytes, ReadError>>, ReadError> {
        let (mut ranges, mut files) = (Vec::with_capacity(wanted.len()), Vec::new());
        for StoredRange { file, range } in wanted {
            match file {
                Some(id) => files.push((id, range)),
                None => ranges.push(range),
            }
        }
        // The chunks of a frame are either all in files or all in the frame.
        debug_assert!(ranges.is_empty() || files.is_empty());
        if !files.is_empty() {
            return Ok(self.fetch_files(files).await);
        }
        if ranges.is_empty() {
            return Ok(Vec::new());
        }
        if ranges.iter().any(|range| range.end <= self.head.len() as u64) {
            return self.fetch_beside_head(ranges).await;
        }
        self.fetch_ranges(ranges).await
    }

    /// Reads ranges, some of which lie within the head.
    async fn fetch_beside_head(&self, ranges: Vec<Range<u64>>) -> Result<Vec<Result<Bytes, ReadError>>, ReadError> {
        let (here, far): (Vec<_>, Vec<_>) = ranges.iter().cloned().partition(|r| r.end <= self.head.len() as u64);
        debug_assert!(!here.is_empty());
        let mut far = if far.is_empty() { Vec::new() } else { self.fetch_ranges(far).await? }.into_iter();
        let found = ranges.into_iter().filter_map(|range| match range.end <= self.head.len() as u64 {
            // Lossless: it lies within a buffer.
            true => Some(Ok(self.head.slice(range.start as usize..range.end as usize))),
            false => far.next(),
        });
        Ok(found.collect())
    }

    async fn fetch_ranges(&self, ranges: Vec<Range<u64>>) -> Result<Vec<Result<Bytes, ReadError>>, ReadError> {
        // No overflow: ranges lie within the frame, and the frame within the source.
        let absolute = ranges.iter().map(|r| self.start + r.start..self.start + r.end).collect();
        let found = match self.source_ref().is_immediate() {
            true => self.source_ref().read_ranges(absolute).await?,
            false => self.requests.ranges(self.source(), absolute).await?,
        };
        answers(&ranges, &found)?;
        Ok(found.into_iter().map(Ok).collect())
    }

    async fn fetch_files(&self, files: Vec<(u32, Range<u64>)>) -> Vec<Result<Bytes, ReadError>> {
        let found = match self.source_ref().is_immediate() {
            true => match self.source_ref().chunk_files() {
                Some(source) => source.read_files(files.clone()).await,
                None => Vec::new(),
            },
            false => self.requests.files(self.source(), files.clone()).await,
        };
        let mut found = found.into_iter();
        let result = |(id, range): (u32, Range<u64>)| {
            let failed = |source| {
                let source = match ReadError::from(source) {
                    ReadError::Source(source) => source,
                    // No damage: the frame has been changed meanwhile.
                    replaced => return replaced,
                };
                let holds = |&chunk: &u64| matches!(self.frame.entry(chunk), Ok(ChunkEntry::File { id: i }) if i == id);
                let chunk = (0..self.frame.nchunks()).find(holds).unwrap_or_default();
                ReadError::ChunkFile { chunk, source }
            };
            match found.next() {
                Some(Ok(bytes)) if bytes.len() as u64 <= range.end - range.start => Ok(bytes),
                Some(Err(e)) => Err(failed(e)),
                _ => Err(failed(wrong_answer("it returned another length than asked for"))),
            }
        };
        files.into_iter().map(result).collect()
    }

    /// The encoded bytes of each chunk, exactly: one round, and a second for chunks that are longer than they should
    /// be. An error of one chunk does not affect the others.
    pub(crate) async fn fetch_chunks(
        &self,
        chunks: impl Iterator<Item = u64> + Clone,
    ) -> Result<Vec<(u64, Result<Bytes, ReadError>)>, ReadError> {
        let mut results = HashMap::new();
        let mut asked = Vec::new();
        for chunk in chunks.clone() {
            match self.stored_span(chunk) {
                Ok(Some(span)) => asked.push((chunk, span)),
                Ok(None) => {
                    results.insert(chunk, self.special(chunk));
                }
                Err(e) => {
                    results.insert(chunk, Err(e));
                }
            }
        }
        // In the second round the spans are exact.
        for _ in 0..2 {
            let spans = asked.iter().map(|(_, span)| span.clone()).collect();
            let found = self.fetch_each(spans).await?;
            let mut longer = Vec::new();
            for ((chunk, span), bytes) in asked.into_iter().zip(found) {
                let exact = bytes.and_then(|bytes| Ok((self.exact(chunk, &bytes, &span)?, bytes)));
                match exact {
                    Ok((len, bytes)) if len <= bytes.len() => {
                        let whole = self.whole(chunk, len).and_then(|()| self.check(chunk, bytes.slice(..len)));
                        results.insert(chunk, whole);
                    }
                    Ok((len, _)) => longer.push((chunk, span.within(0..len as u64))),
                    Err(e) => {
                        results.insert(chunk, Err(e));
                    }
                }
            }
            asked = longer;
            if asked.is_empty() {
                break;
            }
        }
        let result = |chunk| (chunk, results.remove(&chunk).unwrap_or_else(|| Err(self.changed(chunk))));
        Ok(chunks.map(result).collect())
    }

    /// The encoded bytes of one chunk, exactly.
    pub(crate) async fn fetch_chunk(&self, chunk: u64) -> Result<Bytes, ReadError> {
        let fetched = self.fetch_chunks(chunk..chunk.saturating_add(1)).await?;
        fetched.into_iter().next().map_or_else(|| Err(self.changed(chunk)), |(_, result)| result)
    }

    /// Where a chunk is stored; `None` if it exists only in the index.
    pub(crate) fn stored_span(&self, chunk: u64) -> Result<Option<StoredRange>, ReadError> {
        match self.frame.entry(chunk)? {
            ChunkEntry::File { .. } if self.source_ref().chunk_files().is_none() => Err(ReadError::Sparse),
            ChunkEntry::File { id } => {
                let len = self.frame.chunk_len(chunk).map(|len| len as u64 + len as u64 / 8 + FILE_OVERHEAD);
                Ok(Some(StoredRange::in_file(id, 0..len.unwrap_or(u64::MAX).min(LONGEST_CHUNK))))
            }
            _ => Ok(self.frame.span(chunk)?.map(StoredRange::in_frame)),
        }
    }

    /// A chunk that exists only in the index, as an encoded chunk.
    pub(crate) fn special(&self, chunk: u64) -> Result<Bytes, ReadError> {
        let bytes = self.frame.special_chunk(chunk)?;
        bytes.map(Bytes::from).ok_or_else(|| self.changed(chunk))
    }

    /// The length of the chunk that begins with `bytes`, if it agrees with the frame. A chunk file with fewer bytes
    /// than were `asked` for must still hold the whole chunk.
    pub(crate) fn exact(&self, chunk: u64, bytes: &[u8], asked: &StoredRange) -> Result<usize, ReadError> {
        let header = ChunkHeader::parse(bytes).map_err(|e| self.decode_error(chunk, e))?;
        if (bytes.len() as u64) < asked.len() {
            self.frame.check_chunk_file(chunk, &header, bytes.len() as u64)?;
        } else {
            self.frame.check_chunk(chunk, &header)?;
        }
        Ok(header.cbytes)
    }

    /// Checks that a chunk of `len` bytes can be the one named by the index. Where chunks follow each other without
    /// gaps, its length is known from its offset, which reveals a response to another range.
    pub(crate) fn whole(&self, chunk: u64, len: usize) -> Result<(), ReadError> {
        if !self.gapless {
            return Ok(());
        }
        match self.frame.span(chunk)? {
            Some(span) if span.end - span.start != len as u64 => {
                let (offset, room) = (span.start, span.end - span.start);
                Err(FrameError::ChunkBounds { chunk, offset, found: len as u64, room }.into())
            }
            _ => Ok(()),
        }
    }

    /// Checks all bytes of a chunk as the reader requires.
    pub(crate) fn check(&self, chunk: u64, bytes: Bytes) -> Result<Bytes, ReadError> {
        if self.checked {
            // On the executor's thread, since it takes less time than copying the bytes.
            self.frame.check_chunk_bytes(chunk, &bytes)?;
        }
        Ok(bytes)
    }

    pub(crate) fn decode_error(&self, chunk: u64, source: ChunkError) -> ReadError {
        let offset = match self.frame.entry(chunk) {
            Ok(ChunkEntry::Stored { offset }) => Some(offset),
            _ => None,
        };
        ReadError::Decode { chunk, offset, source }
    }

    /// The result of a job for `chunk`.
    pub(crate) fn decoded<T>(
        &self,
        chunk: u64,
        result: Result<Result<T, ChunkError>, JobPanicked>,
    ) -> Result<T, ReadError> {
        match result {
            Ok(result) => result.map_err(|e| self.decode_error(chunk, e)),
            Err(panic) => Err(ReadError::Panicked { chunk, panic }),
        }
    }

    /// The error for a chunk that has changed since it was last read.
    pub(crate) fn changed(&self, chunk: u64) -> ReadError {
        let nchunks = self.frame.nchunks();
        if chunk >= nchunks {
            return FrameError::NoSuchChunk { chunk, nchunks }.into();
        }
        ReadError::Source(std::io::Error::other(format!("chunk {chunk} changed while it was read")))
    }

    /// The offsets of the chunks. For chunks of varying length their headers must be read, once.
    pub(crate) async fn starts(&self) -> Result<ChunkOffsets, ReadError> {
        let nbytes = self.frame.nbytes();
        if let Some(chunk_size) = self.frame.chunk_size() {
            return Ok(ChunkOffsets::Fixed { chunk_size: chunk_size as u64, nbytes });
        }
        let known = self.starts.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(starts) = known {
            return Ok(ChunkOffsets::Table(starts));
        }
        let mut table = OffsetTable::new();
        self.each_header(0..self.frame.nchunks(), |chunks, header| {
            let end = table.push(header.nbytes as u64, chunks.end - chunks.start);
            // Once it is too long there is no need to read on.
            if end > nbytes { Err(FrameError::TotalLen { expected: nbytes, found: end }.into()) } else { Ok(()) }
        })
        .await?;
        let end = table.push(0, 0);
        if end != nbytes {
            return Err(FrameError::TotalLen { expected: nbytes, found: end }.into());
        }
        let starts = table.finish();
        *self.starts.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&starts));
        Ok(ChunkOffsets::Table(starts))
    }

    /// Calls `look` with the headers of `wanted` (once for identical chunks), after checking them against the frame. For
    /// an index made of runs the time is proportional to the number of runs.
    pub(super) async fn each_header(
        &self,
        wanted: Range<u64>,
        mut look: impl FnMut(Range<u64>, &ChunkHeader) -> Result<(), ReadError>,
    ) -> Result<(), ReadError> {
        // Headers by where they are, where several chunks may share their bytes.
        let mut known = HashMap::new();
        let mut next = wanted.start;
        while next < wanted.end {
            let (mut batch, mut ranges) = (Vec::new(), Vec::new());
            while next < wanted.end && ranges.len() < HEADERS_AT_ONCE {
                let run = self.frame.run_of(next);
                let chunks = next..run.end.min(wanted.end);
                next = chunks.end;
                let span = self.stored_span(chunks.start)?;
                let mut fetched = false;
                if let Some(span) = span.as_ref().filter(|span| !known.contains_key(&span.start())) {
                    fetched = true;
                    ranges.push(span.head(ChunkHeader::EXTENDED_LEN as u64));
                    if self.frame.shares_chunks() {
                        known.insert(span.start(), None);
                    }
                }
                batch.push((chunks, span, fetched));
            }
            let mut found = self.fetch(ranges).await?.into_iter();
            for (chunks, span, fetched) in batch {
                let chunk = chunks.start;
                let parse = |bytes: &[u8]| ChunkHeader::parse(bytes).map_err(|e| self.decode_error(chunk, e));
                let header = match &span {
                    None => parse(&self.special(chunk)?)?,
                    Some(_) if fetched => parse(&found.next().ok_or_else(|| self.changed(chunk))?)?,
                    Some(span) => known.get(&span.start()).cloned().flatten().ok_or_else(|| self.changed(chunk))?,
                };
                self.frame.check_chunk(chunk, &header)?;
                look(chunks, &header)?;
                if let (Some(span), true) = (span, self.frame.shares_chunks()) {
                    known.insert(span.start(), Some(header));
                }
            }
        }
        Ok(())
    }

    /// Checks whether a call may return `len` bytes, before memory is allocated: at most the limit, and if that is out
    /// of proportion to the size of the frame, only what the headers of its chunks confirm.
    pub(crate) async fn check_result_len(&self, len: u64) -> Result<(), ReadError> {
        /// Results up to this length are always allowed.
        const SMALL: u64 = 64 << 20;
        /// So are those of at most this many times the bytes of the frame.
        const USUAL: u64 = 256;
        let limit = self.decoding.limits.result_bytes;
        if len > limit {
            return Err(ReadError::Limit { what: "the range asked for", needed: len, limit });
        }
        let stored = self.frame.frame_len().saturating_add(self.frame.header().cbytes);
        if len <= SMALL || len / USUAL <= stored || self.headers_checked.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.each_header(0..self.frame.nchunks(), |_, _| Ok(())).await?;
        self.headers_checked.store(true, Ordering::Relaxed);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_as_long_as_asked_for_and_agree() {
        let bytes = |bytes: &'static str| Bytes::from_static(bytes.as_bytes());
        let check = |asked: &[Range<u64>], found: &[Bytes]| answers(asked, found).map_err(|e| e.kind());
        assert!(check(&[3..6, 6..8, 2..2], &[bytes("abc"), bytes("de"), bytes("")]).is_ok());
        assert!(check(&[3..6, 4..8], &[bytes("abc"), bytes("bcde")]).is_ok());
        for (asked, found) in [
            ([3..6, 4..8], [bytes("abc"), bytes("bXde")]),
            ([4..8, 3..6], [bytes("bcde"), bytes("abX")]),
            ([3..6, 6..8], [bytes("abc"), bytes("d")]),
        ] {
            assert_eq!(check(&asked, &found), Err(crate::ErrorKind::Damaged), "{asked:?} {found:?}");
        }
        assert!(check(&[3..6, 6..8], &[bytes("abc")]).is_err());
    }
}
