//! One of several writers that fill a sparse frame.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use futures::{StreamExt, TryStreamExt, stream};
use oxiblosc_core::chunk::{ChunkHeader, SpecialKind};
use oxiblosc_core::frame::{FrameParams, FrameWriteError, SparseWriter, SpecialPlacement};
use oxiblosc_core::nd::{NdError, Tiling};
use oxiblosc_core::registry::Registry;
use thiserror::Error;

use super::place::{IndexVersion, SparsePlace};
use crate::error::WriteError;
use crate::nd::{ArrayError, ArrayOptions};
use crate::sink::{ChunkInput, Summary, Workshop, WriteOptions};

/// Chunk headers that a commit reads at the same time.
const ROUND: usize = 32;
/// Numbers of missing chunks that an error names; more would only fill the screen.
const NAMED: usize = 20;

/// One of several writers, in one process or in many, that fill one sparse frame or array without talking to each
/// other: each writes the chunks whose numbers it owns, in any order, and when all are there, one of them (or any other
/// that has the same options) commits the index. Until then there is no frame.
///
/// All of them must be made with the same length and options. A chunk that is written again replaces the earlier one,
/// as long as nobody has committed.
///
/// Should two of them commit, the index is written once, and the other is told ([`ShareError::Committed`]).
///
/// ```
/// use bytes::Bytes;
/// use oxiblosc_streaming::sparse::{Directory, Missing, SharedWriter};
/// use oxiblosc_streaming::{WriteOptions, block_on, blocking::FrameReader};
/// # use oxiblosc_plugins as _;
///
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("shared.b2frame");
/// let writer = || SharedWriter::new(Directory::new(&path)?, 2500, WriteOptions::default().chunk_size(1000));
/// let (one, other) = (writer()?, writer()?);
/// block_on(async {
///     one.write(2, Bytes::from(vec![3; 500])).await?;
///     other.write(0, Bytes::from(vec![1; 1000])).await?;
///     // Chunk 1 was nobody's.
///     assert!(one.commit(Missing::Fail).await.is_err());
///     let summary = one.commit(Missing::Zero).await?;
///     assert_eq!((summary.chunks, summary.nbytes), (3, 2500));
///     Ok::<(), Box<dyn std::error::Error>>(())
/// })?;
/// assert_eq!(FrameReader::open(&path)?.bytes(999..1001)?, &[1, 0][..]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SharedWriter<P> {
    place: P,
    nbytes: u64,
    chunk_size: usize,
    workshop: Workshop,
    params: FrameParams,
    vlmetalayers: Vec<(String, Bytes)>,
    registry: Registry,
    tiling: Option<Arc<Tiling>>,
    replaces: Option<IndexVersion>,
    /// A commit has failed, and may have succeeded all the same.
    doubtful: AtomicBool,
}

/// What a commit does about chunks that nobody has written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Missing {
    /// Fail, and name them.
    #[default]
    Fail,
    /// All their items are zero.
    Zero,
    /// All their items are NaN; only for items of 4 or 8 bytes.
    Nan,
    /// Their items are whatever they may be.
    Uninit,
}

/// Why a shared frame could not be filled or committed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ShareError {
    /// There is no such chunk.
    #[error("there is no chunk {chunk}: the frame has {nchunks}")]
    NoSuchChunk {
        /// The number asked for.
        chunk: u64,
        /// How many there are.
        nchunks: u64,
    },
    /// The data are not as long as the chunk.
    #[error("chunk {chunk} takes {expected} bytes, there are {found}")]
    Length {
        /// Number of the chunk.
        chunk: u64,
        /// Bytes that it takes.
        expected: u64,
        /// Bytes handed over, or what the chunk that is there decodes to.
        found: u64,
    },
    /// Chunks that nobody has written.
    #[error("{count} of {nchunks} chunks have not been written: {}", List(.chunks, *.count))]
    Missing {
        /// The first of them.
        chunks: Vec<u64>,
        /// How many there are.
        count: u64,
        /// How many there should be.
        nchunks: u64,
    },
    /// A chunk that somebody has written is not whole, or no chunk at all.
    #[error("the file of chunk {chunk} is damaged: {source}")]
    Damaged {
        /// Number of the chunk.
        chunk: u64,
        /// What is wrong.
        source: FrameWriteError,
    },
    /// Somebody else has committed this frame.
    #[error("somebody else has committed this frame: {0}")]
    Committed(#[source] io::Error),
    /// The place failed. The same call may be made again.
    #[error("the place of the frame failed: {0}")]
    Place(#[from] io::Error),
    /// A chunk or the index could not be encoded, or the options are not possible.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The options of an array are not possible.
    #[error(transparent)]
    Array(#[from] Box<ArrayError>),
    /// The window of a chunk makes no sense.
    #[error(transparent)]
    Nd(#[from] NdError),
}

struct List<'a>(&'a [u64], u64);

impl fmt::Display for List<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers: Vec<_> = self.0.iter().map(u64::to_string).collect();
        f.write_str(&numbers.join(", "))?;
        if self.1 > self.0.len() as u64 { f.write_str(", ...") } else { Ok(()) }
    }
}

