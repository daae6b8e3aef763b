//! Making one frame of what many writers have written.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use futures::{StreamExt, TryStreamExt, stream};
use oxiblosc_core::chunk::{ChunkHeader, SpecialKind};
use oxiblosc_core::frame::{FrameParams, FrameWriteError, FrameWriter, SpecialPlacement};

use super::claim::{State, put_claim, remove_chunks};
use super::error::ShareError;
use super::place::{FileVersion, SparsePlace};
use super::shared::{SharedWriter, Standing};
use crate::sink::Summary;

/// Chunk headers that a commit reads at the same time.
const ROUND: usize = 32;
/// Numbers of missing chunks that an error names; more would only fill the screen.
const NAMED: usize = 20;

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

impl Missing {
    fn kind(self) -> Option<SpecialKind> {
        match self {
            Self::Fail => None,
            Self::Zero => Some(SpecialKind::Zero),
            Self::Nan => Some(SpecialKind::Nan),
            Self::Uninit => Some(SpecialKind::Uninit),
        }
    }
}

/// An index that was written with an answer that nobody has heard.
pub(super) struct Attempt {
    index: Bytes,
    summary: Summary,
}

/// What is at the place: the file of each chunk in which it was written last, and its length.
struct Survey {
    last: BTreeMap<u64, (u32, u64)>,
    files: BTreeSet<u32>,
}

impl<P: SparsePlace> SharedWriter<P> {
    /// Makes the frame what all writers have written: of chunks that were written several times the last.
    ///
    /// What is missing is found by listing the files; their headers are read and checked only when nothing is, and the
    /// index says of each chunk what its header says. Afterwards the plan and the files that were not taken are removed; what
    /// cannot be removed does no harm.
    ///
    /// Dropped before it returns, it may have succeeded or not, and may be called again. Writers may be refused with
    /// [`ShareError::Committing`] until it is.
    ///
    /// # Errors
    /// [`ShareError::Missing`], [`ShareError::Length`] and [`ShareError::Damaged`] when there is no whole frame: chunks can
    /// be written then and the commit made again. [`ShareError::Committed`] when somebody else has committed, and
    /// [`ShareError::PlanGone`] when the plan has been cleared. After [`ShareError::Place`] the same call may be made again.
    pub async fn commit(&self, missing: Missing) -> Result<Summary, ShareError> {
        let standing = self.standing().await?;
        let (Standing::Open(plan) | Standing::Closing(plan)) = standing else {
            return self.settled(standing);
        };
        let replaced = self.place.index().await?;
        if !self.claim.is_for(replaced.as_ref()) {
            return self.settled(self.standing().await?);
        }
        // Nobody is kept waiting when it cannot succeed.
        self.check_missing(&self.survey().await?, missing)?;
        let closing = self.claim.with_state(State::Closing);
        let plan = if plan.content == closing.to_bytes() {
            plan
        } else {
            match put_claim(&self.place, &closing, Some(plan)).await? {
                Some(plan) => plan,
                // Another commit has done the same, which is all right, or has finished.
                None => match self.standing().await? {
                    Standing::Closing(plan) => plan,
                    standing => return self.settled(standing),
                },
            }
        };
        // Every write that has been acknowledged was before this look; none that comes later will be.
        let survey = self.survey().await?;
        let built = match self.build(&survey, missing).await {
            Ok(built) => built,
            Err(error @ ShareError::Place(_)) => return Err(error),
            Err(error) => {
                // It takes a writer to mend that.
                let _ = put_claim(&self.place, &self.claim, Some(plan)).await;
                return Err(error);
            }
        };
        let (index, named, summary) = built;
        *self.attempt.lock().unwrap_or_else(PoisonError::into_inner) = Some(Attempt { index: index.clone(), summary });
        match self.place.put_index(index, replaced).await {
            Ok(()) => {}
            // It may be our own, if an earlier answer was lost.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                self.settled(self.standing().await?)?;
            }
            Err(error) => return Err(error.into()),
        }
        self.over.store(true, Ordering::Relaxed);
        self.clean(plan, survey.files.difference(&named).copied()).await;
        Ok(summary)
    }

    /// The answer when there is nothing to be committed any more.
    fn settled(&self, standing: Standing) -> Result<Summary, ShareError> {
        let attempt = self.attempt.lock().unwrap_or_else(PoisonError::into_inner);
        match (&standing, &*attempt) {
            (Standing::Over(found), Some(attempt)) if found.content == attempt.index => Ok(attempt.summary),
            _ => Err(self.too_late(&standing)),
        }
    }

    async fn survey(&self) -> Result<Survey, ShareError> {
        let files = self.place.chunks().await?;
        let mut last = BTreeMap::new();
        // In ascending order, so that later attempts replace earlier ones.
        for (&file, &len) in &files {
            if let Some((chunk, _)) = self.claim.chunk_of(file) {
                last.insert(chunk, (file, len));
            }
        }
        Ok(Survey { last, files: files.into_keys().collect() })
    }

    fn check_missing(&self, survey: &Survey, missing: Missing) -> Result<(), ShareError> {
        let nchunks = self.nchunks();
        let count = nchunks - survey.last.len() as u64;
        if missing != Missing::Fail || count == 0 {
            return Ok(());
        }
        let chunks = (0..nchunks).filter(|chunk| !survey.last.contains_key(chunk)).take(NAMED).collect();
        Err(ShareError::Missing { chunks, count, nchunks })
    }

    /// The index of what is there, and the files that it names.
    async fn build(&self, survey: &Survey, missing: Missing) -> Result<(Bytes, BTreeSet<u32>, Summary), ShareError> {
        self.check_missing(survey, missing)?;
        // Those that nobody has written are in the index alone.
        let params = FrameParams { special: SpecialPlacement::Index, ..self.plan.params.clone() };
        let mut writer = FrameWriter::new(&params, &self.registry)?;
        for (name, content) in &self.plan.vlmetalayers {
            writer.set_vlmetalayer(name, content)?;
        }
        // Checksums and fingerprints are about all bytes; otherwise the headers suffice.
        let whole = params.checksums || params.fingerprint.is_some();
        let wanted = if whole { ChunkHeader::MAX_NBYTES } else { ChunkHeader::EXTENDED_LEN };
        let heads = (0..self.nchunks()).map(|i| {
            let file = survey.last.get(&i).map(|&(file, _)| file);
            let head = file.map(|file| (file, self.place.chunk_head(file, wanted)));
            async move {
                match head {
                    Some((file, head)) => head.await.map(|head| (i, Some((file, head)))),
                    None => Ok((i, None)),
                }
            }
        });
        let mut heads = stream::iter(heads).buffered(if whole { 2 } else { ROUND });
        let (mut chunk_bytes, mut named) = (0, BTreeSet::new());
        while let Some((i, found)) = heads.try_next().await? {
            let expected = self.stored_bytes(i)?;
            let Some((file, (len, head))) = found else {
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

    /// Removes what the frame does not need. Nobody else removes anything here, and nobody needs these files: their
    /// numbers are given once.
    async fn clean(&self, plan: FileVersion, files: impl Iterator<Item = u32>) {
        let _ = remove_chunks(&self.place, files).await;
        let _ = self.place.remove_plan(plan).await;
    }
}
