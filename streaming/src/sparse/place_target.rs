//! Writing a sparse frame to any place that can hold one.

use std::fmt;
use std::io;
use std::mem;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use futures::future::BoxFuture;
use futures::stream::{self, StreamExt};
use oxiblosc_core::frame::FrameType;
use oxiblosc_core::registry::Registry;

use super::place::{ConditionalPutsIgnored, FileVersion, SparsePlace, whole_chunk};
use super::plan_file::{ClaimState, Owner, PlanFile, end_claim, end_of_numbers, put_claim, remove_chunks};
use super::shared::entries;
use crate::background;
use crate::target::{Part, Target};

/// How often to retry a claim that another writer makes at the same time.
const TRIES: usize = 8;

/// Writes a sparse frame into a [`SparsePlace`]: each chunk as soon as it arrives, a few concurrently, and the index
/// last.
///
/// The place must not have an index; if another writer adds one meanwhile, the commit fails with
/// [`io::ErrorKind::AlreadyExists`] and leaves it alone. The chunks of a target that is dropped or aborted before it is
/// complete are removed: by [`poll_abort`](Target::poll_abort) before it returns, after a drop in the background
/// ([`settle`](crate::settle()) waits for it). A commit in progress when the target is dropped is completed in the
/// background.
///
/// A target claims the place from its first chunk to its end. Of two at the same place the one that started last wins;
/// it removes what is there, as it does after an interrupted writer. The other one fails at its commit or before, with
/// [`io::ErrorKind::AlreadyExists`], and removes nothing. Neither overwrites a file of the other: if both write a chunk
/// of the same number at the same moment, the second one fails. While a commit or a removal is in progress, and where
/// [several writers](crate::SharedWriter) fill a frame, no target can start; [`clear`](super::clear()) removes what
/// dead writers have left.
///
/// A store that ignores conditions cannot keep two writers apart. A target starts there only if no other writer is
/// known to be active or interrupted ([`ConditionalPutsIgnored`]).
///
/// (For a directory, [`SparseTarget`](crate::target::SparseTarget) is better: nothing is under the final name until the
/// frame is complete.)
pub struct PlaceTarget<P: SparsePlace> {
    place: Arc<P>,
    claim: PlanFile,
    most: usize,
    begin: ClaimStep,
    /// The file that is being received.
    current: Option<OpenChunk>,
    putting: Vec<ChunkPut>,
    written: Vec<u32>,
    commit: Option<BoxFuture<'static, io::Result<()>>>,
    aborting: Option<BoxFuture<'static, io::Result<()>>>,
    /// A commit has failed, but may have taken effect.
    commit_uncertain: bool,
    /// Another writer has taken over, or has written a frame.
    superseded: bool,
    committed: bool,
}

/// The state of the claim on the place.
enum ClaimStep {
    New,
    Running(BoxFuture<'static, io::Result<(PlanFile, FileVersion)>>),
    Done(FileVersion),
}

struct OpenChunk {
    id: u32,
    bytes: Bytes,
    /// It has been passed on.
    put: bool,
}

struct ChunkPut {
    id: u32,
    bytes: Bytes,
    /// Whether part of it has been written before.
    again: bool,
    /// `None` before it is first tried, and after a failure.
    work: Option<BoxFuture<'static, io::Result<()>>>,
}

// Futures are boxed and nothing else is ever pinned.
impl<P: SparsePlace> Unpin for PlaceTarget<P> {}

impl<P: SparsePlace> PlaceTarget<P> {
    /// A target for a frame at `place`.
    pub fn new(place: P) -> Self {
        Self {
            place: Arc::new(place),
            claim: PlanFile::of_one(),
            most: 8,
            begin: ClaimStep::New,
            current: None,
            putting: Vec::new(),
            written: Vec::new(),
            commit: None,
            aborting: None,
            commit_uncertain: false,
            superseded: false,
            committed: false,
        }
    }

    /// How many chunks are written concurrently; 8 by default, at least 1.
    #[must_use]
    pub fn chunks_in_flight(mut self, chunks: usize) -> Self {
        self.most = chunks.max(1);
        self
    }

    /// The place.
    pub fn place(&self) -> &P {
        &self.place
    }

