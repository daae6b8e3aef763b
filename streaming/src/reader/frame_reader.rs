//! An open frame.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures::TryFutureExt;
use oxiblosc_core::chunk::{ChunkDecoder, ChunkHeader};
use oxiblosc_core::frame::{
    ChecksumState, Frame, FrameError, FrameHeader, FrameOpener, Metalayers, OpenEnded, PartialHeader, Sequential,
};
use oxiblosc_core::plugin::PluginId;
use oxiblosc_core::registry::MissingPlugin;
use oxiblosc_core::{Limits, Registry};

use super::cache::BlockCache;
use super::inner::ReaderInner;
use super::open_end::{OpenEnd, OpenEndedState};
use super::opening::drive;
use super::options::FAR_AWAY;
use super::requests::SourceRequests;
use super::{ByteStream, ChecksumPolicy, ChunkStream, ReadOptions};
use crate::error::ReadError;
use crate::integrity::{self, VerifyReport};
use crate::source::{HEAD, RangeSource};
use crate::sync::Mutex;
use crate::sync::atomic::AtomicBool;

/// Reads a frame from any [`RangeSource`]: single chunks, ranges of items or bytes, or everything in order.
///
/// Clones share what is open; all methods take `&self` and may run at the same time.
///
/// ```
/// use futures::executor::block_on;
/// use oxiblosc_streaming::{FrameReader, WriteOptions};
/// # use futures::AsyncWriteExt;
/// # use oxiblosc_core::chunk::EncodeParams;
/// # use oxiblosc_plugins as _;
/// # fn frame() -> Result<Vec<u8>, Box<dyn std::error::Error>> {
/// #     let options = WriteOptions::new(EncodeParams { typesize: 4, ..EncodeParams::default() });
/// #     let mut sink = options.chunk_size(400).in_memory()?;
/// #     let data: Vec<u8> = (0..1000u32).flat_map(u32::to_le_bytes).collect();
/// #     block_on(async { sink.write_all(&data).await?; sink.close().await })?;
/// #     Ok(sink.into_target().into_bytes())
/// # }
///
/// let frame: Vec<u8> = frame()?; // 1000 times u32, in chunks of 100
/// block_on(async {
///     let reader = FrameReader::open(frame).await?;
///     assert_eq!((reader.nchunks(), reader.items_len()), (10, 1000));
///     assert_eq!(reader.items(123..124).await?, &123u32.to_le_bytes()[..]);
///     assert_eq!(reader.chunk(9).await?.len(), 400);
///     Ok::<(), oxiblosc_streaming::ReadError>(())
/// })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct FrameReader<S> {
    pub(crate) shared: Arc<ReaderInner<S>>,
}

