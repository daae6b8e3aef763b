//! Reading a frame front to back, from something that cannot seek.

use std::fmt;
use std::future::{Future, ready};
use std::io;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::Stream;
use futures::io::{AsyncRead, AsyncReadExt};
use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};
use oxiblosc_core::chunk::{ChunkContext, ChunkHeader};
use oxiblosc_core::frame::{
    ChunkEntry, Frame, FrameError, FrameHeader, FrameLayout, FrameOpener, FrameType, Metalayers, OpenEnded,
    PartialHeader, Sequential, chunk_checksum,
};

use super::decoding::Decoding;
use super::following::OpenEndedStream;
use super::frame_reader::is_checked;
use super::in_flight::{BoundedFutures, Task};
use super::inner::ReadAhead;
use super::open_end::{End, Numbered, OpenEnd};
use super::opening::drive;
use super::spool::spool;
use super::{ChecksumPolicy, ReadOptions};
use crate::compute::Pool;
use crate::error::ReadError;

/// For chunks up to this size memory is allocated before the bytes arrive; for longer ones as they arrive.
const AT_ONCE: u64 = 16 << 20;

/// The decoded chunks of a frame that arrives front to back: from a pipe, a socket, a decompressor.
///
/// Only the index, which comes last, gives the order of the chunks, which of them are still in use, and where there are
/// chunks of zeros that are stored nowhere else. A frame that [promises](Sequential) chunks in order is decoded as it
/// arrives, with a few chunks in memory ([`ReadOptions::bytes_ahead`]); so is any other if [`ReadOptions::trust_order`]
/// says so. At the end the decoded chunks are compared with the index, and the last item is an error if they differ.
/// All other frames are buffered in encoded form, in memory and in a temporary file ([`ReadOptions::spool_memory`]),
/// until their index has arrived.
///
/// An open-ended frame, whose header has no totals, is also decoded as it arrives, until its index and trailer have
/// arrived. When the stream ends before that, the complete chunks are followed by [`ReadError::BreaksOff`], wherever it
/// ends: data may be missing. A program that follows a frame while it is written sets [`ReadOptions::open_ended`]; its
/// stream may end after any complete chunk, and [`open_end`](Self::open_end) tells whether the writer has closed the
/// frame.
///
/// No byte after the frame is read from the reader. Checksums are compared if [`ReadOptions::checksums`] says so: for a
/// frame decoded as it arrives that happens at the end, when all chunks have been returned. After an error the stream
/// ends.
///
/// With [`TryStreamExt::into_async_read`] it becomes the decoded bytes as an [`AsyncRead`].
///
/// ```
/// use futures::{TryStreamExt, AsyncWriteExt};
/// use oxiblosc_streaming::{FrameStream, WriteOptions, block_on};
/// # use oxiblosc_plugins as _;
///
/// block_on(async {
///     let mut sink = WriteOptions::default().sequential(true).in_memory()?;
///     sink.write_all(b"down the pipe").await?;
///     sink.close().await?;
///     let pipe = futures::io::Cursor::new(sink.into_target().into_bytes());
///
///     let stream = FrameStream::open(pipe).await?;
///     assert!(stream.is_immediate());
///     let chunks: Vec<_> = stream.try_collect().await?;
///     assert_eq!(chunks.concat(), b"down the pipe");
///     Ok::<(), Box<dyn std::error::Error>>(())
/// })
/// # .unwrap();
/// ```
pub struct FrameStream {
    header: FrameHeader,
    metalayers: Metalayers,
    immediate: bool,
    chunks: BoxStream<'static, Result<Bytes, ReadError>>,
    end: Arc<OnceLock<End>>,
}

