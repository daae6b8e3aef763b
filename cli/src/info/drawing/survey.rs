//! Looking at all chunks of a frame, without decoding one.

use std::ops::Range;

use oxiblosc::frame::ChunkEntry;
use oxiblosc::nd::{ArrayMeta, NdArray, Tiling};
use oxiblosc::source::RangeSource;
use oxiblosc::{OpenEnd, ReadError, chunk::ChunkHeader};

use super::mark::{ChunkClass, Mark};
use crate::chunk_headers::chunk_headers;
use crate::input::Reader;

/// The most chunks whose headers are read from a local file. Beyond it they are sampled.
const MOST_LOCAL: u64 = 1 << 17;
/// The same for other sources, where each may be a request.
const MOST_REMOTE: u64 = 256;
/// Headers that are fetched at once.
const BATCH: u64 = 4096;
/// More chunks than this that are alike are looked at together.
const ALIKE: u64 = 64;
/// The most facts that are kept; with more chunks each stands for several.
const MOST_FACTS: u64 = 1 << 20;

/// What a drawing shows of a frame.
pub(in crate::info) struct Survey {
    /// Header, index and trailer of the frame, or of the index of a sparse one; chunks and holes lie between.
    pub(super) parts: Vec<(Mark, Range<u64>)>,
    /// Bytes of the frame, or of the index of a sparse one.
    pub(super) frame_len: u64,
    pub(super) is_sparse: bool,
    /// One for each `step` chunks in order.
    pub(super) facts: Vec<Fact>,
    pub(super) step: u64,
    pub(super) nchunks: u64,
    /// The header of one in so many chunks has been read.
    pub(super) stride: u64,
    /// The state of an open-ended frame.
    pub(super) open_end: Option<OpenEnd>,
    /// How many chunks there are of each class, with their bytes.
    pub(super) totals: [Total; ChunkClass::ALL.len()],
    /// Where stored chunks of a contiguous frame are, sorted. Of those not looked at, the end is a guess.
    pub(super) extents: Vec<(Range<u64>, ChunkClass)>,
    /// Bytes between the chunks that belong to none; `None` if not all chunks have been looked at.
    pub(super) holes: Option<Vec<Range<u64>>>,
    /// How an array is cut.
    pub(super) tiling: Option<Tiling>,
}

/// What is known of consecutive chunks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::info) struct Fact {
    /// The class of the first one.
    pub(super) class: ChunkClass,
    pub(super) nbytes: u64,
    /// `None` if it is not known.
    pub(super) cbytes: Option<u64>,
}

/// All chunks of a class.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::info) struct Total {
    pub(super) chunks: u64,
    pub(super) cbytes: u64,
}

impl Survey {
    /// Looks at the frame. Chunks that cannot be read are part of the result.
    ///
    /// # Errors
    /// When the source fails as a whole.
    pub(in crate::info) async fn of(reader: &Reader) -> Result<Self, ReadError> {
        let frame = reader.frame();
        let nchunks = frame.nchunks();
        let step = nchunks.div_ceil(MOST_FACTS).max(1);
        let most = if reader.source().is_immediate() { MOST_LOCAL } else { MOST_REMOTE };
        let stride = nchunks.div_ceil(most).max(1);
        let mut survey = Self {
            parts: parts(reader).await,
            frame_len: frame_len(reader),
            is_sparse: frame.is_sparse(),
            facts: Vec::new(),
            step,
            nchunks,
            stride,
            open_end: reader.open_end(),
            totals: Default::default(),
            extents: Vec::new(),
            holes: None,
            tiling: ArrayMeta::find(reader.metalayers())
                .and_then(|_| NdArray::new(reader.clone()).ok())
                .map(|array| array.tiling().clone()),
        };
        let alike = |chunk| frame.run_of(chunk).end.saturating_sub(chunk) > ALIKE;
        let mut next = 0;
        while next < nchunks {
            if alike(next) {
                let run = next..frame.run_of(next).end;
                next = run.end;
                survey.add_run(reader, run).await?;
                continue;
            }
            let most = nchunks.min(next.saturating_add(BATCH.saturating_mul(stride)));
            let batch = next..(next + 1..most).find(|&chunk| alike(chunk)).unwrap_or(most);
            next = batch.end;
            survey.add_batch(reader, batch, stride).await?;
        }
        survey.extents.sort_by_key(|(range, _)| range.start);
        survey.holes = survey.find_holes(reader);
        Ok(survey)
    }

    /// Adds chunks that are alike: looking at the first one is enough, and there may be millions of them.
    async fn add_run(&mut self, reader: &Reader, run: Range<u64>) -> Result<(), ReadError> {
        let first = chunk_headers(reader, run.start..run.start + 1).await?.into_iter().next();
        let fact = fact(reader, run.start, first.as_ref());
        let count = run.end - run.start;
        let total = &mut self.totals[fact.class as usize];
        total.chunks += count;
        total.cbytes = total.cbytes.saturating_add(fact.cbytes.unwrap_or_default());
        self.add_extent(reader, run.start, fact);
        let mut at = run.start;
        while at < run.end {
            let end = ((at / self.step + 1) * self.step).min(run.end);
            let times = |bytes: u64| bytes.saturating_mul(end - at);
            self.add_fact(at, Fact { nbytes: times(fact.nbytes), cbytes: fact.cbytes.map(times), ..fact });
            at = end;
        }
        Ok(())
    }