impl<S: RangeSource + 'static> FrameReader<S> {
    /// Opens the frame at the beginning of `source`, with the default [`ReadOptions`].
    ///
    /// # Errors
    /// When the source fails, and when the bytes are not a frame, or the frame is damaged.
    pub async fn open(source: S) -> Result<Self, ReadError> {
        ReadOptions::new().open(source).await
    }

    pub(super) async fn with_options(source: S, options: ReadOptions) -> Result<Self, ReadError> {
        let registry = crate::given_or_linked(options.registry.as_ref())?;
        let Opened { frame, head, growing } = open_frame(&source, &options, &registry).await?;
        let cache = options.cache(source.request_cost());
        let decoding = options.decoding(registry, frame.metalayers(), cache)?;
        let requests_in_flight = options.requests_in_flight;
        let shared = ReaderInner {
            budget: options.budget.clone(),
            requests: requests(&source, requests_in_flight),
            requests_in_flight,
            gapless: is_gapless(&frame),
            checked: is_checked(&frame, options.checksums)?,
            ahead: options.ahead(&decoding.pool, source.request_cost()),
            source: Arc::new(source),
            newer: None,
            head,
            start: options.start,
            frame,
            decoding,
            checksums: options.checksums,
            growing,
            open_ended: options.open_ended,
            starts: Mutex::new(None),
            headers_checked: AtomicBool::new(false),
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Opens the frame again in the same place, to see what others have committed since. Returns whether it has
    /// changed. Clones, and streams and slices in progress, go on with the frame as it was.
    ///
    /// A file is opened by its path again, and an object in its newest version. Of an open-ended frame
    /// ([`ReadOptions::open_ended`]) only what has been added since is examined; it may also have been sealed.
    /// Copy-on-write commits, as the editors of this library make, are seen as a whole or not at all. After an error
    /// (while another program is changing the frame in place) the call may be repeated: the reader stays as it was.
    ///
    /// # Errors
    /// As opening it.
    pub async fn refresh(&mut self) -> Result<bool, ReadError> {
        let old = &self.shared;
        let newer = old.source.reopen().await?;
        let source: &dyn RangeSource = match &newer {
            Some(newer) => newer,
            None => &*old.source,
        };
        let registry = &old.decoding.registry;
        // An array may have grown.
        let mut options = ReadOptions::new().pool(&old.decoding.pool).limits(old.decoding.limits).start(old.start);
        options.bitshuffle = old.decoding.bitshuffle;
        options.open_ended = old.open_ended;
        let opened = match &old.growing {
            Some(growing) => resume_open_ended(source, growing, &options, registry).await?,
            None => None,
        };
        // Existing chunks of a frame that only grows do not change.
        let cache = match &opened {
            Some(_) => Arc::clone(&old.decoding.cache),
            None => Arc::new(BlockCache::new(old.decoding.cache.limit())),
        };
        let Opened { frame, head, growing } = match opened {
            Some(opened) => opened,
            None => open_frame(source, &options, registry).await?,
        };
        let grown = frame != old.frame;
        if !grown && growing.as_ref().map(|growing| growing.end) == self.open_end() {
            return Ok(false);
        }
        let shared = ReaderInner {
            checked: is_checked(&frame, old.checksums)?,
            decoding: options.decoding(registry.clone(), frame.metalayers(), cache)?,
            gapless: is_gapless(&frame),
            frame,
            budget: old.budget.clone(),
            requests: requests(source, old.requests_in_flight),
            requests_in_flight: old.requests_in_flight,
            source: Arc::clone(&old.source),
            newer,
            head,
            start: old.start,
            ahead: old.ahead,
            checksums: old.checksums,
            growing,
            open_ended: old.open_ended,
            starts: Mutex::new(None),
            headers_checked: AtomicBool::new(false),
        };
        self.shared = Arc::new(shared);
        Ok(grown)
    }

    /// The decoded bytes of chunk `i`.
    ///
    /// # Errors
    /// When there is no such chunk, the source fails, or the chunk is damaged.
    pub async fn chunk(&self, i: u64) -> Result<Bytes, ReadError> {
        let chunk = self.shared.fetch_chunk(i).await?;
        let job = self.shared.decoding.decode(chunk, self.shared.frame.chunk_context(i));
        self.shared.decoded(i, job.await)
    }

    /// The encoded bytes of chunk `i`. A chunk of zeros (or NaNs) that exists only in the index is returned as a chunk
    /// of 32 bytes that decodes to them.
    ///
    /// # Errors
    /// When there is no such chunk, the source fails, or its header is damaged.
    pub async fn encoded_chunk(&self, i: u64) -> Result<Bytes, ReadError> {
        self.shared.fetch_chunk(i).await
    }

    /// The decoded bytes `range`. Only the blocks that hold them are read.
    ///
    /// # Errors
    /// [`ReadError::OutOfRange`] when there are no such bytes; when the source fails or a chunk is damaged.
    pub async fn bytes(&self, range: Range<u64>) -> Result<Bytes, ReadError> {
        self.shared.bytes(range).await
    }

    /// The items `range`, [`typesize`](Self::typesize) bytes each. Only the blocks that hold them are read.
    ///
    /// # Errors
    /// As [`bytes`](Self::bytes), counted in items.
    pub async fn items(&self, range: Range<u64>) -> Result<Bytes, ReadError> {
        let (typesize, len) = (self.typesize() as u64, self.items_len());
        if range.start > range.end || range.end > len {
            return Err(ReadError::OutOfRange { what: "items", start: range.start, end: range.end, len });
        }
        // No overflow: no more than the frame has.
        self.bytes(range.start * typesize..range.end * typesize).await
    }

    /// All decoded chunks in order, fetched and decoded ahead.
    pub fn chunks(&self) -> ChunkStream<S> {
        self.chunks_from(0)
    }

    /// The decoded chunks `range` in order, fetched and decoded ahead.
    ///
    /// # Errors
    /// [`ReadError::OutOfRange`] when the frame does not have them all.
    pub fn chunks_in(&self, range: Range<u64>) -> Result<ChunkStream<S>, ReadError> {
        let len = self.nchunks();
        if range.start > range.end || range.end > len {
            return Err(ReadError::OutOfRange { what: "chunks", start: range.start, end: range.end, len });
        }
        Ok(ChunkStream::new(&self.shared, range))
    }

    pub(super) fn chunks_from(&self, first: u64) -> ChunkStream<S> {
        ChunkStream::new(&self.shared, first..self.nchunks())
    }

    /// All decoded bytes as [`futures::io::AsyncRead`], [`futures::io::AsyncBufRead`] and [`futures::io::AsyncSeek`].
    pub fn into_async_read(self) -> ByteStream<S> {
        ByteStream::new(self)
    }

    /// The chunk that holds the decoded byte `at`, and which byte of the chunk that is; `None` after the last one.
    ///
    /// # Errors
    /// When chunks differ in size, their headers must be read first, once.
    pub async fn locate(&self, at: u64) -> Result<Option<(u64, usize)>, ReadError> {
        let found = self.shared.starts().await?.chunk_at(at);
        // Lossless: the length of a chunk fits 31 bits.
        Ok(found.map(|(chunk, covers)| (chunk, (at - covers.start) as usize)))
    }

    /// The filters and codecs that chunks of the frame name in their headers, each once. The headers are read, 32 bytes
    /// for each chunk, which takes as many requests as they lie apart; a chunk that exists only in the index, or is
    /// stored, names none. [`Registry::missing`] says which of them a registry does not have.
    ///
    /// # Errors
    /// [`ReadError::OutOfRange`] when there are no such chunks; when the source fails or the header of a chunk is
    /// damaged.
    pub async fn chunk_plugins(&self, chunks: Range<u64>) -> Result<BTreeSet<PluginId>, ReadError> {
        let len = self.nchunks();
        if chunks.start > chunks.end || chunks.end > len {
            return Err(ReadError::OutOfRange { what: "chunks", start: chunks.start, end: chunks.end, len });
        }
        let mut plugins = BTreeSet::new();
        let collect = |_, header: &ChunkHeader| {
            plugins.extend(header.plugins());
            Ok(())
        };
        self.shared.each_header(chunks, collect).await?;
        Ok(plugins)
    }

    /// The content of a variable-length metalayer of the trailer, decoded; `None` when there is none with that name.
    ///
    /// # Errors
    /// When it is damaged.
    pub async fn vlmetalayer(&self, name: &str) -> Result<Option<Bytes>, ReadError> {
        self.shared.vlmetalayer(name).await
    }

    /// Reads and decodes the whole frame, and compares it with its checksums, fingerprint and lengths. Each byte of a
    /// contiguous frame whose chunks are in order is read once; the bytes of others are read twice if there is a
    /// fingerprint.
    ///
    /// A frame that cannot be opened at all is reported when it is opened.
    ///
    /// The blocks being decoded take at most [`Limits::in_flight_bytes`](oxiblosc_core::Limits) at a time, including
    /// the buffers for their filters. A chunk with a block that needs more is a finding.
    ///
    /// # Errors
    /// When the source fails. Defects of the frame are in the report.
    pub async fn verify(&self) -> Result<VerifyReport, ReadError> {
        integrity::verify(&self.shared).await
    }
}

impl<S> FrameReader<S> {
    /// Everything about the frame but its chunks.
    pub fn frame(&self) -> &Frame {
        &self.shared.frame
    }

    /// The fixed part of the header: sizes, codec, filters.
    pub fn header(&self) -> &FrameHeader {
        self.shared.frame.header()
    }

    /// How far an open-ended frame has been written ([`ReadOptions::open_ended`]); `None` for frames with totals.
    pub fn open_end(&self) -> Option<OpenEnd> {
        self.shared.growing.as_ref().map(|growing| growing.end)
    }

    /// The filters and codec that the header of the frame names: those for appended chunks, and usually those of all
    /// chunks. A chunk may name others; see [`chunk_plugins`](Self::chunk_plugins).
    pub fn plugins(&self) -> Vec<PluginId> {
        self.header().plugins().collect()
    }

    /// Those of [`plugins`](Self::plugins) that the registry of this reader does not have. Nothing is read.
    ///
    /// ```
    /// use oxiblosc_core::Registry;
    /// use oxiblosc_streaming::{ReadOptions, WriteOptions, block_on};
    /// # use oxiblosc_plugins as _;
    /// # let mut sink = WriteOptions::default().in_memory()?;
    /// # block_on(sink.close())?;
    /// # let frame = sink.into_target().into_bytes();
    /// let reader = block_on(ReadOptions::new().registry(&Registry::empty()).open(frame))?;
    /// let missing: Vec<String> = reader.missing_plugins().iter().map(|plugin| plugin.to_string()).collect();
    /// assert_eq!(missing[0], "no provider for filter 1 (Blosc-defined, 0..31)");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn missing_plugins(&self) -> Vec<MissingPlugin> {
        self.registry().missing(self.plugins())
    }

    pub(crate) fn registry(&self) -> &Registry {
        &self.shared.decoding.registry
    }

    /// A decoder for the chunks of the frame.
    pub(crate) fn decoder(&self) -> ChunkDecoder {
        self.shared.decoding.decoder()
    }

    pub(crate) fn limits(&self) -> Limits {
        self.shared.decoding.limits
    }

    /// Decoded bytes.
    pub fn nbytes(&self) -> u64 {
        self.shared.frame.nbytes()
    }

    /// Bytes of the chunks as stored.
    pub fn cbytes(&self) -> u64 {
        self.shared.frame.header().cbytes
    }

    /// Number of chunks.
    pub fn nchunks(&self) -> u64 {
        self.shared.frame.nchunks()
    }

    /// Bytes of an item, at least 1.
    pub fn typesize(&self) -> usize {
        self.shared.frame.typesize()
    }

    /// Number of whole items.
    pub fn items_len(&self) -> u64 {
        self.nbytes() / self.typesize() as u64
    }

    /// Decoded bytes of every chunk but the last; `None` when chunks differ in size, or there are none.
    pub fn chunk_size(&self) -> Option<usize> {
        self.shared.frame.chunk_size()
    }

    /// The metalayers of the header.
    pub fn metalayers(&self) -> &Metalayers {
        self.shared.frame.metalayers()
    }

    /// The metalayer of the header called `name`.
    pub fn metalayer(&self, name: &str) -> Option<&Bytes> {
        self.shared.frame.metalayers().get(name)
    }

    /// Names of the variable-length metalayers of the trailer.
    pub fn vlmetalayer_names(&self) -> Vec<String> {
        self.shared.frame.trailer().vlmetalayers.names().map(|name| name.into_owned()).collect()
    }

    /// The source.
    pub fn source(&self) -> &S {
        &self.shared.source
    }
}