impl FrameStream {
    /// Reads the header of the frame that `reader` begins with, with the default [`ReadOptions`].
    ///
    /// # Errors
    /// When `reader` fails or ends within the header, and when it is not the header of a frame.
    pub async fn open<R: AsyncRead + Unpin + Send + 'static>(reader: R) -> Result<Self, ReadError> {
        ReadOptions::new().stream(reader).await
    }

    pub(super) async fn with_options<R>(mut reader: R, options: ReadOptions) -> Result<Self, ReadError>
    where
        R: AsyncRead + Unpin + Send + 'static,
    {
        let registry = crate::given_or_linked(options.registry.as_ref())?;
        let head = read_head(&mut reader, options.limits.header_bytes).await?;
        let header = FrameHeader::parse_unfinished(&head)?;
        let layout = header.layout;
        if header.frame_type == FrameType::Sparse {
            return Err(ReadError::Sparse);
        }
        let open_ended = OpenEnded::begin(&head, options.limits)?;
        if open_ended.is_none() {
            // If the lengths are invalid.
            FrameHeader::parse(&head)?;
        }
        let metalayers = Metalayers::of_header(&head, layout)?;
        let promised = Sequential::find(&metalayers).is_some_and(|promise| promise.holds(&header));
        // How the chunks of older frames are decoded depends on their trailer.
        let immediate = layout == FrameLayout::Current && (promised || options.trust_order || open_ended.is_some());
        let end = Arc::new(OnceLock::new());
        let chunks = if let Some(state) = open_ended {
            let decoding = options.decoding(registry.clone(), &metalayers, options.cache(0))?;
            let following = OpenEndedStream::new(reader, state, registry, options.clone(), Arc::clone(&end));
            let step = |mut following: OpenEndedStream<R>| async move { (following.next().await, following) };
            decoded(chunk_stream(following, step), &header, &options, decoding)
        } else if immediate {
            let decoding = options.decoding(registry, &metalayers, options.cache(0))?;
            let forward = SequentialStream::new(
                reader,
                head,
                header.clone(),
                options.clone(),
                Arc::clone(&end),
                decoding.pool.clone(),
            );
            let step = |mut forward: SequentialStream<R>| async move { (forward.next().await, forward) };
            decoded(chunk_stream(forward, step), &header, &options, decoding)
        } else {
            let kept = Arc::clone(&end);
            let frame_len = header.frame_len;
            let open = async move {
                let source = spool(reader, head, frame_len, options.spool_memory).await?;
                let reader = options.open(source).await?;
                // Only set here.
                let _ = kept.set(End { frame: reader.frame().clone(), open: None });
                Ok::<_, ReadError>(reader.chunks())
            };
            stream::once(open).try_flatten().boxed()
        };
        Ok(Self { header, metalayers, immediate, chunks: until_failure(chunks), end })
    }

    /// The fixed part of the header: sizes, codec, filters.
    pub fn header(&self) -> &FrameHeader {
        &self.header
    }

    /// The metalayers of the header.
    pub fn metalayers(&self) -> &Metalayers {
        &self.metalayers
    }

    /// Whether chunks are decoded as they arrive; otherwise the whole frame is buffered first.
    pub fn is_immediate(&self) -> bool {
        self.immediate
    }

    /// Everything about the frame but its chunks, once its end has been seen.
    pub fn frame(&self) -> Option<&Frame> {
        self.end.get().map(|end| &end.frame)
    }

    /// How an open-ended frame ended, once its end has been seen; `None` before that, and for frames with totals.
    pub fn open_end(&self) -> Option<OpenEnd> {
        self.end.get().and_then(|end| end.open)
    }
}

/// A stream of the chunks that `step` returns; it ends after the first error.
fn chunk_stream<M, F>(
    machine: M,
    step: impl Fn(M) -> F + Send + 'static,
) -> impl Stream<Item = Result<Numbered, ReadError>> + Send
where
    M: Send + 'static,
    F: Future<Output = (Result<Option<Numbered>, ReadError>, M)> + Send + 'static,
{
    stream::unfold(Some((machine, step)), |state| async move {
        let (machine, step) = state?;
        match step(machine).await {
            (Ok(Some(chunk)), machine) => Some((Ok(chunk), Some((machine, step)))),
            (Ok(None), _) => None,
            (Err(e), _) => Some((Err(e), None)),
        }
    })
}

/// Decodes chunks as they arrive, a few concurrently, and returns them in order.
fn decoded(
    chunks: impl Stream<Item = Result<Numbered, ReadError>> + Send + 'static,
    header: &FrameHeader,
    options: &ReadOptions,
    decoding: Arc<Decoding>,
) -> BoxStream<'static, Result<Bytes, ReadError>> {
    let chunk_size = header.chunk_size.fixed().unwrap_or(ReadOptions::BYTES_AHEAD / 8).max(1);
    let ahead = options.ahead(&decoding.pool, 0);
    let limits =
        ReadAhead { chunks: ahead.chunks.min(decoding.pool.chunks_in_progress(chunk_size)), bytes: ahead.bytes };
    let typesize = header.typesize as usize;
    let decode = move |item: Result<Numbered, ReadError>| {
        let decoding = Arc::clone(&decoding);
        let bytes = item.as_ref().map_or(0, |(_, bytes, _)| {
            bytes.len().saturating_add(ChunkHeader::parse(bytes).map_or(0, |header| header.nbytes))
        });
        let work = async move {
            let (chunk, bytes, offset) = item?;
            let mut ctx = ChunkContext::numbered(chunk);
            ctx.item_size = Some(typesize);
            match decoding.decode(bytes, ctx).await {
                Ok(decoded) => decoded.map_err(|source| ReadError::Decode { chunk, offset: Some(offset), source }),
                Err(panic) => Err(ReadError::Panicked { chunk, panic }),
            }
        };
        Task { bytes, work }
    };
    BoundedFutures::new(chunks.map(decode).boxed(), limits, options.budget.as_ref()).boxed()
}

