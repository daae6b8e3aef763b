//! Options for writing a frame.

use bytes::Bytes;
use futures::io::{AsyncSeek, AsyncWrite};
use oxiblosc_core::chunk::{ChunkHeader, EncodeParams};
use oxiblosc_core::frame::{FingerprintKind, FrameLayout, FrameParams, FrameWriteError, Metalayers, SpecialPlacement};
use oxiblosc_core::plugin_params::PluginParams;
use oxiblosc_core::{CodecId, Registry};

use super::FrameSink;
use crate::budget::Budget;
use crate::compute::Pool;
use crate::error::WriteError;
use crate::target::{MemoryTarget, SeekTarget, SpoolTarget, Target};

/// Options for writing a frame, for both the blocking and the asynchronous writers.
///
/// ```
/// use oxiblosc_core::chunk::EncodeParams;
/// use oxiblosc_streaming::{Pool, WriteOptions};
/// # use oxiblosc_plugins as _;
///
/// let pool = Pool::per_processor();
/// let options = WriteOptions::new(EncodeParams { typesize: 4, ..EncodeParams::default() })
///     .chunk_size(1 << 20)
///     .pool(&pool)
///     .metalayer("unit", &b"\xa1K"[..]);
/// let sink = options.in_memory()?;
/// # Ok::<(), oxiblosc_streaming::WriteError>(())
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct WriteOptions {
    pub(crate) params: EncodeParams,
    pub(crate) chunk_size: Option<usize>,
    pub(crate) pool: Option<Pool>,
    pub(crate) registry: Option<Registry>,
    pub(crate) chunks_in_flight: Option<usize>,
    pub(crate) bytes_in_flight: usize,
    pub(crate) budget: Option<Budget>,
    pub(crate) metalayers: Vec<(String, Bytes)>,
    pub(crate) vlmetalayers: Vec<(String, Bytes)>,
    /// Metalayers of another frame whose names are not text.
    pub(crate) unnamed_metalayers: Metalayers,
    /// Variable-length metalayers of another frame that are taken over as they are.
    pub(crate) encoded_vlmetalayers: Metalayers,
    pub(crate) special: SpecialPlacement,
    pub(crate) sequential: bool,
    pub(crate) layout: FrameLayout,
    pub(crate) fingerprint: Option<FingerprintKind>,
    pub(crate) checksums: bool,
    pub(crate) vlmetalayer_codec: Option<CodecId>,
}

impl WriteOptions {
    /// The default chunk size: 4 MiB, rounded down to a whole number of items (one item if that is larger). Large
    /// enough for header and index to be negligible, small enough for a dozen in flight to fit into memory and for a
    /// remote reader to get a chunk in one request.
    pub const CHUNK_SIZE: usize = 4 << 20;

    /// The default of [`bytes_in_flight`](Self::bytes_in_flight): 96 MiB.
    pub const BYTES_IN_FLIGHT: usize = 96 << 20;

    /// Encodes chunks with `params`, with the other options at their defaults.
    pub fn new(params: EncodeParams) -> Self {
        Self {
            params,
            chunk_size: None,
            pool: None,
            registry: None,
            chunks_in_flight: None,
            bytes_in_flight: Self::BYTES_IN_FLIGHT,
            budget: None,
            metalayers: Vec::new(),
            vlmetalayers: Vec::new(),
            unnamed_metalayers: Metalayers::new(),
            encoded_vlmetalayers: Metalayers::new(),
            special: SpecialPlacement::default(),
            sequential: false,
            layout: FrameLayout::Current,
            fingerprint: None,
            checksums: false,
            vlmetalayer_codec: None,
        }
    }

    /// Decoded bytes of a chunk, a multiple of the type size; [`WriteOptions::CHUNK_SIZE`] by default.
    pub fn chunk_size(mut self, bytes: usize) -> Self {
        self.chunk_size = Some(bytes);
        self
    }

    /// Where chunks are encoded; share one pool among many sinks. By default a sink has its own pool with a thread for
    /// each processor; they start with its first chunk.
    pub fn pool(mut self, pool: &Pool) -> Self {
        self.pool = Some(pool.clone());
        self
    }

    /// Where codec and filters come from; everything linked into the program by default.
    pub fn registry(mut self, registry: &Registry) -> Self {
        self.registry = Some(registry.clone());
        self
    }

    /// How many chunks may be in flight: given to the pool and not yet accepted by the target. At least one; by default
    /// one more than the pool has threads, or for chunks below 2 MiB one more than twice as many.
    pub fn chunks_in_flight(mut self, chunks: usize) -> Self {
        self.chunks_in_flight = Some(chunks);
        self
    }

    /// How many bytes may be in flight: those of chunks being encoded, decoded and encoded size together, and of
    /// encoded chunks that the target has not yet accepted. One chunk is always allowed.
    /// [`WriteOptions::BYTES_IN_FLIGHT`] by default.
    pub fn bytes_in_flight(mut self, bytes: usize) -> Self {
        self.bytes_in_flight = bytes;
        self
    }

    /// A memory budget shared with other sinks and readers: each chunk takes what it may need, encoded and decoded,
    /// from the time it goes to the pool until the target has it, in addition to the limit of
    /// [`bytes_in_flight`](Self::bytes_in_flight). None by default.
    pub fn budget(mut self, budget: &Budget) -> Self {
        self.budget = Some(budget.clone());
        self
    }