fn is_gapless(frame: &Frame) -> bool {
    Sequential::find(frame.metalayers()).is_some_and(|promise| promise.holds(frame.header()))
}

/// The requests of a reader of `source`, at most `at_once` at a time.
fn requests(source: &dyn RangeSource, at_once: usize) -> SourceRequests {
    // A source that counts the requests of each round itself is more precise.
    SourceRequests::new(if source.limit_requests(at_once) { usize::MAX } else { at_once })
}

/// Whether chunks are compared with their checksums; an error if the policy forbids reading the frame.
pub(super) fn is_checked(frame: &Frame, policy: ChecksumPolicy) -> Result<bool, ReadError> {
    let checksums = frame.checksums();
    match policy {
        ChecksumPolicy::Ignore => Ok(false),
        _ if checksums.valid().is_some() => Ok(true),
        ChecksumPolicy::Check if *checksums != ChecksumState::Damaged => Ok(false),
        _ => Err(ReadError::Checksums { state: checksums.clone() }),
    }
}

/// A frame as it was opened.
struct Opened {
    frame: Frame,
    /// Its first bytes, if reading them again is expensive.
    head: Bytes,
    growing: Option<OpenEndedState>,
}

/// Opens the frame as the source has it.
///
/// Of a file that another program appends to, the length may be from before a commit and the header from after it: then
/// the frame seems to be cut off. That has passed when the file is longer than it was.
async fn open_frame<S: RangeSource + ?Sized>(
    source: &S,
    options: &ReadOptions,
    registry: &Registry,
) -> Result<Opened, ReadError> {
    /// A program that commits so often that one falls between the two requests each time is not worth waiting for.
    const ATTEMPTS: usize = 4;
    let mut attempts = 0;
    loop {
        attempts += 1;
        let (len, head) =
            if options.start == 0 { source.open(HEAD).await? } else { (source.size().await?, Bytes::new()) };
        match open_frame_of(source, len, head, options, registry).await {
            Err(ReadError::Frame(_)) if attempts < ATTEMPTS && source.size().await? > len => {}
            opened => return opened,
        }
    }
}

