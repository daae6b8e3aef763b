//! Several writers that fill one sparse frame.

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::sync::{Arc, PoisonError};

use bytes::Bytes;
use oxiblosc_core::chunk::ChunkHeader;
use oxiblosc_core::frame::{FrameWriter, INDEX_FILE};
use oxiblosc_core::nd::Tiling;
use oxiblosc_core::registry::Registry;

use super::commit::CommitAttempt;
use super::error::ShareError;
use super::place::{ConditionalPutsIgnored, FileVersion, SparsePlace, begins_with};
use super::plan_file::{ClaimState, Owner, PlanFile, end_of_numbers, put_claim};
use super::shared_plan::{SharedPlan, difference, differs};
use crate::compute::{JobPanicked, Pool};
use crate::error::WriteError;
use crate::nd::ArrayOptions;
use crate::reader::FrameReader;
use crate::sink::{ChunkEncoders, ChunkInput, WriteOptions};
use crate::sparse::MemoryDirectory;
use crate::sync::{Mutex, MutexGuard};

/// How often to retry a plan that another writer writes at the same time.
const TRIES: usize = 8;

/// One of several writers, in one process or in many, that fill one sparse frame or array independently: each writes
/// the chunks whose numbers it owns, in any order, and when all are written, one of them (or any other that opens the
/// same place) commits the index. Until then there is no frame.
///
/// They coordinate through a *plan*, a small file at the place with everything that determines the bytes of the frame.
/// [`create`](Self::create) writes it, or joins an existing one if it is the same; [`open`](Self::open) reads it. The
/// commit removes it.
///
/// A chunk that is written again replaces the earlier one, until the commit: each time it gets a new file, no file is
/// ever overwritten, and the commit takes the last. So a late writer cannot change what has been committed: it gets
/// [`ShareError::Committed`], and readers do not see what it has written. Every chunk whose [`write`](Self::write) has
/// returned `Ok` is part of the commit.
///
/// If two of them commit, the index is written once, and the other gets an error ([`ShareError::Committed`]).
///
/// If all writers are gone without a commit, [`clear`](super::clear()) removes what they have left.
///
/// ```
/// use bytes::Bytes;
/// use oxiblosc_streaming::sparse::{Directory, MissingChunks, ShareError, SharedWriter};
/// use oxiblosc_streaming::{WriteOptions, block_on, blocking::FrameReader};
/// # use oxiblosc_plugins as _;
///
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("shared.b2frame");
/// let place = Directory::new(&path)?;
/// block_on(async {
///     let one = SharedWriter::create(place.clone(), 2500, WriteOptions::default().chunk_size(1000)).await?;
///     let other = SharedWriter::open(place).await?;
///     one.write(2, Bytes::from(vec![3; 500])).await?;
///     other.write(0, Bytes::from(vec![1; 1000])).await?;
///     // Nobody has written chunk 1.
///     assert!(one.commit(MissingChunks::Fail).await.is_err());
///     let summary = one.commit(MissingChunks::Zero).await?;
///     assert_eq!((summary.chunks, summary.nbytes), (3, 2500));
///     let late = other.write(1, Bytes::from(vec![2; 1000])).await;
///     assert!(matches!(late, Err(ShareError::Committed(_))));
///     Ok::<(), Box<dyn std::error::Error>>(())
/// })?;
/// assert_eq!(FrameReader::open(&path)?.bytes(999..1001)?, &[1, 0][..]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SharedWriter<P> {
    pub(super) place: P,
    pub(super) claim: PlanFile,
    pub(super) plan: Arc<SharedPlan>,
    pub(super) registry: Registry,
    encoders: ChunkEncoders,
    pool: Pool,
    tiling: Option<Arc<Tiling>>,
    /// Whether the plan was there before.
    joined: bool,
    /// A commit of this writer that has failed but may have taken effect.
    pub(super) attempt: Mutex<Option<CommitAttempt>>,
    /// Chunks whose last write ended without a definite answer: they may or may not be in the frame.
    unsettled: Mutex<BTreeSet<u64>>,
}

