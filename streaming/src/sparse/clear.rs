//! Clearing away what writers have left that are gone.

use std::collections::BTreeSet;
use std::io;

use oxiblosc_core::registry::Registry;

use super::claim::{Claim, Holder, State, put_claim, remove_chunks};
use super::error::ShareError;
use super::place::SparsePlace;
use super::shared::{entries, read_claim};
use crate::error::WriteError;

/// Removes what unfinished writers have left at a place, when all of them are gone: the plan of a frame that nobody is
/// going to commit, the note of a [`PlaceTarget`](super::PlaceTarget) whose process died, and all chunk files that no index
/// names. A frame that is there stays as it is. Returns how many chunk files have been removed.
///
/// Should a writer be at it all the same, it is told that its plan is gone
/// ([`ShareError::PlanGone`], [`io::ErrorKind::AlreadyExists`] of a target), and cannot get into a frame that
/// is written here later: of a plan of several writers a note of a few hundred bytes stays, with the numbers of files that
/// the next plan leaves alone; the next commit removes it.
///
/// # Errors
/// When the place fails, or an index is there that cannot be read; the same call may be made again. [`ShareError::Committing`]
/// when somebody else changes the plan at the same time.
pub async fn clear<P: SparsePlace + ?Sized>(place: &P) -> Result<u64, ShareError> {
    let found = match read_claim(place).await {
        Ok(found) => found,
        // Nothing can be known of it, and nobody can go on with it.
        Err(ShareError::BadPlan { .. }) => place.plan().await?.map(|version| (Claim::of_one(), version)),
        Err(error) => return Err(error),
    };
    let (claim, version) = match found {
        Some((claim, version)) => (claim, Some(version)),
        None => (Claim::of_one(), None),
    };
    // Nobody takes over while files are removed.
    let clearing = claim.with_state(State::Clearing);
    let version = put_claim(place, &clearing, version).await?.ok_or(ShareError::Committing)?;
    let index = place.index().await?;
    let named: BTreeSet<u32> = match &index {
        Some(index) => {
            let registry = Registry::linked().map_err(WriteError::from)?;
            let unreadable = || io::Error::new(io::ErrorKind::InvalidData, "the index that is there cannot be read");
            entries(index, registry).await.ok_or_else(unreadable)?.into_iter().flatten().collect()
        }
        None => BTreeSet::new(),
    };
    let files: Vec<u32> = place.chunks().await?.into_keys().filter(|file| !named.contains(file)).collect();
    let removed = files.len() as u64;
    remove_chunks(place, files).await?;
    let settled = index.is_some() || claim.holder == Holder::One;
    if settled || put_claim(place, &claim.with_state(State::Abandoned), Some(version.clone())).await?.is_none() {
        place.remove_plan(version).await?;
    }
    Ok(removed)
}