/// Reads the head first, which says where index and trailer are: one round trip for small frames, two for others.
async fn open_frame_of<S: RangeSource + ?Sized>(
    source: &S,
    len: u64,
    head: Bytes,
    options: &ReadOptions,
    registry: &Registry,
) -> Result<Opened, ReadError> {
    let (start, limits) = (options.start, options.limits);
    let Some(available) = len.checked_sub(start) else {
        return Err(ReadError::OutOfRange { what: "bytes", start, end: start, len });
    };
    let mut opener = match source.chunk_files().is_some() {
        true => FrameOpener::sparse(available, registry, limits),
        false => FrameOpener::new(available, registry, limits),
    };
    opener.feed(0, head.clone());
    let read = |ranges: Vec<Range<u64>>| {
        source.read_ranges(ranges.into_iter().map(|r| start + r.start..start + r.end).collect()).err_into::<ReadError>()
    };
    match drive(opener, read).await {
        Ok(frame) => {
            // Useless beyond the frame, and where reading again costs next to nothing.
            let far = source.request_cost() > FAR_AWAY && !frame.is_sparse();
            let len = head.len().min(usize::try_from(frame.frame_len()).unwrap_or(usize::MAX));
            let head = if far { head.slice(..len) } else { Bytes::new() };
            Ok(Opened { frame, head, growing: None })
        }
        // Without totals an opener has nothing to go by.
        Err(ReadError::Frame(FrameError::Unfinished)) if options.open_ended && source.chunk_files().is_none() => {
            open_growing(source, available, options, registry).await
        }
        Err(error) => Err(error),
    }
}

