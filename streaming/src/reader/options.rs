//! How a frame is to be read.

use std::sync::Arc;

use futures::io::AsyncRead;
use oxiblosc_core::filter::BitshuffleRule;
#[cfg(doc)]
use oxiblosc_core::frame::ChecksumState;
use oxiblosc_core::frame::Metalayers;
use oxiblosc_core::nd::ArrayMeta;
use oxiblosc_core::{Limits, Registry};

use super::cache::BlockCache;
use super::decoding::Decoding;
use super::shared::ReadAhead;

use super::{FrameReader, FrameStream};
use crate::budget::Budget;
use crate::compute::Pool;
use crate::error::ReadError;
use crate::source::RangeSource;

/// A request that costs more bytes than this goes across a network.
pub(super) const FAR_AWAY: u64 = 256 << 10;

/// How a frame is to be read; the blocking and the asynchronous readers take the same.
///
/// ```
/// use oxiblosc_streaming::{Pool, ReadOptions, WriteOptions, block_on};
/// # use oxiblosc_plugins as _;
///
/// let pool = Pool::new(2);
/// # let mut sink = WriteOptions::default().in_memory()?;
/// # block_on(sink.close())?;
/// # let source = sink.into_target().into_bytes();
/// let reader = block_on(ReadOptions::new().pool(&pool).bytes_ahead(32 << 20).open(source))?;
/// # assert_eq!(reader.nbytes(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct ReadOptions {
    pub(super) pool: Option<Pool>,
    pub(super) registry: Option<Registry>,
    pub(super) limits: Limits,
    pub(super) chunks_ahead: Option<usize>,
    pub(super) bytes_ahead: usize,
    pub(super) start: u64,
    pub(super) bitshuffle: Option<BitshuffleRule>,
    pub(super) checksums: ChecksumPolicy,
    pub(super) cache_bytes: Option<usize>,
    pub(super) trust_order: bool,
    pub(super) spool_memory: usize,
    pub(super) open_ended: bool,
    pub(super) requests_in_flight: usize,
    pub(super) budget: Option<Budget>,
}

/// What a reader does about the checksums of a frame.
///
/// C-Blosc2 and python-blosc2 edit frames without keeping checksums right. When they do, the checksums are
/// [outdated](ChecksumState::Outdated), which is no damage; [`FrameReader::verify`] says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ChecksumPolicy {
    /// They are not looked at.
    #[default]
    Ignore,
    /// Every chunk is compared with its checksum before it is decoded, when the frame has checksums that are not
    /// outdated. Chunks are then always read as a whole. A frame whose header, index or trailer do not agree with the
    /// checksums is not opened.
    Check,
    /// As [`Check`](Self::Check), and a frame without valid checksums is not opened.
    Require,
}

impl ReadOptions {
    /// The bytes that a stream reads ahead when no other number is asked for: 96 MiB.
    pub const BYTES_AHEAD: usize = 96 << 20;

    /// The bytes of a frame that a [`FrameStream`] keeps in memory when no other number is asked for: 16 MiB.
    pub const SPOOL_MEMORY: usize = 16 << 20;

    /// The bytes of decoded blocks that a reader of a source across a network keeps when no other number is asked for:
    /// 16 MiB.
    pub const CACHE_BYTES: usize = 16 << 20;

    /// The requests that a reader has under way at a time when no other number is asked for: 32.
    pub const REQUESTS_IN_FLIGHT: usize = 32;

    /// Everything at its default.
    pub fn new() -> Self {
        Self {
            pool: None,
            registry: None,
            limits: Limits::default(),
            chunks_ahead: None,
            bytes_ahead: Self::BYTES_AHEAD,
            start: 0,
            bitshuffle: None,
            checksums: ChecksumPolicy::default(),
            cache_bytes: None,
            trust_order: false,
            spool_memory: Self::SPOOL_MEMORY,
            open_ended: false,
            requests_in_flight: Self::REQUESTS_IN_FLIGHT,
            budget: None,
        }
    }