fn until_failure(chunks: BoxStream<'static, Result<Bytes, ReadError>>) -> BoxStream<'static, Result<Bytes, ReadError>> {
    let end = |chunks: Option<BoxStream<'static, Result<Bytes, ReadError>>>| async move {
        let mut chunks = chunks?;
        let item = chunks.next().await?;
        let rest = item.is_ok().then_some(chunks);
        Some((item, rest))
    };
    stream::unfold(Some(chunks), end).fuse().boxed()
}

impl Stream for FrameStream {
    type Item = Result<Bytes, ReadError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.chunks.poll_next_unpin(cx)
    }
}

impl fmt::Debug for FrameStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FrameStream")
            .field("header", &self.header)
            .field("immediate", &self.immediate)
            .finish_non_exhaustive()
    }
}

/// A frame whose chunks are taken as they arrive.
struct SequentialStream<R> {
    reader: R,
    head: Bytes,
    header: FrameHeader,
    options: ReadOptions,
    /// Offset of the next byte of `reader` in the frame.
    at: u64,
    /// Decoded bytes so far.
    nbytes: u64,
    /// The offset of each chunk, and its checksum if that is to be compared.
    seen: Vec<(u64, u64)>,
    end: Arc<OnceLock<End>>,
    /// The pool whose buffers the chunks are read into.
    pool: Pool,
}

impl<R: AsyncRead + Unpin> SequentialStream<R> {
    fn new(
        reader: R,
        head: Bytes,
        header: FrameHeader,
        options: ReadOptions,
        end: Arc<OnceLock<End>>,
        pool: Pool,
    ) -> Self {
        let at = head.len() as u64;
        Self { reader, head, header, options, at, nbytes: 0, seen: Vec::new(), end, pool }
    }

    /// The next chunk; after the last one `None`, or an error of the frame.
    async fn next(&mut self) -> Result<Option<Numbered>, ReadError> {
        let (number, offset) = (self.seen.len() as u64, self.at);
        let end = u64::from(self.header.header_len).saturating_add(self.header.cbytes);
        if offset >= end || self.header.nbytes == 0 {
            self.finish(end).await?;
            return Ok(None);
        }
        if number >= self.options.limits.chunks {
            return Err(FrameError::TooManyChunks { found: number + 1, limit: self.options.limits.chunks }.into());
        }
        let room = end - offset;
        let mut bytes = Vec::new();
        read_more(&mut self.reader, &mut bytes, room.min(ChunkHeader::EXTENDED_LEN as u64)).await?;
        let chunk = ChunkHeader::parse(&bytes);
        let chunk = chunk.map_err(|source| ReadError::Decode { chunk: number, offset: Some(offset), source })?;
        let (cbytes, min) = (chunk.cbytes as u64, bytes.len() as u64);
        if cbytes > room {
            return Err(FrameError::ChunkBounds { chunk: number, offset, found: cbytes, room }.into());
        }
        if cbytes < min {
            return Err(FrameError::ChunkTooSmall { chunk: number, offset, found: cbytes, min }.into());
        }
        if let Some(full) = self.header.chunk_size.fixed() {
            let expected = self.header.nbytes.saturating_sub(self.nbytes).min(full as u64);
            let found = chunk.nbytes as u64;
            if found != expected {
                return Err(FrameError::ChunkLen { chunk: number, expected, found }.into());
            }
        }
        let bytes = self.read_rest(bytes, cbytes).await?;
        let sum = if self.options.checksums == ChecksumPolicy::Ignore { 0 } else { chunk_checksum(&bytes) };
        self.seen.push((offset, sum));
        self.nbytes += chunk.nbytes as u64;
        self.at += cbytes;
        Ok(Some((number, bytes, offset)))
    }