    fn poll_begin(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<FileVersion>> {
        loop {
            self.begin = match &mut self.begin {
                ClaimStep::New => ClaimStep::Running(Box::pin(begin(Arc::clone(&self.place), self.claim.clone()))),
                ClaimStep::Running(begun) => {
                    let begun = ready!(begun.as_mut().poll(cx));
                    self.begin = ClaimStep::New;
                    let (claim, version) = begun?;
                    self.claim = claim;
                    ClaimStep::Done(version)
                }
                ClaimStep::Done(version) => return Poll::Ready(Ok(version.clone())),
            };
        }
    }

    /// Drives the writes in progress; ready when there are fewer than `limit`.
    fn poll_puts(&mut self, cx: &mut Context<'_>, limit: usize) -> Poll<io::Result<()>> {
        let mut failed = None;
        let (place, claim) = (&self.place, &self.claim);
        self.putting.retain_mut(|put| {
            // After a failure the others wait until the caller polls again.
            if failed.is_some() && put.work.is_none() {
                return true;
            }
            let work = put.work.get_or_insert_with(|| {
                let (place, bytes) = (Arc::clone(place), put.bytes.clone());
                match put.again {
                    true => Box::pin(put_again(place, claim.clone(), put.id, bytes)),
                    false => Box::pin(put_new(place, put.id, bytes)),
                }
            });
            match work.as_mut().poll(cx) {
                Poll::Pending => true,
                Poll::Ready(Ok(())) => false,
                Poll::Ready(Err(error)) => {
                    put.work = None;
                    failed.get_or_insert(error);
                    true
                }
            }
        });
        match failed {
            Some(error) => Poll::Ready(Err(error)),
            None if self.putting.len() < limit => Poll::Ready(Ok(())),
            None => Poll::Pending,
        }
    }

    /// Starts to write the file that has been received.
    fn poll_put_current(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_begin(cx))?;
        let Some(current) = &mut self.current else { return Poll::Ready(Ok(())) };
        if current.put {
            return Poll::Ready(Ok(()));
        }
        let (id, bytes) = (current.id, current.bytes.clone());
        let most = self.most;
        ready!(self.poll_puts(cx, most))?;
        // An earlier, shorter version of the same file must not arrive after this one.
        if self.putting.iter().any(|put| put.id == id) {
            ready!(self.poll_puts(cx, 1))?;
        }
        let again = self.written.contains(&id);
        self.putting.push(ChunkPut { id, bytes, again, work: None });
        if !again {
            self.written.push(id);
        }
        if let Some(current) = &mut self.current {
            current.put = true;
        }
        let _ = self.poll_puts(cx, most)?;
        Poll::Ready(Ok(()))
    }

    /// Records the outcome of the commit.
    fn note(&mut self, result: &io::Result<()>) {
        self.commit = None;
        self.committed = result.is_ok();
        self.superseded = result.as_ref().is_err_and(|e| e.kind() == io::ErrorKind::AlreadyExists);
        self.commit_uncertain = result.is_err() && !self.superseded;
    }

