//! Options for reading a frame.

use std::sync::Arc;

use futures::io::AsyncRead;
use oxiblosc_core::filter::BitshuffleRule;
#[cfg(doc)]
use oxiblosc_core::frame::ChecksumState;
use oxiblosc_core::frame::Metalayers;
use oxiblosc_core::nd::ArrayMeta;
use oxiblosc_core::plugin_params::PluginParams;
use oxiblosc_core::{Limits, Registry};

use super::cache::BlockCache;
use super::decoding::Decoding;
use super::inner::ReadAhead;

use super::{FrameReader, FrameStream};
use crate::budget::Budget;
use crate::compute::Pool;
use crate::error::ReadError;
use crate::source::RangeSource;

/// A request with a higher cost in bytes goes across a network.
pub(super) const FAR_AWAY: u64 = 256 << 10;

/// Options for reading a frame, for both the blocking and the asynchronous readers.
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
/// C-Blosc2 and python-blosc2 edit frames without keeping checksums right. The checksums are then
/// [outdated](ChecksumState::Outdated), which is not damage; [`FrameReader::verify`] reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ChecksumPolicy {
    /// They are ignored.
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
    /// The default of [`bytes_ahead`](Self::bytes_ahead): 96 MiB.
    pub const BYTES_AHEAD: usize = 96 << 20;

    /// The default of [`spool_memory`](Self::spool_memory): 16 MiB.
    pub const SPOOL_MEMORY: usize = 16 << 20;

    /// The default of [`cache_bytes`](Self::cache_bytes) for a source across a network: 16 MiB.
    pub const CACHE_BYTES: usize = 16 << 20;

    /// The default of [`requests_in_flight`](Self::requests_in_flight): 32.
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

    /// Where chunks are decoded; share one pool among many readers. By default a reader has its own pool with a thread
    /// for each processor; they start with its first chunk.
    pub fn pool(mut self, pool: &Pool) -> Self {
        self.pool = Some(pool.clone());
        self
    }

    /// Where codecs and filters come from; everything linked into the program by default.
    pub fn registry(mut self, registry: &Registry) -> Self {
        self.registry = Some(registry.clone());
        self
    }

    /// Limits on what a file may make the reader allocate.
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

    /// How many bytes a stream may hold ahead: encoded bytes fetched and decoded bytes not yet taken. One chunk (of an
    /// array, one row of chunks or of blocks) is always allowed. [`ReadOptions::BYTES_AHEAD`] by default.
    pub fn bytes_ahead(mut self, bytes: usize) -> Self {
        self.bytes_ahead = bytes;
        self
    }

    /// How many requests a reader and its clones have in flight at a time, at least one;
    /// [`ReadOptions::REQUESTS_IN_FLIGHT`] by default. Further requests wait their turn, and concurrent requests for
    /// the same bytes are merged: many tasks that read the same slice cost the requests of one.
    ///
    /// A request is one that a store receives, for one run of bytes; for a source that does not [count its
    /// own](RangeSource::limit_requests) it is one call of [`RangeSource::read_ranges`]. Sources that answer [at
    /// once](RangeSource::is_immediate) are not counted.
    pub fn requests_in_flight(mut self, requests: usize) -> Self {
        self.requests_in_flight = requests.max(1);
        self
    }

    /// A memory budget shared with other readers and sinks: it covers what its streams hold ahead and what its other
    /// calls fetch and decode, in addition to the limit of [`bytes_ahead`](Self::bytes_ahead). None by default.
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

    /// The rule by which bit-shuffled chunks are decoded, whatever their age. By default it follows from the frame;
    /// where that is ambiguous ([`BitshuffleAge::Ambiguous`](oxiblosc_core::frame::BitshuffleAge::Ambiguous)) a caller
    /// who knows the writer can set it.
    pub fn bitshuffle(mut self, rule: BitshuffleRule) -> Self {
        self.bitshuffle = Some(rule);
        self
    }

    /// The size of the LRU cache of decoded blocks of the reader and its clones, so that blocks shared by items, byte
    /// ranges and slices of arrays need not be fetched and decoded again. By default [`ReadOptions::CACHE_BYTES`] for a
    /// source across a network, and 0 for others, which the system caches.
    ///
    /// A read that would not fit is not cached at all, so that one large read does not evict what small ones come back
    /// to; nor are single chunks and chunks read by streams. A reader that is [refreshed](FrameReader::refresh) starts
    /// with an empty cache, unless the frame is open-ended and has only grown.
    pub fn cache_bytes(mut self, bytes: usize) -> Self {
        self.cache_bytes = Some(bytes);
        self
    }

    /// Makes a [`FrameStream`] decode chunks as they arrive although the frame does not promise that they are in order;
    /// they are compared with the index at the end.
    pub fn trust_order(mut self, trust: bool) -> Self {
        self.trust_order = trust;
        self
    }

    /// How many bytes a [`FrameStream`] buffers in memory of a frame whose end it must read before it can start; the
    /// rest goes to a temporary file. [`ReadOptions::SPOOL_MEMORY`] by default.
    pub fn spool_memory(mut self, bytes: usize) -> Self {
        self.spool_memory = bytes;
        self
    }

    /// Whether [`open`](Self::open) takes an open-ended frame too, one whose header has no totals: still being written,
    /// abandoned, or closed but not [sealed](crate::recover::seal()). Off by default, since data may be missing.
    ///
    /// Its chunks are found by reading their headers. The frame then consists of the complete chunks, an array of the
    /// complete rows; [`FrameReader::open_end`] says whether its writer has closed it and how many bytes are left over,
    /// and [`FrameReader::refresh`] picks up what has been added.
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
    /// When `reader` fails or ends within the header, and when it is not the header of a frame.
    pub async fn stream<R: AsyncRead + Unpin + Send + 'static>(self, reader: R) -> Result<FrameStream, ReadError> {
        FrameStream::with_options(reader, self).await
    }

    /// The decoding of the chunks of a frame with these metalayers.
    pub(super) fn decoding(
        &self,
        registry: Registry,
        metalayers: &Metalayers,
        cache: Arc<BlockCache>,
    ) -> Result<Arc<Decoding>, ReadError> {
        // Few filters and codecs need the shape; if it is invalid they report that, and the others still work.
        let array = metalayers.get(ArrayMeta::NAME).or_else(|| metalayers.get(ArrayMeta::LEGACY_NAME));
        let geometry = array.and_then(|content| ArrayMeta::parse(content).ok()).map(|meta| Arc::new(meta.geometry));
        let pool = self.pool.clone().unwrap_or_default();
        let params = PluginParams::find(metalayers)?;
        Ok(Arc::new(Decoding::new(registry, params, self.limits, pool, geometry, self.bitshuffle, cache)))
    }

    /// The block cache for a source whose requests cost this many bytes.
    pub(super) fn cache(&self, request_cost: u64) -> Arc<BlockCache> {
        let default = if request_cost > FAR_AWAY { Self::CACHE_BYTES } else { 0 };
        Arc::new(BlockCache::new(self.cache_bytes.unwrap_or(default)))
    }

    /// The read-ahead for a source whose requests cost this many bytes.
    pub(super) fn ahead(&self, pool: &Pool, request_cost: u64) -> ReadAhead {
        // Remote sources must be asked early; memory is limited by the bytes.
        let default = if request_cost > FAR_AWAY { 256 } else { 32 };
        ReadAhead {
            chunks: self.chunks_ahead.unwrap_or((2 * pool.threads() + 1).max(default)).max(1),
            bytes: self.bytes_ahead.min(self.limits.in_flight_bytes),
        }
    }

    /// Opens the frame in `source`, in at most two round trips when its header is of a usual size.
    ///
    /// # Errors
    /// When the source fails, and when the bytes are not a frame, or the frame is damaged.
    pub async fn open<S: RangeSource + 'static>(self, source: S) -> Result<FrameReader<S>, ReadError> {
        FrameReader::with_options(source, self).await
    }
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self::new()
    }
}