    /// Where chunks are decoded; share one pool among many readers. By default a reader has a pool of its own, with a
    /// thread for each processor, which start with its first chunk.
    pub fn pool(mut self, pool: &Pool) -> Self {
        self.pool = Some(pool.clone());
        self
    }

    /// Where codecs and filters come from; everything linked into the program by default.
    pub fn registry(mut self, registry: &Registry) -> Self {
        self.registry = Some(registry.clone());
        self
    }

    /// What a file may make the reader allocate.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// How many chunks a stream reads ahead, at least one; 32 by default (256 for a source across a network),
    /// or more when the pool has many threads.
    pub fn chunks_ahead(mut self, chunks: usize) -> Self {
        self.chunks_ahead = Some(chunks);
        self
    }

    /// How many bytes a stream may hold ahead: encoded bytes fetched and decoded bytes not yet asked for. One chunk (of
    /// an array, one row of chunks or of blocks) is always allowed. [`ReadOptions::BYTES_AHEAD`] by default.
    pub fn bytes_ahead(mut self, bytes: usize) -> Self {
        self.bytes_ahead = bytes;
        self
    }

    /// How many requests a reader and its clones have under way at a time, at least one;
    /// [`ReadOptions::REQUESTS_IN_FLIGHT`] by default. What is asked for beyond that waits its turn, and what is being
    /// asked for already is not asked for again: many tasks that want the same slice cost the requests of one.
    ///
    /// A request is what a store gets, one for each run of bytes; of a source that does not
    /// [count its own](RangeSource::limit_requests) it is one call of [`RangeSource::read_ranges`]. Sources that answer
    /// [at once](RangeSource::is_immediate) are not counted.
    pub fn requests_in_flight(mut self, requests: usize) -> Self {
        self.requests_in_flight = requests.max(1);
        self
    }

    /// Memory that the reader shares with other readers and sinks: what its streams hold ahead and what its other calls
    /// fetch and decode is taken from it, beside the limit of [`bytes_ahead`](Self::bytes_ahead). None by default.
    pub fn budget(mut self, budget: &Budget) -> Self {
        self.budget = Some(budget.clone());
        self
    }

    /// Where in the source the frame starts; 0 by default.
    pub fn start(mut self, offset: u64) -> Self {
        self.start = offset;
        self
    }

    /// Whether chunks are compared with their checksums; not by default.
    pub fn checksums(mut self, policy: ChecksumPolicy) -> Self {
        self.checksums = policy;
        self
    }

    /// By which rule bit-shuffled chunks are decoded, whatever their age. By default the frame tells; where it does not
    /// ([`BitshuffleAge::Ambiguous`](oxiblosc_core::frame::BitshuffleAge::Ambiguous)) whoever knows the writer can say.
    pub fn bitshuffle(mut self, rule: BitshuffleRule) -> Self {
        self.bitshuffle = Some(rule);
        self
    }

    /// How many bytes of decoded blocks the reader and its clones keep, so that what items, ranges of bytes and slices of
    /// arrays share need not be fetched and decoded again; what has not been used for longest goes first. By default
    /// [`ReadOptions::CACHE_BYTES`] for a source across a network, and nothing for others, which have a cache of their
    /// own.
    ///
    /// What would not fit is not kept at all, so that one large read does not push out what small ones come back to;
    /// neither are single chunks and chunks read by streams. A reader that is [refreshed](FrameReader::refresh) begins
    /// anew, unless the frame is open-ended and has only grown.
    pub fn cache_bytes(mut self, bytes: usize) -> Self {
        self.cache_bytes = Some(bytes);
        self
    }

    /// Has a [`FrameStream`] decode chunks as they come although the frame does not promise that they lie in order; what
    /// the index says is compared at the end.
    pub fn trust_order(mut self, trust: bool) -> Self {
        self.trust_order = trust;
        self
    }