impl From<FrameWriteError> for ShareError {
    fn from(error: FrameWriteError) -> Self {
        Self::Write(error.into())
    }
}

impl<P: SparsePlace> SharedWriter<P> {
    /// A writer of a frame of `nbytes` bytes.
    ///
    /// # Errors
    /// When the options are not possible.
    pub fn new(place: P, nbytes: u64, options: WriteOptions) -> Result<Self, ShareError> {
        Self::with_tiling(place, nbytes, options, None)
    }

    /// A writer of an array, whose shape must be known.
    ///
    /// # Errors
    /// When the options are not possible.
    pub fn array(place: P, options: ArrayOptions) -> Result<Self, ShareError> {
        let (options, _, tiling) = options.into_frame().map_err(Box::new)?;
        Self::with_tiling(place, tiling.stored_bytes(), options, Some(Arc::new(tiling)))
    }

    fn with_tiling(
        place: P,
        nbytes: u64,
        options: WriteOptions,
        tiling: Option<Arc<Tiling>>,
    ) -> Result<Self, ShareError> {
        let chunk_size = options.resolved_chunk_size()?;
        let mut params = options.frame_params(chunk_size)?;
        params.special = SpecialPlacement::Stored;
        let registry = match &options.registry {
            Some(registry) => registry.clone(),
            None => Registry::linked().map_err(WriteError::from)?.clone(),
        };
        // Finds out now what would be wrong later.
        SparseWriter::new(&params, &registry)?;
        let geometry = tiling.as_ref().map(|tiling| Arc::new(tiling.geometry().clone()));
        let pool = options.pool.unwrap_or_default();
        let workshop = Workshop::new(options.params, registry.clone(), geometry, pool.clone())
            .map_err(|source| WriteError::Params(source.into()))?;
        let (vlmetalayers, replaces, doubtful) = (options.vlmetalayers, None, AtomicBool::new(false));
        Ok(Self { place, nbytes, chunk_size, workshop, params, vlmetalayers, registry, tiling, replaces, doubtful })
    }

    /// Allows the commit to replace the index that is there now, and no other: for writing a frame again. Chunks of the
    /// old frame are overwritten as the new ones come.
    ///
    /// # Errors
    /// When the place cannot be read.
    pub async fn replace(mut self) -> io::Result<Self> {
        self.replaces = self.place.index().await?;
        Ok(self)
    }

    /// The place.
    pub fn place(&self) -> &P {
        &self.place
    }

    /// How the array is cut into chunks, if it is one: which chunk is where in the array, and how large.
    pub fn tiling(&self) -> Option<&Tiling> {
        self.tiling.as_deref()
    }

    /// Number of chunks.
    pub fn nchunks(&self) -> u64 {
        self.nbytes.div_ceil(self.chunk_size as u64)
    }

    /// Bytes that [`write`](Self::write) takes for chunk `i`.
    ///
    /// # Errors
    /// [`ShareError::NoSuchChunk`].
    pub fn chunk_bytes(&self, i: u64) -> Result<u64, ShareError> {
        let len = self.stored_bytes(i)?;
        Ok(match &self.tiling {
            Some(tiling) => {
                let items = tiling.chunk_window(i)?.shape.iter().product::<u64>();
                items * tiling.item_size() as u64
            }
            None => len,
        })
    }

    /// Decoded bytes of chunk `i`, padding included.
    fn stored_bytes(&self, i: u64) -> Result<u64, ShareError> {
        match i.checked_mul(self.chunk_size as u64) {
            Some(start) if start < self.nbytes => Ok((self.nbytes - start).min(self.chunk_size as u64)),
            _ => Err(ShareError::NoSuchChunk { chunk: i, nchunks: self.nchunks() }),
        }
    }

    /// Encodes and writes chunk `i`: its bytes, or, for an array, the items of its window in C order, without the
    /// padding of chunks at the edge. Chunks may be written in any order and at the same time.
    ///
    /// # Errors
    /// Nothing has been written then, and the same call may be made again.
    pub async fn write(&self, i: u64, data: Bytes) -> Result<(), ShareError> {
        let (expected, found) = (self.chunk_bytes(i)?, data.len() as u64);
        if expected != found {
            return Err(ShareError::Length { chunk: i, expected, found });
        }
        let input = match &self.tiling {
            Some(tiling) => {
                let mut chunk = vec![0; tiling.chunk_bytes()];
                tiling.window_to_chunk(&tiling.chunk_window(i)?, &data, i, &mut chunk)?;
                ChunkInput::Gathered(chunk)
            }
            None => ChunkInput::Shared(data),
        };
        let chunk = match self.workshop.encode(i, input).await {
            Ok(Ok(encoded)) => encoded.chunk,
            Ok(Err(source)) => return Err(WriteError::Encode { chunk: i, source: source.into() }.into()),
            Err(panic) => return Err(WriteError::Panicked { chunk: i, panic }.into()),
        };
        let id = u32::try_from(i).map_err(|_| FrameWriteError::TooManyChunks { max: u32::MAX.into() })?;
        // Every chunk is a file, zeros too, or nobody could tell that it has been written.
        let write = SparseWriter::new(&self.params, &self.registry)?.push(&chunk)?;
        let chunk = write.and_then(|write| write.replacement).map_or(chunk, Bytes::from);
        Ok(self.place.put_chunk(id, chunk).await?)
    }

