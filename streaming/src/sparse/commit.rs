//! Committing what several writers have written as one frame.

use crate::trace::{span, traced};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::PoisonError;

use bytes::Bytes;
use futures::{StreamExt, TryStreamExt, stream};
use oxiblosc_core::chunk::{ChunkHeader, SpecialKind};
use oxiblosc_core::frame::{FrameParams, FrameWriteError, FrameWriter, SpecialPlacement};

use super::error::ShareError;
use super::place::{FileVersion, SparsePlace};
use super::plan_file::{ClaimState, end_claim, end_of_numbers, put_claim, remove_chunks};
use super::shared::{PlanStatus, SharedWriter};
use crate::sink::Summary;

/// Chunk headers that a commit reads at the same time.
const ROUND: usize = 32;
/// The most missing chunks that an error lists.
const NAMED: usize = 20;

/// What a commit does about chunks that have not been written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum MissingChunks {
    /// Fail, and list them.
    #[default]
    Fail,
    /// All their items are zero.
    Zero,
    /// All their items are NaN; only for items of 4 or 8 bytes.
    Nan,
    /// Their items are uninitialized.
    Uninit,
}

impl MissingChunks {
    fn kind(self) -> Option<SpecialKind> {
        match self {
            Self::Fail => None,
            Self::Zero => Some(SpecialKind::Zero),
            Self::Nan => Some(SpecialKind::Nan),
            Self::Uninit => Some(SpecialKind::Uninit),
        }
    }
}

/// An index that was written although the response was lost.
pub(super) struct CommitAttempt {
    index: Bytes,
    summary: Summary,
}

/// What is at the place: the most recent file of each chunk, and its length.
struct ChunkListing {
    last: BTreeMap<u64, (u32, u64)>,
    files: BTreeSet<u32>,
}

impl<P: SparsePlace> SharedWriter<P> {
    /// Commits the chunks of all writers as a frame. For a chunk that was written several times, the last counts.
    ///
    /// Missing chunks are found by listing the files. If none is missing, their headers are read and checked, and the
    /// index is made of them. Afterwards the plan and the unused files are removed; what cannot be removed does no
    /// harm. (The plan of a frame without any chunk file stays if a late writer may still use its file numbers.)
    ///
    /// If the future is dropped, the commit may or may not have succeeded, and may be called again. Until then writers
    /// may fail with [`ShareError::Committing`].
    ///
    /// # Errors
    /// [`ShareError::Missing`], [`ShareError::Length`] and [`ShareError::Damaged`] when the frame is not complete:
    /// chunks can be written then and the commit repeated. [`ShareError::Committed`] when another writer has committed,
    /// and [`ShareError::PlanGone`] when the plan has been cleared. After [`ShareError::Place`] the call may be
    /// repeated.
    pub async fn commit(&self, missing: MissingChunks) -> Result<Summary, ShareError> {
        traced(span!("commit", chunks = self.nchunks()), self.commit_all(missing)).await
    }