/// The status of the plan of a writer.
pub(super) enum PlanStatus {
    /// Chunks are accepted.
    Open(FileVersion),
    /// A commit is in progress.
    Closing(FileVersion),
    /// The frame is committed.
    Over(FileVersion),
    /// There is neither a plan nor a frame.
    Gone,
}

impl<P: SparsePlace> SharedWriter<P> {
    /// Creates a frame of `nbytes` bytes that several writers fill, or joins those that already fill it by the same
    /// plan.
    ///
    /// # Errors
    /// - [`ShareError::PlanDiffers`] when there is another plan, [`ShareError::Committed`] when there is a frame
    ///   ([`replace`](Self::replace) replaces it), [`ShareError::Taken`] when a single writer has started one.
    /// - [`ShareError::ConditionalPutsIgnored`] when the store cannot keep writers from overwriting each other.
    /// - When the options are invalid, or the place fails.
    pub async fn create(place: P, nbytes: u64, options: WriteOptions) -> Result<Self, ShareError> {
        Self::begin(place, SharedPlan::new(nbytes, false, &options)?, options, false).await
    }

    /// As [`create`](Self::create), an array, whose shape must be known.
    ///
    /// # Errors
    /// As [`create`](Self::create).
    pub async fn create_array(place: P, options: ArrayOptions) -> Result<Self, ShareError> {
        let (options, _, tiling) = options.into_frame().map_err(Box::new)?;
        Self::begin(place, SharedPlan::new(tiling.stored_bytes(), true, &options)?, options, false).await
    }

    /// As [`create`](Self::create), but the commit replaces the frame that is there now, and no other. That frame stays
    /// as it is until then; the commit removes its chunks.
    ///
    /// # Errors
    /// As [`create`](Self::create).
    pub async fn replace(place: P, nbytes: u64, options: WriteOptions) -> Result<Self, ShareError> {
        Self::begin(place, SharedPlan::new(nbytes, false, &options)?, options, true).await
    }

    /// As [`replace`](Self::replace), by an array, whose shape must be known.
    ///
    /// # Errors
    /// As [`create`](Self::create).
    pub async fn replace_array(place: P, options: ArrayOptions) -> Result<Self, ShareError> {
        let (options, _, tiling) = options.into_frame().map_err(Box::new)?;
        Self::begin(place, SharedPlan::new(tiling.stored_bytes(), true, &options)?, options, true).await
    }

    /// Joins the writers of a frame or array that has been [created](Self::create), with its own pool and the codecs
    /// and filters that are linked into the program.
    ///
    /// # Errors
    /// [`ShareError::NoPlan`] when it has not, [`ShareError::Committed`] when it is already committed,
    /// [`ShareError::BadPlan`] when the plan is damaged or too new; when the place fails, or a codec is not known.
    pub async fn open(place: P) -> Result<Self, ShareError> {
        let registry = Registry::linked().map_err(WriteError::from)?;
        Self::open_on(place, &Pool::default(), registry).await
    }