    fn add_fact(&mut self, chunk: u64, fact: Fact) {
        if chunk.is_multiple_of(self.step) {
            self.facts.push(fact);
        } else if let Some(last) = self.facts.last_mut() {
            last.nbytes = last.nbytes.saturating_add(fact.nbytes);
            last.cbytes = last.cbytes.zip(fact.cbytes).map(|(a, b)| a.saturating_add(b));
        }
    }

    /// Adds chunks one by one, with the headers of those whose number is a multiple of `stride`.
    async fn add_batch(&mut self, reader: &Reader, batch: Range<u64>, stride: u64) -> Result<(), ReadError> {
        let looked_at = batch.clone().filter(|chunk| chunk.is_multiple_of(stride));
        let mut headers = chunk_headers(reader, looked_at).await?.into_iter();
        for chunk in batch {
            let header = if chunk.is_multiple_of(stride) { headers.next() } else { None };
            let fact = fact(reader, chunk, header.as_ref());
            let total = &mut self.totals[fact.class as usize];
            total.chunks += 1;
            total.cbytes = total.cbytes.saturating_add(fact.cbytes.unwrap_or_default());
            self.add_extent(reader, chunk, fact);
            self.add_fact(chunk, fact);
        }
        Ok(())
    }

    fn add_extent(&mut self, reader: &Reader, chunk: u64, fact: Fact) {
        if let Ok(Some(span)) = reader.frame().span(chunk)
            && (self.extents.len() as u64) < MOST_FACTS
        {
            let end = fact.cbytes.map_or(span.end, |cbytes| span.start.saturating_add(cbytes));
            self.extents.push((span.start..end.min(reader.frame().chunks_end()), fact.class));
        }
    }

    /// The bytes of the chunks section that belong to no chunk.
    fn find_holes(&self, reader: &Reader) -> Option<Vec<Range<u64>>> {
        let whole = self.extents.iter().all(|(_, class)| {
            // What cannot be read may lie anywhere.
            !matches!(class, ChunkClass::Unseen | ChunkClass::Unreadable)
        });
        if self.is_sparse || !whole || self.extents.len() as u64 >= MOST_FACTS {
            return None;
        }
        let mut end = u64::from(reader.header().header_len);
        let mut holes = Vec::new();
        for (extent, _) in &self.extents {
            if extent.start > end {
                holes.push(end..extent.start);
            }
            end = end.max(extent.end);
        }
        if reader.frame().chunks_end() > end {
            holes.push(end..reader.frame().chunks_end());
        }
        Some(holes)
    }
}

/// What is known of a chunk, given its header if it has been looked at.
fn fact(reader: &Reader, chunk: u64, header: Option<&Result<ChunkHeader, ReadError>>) -> Fact {
    let frame = reader.frame();
    let nbytes = frame.chunk_len(chunk).unwrap_or_default() as u64;
    match header {
        Some(Ok(header)) => Fact {
            class: ChunkClass::of(header),
            nbytes: header.nbytes as u64,
            // A chunk that exists only in the index takes no room.
            cbytes: Some(match frame.entry(chunk) {
                Ok(ChunkEntry::Special(_)) => 0,
                _ => header.cbytes as u64,
            }),
        },
        Some(Err(_)) => Fact { class: ChunkClass::Unreadable, nbytes, cbytes: None },
        None => match frame.entry(chunk) {
            Ok(ChunkEntry::Special(kind)) => Fact { class: ChunkClass::special(kind), nbytes, cbytes: Some(0) },
            // It ends where the next one begins, or before.
            _ => {
                let cbytes = frame.span(chunk).ok().flatten().map(|span| span.end - span.start);
                Fact { class: ChunkClass::Unseen, nbytes, cbytes }
            }
        },
    }
}

/// Bytes of the frame; of an open-ended one those that have been written.
fn frame_len(reader: &Reader) -> u64 {
    let frame = reader.frame();
    match reader.open_end() {
        Some(end) if !end.closed => frame.chunks_end().saturating_add(end.left_over),
        _ => frame.frame_len().max(frame.chunks_end()),
    }
}

/// Where header, index and trailer are.
async fn parts(reader: &Reader) -> Vec<(Mark, Range<u64>)> {
    let (frame, header) = (reader.frame(), reader.header());
    let (chunks_end, frame_len) = (frame.chunks_end(), frame_len(reader));
    let mut parts = vec![(Mark::Header, 0..u64::from(header.header_len))];
    if reader.open_end().is_some_and(|end| !end.closed) {
        if frame_len > chunks_end {
            parts.push((Mark::LeftOver, chunks_end..frame_len));
        }
        return parts;
    }
    let mut trailer_at = chunks_end;
    if frame.nchunks() > 0 {
        // The index is a chunk, and says itself how long it is.
        let head = chunks_end..frame_len.min(chunks_end + ChunkHeader::EXTENDED_LEN as u64);
        let head = reader.source().read_range(head).await.ok();
        let index = head.and_then(|head| ChunkHeader::parse(&head).ok());
        trailer_at = index.map_or(frame_len, |index| frame_len.min(chunks_end + index.cbytes as u64));
        parts.push((Mark::Index, chunks_end..trailer_at));
    }
    if trailer_at < frame_len {
        parts.push((Mark::Trailer, trailer_at..frame_len));
    }
    parts
}