    /// Reads what follows `head` of a chunk of `cbytes` bytes.
    async fn read_rest(&mut self, mut head: Vec<u8>, cbytes: u64) -> Result<Bytes, ReadError> {
        if cbytes > AT_ONCE {
            read_more(&mut self.reader, &mut head, cbytes).await?;
            return Ok(head.into());
        }
        // Lossless: just compared.
        let mut chunk = self.pool.buffers().take(cbytes as usize);
        let (front, rest) = chunk.split_at_mut(head.len());
        front.copy_from_slice(&head);
        let mut done = 0;
        while done < rest.len() {
            match self.reader.read(&mut rest[done..]).await {
                Ok(0) => return Err(too_early((rest.len() - done) as u64)),
                Ok(n) => done += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e.into()),
            }
        }
        Ok(chunk.into())
    }

    /// Reads the end of the frame and compares.
    async fn finish(&mut self, end: u64) -> Result<(), ReadError> {
        let frame_len = self.header.frame_len;
        let found = frame_len.saturating_sub(self.at);
        // The limits of index and trailer are checked only once they are read.
        let limits = self.options.limits;
        let limit = (limits.trailer_bytes as u64).saturating_add(limits.chunks.saturating_mul(9));
        if found > limit {
            return Err(ReadError::Limit { what: "the end of the frame", needed: found, limit });
        }
        let mut tail = Vec::new();
        read_more(&mut self.reader, &mut tail, found).await?;
        let registry = crate::given_or_linked(self.options.registry.as_ref())?;
        let mut opener = FrameOpener::new(frame_len, &registry, limits);
        opener.feed(0, self.head.clone());
        opener.feed(self.at, tail.into());
        // All there is has been fed.
        let frame = drive(opener, |ranges| {
            let missing = ranges
                .into_iter()
                .next()
                .map(|missing| FrameError::MissingBytes { start: missing.start, end: missing.end });
            ready(Err(missing.map_or_else(|| out_of_order(0), ReadError::from)))
        })
        .await?;
        debug_assert!(self.at >= end || self.header.nbytes == 0);
        for i in 0..frame.nchunks().max(self.seen.len() as u64) {
            let seen = self.seen.get(i as usize).map(|(offset, _)| *offset);
            let indexed = if i < frame.nchunks() { Some(frame.entry(i)?) } else { None };
            if seen.map(|offset| ChunkEntry::Stored { offset }) != indexed {
                return Err(out_of_order(i));
            }
        }
        if self.nbytes != frame.nbytes() {
            return Err(FrameError::TotalLen { expected: frame.nbytes(), found: self.nbytes }.into());
        }
        if is_checked(&frame, self.options.checksums)? {
            for (i, (_, sum)) in self.seen.iter().enumerate() {
                frame.check_chunk_sum(i as u64, *sum)?;
            }
        }
        // Only set here.
        let _ = self.end.set(End { frame, open: None });
        Ok(())
    }
}

fn out_of_order(chunk: u64) -> ReadError {
    ReadError::OutOfOrder { chunk }
}

/// Reads the head of a frame, and nothing after it.
async fn read_head<R: AsyncRead + Unpin>(reader: &mut R, limit: usize) -> Result<Bytes, ReadError> {
    let mut head = Vec::new();
    loop {
        let needed = PartialHeader::extent(&head)?;
        if needed > limit {
            let (found, min, max) = (needed as i64, head.len() as u64, limit as u64);
            return Err(FrameError::HeaderLen { found, min, max }.into());
        }
        if needed <= head.len() {
            return Ok(head.into());
        }
        read_more(reader, &mut head, needed as u64).await?;
    }
}

/// Fills `bytes` up to `len`. Memory is allocated as bytes arrive, not by the length stated.
async fn read_more<R: AsyncRead + Unpin>(reader: &mut R, bytes: &mut Vec<u8>, len: u64) -> Result<(), ReadError> {
    let missing = len.saturating_sub(bytes.len() as u64);
    let found = reader.take(missing).read_to_end(bytes).await? as u64;
    if found < missing { Err(too_early(missing - found)) } else { Ok(()) }
}

fn too_early(missing: u64) -> ReadError {
    let message = format!("the stream ended {missing} bytes too early");
    ReadError::Source(io::Error::new(io::ErrorKind::UnexpectedEof, message))
}