    /// As [`open`](Self::open), but chunks are encoded on `pool` with the codecs and filters of `registry`.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub async fn open_on(place: P, pool: &Pool, registry: &Registry) -> Result<Self, ShareError> {
        let (found, index) = look(&place).await?;
        let claim = match found {
            Some((claim, _)) if is_active(&claim, index.as_ref()) => claim,
            Some((claim, _)) if claim.holder == Owner::One && index.is_none() => return Err(ShareError::Taken),
            _ if index.is_some() => return Err(ShareError::Committed(there_is_a_frame())),
            _ => return Err(ShareError::NoPlan),
        };
        let plan = SharedPlan::parse(&claim.lines).map_err(|reason| ShareError::BadPlan { reason })?;
        if claim.nchunks != plan.nchunks() {
            return Err(ShareError::BadPlan { reason: "the number of chunks is wrong".to_owned() });
        }
        Self::with_claim(place, claim, plan, pool.clone(), registry.clone())
    }

    /// Whether the plan was there before this writer: it was [opened](Self::open), or [`create`](Self::create) has found
    /// the same plan. Of several that create one frame at the same time exactly one has not joined. A job whose
    /// writers must not mix their chunks with those of another job lets one of them create the frame, gives up if that
    /// one has joined, and lets the others open it.
    pub fn has_joined(&self) -> bool {
        self.joined
    }

    async fn begin(place: P, plan: SharedPlan, options: WriteOptions, replace: bool) -> Result<Self, ShareError> {
        let registry = crate::given_or_linked(options.registry.as_ref()).map_err(WriteError::from)?;
        // Report now what would fail later.
        let claim = PlanFile::of_many(plan.nchunks(), 0, None, Vec::new());
        let claim = claim.ok_or(ShareError::TooManyChunks { nchunks: plan.nchunks() })?;
        let mut this = Self::with_claim(place, claim, plan, options.pool.unwrap_or_default(), registry)?;
        (this.claim, this.joined) = claim_for(&this.place, &this.plan, &this.registry, replace).await?;
        Ok(this)
    }

    fn with_claim(
        place: P,
        claim: PlanFile,
        plan: SharedPlan,
        pool: Pool,
        registry: Registry,
    ) -> Result<Self, ShareError> {
        FrameWriter::new(&plan.params, &registry)?;
        let tiling = plan.tiling().transpose()?;
        if tiling.as_ref().is_some_and(|tiling| {
            tiling.stored_bytes() != plan.nbytes || tiling.chunk_bytes() != plan.params.chunk_size
        }) {
            return Err(ShareError::BadPlan { reason: "the shape is not that of its chunks".to_owned() });
        }
        let geometry = tiling.as_ref().map(|tiling| Arc::new(tiling.geometry().clone()));
        let encoders = ChunkEncoders::new(plan.params.encode.clone(), registry.clone(), geometry, pool.clone())
            .map_err(|source| WriteError::Params(source.into()))?;
        let (plan, tiling) = (Arc::new(plan), tiling.map(Arc::new));
        let (attempt, unsettled) = (Mutex::new(None), Mutex::default());
        Ok(Self { place, claim, plan, registry, encoders, pool, tiling, joined: true, attempt, unsettled })
    }

    /// The place.
    pub fn place(&self) -> &P {
        &self.place
    }

    /// The tiling of the array, if it is one: which chunk is where in the array, and how large.
    pub fn tiling(&self) -> Option<&Tiling> {
        self.tiling.as_deref()
    }

    /// Decoded bytes of the frame, including the padding of an array.
    pub fn nbytes(&self) -> u64 {
        self.plan.nbytes
    }

    /// Number of chunks.
    pub fn nchunks(&self) -> u64 {
        self.plan.nchunks()
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
    pub(super) fn stored_bytes(&self, i: u64) -> Result<u64, ShareError> {
        let (nbytes, chunk_size) = (self.plan.nbytes, self.plan.params.chunk_size as u64);
        match i.checked_mul(chunk_size) {
            Some(start) if start < nbytes => Ok((nbytes - start).min(chunk_size)),
            _ => Err(ShareError::NoSuchChunk { chunk: i, nchunks: self.nchunks() }),
        }
    }

    /// Encodes and writes chunk `i`: its bytes, or, for an array, the items of its window in C order, without the
    /// padding of chunks at the edge. Chunks may be written in any order and concurrently. All work is done on the
    /// pool.
    ///
    /// When it returns `Ok`, the chunk is part of the frame that this plan commits, unless it is written again before the
    /// commit; of two concurrent writes of a chunk either may count. If the future is dropped, the chunk may or may not have
    /// been written; repeating the call tells.
    ///
    /// # Errors
    /// [`ShareError::Committed`] and [`ShareError::PlanGone`] when it is too late, [`ShareError::Committing`] while a
    /// commit is in progress. After `Committing` and after errors of the place the call may be repeated, and then answers
    /// for the earlier call too: `Ok` if the frame holds the chunk, `Committed` if it does not.
    pub async fn write(&self, i: u64, data: Bytes) -> Result<(), ShareError> {
        let (expected, found) = (self.chunk_bytes(i)?, data.len() as u64);
        if expected != found {
            return Err(ShareError::Length { chunk: i, expected, found });
        }
        let mut doubt = Doubt { chunk: i, writer: &self.unsettled, is_settled: false };
        let written = self.write_in_time(i, data).await;
        doubt.is_settled = matches!(written, Ok(()) | Err(ShareError::Committed(_) | ShareError::PlanGone));
        written
    }

    async fn write_in_time(&self, i: u64, data: Bytes) -> Result<(), ShareError> {
        // Saves late writers the work. The check afterwards is what guarantees that they change nothing.
        let standing = self.standing().await?;
        let index = match &standing {
            PlanStatus::Open(_) => None,
            // The commit may have taken the chunk from an earlier call.
            PlanStatus::Over(index) if self.unsettled().contains(&i) => Some(index),
            _ => return Err(self.too_late(&standing)),
        };
        let chunk = self.encode(i, data).await?;
        let written = match index {
            None => self.put_in_time(i, &chunk).await,
            Some(index) => self.taken_by(index, i, &chunk).await,
        };
        // Large buffers are not freed on the caller's thread.
        drop(self.pool.spawn(move || drop(chunk)));
        written
    }

    fn unsettled(&self) -> MutexGuard<'_, BTreeSet<u64>> {
        self.unsettled.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes an encoded chunk, unless a commit comes first.
    async fn put_in_time(&self, i: u64, chunk: &Bytes) -> Result<(), ShareError> {
        self.put(i, chunk).await?;
        match self.standing().await? {
            // Any later commit sees the chunk.
            PlanStatus::Open(_) => Ok(()),
            // A commit was waiting for this very chunk.
            PlanStatus::Over(index) => self.taken_by(&index, i, chunk).await,
            standing => Err(self.too_late(&standing)),
        }
    }

    /// Whether the commit that wrote `index` took exactly this chunk, no matter which writer wrote it.
    async fn taken_by(&self, index: &FileVersion, i: u64, chunk: &Bytes) -> Result<(), ShareError> {
        let named = self.named_by(index, i).await;
        // Files of a later frame at the same place do not count.
        let named = named.filter(|&file| self.claim.chunk_of(file).is_some_and(|(chunk, _)| chunk == i));
        match named {
            Some(file) if self.is_there(file, chunk).await? => Ok(()),
            _ => Err(ShareError::Committed(there_is_a_frame())),
        }
    }

    /// Encodes the chunk as it is stored.
    async fn encode(&self, i: u64, data: Bytes) -> Result<Bytes, ShareError> {
        let panicked = |panic: JobPanicked| WriteError::Panicked { chunk: i, panic };
        let input = match &self.tiling {
            Some(tiling) => {
                let tiling = Arc::clone(tiling);
                let tiled = self.pool.spawn(move || {
                    let mut chunk = vec![0; tiling.chunk_bytes()];
                    tiling.window_to_chunk(&tiling.chunk_window(i)?, &data, i, &mut chunk)?;
                    Ok::<_, ShareError>(chunk)
                });
                ChunkInput::Gathered(tiled.await.map_err(panicked)??.into())
            }
            None => ChunkInput::Shared(data),
        };
        let encoded = self.encoders.encode(i, input).await.map_err(panicked)?;
        let encoded = encoded.map_err(|source| WriteError::Encode { chunk: i, source: source.into() })?;
        let (plan, registry) = (Arc::clone(&self.plan), self.registry.clone());
        let checked = self.pool.spawn(move || {
            let write = FrameWriter::new(&plan.params, &registry)?.push(&encoded.chunk)?;
            let chunk = write.and_then(|write| write.replacement).map_or(encoded.chunk, Bytes::from);
            Ok::<_, ShareError>(chunk)
        });
        checked.await.map_err(panicked)?
    }

    /// Writes the chunk to the first unused file, unless the last used one already holds it.
    async fn put(&self, i: u64, chunk: &Bytes) -> Result<(), ShareError> {
        let mut attempt = 0;
        loop {
            let Some(file) = self.claim.file_of(i, attempt) else {
                return Err(ShareError::WrittenTooOften { chunk: i, times: attempt });
            };
            match self.place.create_chunk(file, chunk.clone()).await {
                Ok(()) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error.into()),
            }
            // The most recent file: if it already holds this chunk, from an attempt whose response was lost or from a
            // retried task, it need not be written again.
            let mut last = file;
            attempt += 1;
            while let Some(next) = self.claim.file_of(i, attempt) {
                match self.place.read_file(next, 0..ChunkHeader::MIN_LEN as u64).await {
                    Ok(_) => last = next,
                    Err(error) if error.kind() == io::ErrorKind::NotFound => break,
                    Err(error) => return Err(error.into()),
                }
                attempt += 1;
            }
            if self.is_there(last, chunk).await? {
                return Ok(());
            }
        }
    }

    /// Whether a file holds exactly this chunk.
    async fn is_there(&self, file: u32, chunk: &Bytes) -> Result<bool, ShareError> {
        // The header is enough to tell most other chunks. Then one byte more than there should be is asked for.
        for wanted in [chunk.len().min(ChunkHeader::EXTENDED_LEN), chunk.len() + 1] {
            match self.place.read_file(file, 0..wanted as u64).await {
                Ok(bytes) => {
                    if bytes.len() != wanted.min(chunk.len()) || !begins_with(chunk.clone(), bytes).await {
                        return Ok(false);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(true)
    }

    /// The file that an index names for a chunk.
    async fn named_by(&self, index: &FileVersion, i: u64) -> Option<u32> {
        let entries = entries(index, &self.registry).await?;
        entries.get(usize::try_from(i).ok()?).copied().flatten()
    }

    pub(super) async fn standing(&self) -> Result<PlanStatus, ShareError> {
        if let Some((claim, version)) = read_claim(&self.place).await?
            && claim.id == self.claim.id
        {
            match claim.state {
                ClaimState::Open => return Ok(PlanStatus::Open(version)),
                // The frame may already be committed while the plan is not yet removed.
                ClaimState::Closing => {
                    let index = self.place.index().await?;
                    return Ok(match index.filter(|index| !self.claim.is_for(Some(index))) {
                        Some(index) => PlanStatus::Over(index),
                        None => PlanStatus::Closing(version),
                    });
                }
                ClaimState::Clearing => return Ok(PlanStatus::Gone),
                // It has been committed, or cleared.
                ClaimState::Abandoned => {}
            }
        }
        let index = self.place.index().await?;
        Ok(index.filter(|index| !self.claim.is_for(Some(index))).map_or(PlanStatus::Gone, PlanStatus::Over))
    }

    pub(super) fn too_late(&self, standing: &PlanStatus) -> ShareError {
        match standing {
            PlanStatus::Over(_) => ShareError::Committed(there_is_a_frame()),
            PlanStatus::Open(_) | PlanStatus::Closing(_) => ShareError::Committing,
            PlanStatus::Gone => ShareError::PlanGone,
        }
    }
}

/// A write in progress. If it ends without a definite answer or is dropped, its chunk may or may not be in the frame.
struct Doubt<'a> {
    chunk: u64,
    writer: &'a Mutex<BTreeSet<u64>>,
    is_settled: bool,
}

impl Drop for Doubt<'_> {
    fn drop(&mut self) {
        if !self.is_settled {
            self.writer.lock().unwrap_or_else(PoisonError::into_inner).insert(self.chunk);
        }
    }
}

fn there_is_a_frame() -> io::Error {
    io::Error::new(io::ErrorKind::AlreadyExists, format!("{INDEX_FILE} exists"))
}

/// The chunk file of each entry of an index; `None` when it cannot be read.
pub(super) async fn entries(index: &FileVersion, registry: &Registry) -> Option<Vec<Option<u32>>> {
    use oxiblosc_core::frame::ChunkEntry;

    let frame = MemoryDirectory::from_files([(INDEX_FILE, index.content.clone())]);
    let reader: FrameReader<_> = crate::ReadOptions::new().registry(registry).open(frame).await.ok()?;
    let file = |i| match reader.frame().entry(i) {
        Ok(ChunkEntry::File { id }) => Some(id),
        _ => None,
    };
    Some((0..reader.nchunks()).map(file).collect())
}

pub(super) async fn read_claim<P: SparsePlace + ?Sized>(
    place: &P,
) -> Result<Option<(PlanFile, FileVersion)>, ShareError> {
    let Some(version) = place.plan().await? else { return Ok(None) };
    let claim = PlanFile::parse(&version.content).map_err(|reason| ShareError::BadPlan { reason })?;
    Ok(Some((claim, version)))
}

/// Reads the claim and then the index. The order matters: a commit removes the claim after writing the index.
async fn look<P: SparsePlace + ?Sized>(
    place: &P,
) -> Result<(Option<(PlanFile, FileVersion)>, Option<FileVersion>), ShareError> {
    let claim = read_claim(place).await?;
    Ok((claim, place.index().await?))
}

/// Whether writers fill a frame by this claim.
fn is_active(claim: &PlanFile, index: Option<&FileVersion>) -> bool {
    claim.holder == Owner::Many && matches!(claim.state, ClaimState::Open | ClaimState::Closing) && claim.is_for(index)
}

/// The existing claim, if it is for the same plan, or a new one; and whether it was there.
async fn claim_for<P: SparsePlace>(
    place: &P,
    plan: &SharedPlan,
    registry: &Registry,
    replace: bool,
) -> Result<(PlanFile, bool), ShareError> {
    let nchunks = plan.nchunks();
    for _ in 0..TRIES {
        let (found, index) = look(place).await?;
        let mut first = 0;
        if let Some((claim, _)) = &found {
            if is_active(claim, index.as_ref()) {
                return match difference(&plan.lines(), &claim.lines) {
                    None => Ok((claim.clone(), true)),
                    Some(difference) => Err(differs(difference, registry)),
                };
            }
            let is_left = match claim.state {
                ClaimState::Abandoned => true,
                // The files being removed might be ours.
                ClaimState::Clearing => false,
                ClaimState::Open | ClaimState::Closing => index.is_some() && !claim.is_for(index.as_ref()),
            };
            if !is_left {
                return Err(ShareError::Taken);
            }
            first = claim.end();
        }
        if index.is_some() && !replace {
            return Err(ShareError::Committed(there_is_a_frame()));
        }
        if place.ignores_conditions().await? {
            return Err(ConditionalPutsIgnored.into());
        }
        // Writers of the existing frame may still be running; their files must not be taken for ours.
        let listed = place.chunks().await?.last_key_value().map(|(&id, _)| u64::from(id));
        if let Some(index) = &index {
            let entries = entries(index, registry).await.unwrap_or_default();
            let last = entries.iter().flatten().max().copied();
            first = first.max(end_of_numbers(last, entries.len() as u64));
        }
        first = first.max(listed.map_or(0, |last| last + 1));
        let replaces = index.as_ref().map(super::plan_file::digest);
        let claim = PlanFile::of_many(nchunks, first, replaces, plan.lines());
        let claim = claim.ok_or(ShareError::TooManyChunks { nchunks })?;
        if put_claim(place, &claim, found.map(|(_, version)| version)).await?.is_some() {
            return Ok((claim, false));
        }
    }
    Err(ShareError::Place(io::Error::new(io::ErrorKind::AlreadyExists, "others keep writing their plans here")))
}

impl<P: fmt::Debug> fmt::Debug for SharedWriter<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedWriter")
            .field("place", &self.place)
            .field("nbytes", &self.plan.nbytes)
            .field("chunk_size", &self.plan.params.chunk_size)
            .finish_non_exhaustive()
    }
}