    /// The future that aborts, once it is known whether there is anything to abort.
    fn give_up(&mut self) -> impl Future<Output = io::Result<()>> + Send + use<P> {
        let begin = mem::replace(&mut self.begin, ClaimStep::New);
        // A chunk that arrives after its removal would stay, so wait for those in progress.
        let puts: Vec<_> = self.putting.drain(..).filter_map(|put| put.work).collect();
        self.current = None;
        let (place, claim, written) = (Arc::clone(&self.place), self.claim.clone(), self.written.clone());
        let (most, commit_uncertain) = (self.most, self.commit_uncertain);
        async move {
            let begun = match begin {
                ClaimStep::New => None,
                // It may have made the claim.
                ClaimStep::Running(begun) => begun.await.ok(),
                ClaimStep::Done(version) => Some((claim, version)),
            };
            let _: Vec<_> = stream::iter(puts).buffer_unordered(most).collect().await;
            match begun {
                Some((claim, _)) if commit_uncertain => release(&*place, &claim).await,
                Some((claim, version)) => remove(&*place, &claim, version, written).await,
                None => Ok(()),
            }
        }
    }
}

/// Claims the place, and removes unneeded files. Returns the claim as it has been written.
async fn begin<P: SparsePlace>(place: Arc<P>, mut claim: PlanFile) -> io::Result<(PlanFile, FileVersion)> {
    let refuse = |message: &str| Err(io::Error::new(io::ErrorKind::AlreadyExists, message));
    for _ in 0..TRIES {
        let found = place.plan().await?;
        if place.index().await?.is_some() {
            return refuse("there is a sparse frame already, whose chunks would be overwritten");
        }
        let theirs = found.as_ref().map(|found| PlanFile::parse(&found.content));
        // The numbers that late writers of an abandoned frame may use must not be forgotten.
        claim.first = theirs.as_ref().and_then(|theirs| theirs.as_ref().ok()).map_or(0, PlanFile::end);
        let mut ours = None;
        match theirs {
            None => {}
            Some(Ok(theirs)) if theirs.id == claim.id => ours = Some(theirs.state),
            Some(Ok(theirs)) => match (theirs.holder, theirs.state) {
                (_, ClaimState::Abandoned) => {}
                // Its writer was interrupted, or will find that it has been superseded.
                (Owner::One, ClaimState::Open) => {
                    if place.ignores_conditions().await? {
                        return Err(io::Error::new(io::ErrorKind::Unsupported, ConditionalPutsIgnored));
                    }
                }
                (Owner::One, _) => {
                    return refuse(
                        "another writer is just committing or removing its chunks here, or was interrupted while it \
                         did: `sparse::clear` removes what it has left, its note is chunks.b2frame.plan",
                    );
                }
                (Owner::Many, _) => {
                    return refuse(
                        "several writers are filling a frame here, or have been interrupted: `sparse::clear` removes \
                         what they have left, their plan is chunks.b2frame.plan",
                    );
                }
            },
            Some(Err(reason)) => {
                let message = format!("what other writers have noted here cannot be read: {reason}");
                return refuse(&message);
            }
        }
        if let (Some(ClaimState::Open), Some(version)) = (ours, &found) {
            return Ok((claim, version.clone()));
        }
        let left = place.chunks().await?;
        if left.is_empty() && ours.is_none() {
            match put_claim(&*place, &claim, found).await? {
                Some(version) => return Ok((claim, version)),
                None => continue,
            }
        }
        // No other writer takes over during the removal, so that nothing of another writer is removed.
        let Some(version) = put_claim(&*place, &claim.with_state(ClaimState::Clearing), found).await? else { continue };
        remove_chunks(&*place, left.into_keys()).await?;
        if let Some(version) = put_claim(&*place, &claim, Some(version)).await? {
            return Ok((claim, version));
        }
    }
    refuse("somebody else has begun to write here")
}

/// Writes a new chunk file.
async fn put_new<P: SparsePlace>(place: Arc<P>, id: u32, bytes: Bytes) -> io::Result<()> {
    match place.create_chunk(id, bytes.clone()).await {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            // It may be our own, if the response was lost.
            if whole_chunk(&*place, id, bytes).await? { Ok(()) } else { Err(error) }
        }
        result => result,
    }
}

/// Rewrites a chunk file of which a part has been written.
async fn put_again<P: SparsePlace>(place: Arc<P>, claim: PlanFile, id: u32, bytes: Bytes) -> io::Result<()> {
    let ours = claim.to_bytes();
    if place.plan().await?.is_none_or(|now| now.content != ours) {
        return Err(taken_over());
    }
    place.put_chunk(id, bytes).await
}

/// The last steps of a frame.
async fn commit<P: SparsePlace>(
    place: Arc<P>,
    claim: PlanFile,
    version: FileVersion,
    index: Bytes,
    commit_uncertain: bool,
) -> io::Result<()> {
    let closing = claim.with_state(ClaimState::Closing);
    // The previous attempt may have succeeded although its response was lost.
    let is_committed = commit_uncertain && place.index().await?.is_some_and(|found| found.content == index);
    let version = if is_committed {
        place.plan().await?.filter(|now| now.content == closing.to_bytes())
    } else {
        // From here on no other writer takes over.
        let Some(version) = put_claim(&*place, &closing, Some(version)).await? else { return Err(taken_over()) };
        place.put_index(index.clone(), None).await?;
        Some(version)
    };
    // If this fails, the commit is repeated, and finds its index.
    match version {
        Some(version) => end(&*place, &claim, version, Some(index)).await,
        None => Ok(()),
    }
}

/// Ends the claim. The index is that of the frame, if there is one.
async fn end<P: SparsePlace>(
    place: &P,
    claim: &PlanFile,
    version: FileVersion,
    index: Option<Bytes>,
) -> io::Result<()> {
    let mut known = 0;
    if claim.end() > 0
        && let (Some(index), Ok(registry)) = (index, Registry::linked())
        && let Some(entries) = entries(&FileVersion::new(index), registry).await
    {
        known = end_of_numbers(entries.iter().flatten().max().copied(), entries.len() as u64);
    }
    end_claim(place, claim, version, known).await
}

/// Removes what was written, unless another writer has taken over.
async fn remove<P: SparsePlace>(
    place: &P,
    claim: &PlanFile,
    version: FileVersion,
    written: Vec<u32>,
) -> io::Result<()> {
    let clearing = claim.with_state(ClaimState::Clearing);
    let Some(version) = put_claim(place, &clearing, Some(version)).await? else { return Ok(()) };
    remove_chunks(place, written).await?;
    end(place, claim, version, None).await
}