    async fn commit_all(&self, missing: MissingChunks) -> Result<Summary, ShareError> {
        let standing = self.standing().await?;
        let (PlanStatus::Open(plan) | PlanStatus::Closing(plan)) = standing else {
            return self.settled(standing);
        };
        let replaced = self.place.index().await?;
        if !self.claim.is_for(replaced.as_ref()) {
            return self.settled(self.standing().await?);
        }
        // Do not block writers if it cannot succeed.
        self.check_missing(&self.survey().await?, missing)?;
        let closing = self.claim.with_state(ClaimState::Closing);
        let plan = if plan.content == closing.to_bytes() {
            plan
        } else {
            match put_claim(&self.place, &closing, Some(plan)).await? {
                Some(plan) => plan,
                // Another commit has done the same, which is fine, or has finished.
                None => match self.standing().await? {
                    PlanStatus::Closing(plan) => plan,
                    standing => return self.settled(standing),
                },
            }
        };
        // Every acknowledged write happened before this check; no later one will be acknowledged.
        let survey = self.survey().await?;
        let built = match self.build(&survey, missing).await {
            Ok(built) => built,
            Err(error @ ShareError::Place(_)) => return Err(error),
            Err(error) => {
                // Only a writer can fix that.
                let _ = put_claim(&self.place, &self.claim, Some(plan)).await;
                return Err(error);
            }
        };
        let (index, named, summary) = built;
        *self.attempt.lock().unwrap_or_else(PoisonError::into_inner) =
            Some(CommitAttempt { index: index.clone(), summary });
        match self.place.put_index(index, replaced).await {
            Ok(()) => {}
            // It may be our own, if an earlier response was lost.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                self.settled(self.standing().await?)?;
            }
            Err(error) => return Err(error.into()),
        }
        self.clean(plan, &survey, &named).await;
        Ok(summary)
    }

    /// The result if there is nothing left to commit.
    fn settled(&self, standing: PlanStatus) -> Result<Summary, ShareError> {
        let attempt = self.attempt.lock().unwrap_or_else(PoisonError::into_inner);
        match (&standing, &*attempt) {
            (PlanStatus::Over(found), Some(attempt)) if found.content == attempt.index => Ok(attempt.summary),
            _ => Err(self.too_late(&standing)),
        }
    }

    async fn survey(&self) -> Result<ChunkListing, ShareError> {
        let files = self.place.chunks().await?;
        let mut last = BTreeMap::new();
        // In ascending order, so that later attempts replace earlier ones.
        for (&file, &len) in &files {
            if let Some((chunk, _)) = self.claim.chunk_of(file) {
                last.insert(chunk, (file, len));
            }
        }
        Ok(ChunkListing { last, files: files.into_keys().collect() })
    }

    fn check_missing(&self, survey: &ChunkListing, missing: MissingChunks) -> Result<(), ShareError> {
        let nchunks = self.nchunks();
        let count = nchunks - survey.last.len() as u64;
        if missing != MissingChunks::Fail || count == 0 {
            return Ok(());
        }
        let chunks = (0..nchunks).filter(|chunk| !survey.last.contains_key(chunk)).take(NAMED).collect();
        Err(ShareError::Missing { chunks, count, nchunks })
    }

    /// Builds the index, and lists the files that it names.
    async fn build(
        &self,
        survey: &ChunkListing,
        missing: MissingChunks,
    ) -> Result<(Bytes, BTreeSet<u32>, Summary), ShareError> {
        self.check_missing(survey, missing)?;
        // Chunks that were not written exist only in the index.
        let params = FrameParams { special: SpecialPlacement::Index, ..self.plan.params.clone() };
        let mut writer = FrameWriter::new(&params, &self.registry)?;
        for (name, content) in &self.plan.vlmetalayers {
            writer.set_vlmetalayer(name, content)?;
        }
        // Checksums and fingerprints cover all bytes; otherwise the headers suffice.
        let whole = params.checksums || params.fingerprint.is_some();
        let wanted = if whole { ChunkHeader::MAX_NBYTES } else { ChunkHeader::EXTENDED_LEN };
        let heads = (0..self.nchunks()).map(|i| {
            let last = survey.last.get(&i).copied();
            async move {
                match last {
                    Some((file, len)) => {
                        let head = self.place.read_file(file, 0..wanted as u64).await?;
                        Ok::<_, io::Error>((i, Some((file, len, head))))
                    }
                    None => Ok((i, None)),
                }
            }
        });
        let mut heads = stream::iter(heads).buffered(if whole { 2 } else { ROUND });
        let (mut chunk_bytes, mut named) = (0, BTreeSet::new());
        while let Some((i, found)) = heads.try_next().await? {
            let expected = self.stored_bytes(i)?;
            let Some((file, len, head)) = found else {
                let nchunks = self.nchunks();
                let kind = missing.kind().ok_or(ShareError::Missing { chunks: vec![i], count: 1, nchunks })?;
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
            if whole {
                writer.adopt(file, &head).map_err(damaged)?;
            } else {
                writer.adopt_head(file, &head, len).map_err(damaged)?;
            }
            chunk_bytes += len;
            named.insert(file);
        }
        let index = Bytes::from(writer.finish()?);
        let summary = Summary {
            chunks: self.nchunks(),
            nbytes: self.plan.nbytes,
            cbytes: chunk_bytes,
            frame_len: chunk_bytes + index.len() as u64,
            fingerprint: writer.fingerprint(),
        };
        Ok((index, named, summary))
    }

    /// Removes what the frame does not need. Nobody else removes files here, and nobody needs these: file numbers are
    /// never reused.
    async fn clean(&self, plan: FileVersion, survey: &ChunkListing, named: &BTreeSet<u32>) {
        let _ = remove_chunks(&self.place, survey.files.difference(named).copied()).await;
        let known = end_of_numbers(named.last().copied(), self.nchunks());
        let _ = end_claim(&self.place, &self.claim, plan, known).await;
    }
}
