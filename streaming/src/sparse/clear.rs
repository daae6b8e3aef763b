//! Removing what dead writers have left behind.

use std::collections::BTreeSet;
use std::io;

use oxiblosc_core::registry::Registry;

use super::error::ShareError;
use super::place::SparsePlace;
use super::plan_file::{ClaimState, PlanFile, end_claim, end_of_numbers, put_claim, remove_chunks};
use super::shared::{entries, read_claim};
use crate::error::WriteError;

/// Removes what unfinished writers have left at a place, once all of them are gone: the plan of a frame that nobody is
/// going to commit, the claim of a [`PlaceTarget`](super::PlaceTarget) whose process died, and all chunk files that no
/// index names. An existing frame stays as it is. Returns the number of chunk files removed.
///
/// Chunk files without a plan and without an index are not from an unfinished writer, which begins with its plan: the index
/// is lost, and [`recover`](crate::recover) can save them. They stay.
///
/// Editors must be gone, too: unlike [`compact_place`](crate::edit::compact_place) this does not keep them from
/// committing chunks that it removes.
///
/// If a writer is still running, its calls fail because its plan is gone ([`ShareError::PlanGone`],
/// [`io::ErrorKind::AlreadyExists`] of a target), and cannot get into a frame that is written here later: of a plan of
/// several writers a file of a few hundred bytes remains, with the file numbers that the next plan must not reuse; the
/// next commit removes it.
///
/// # Errors
/// When the place fails, or there is an index that cannot be read; the call may be repeated. [`ShareError::Committing`]
/// when another writer changes the plan at the same time. [`ShareError::NoIndex`] when there are chunk files, but neither a
/// plan nor an index.
pub async fn clear<P: SparsePlace + ?Sized>(place: &P) -> Result<u64, ShareError> {
    clear_at(place, None).await
}

/// As [`clear`], with the codecs of `registry`, which the index of a frame that is there may need.
///
/// # Errors
/// As [`clear`].
pub async fn clear_with<P: SparsePlace + ?Sized>(place: &P, registry: &Registry) -> Result<u64, ShareError> {
    clear_at(place, Some(registry)).await
}

async fn clear_at<P: SparsePlace + ?Sized>(place: &P, registry: Option<&Registry>) -> Result<u64, ShareError> {
    let found = match read_claim(place).await {
        Ok(found) => found,
        // Nothing is known about it, and no writer can continue it.
        Err(ShareError::BadPlan { .. }) => place.plan().await?.map(|version| (PlanFile::of_one(), version)),
        Err(error) => return Err(error),
    };
    let (claim, version) = match found {
        Some((claim, version)) => (claim, Some(version)),
        None if place.index().await?.is_none() => {
            return if place.chunks().await?.is_empty() { Ok(0) } else { Err(ShareError::NoIndex) };
        }
        None => (PlanFile::of_one(), None),
    };
    // No writer takes over while files are removed.
    let clearing = claim.with_state(ClaimState::Clearing);
    let version = put_claim(place, &clearing, version).await?.ok_or(ShareError::Committing)?;
    let index = place.index().await?;
    let (named, known): (BTreeSet<u32>, u64) = match &index {
        Some(index) => {
            let unreadable = || io::Error::new(io::ErrorKind::InvalidData, "the index that is there cannot be read");
            let registry = crate::given_or_linked(registry).map_err(WriteError::from)?;
            let entries = entries(index, &registry).await.ok_or_else(unreadable)?;
            let nchunks = entries.len() as u64;
            let named: BTreeSet<u32> = entries.into_iter().flatten().collect();
            let known = end_of_numbers(named.last().copied(), nchunks);
            (named, known)
        }
        None => (BTreeSet::new(), 0),
    };
    let files: Vec<u32> = place.chunks().await?.into_keys().filter(|file| !named.contains(file)).collect();
    let removed = files.len() as u64;
    remove_chunks(place, files).await?;
    end_claim(place, &claim, version, known).await?;
    Ok(removed)
}