    /// Adds a metalayer to the header: up to 16, with names of up to 31 bytes; msgpack by convention.
    ///
    /// The one called `b2nd` makes the frame an array ([`ArrayMeta`](oxiblosc_core::nd::ArrayMeta)); filters and codecs
    /// then get its shape.
    pub fn metalayer(mut self, name: impl Into<String>, content: impl Into<Bytes>) -> Self {
        self.metalayers.push((name.into(), content.into()));
        self
    }

    /// Adds a variable-length metalayer to the trailer, compressed: up to 16, with names of up to 31 bytes; msgpack by
    /// convention. More can be added while the frame is written ([`FrameSink::set_vlmetalayer`]).
    pub fn vlmetalayer(mut self, name: impl Into<String>, content: impl Into<Bytes>) -> Self {
        self.vlmetalayers.push((name.into(), content.into()));
        self
    }

    /// The codec of variable-length metalayers; see [`FrameParams::vlmetalayer_codec`] for the default.
    pub fn vlmetalayer_codec(mut self, codec: CodecId) -> Self {
        self.vlmetalayer_codec = Some(codec);
        self
    }

    /// Where chunks of zeros are stored: only in the index by default.
    pub fn special(mut self, special: SpecialPlacement) -> Self {
        self.special = special;
        self
    }

    /// Promises in the header that the chunks are in order and without gaps, so that a reader that cannot seek may
    /// decode them as they arrive. Chunks of zeros are then stored, too.
    pub fn sequential(mut self, sequential: bool) -> Self {
        self.sequential = sequential;
        self
    }

    /// The layout: [`FrameLayout::Current`], unless software of 2019 has to read the frame.
    pub fn layout(mut self, layout: FrameLayout) -> Self {
        self.layout = layout;
        self
    }

    /// Ends the frame with a fingerprint, a digest of all its bytes; none by default, 128 bits by
    /// `FingerprintKind::default()`. It is computed while the frame is written. Any edit removes it.
    pub fn fingerprint(mut self, kind: impl Into<Option<FingerprintKind>>) -> Self {
        self.fingerprint = kind.into();
        self
    }

    /// Adds a checksum of each chunk and one of everything else to the trailer, 8 bytes each, which a reader can compare
    /// as it reads ([`ReadOptions::checksums`](crate::ReadOptions::checksums)). Off by default.
    ///
    /// Together with a fingerprint they also distinguish a frame edited by other software from a damaged one.
    pub fn checksums(mut self, checksums: bool) -> Self {
        self.checksums = checksums;
        self
    }

    /// A sink into any target.
    ///
    /// # Errors
    /// When codec or filters are not in the registry, or do not accept the parameters; when the chunk size is not
    /// possible; when a metalayer does not fit.
    pub fn sink<T: Target>(self, target: T) -> Result<FrameSink<T>, WriteError> {
        FrameSink::with_options(target, self)
    }

    /// A sink into something that can seek; see [`SeekTarget`].
    ///
    /// # Errors
    /// As [`WriteOptions::sink`].
    pub fn seekable<W: AsyncWrite + AsyncSeek + Unpin>(
        self,
        writer: W,
    ) -> Result<FrameSink<SeekTarget<W>>, WriteError> {
        self.sink(SeekTarget::new(writer))
    }

    /// A sink into something that cannot seek; see [`SpoolTarget`].
    ///
    /// # Errors
    /// As [`WriteOptions::sink`].
    pub fn spooled<W: AsyncWrite + Unpin>(self, writer: W) -> Result<FrameSink<SpoolTarget<W>>, WriteError> {
        self.sink(SpoolTarget::new(writer))
    }

    /// A sink into memory; see [`MemoryTarget`].
    ///
    /// # Errors
    /// As [`WriteOptions::sink`].
    pub fn in_memory(self) -> Result<FrameSink<MemoryTarget>, WriteError> {
        self.sink(MemoryTarget::new())
    }

    /// The parameters of the frame, except its variable-length metalayers.
    pub(crate) fn frame_params(&self, chunk_size: usize) -> Result<FrameParams, FrameWriteError> {
        let mut params = FrameParams::new(self.params.clone(), chunk_size);
        params.layout = self.layout;
        params.special = self.special;
        params.sequential = self.sequential;
        params.fingerprint = self.fingerprint;
        params.checksums = self.checksums;
        params.vlmetalayer_codec = self.vlmetalayer_codec;
        for (name, content) in &self.metalayers {
            params.metalayers.insert(name, content.clone())?;
        }
        if !self.params.plugin_params.is_empty()
            // Without plugins there is no encoder either.
            && let Ok(registry) = crate::given_or_linked(self.registry.as_ref())
        {
            let recorded = self.params.recorded_params(&registry);
            if !recorded.is_empty() {
                params.metalayers.insert(PluginParams::METALAYER, recorded.to_bytes())?;
            }
        }
        for name in self.unnamed_metalayers.names() {
            params.metalayers.insert_from(&self.unnamed_metalayers, &name)?;
        }
        Ok(params)
    }

    /// The chunk size to use.
    pub(crate) fn resolved_chunk_size(&self) -> Result<usize, WriteError> {
        let typesize = self.params.typesize.max(1);
        let size = self.chunk_size.unwrap_or_else(|| (Self::CHUNK_SIZE / typesize).max(1).saturating_mul(typesize));
        if size == 0 || !size.is_multiple_of(typesize) || size > ChunkHeader::MAX_NBYTES {
            return Err(WriteError::ChunkSize { size, typesize, max: ChunkHeader::MAX_NBYTES });
        }
        Ok(size)
    }
}

impl Default for WriteOptions {
    /// The default of [`EncodeParams`]; set the type size to the size of your items.
    fn default() -> Self {
        Self::new(EncodeParams::default())
    }
}