/// Releases the place after a commit whose outcome is not known. The chunks stay, in case it has succeeded.
async fn release<P: SparsePlace>(place: &P, claim: &PlanFile) -> io::Result<()> {
    let closing = claim.with_state(ClaimState::Closing).to_bytes();
    let Some(version) = place.plan().await?.filter(|now| now.content == closing) else { return Ok(()) };
    match place.index().await? {
        Some(index) => end(place, claim, version, Some(index.content)).await,
        None => put_claim(place, claim, Some(version)).await.map(drop),
    }
}

fn taken_over() -> io::Error {
    let message = "somebody else has begun to write here, or has written a frame";
    io::Error::new(io::ErrorKind::AlreadyExists, message)
}

impl<P: SparsePlace> Target for PlaceTarget<P> {
    fn poll_append(&mut self, cx: &mut Context<'_>, part: Part, bytes: &mut Bytes) -> Poll<io::Result<()>> {
        if part == Part::Header {
            // Nothing can be recovered from such places: what is not committed is removed.
            bytes.clear();
        }
        if bytes.is_empty() {
            return Poll::Ready(Ok(()));
        }
        let Part::File(id) = part else {
            let message = format!("a sparse frame consists of files, it has no {part:?}");
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidInput, message)));
        };
        match &mut self.current {
            Some(current) if current.id == id => {
                let mut joined = BytesMut::with_capacity(current.bytes.len() + bytes.len());
                joined.extend_from_slice(&current.bytes);
                joined.extend_from_slice(bytes);
                *current = OpenChunk { id, bytes: joined.freeze(), put: false };
                bytes.clear();
            }
            _ => {
                ready!(self.poll_put_current(cx))?;
                self.current = Some(OpenChunk { id, bytes: mem::take(bytes), put: false });
            }
        }
        Poll::Ready(Ok(()))
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_put_current(cx))?;
        self.poll_puts(cx, 1)
    }

    fn poll_commit(&mut self, cx: &mut Context<'_>, header: &Bytes) -> Poll<io::Result<()>> {
        if self.committed {
            return Poll::Ready(Ok(()));
        }
        if self.commit.is_none() {
            ready!(self.poll_flush(cx))?;
        }
        let version = ready!(self.poll_begin(cx))?;
        let commit = self.commit.get_or_insert_with(|| {
            let (place, claim) = (Arc::clone(&self.place), self.claim.clone());
            Box::pin(commit(place, claim, version, header.clone(), self.commit_uncertain))
        });
        let result = ready!(commit.as_mut().poll(cx));
        self.note(&result);
        Poll::Ready(result)
    }

    fn frame_type(&self) -> FrameType {
        FrameType::Sparse
    }

    fn poll_close(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// Waits until the chunks are removed; if another writer has taken over, they are left alone.
    fn poll_abort(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.committed || self.superseded {
            return Poll::Ready(Ok(()));
        }
        if let Some(commit) = &mut self.commit {
            // It cannot be undone, and may succeed.
            let result = ready!(commit.as_mut().poll(cx));
            self.note(&result);
            if self.committed || self.superseded {
                return Poll::Ready(Ok(()));
            }
        }
        if self.aborting.is_none() {
            let kept = match &self.begin {
                ClaimStep::Done(version) => Some(version.clone()),
                _ => None,
            };
            self.aborting = Some(Box::pin(self.give_up()));
            // To be aborted again, if this fails.
            self.begin = kept.map_or(ClaimStep::New, ClaimStep::Done);
        }
        let Some(aborting) = &mut self.aborting else { return Poll::Pending };
        let result = ready!(aborting.as_mut().poll(cx));
        self.aborting = None;
        if result.is_ok() {
            self.written.clear();
            self.begin = ClaimStep::New;
        }
        Poll::Ready(result)
    }
}

impl<P: SparsePlace> Drop for PlaceTarget<P> {
    fn drop(&mut self) {
        if self.committed || self.superseded {
            return;
        }
        let (commit, aborting) = (self.commit.take(), self.aborting.take());
        // A commit in progress is completed: otherwise it would not be known whether the chunks are needed.
        self.commit_uncertain |= commit.is_some();
        let give_up = self.give_up();
        background::finish(async move {
            if let Some(commit) = commit
                && commit.await.is_ok()
            {
                return;
            }
            let _ = match aborting {
                Some(aborting) => aborting.await,
                None => give_up.await,
            };
        });
    }
}

impl<P: SparsePlace + fmt::Debug> fmt::Debug for PlaceTarget<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlaceTarget")
            .field("place", &self.place)
            .field("committed", &self.committed)
            .finish_non_exhaustive()
    }
}