    /// How many bytes a [`FrameStream`] keeps in memory of a frame that it must see the end of before it can begin; the
    /// rest goes to a temporary file. [`ReadOptions::SPOOL_MEMORY`] by default.
    pub fn spool_memory(mut self, bytes: usize) -> Self {
        self.spool_memory = bytes;
        self
    }

    /// Whether [`open`](Self::open) takes an open-ended frame too, one whose header has no totals: still being written,
    /// abandoned, or closed but not [sealed](crate::recover::seal()). Off by default, for what is there may not be all.
    ///
    /// The headers of its chunks are read to find them. The frame consists of the complete chunks, an array of the rows
    /// that they make up; [`FrameReader::open_end`] says whether its writer has closed it and how many bytes are left
    /// over, and [`FrameReader::refresh`] looks for more.
    ///
    /// A [`FrameStream`] takes open-ended frames always, but one that ends without index and trailer only with this
    /// option: without it the last item is [`ReadError::BreaksOff`]. (An end within a chunk is an error either way.)
    pub fn open_ended(mut self, open_ended: bool) -> Self {
        self.open_ended = open_ended;
        self
    }

    /// Reads the frame in `reader` front to back, without seeking; see [`FrameStream`].
    ///
    /// # Errors
    /// When `reader` fails or ends within the header, and when that is not one of a frame.
    pub async fn stream<R: AsyncRead + Unpin + Send + 'static>(self, reader: R) -> Result<FrameStream, ReadError> {
        FrameStream::with_options(reader, self).await
    }

    /// The registry to use.
    pub(super) fn resolved_registry(&self) -> Result<Registry, ReadError> {
        Ok(match &self.registry {
            Some(registry) => registry.clone(),
            None => Registry::linked()?.clone(),
        })
    }

    /// What decodes the chunks of a frame with these metalayers.
    pub(super) fn decoding(
        &self,
        registry: Registry,
        metalayers: &Metalayers,
        cache: Arc<BlockCache>,
    ) -> Arc<Decoding> {
        // Only few filters and codecs look at the shape; when it makes no sense they say so, and the others still work.
        let array = metalayers.get(ArrayMeta::NAME).or_else(|| metalayers.get(ArrayMeta::LEGACY_NAME));
        let geometry = array.and_then(|content| ArrayMeta::parse(content).ok()).map(|meta| Arc::new(meta.geometry));
        let pool = self.pool.clone().unwrap_or_default();
        Arc::new(Decoding::new(registry, self.limits, pool, geometry, self.bitshuffle, cache))
    }

    /// Where blocks from a source are kept to which a request costs this many bytes.
    pub(super) fn cache(&self, request_cost: u64) -> Arc<BlockCache> {
        let default = if request_cost > FAR_AWAY { Self::CACHE_BYTES } else { 0 };
        Arc::new(BlockCache::new(self.cache_bytes.unwrap_or(default)))
    }

    /// How much is read ahead of a source to which a request costs this many bytes.
    pub(super) fn ahead(&self, pool: &Pool, request_cost: u64) -> ReadAhead {
        // Whoever is far away must be asked early; memory is bounded by bytes.
        let default = if request_cost > FAR_AWAY { 256 } else { 32 };
        ReadAhead {
            chunks: self.chunks_ahead.unwrap_or((2 * pool.threads() + 1).max(default)).max(1),
            bytes: self.bytes_ahead.min(self.limits.in_flight_bytes),
        }
    }

    /// Opens the frame in `source`, in at most two round trips when its header is of a usual size.
    ///
    /// # Errors
    /// When the source fails, and when what is there is not a frame or a damaged one.
    pub async fn open<S: RangeSource + 'static>(self, source: S) -> Result<FrameReader<S>, ReadError> {
        FrameReader::with_options(source, self).await
    }
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self::new()
    }
}