    /// Makes the frame what all writers have written.
    ///
    /// # Errors
    /// [`ShareError::Missing`] and [`ShareError::Damaged`] when there is no whole frame, [`ShareError::Committed`] when
    /// somebody else has committed one. Nothing has changed then; after other errors the same call may be made again.
    pub async fn commit(&self, missing: Missing) -> Result<Summary, ShareError> {
        let present = self.place.chunks().await?;
        let nchunks = self.nchunks();
        let absent = |i: &u64| !u32::try_from(*i).is_ok_and(|id| present.contains(&id));
        let special = match missing {
            Missing::Zero => Some(SpecialKind::Zero),
            Missing::Nan => Some(SpecialKind::Nan),
            Missing::Uninit => Some(SpecialKind::Uninit),
            Missing::Fail => {
                let count = (0..nchunks).filter(absent).count() as u64;
                if count > 0 {
                    let chunks = (0..nchunks).filter(absent).take(NAMED).collect();
                    return Err(ShareError::Missing { chunks, count, nchunks });
                }
                None
            }
        };
        // Those that nobody has written are in the index alone.
        let params = FrameParams { special: SpecialPlacement::Index, ..self.params.clone() };
        let mut writer = SparseWriter::new(&params, &self.registry)?;
        for (name, content) in &self.vlmetalayers {
            writer.set_vlmetalayer(name, content)?;
        }
        // Checksums and fingerprints are about all bytes; otherwise the headers suffice.
        let whole = params.checksums || params.fingerprint.is_some();
        let wanted = if whole { ChunkHeader::MAX_NBYTES } else { ChunkHeader::EXTENDED_LEN };
        let heads = (0..nchunks).map(|i| {
            let head = match u32::try_from(i) {
                Ok(id) if present.contains(&id) => Some(self.place.chunk_head(id, wanted)),
                _ => None,
            };
            async move {
                match head {
                    Some(head) => head.await.map(|head| (i, Some(head))),
                    None => Ok((i, None)),
                }
            }
        });
        let mut heads = stream::iter(heads).buffered(if whole { 2 } else { ROUND });
        let mut chunk_bytes = 0;
        while let Some((i, head)) = heads.try_next().await? {
            let expected = self.stored_bytes(i)?;
            let Some((len, head)) = head else {
                let Some(kind) = special else {
                    return Err(ShareError::Missing { chunks: vec![i], count: 1, nchunks });
                };
                // Lossless: no more than a chunk.
                writer.push_special(kind, expected as usize)?;
                continue;
            };
            let damaged = |source| ShareError::Damaged { chunk: i, source };
            let header =
                ChunkHeader::parse(&head).map_err(|source| damaged(FrameWriteError::Chunk { chunk: i, source }))?;
            if header.nbytes as u64 != expected {
                return Err(ShareError::Length { chunk: i, expected, found: header.nbytes as u64 });
            }
            // Lossless: `heads` has one for no number that is larger.
            let id = i as u32;
            if whole {
                writer.adopt(id, &head).map_err(damaged)?;
            } else {
                writer.adopt_head(id, &head, len).map_err(damaged)?;
            }
            chunk_bytes += len;
        }
        let index = Bytes::from(writer.finish()?);
        self.put_index(index.clone()).await?;
        Ok(Summary {
            chunks: nchunks,
            nbytes: self.nbytes,
            cbytes: chunk_bytes,
            frame_len: chunk_bytes + index.len() as u64,
            fingerprint: writer.fingerprint(),
        })
    }

    async fn put_index(&self, index: Bytes) -> Result<(), ShareError> {
        // An attempt before may have succeeded and its answer been lost.
        if self.doubtful.load(Ordering::Relaxed)
            && self.place.index().await?.is_some_and(|found| found.content == index)
        {
            return Ok(());
        }
        match self.place.put_index(index, self.replaces.clone()).await {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(ShareError::Committed(error)),
            Err(error) => {
                self.doubtful.store(true, Ordering::Relaxed);
                Err(error.into())
            }
        }
    }
}

impl<P: fmt::Debug> fmt::Debug for SharedWriter<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedWriter")
            .field("place", &self.place)
            .field("nbytes", &self.nbytes)
            .field("chunk_size", &self.chunk_size)
            .finish_non_exhaustive()
    }
}