/// Opens a frame without totals.
async fn open_growing<S: RangeSource + ?Sized>(
    source: &S,
    available: u64,
    options: &ReadOptions,
    registry: &Registry,
) -> Result<Opened, ReadError> {
    let (start, limits) = (options.start, options.limits);
    let fixed = source.read_range(start..start + available.min(PartialHeader::FIXED_LEN as u64)).await?;
    let header_len = PartialHeader::extent(&fixed)? as u64;
    if header_len > available || header_len > limits.header_bytes as u64 {
        let (min, max) = (fixed.len() as u64, available.min(limits.header_bytes as u64));
        return Err(FrameError::HeaderLen { found: header_len as i64, min, max }.into());
    }
    let head = source.read_range(start..start + header_len).await?;
    let Some(state) = OpenEnded::begin(&head, limits)? else {
        // Unfinished, and the writer makes no promise about the order of chunks.
        return Err(FrameError::Unfinished.into());
    };
    let (growing, frame) = OpenEndedState::follow(source, start, state, registry).await?;
    Ok(Opened { frame, head: Bytes::new(), growing: Some(growing) })
}

/// Continues reading a frame without totals where it ended; `None` if it is no longer the same frame.
async fn resume_open_ended<S: RangeSource + ?Sized>(
    source: &S,
    growing: &OpenEndedState,
    options: &ReadOptions,
    registry: &Registry,
) -> Result<Option<Opened>, ReadError> {
    let (start, state) = (options.start, growing.state.clone());
    let head = state.head_bytes();
    if source.size().await?.saturating_sub(start) < state.end() {
        return Ok(None);
    }
    // Its writer only appends; another frame in its place has another header or other chunks.
    let last = growing.last_header.as_ref();
    let last_at = state.last().unwrap_or_default();
    let ranges = vec![
        start..start + head.len() as u64,
        start + last_at..start + last_at + last.map_or(0, |last| last.len() as u64),
    ];
    let found = source.read_ranges(ranges).await?;
    let same = found.first() == Some(head) && last.is_none_or(|last| found.get(1) == Some(last));
    if !same {
        return Ok(None);
    }
    let (growing, frame) = OpenEndedState::follow(source, start, state, registry).await?;
    Ok(Some(Opened { frame, head: Bytes::new(), growing: Some(growing) }))
}

impl<S> Clone for FrameReader<S> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<S> fmt::Debug for FrameReader<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FrameReader").field("header", self.header()).finish_non_exhaustive()
    }
}
