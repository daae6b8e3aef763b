//! The plan file: who is writing a sparse frame that is not committed yet.

use std::collections::BTreeSet;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::process;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use futures::stream::{self, StreamExt};
use xxhash_rust::xxh3::xxh3_128;

use super::place::{FileVersion, SparsePlace};
use super::shared_plan::PlanLine;

/// Name of the file. It exists while a frame is being written, and no reader looks at it.
pub(crate) const CLAIM_FILE: &str = "chunks.b2frame.plan";

/// The first line of the file, with the version of what follows.
const HEAD: &str = "oxiblosc plan 1";
/// The last line, which marks a complete file.
const END: &str = "end\n";
/// Chunk files removed at the same time.
const ROUND: usize = 32;
/// The number of possible chunk files.
const IDS: u64 = 1 << 32;

/// The content of the file.
///
/// It is changed only by conditional writes, so that of two concurrent changes one fails. Before a commit, chunk files
/// are removed only by the writer that has set [`ClaimState::Clearing`], and no claim is taken over in that state: so no
/// writer ever removes a file of another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PlanFile {
    /// A random id, the same for all that share the claim.
    pub(super) id: String,
    pub(super) holder: Owner,
    pub(super) state: ClaimState,
    /// The first number of the chunk files of all attempts.
    pub(super) first: u64,
    /// How often each chunk can be written.
    pub(super) attempts: u64,
    /// Number of chunks; 0 if only the single writer knows it.
    pub(super) nchunks: u64,
    /// The digest of the index that the commit replaces.
    pub(super) replaces: Option<String>,
    /// The parameters that the writers agree on.
    pub(super) lines: Vec<PlanLine>,
}

/// Whose claim it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    /// Of a [`PlaceTarget`](super::PlaceTarget).
    One,
    /// Of all [`SharedWriter`](super::SharedWriter)s.
    Many,
}

/// What is being done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClaimState {
    /// Chunks are being written.
    Open,
    /// A commit is collecting them.
    Closing,
    /// Chunks are being removed.
    Clearing,
    /// Abandoned. The next writer does not reuse the numbers of its chunks, because a late write may still arrive.
    Abandoned,
}

const STATES: [(ClaimState, &str); 4] = [
    (ClaimState::Open, "open"),
    (ClaimState::Closing, "closing"),
    (ClaimState::Clearing, "clearing"),
    (ClaimState::Abandoned, "abandoned"),
];

impl PlanFile {
    /// The claim of a single writer.
    pub(super) fn of_one() -> Self {
        Self {
            id: random_id(),
            holder: Owner::One,
            state: ClaimState::Open,
            first: 0,
            attempts: 1,
            nchunks: 0,
            replaces: None,
            lines: Vec::new(),
        }
    }

    /// A claim of many writers of `nchunks` chunks, whose files have numbers from `first` on; `None` if there are not
    /// enough numbers.
    pub(super) fn of_many(nchunks: u64, first: u64, replaces: Option<String>, lines: Vec<PlanLine>) -> Option<Self> {
        let room = IDS.checked_sub(first)?.checked_div(nchunks.max(1))?;
        let attempts = most_attempts(nchunks).min(room);
        let holder = Owner::Many;
        (attempts > 0).then(|| Self {
            id: random_id(),
            holder,
            state: ClaimState::Open,
            first,
            attempts,
            nchunks,
            replaces,
            lines,
        })
    }

    pub(super) fn with_state(&self, state: ClaimState) -> Self {
        Self { state, ..self.clone() }
    }

    /// The first number after those of its chunk files.
    pub(super) fn end(&self) -> u64 {
        self.first.saturating_add(self.attempts.saturating_mul(self.nchunks))
    }

    /// The number of the file of a chunk that has been written `attempt` times before; `None` if that is too often.
    pub(super) fn file_of(&self, chunk: u64, attempt: u64) -> Option<u32> {
        let within = chunk < self.nchunks && attempt < self.attempts;
        within.then(|| u32::try_from(self.first + attempt * self.nchunks + chunk).ok()).flatten()
    }

    /// The chunk in the file of this number, and how often it had been written before; `None` for the files of other
    /// claims.
    pub(super) fn chunk_of(&self, file: u32) -> Option<(u64, u64)> {
        let at = u64::from(file).checked_sub(self.first)?;
        let (attempt, chunk) = (at.checked_div(self.nchunks)?, at.checked_rem(self.nchunks)?);
        (attempt < self.attempts).then_some((chunk, attempt))
    }

    /// Whether the current index is the one that this claim replaces: none, or the one it was made for.
    pub(super) fn is_for(&self, index: Option<&FileVersion>) -> bool {
        self.replaces == index.map(digest)
    }

    pub(super) fn to_bytes(&self) -> Bytes {
        let state = STATES.iter().find(|known| known.0 == self.state).map_or("", |known| known.1);
        let holder = if self.holder == Owner::Many { "many" } else { "one" };
        let replaces = self.replaces.as_deref().unwrap_or("nothing");
        let mut text = format!("{HEAD}\nid: {}\nholder: {holder}\nstate: {state}\n", self.id);
        text += &format!("first: {}\nattempts: {}\nchunks: {}\n", self.first, self.attempts, self.nchunks);
        text += &format!("replaces: {replaces}\n");
        for (key, value) in &self.lines {
            text += &format!("{key}: {value}\n");
        }
        text += END;
        text.into()
    }

    /// Parses the claim in the file, or says what is wrong with it.
    pub(super) fn parse(content: &[u8]) -> Result<Self, String> {
        let text = std::str::from_utf8(content).map_err(|_| "it is not text".to_owned())?;
        let text = text.strip_suffix(END).and_then(|text| text.strip_suffix('\n')).ok_or("it is cut")?;
        let mut lines = text.split('\n');
        match lines.next() {
            Some(HEAD) => {}
            Some(head) => return Err(format!("its first line is {head:?}, expected {HEAD:?}")),
            None => return Err("it is empty".to_owned()),
        }
        let mut next = |key: &str| {
            let line = lines.next().and_then(|line| line.strip_prefix(key)?.strip_prefix(": "));
            line.ok_or_else(|| format!("the line of {key} is missing"))
        };
        let number = |text: &str| text.parse::<u64>().map_err(|_| format!("{text} is not a number"));
        let id = next("id")?.to_owned();
        let holder = match next("holder")? {
            "one" => Owner::One,
            "many" => Owner::Many,
            other => return Err(format!("unknown holder {other}")),
        };
        let state = next("state")?;
        let state = STATES.iter().find(|known| known.1 == state).ok_or_else(|| format!("unknown state {state}"))?.0;
        let first = number(next("first")?)?;
        let attempts = number(next("attempts")?)?;
        let nchunks = number(next("chunks")?)?;
        let replaces = Some(next("replaces")?).filter(|&digest| digest != "nothing").map(str::to_owned);
        let line = |line: &str| line.split_once(": ").map(|(key, value)| (key.to_owned(), value.to_owned()));
        let lines = lines.map(|text| line(text).ok_or_else(|| format!("{text:?} has no value")));
        let lines = lines.collect::<Result<_, _>>()?;
        let claim = Self { id, holder, state, first, attempts, nchunks, replaces, lines };
        let end = attempts.checked_mul(nchunks).and_then(|len| first.checked_add(len));
        if end.is_none_or(|end| end > IDS) {
            Err("the numbers of its files are too large".to_owned())
        } else {
            Ok(claim)
        }
    }
}

/// How often each of `nchunks` chunks may be written: often, but leaving enough file numbers for the next frames at the
/// same place.
fn most_attempts(nchunks: u64) -> u64 {
    ((1 << 20) / nchunks.max(1)).clamp(16, 4096)
}

/// The first number that no writer of a frame can use, as far as its index tells: it has `nchunks` chunks, and `last` is
/// the largest number of a file that it names.
pub(super) fn end_of_numbers(last: Option<u32>, nchunks: u64) -> u64 {
    last.map_or(0, |last| u64::from(last) + 1) + nchunks.max(1) * most_attempts(nchunks)
}

/// The digest that identifies an index.
pub(super) fn digest(index: &FileVersion) -> String {
    format!("{:032x}", xxh3_128(&index.content))
}

/// A random name that is practically unique.
pub(crate) fn random_id() -> String {
    static DRAWN: AtomicU64 = AtomicU64::new(0);
    let half = || {
        // The keys of the hasher are random.
        let mut hasher = RandomState::new().build_hasher();
        hasher.write_u64(DRAWN.fetch_add(1, Ordering::Relaxed));
        hasher.write_u32(process::id());
        hasher.write_u128(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_nanos()));
        hasher.finish()
    };
    format!("{:016x}{:016x}", half(), half())
}

/// Checks that no plan says that a frame at this place is being replaced or cleared, which would remove the chunks of
/// an editor or mistake them for its own.
pub(crate) async fn check_editable(place: &dyn SparsePlace) -> io::Result<()> {
    idle_claim(place).await.map(drop)
}

/// The plan at a place that may be edited, if there is one.
async fn idle_claim(place: &dyn SparsePlace) -> io::Result<Option<(PlanFile, FileVersion)>> {
    let Some(version) = place.plan().await? else { return Ok(None) };
    let reason = match PlanFile::parse(&version.content) {
        Ok(claim) if claim.state == ClaimState::Abandoned || left_notes().contains(&claim.id) => {
            return Ok(Some((claim, version)));
        }
        Ok(PlanFile { holder: Owner::One, state: ClaimState::Clearing, .. }) => {
            "unused chunks are being removed here, try again later"
        }
        _ => "other writers are about to replace the frame",
    };
    let message = format!("{reason}; `sparse::clear` removes {CLAIM_FILE} if they are gone");
    Err(io::Error::new(io::ErrorKind::WouldBlock, message))
}

/// The note that chunk files are being removed.
pub(crate) struct ClearingNote {
    claim: PlanFile,
    version: FileVersion,
}

/// Notes that chunk files are being removed, so that nobody begins to write or edit.
///
/// # Errors
/// [`io::ErrorKind::WouldBlock`] when others are writing, or are removing files themselves.
pub(crate) async fn begin_clearing(place: &dyn SparsePlace) -> io::Result<ClearingNote> {
    // The one that was looked at is replaced, and none that came later.
    let (first, found) = match idle_claim(place).await? {
        Some((claim, version)) => (claim.end(), Some(version)),
        None => (0, None),
    };
    let claim = PlanFile { first, ..PlanFile::of_one().with_state(ClaimState::Clearing) };
    let busy = || io::Error::new(io::ErrorKind::WouldBlock, "somebody else has begun to write here");
    match put_claim(place, &claim, found).await {
        Ok(version) => Ok(ClearingNote { claim, version: version.ok_or_else(busy)? }),
        Err(error) => {
            // It may be there although the response was lost.
            left_notes().insert(claim.id);
            Err(error)
        }
    }
}

/// Takes that note back, once no removal is in progress any more.
pub(crate) async fn end_clearing(place: &dyn SparsePlace, note: ClearingNote) -> io::Result<()> {
    let ClearingNote { claim, version } = note;
    let ended = end_claim(place, &claim, version, 0).await;
    if ended.is_err() {
        left_notes().insert(claim.id);
    }
    ended
}

/// The ids of notes that this process could not take back. They announce nothing any more.
fn left_notes() -> MutexGuard<'static, BTreeSet<String>> {
    static LEFT: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    LEFT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Replaces `found` by `claim`, and returns the new version; `None` if another writer was faster. It is read back,
/// because some servers ignore conditions.
pub(super) async fn put_claim<P: SparsePlace + ?Sized>(
    place: &P,
    claim: &PlanFile,
    found: Option<FileVersion>,
) -> io::Result<Option<FileVersion>> {
    let content = claim.to_bytes();
    match place.put_plan(content.clone(), found).await {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error),
    }
    // An earlier attempt may have succeeded although its response was lost.
    Ok(place.plan().await?.filter(|now| now.content == content))
}

/// Ends a claim: removes it, unless late writers may still use numbers from `known` on, which no index tells. Then it
/// stays, as abandoned.
pub(super) async fn end_claim<P: SparsePlace + ?Sized>(
    place: &P,
    claim: &PlanFile,
    version: FileVersion,
    known: u64,
) -> io::Result<()> {
    if claim.end() > known
        && put_claim(place, &claim.with_state(ClaimState::Abandoned), Some(version.clone())).await?.is_some()
    {
        return Ok(());
    }
    place.remove_plan(version).await
}

/// Removes chunk files, several at a time. See [`PlanFile`] for who may.
pub(crate) async fn remove_chunks<P: SparsePlace + ?Sized>(
    place: &P,
    files: impl IntoIterator<Item = u32>,
) -> io::Result<()> {
    let failed = AtomicBool::new(false);
    let files = files.into_iter().take_while(|_| !failed.load(Ordering::Relaxed));
    let mut removals = stream::iter(files.map(|file| place.remove_chunk(file))).buffer_unordered(ROUND);
    let mut result = Ok(());
    // After a failure those in progress are waited for: they must not remove anything later.
    while let Some(removed) = removals.next().await {
        failed.fetch_or(removed.is_err(), Ordering::Relaxed);
        result = result.and(removed);
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_come_back_and_damaged_ones_are_refused() {
        let lines = vec![("bytes".to_owned(), "100".to_owned()), ("metalayer".to_owned(), "61 ".to_owned())];
        let many = PlanFile::of_many(77, 100, Some("0123".to_owned()), lines).unwrap();
        for claim in [
            PlanFile::of_one(),
            many.clone(),
            many.with_state(ClaimState::Closing),
            many.with_state(ClaimState::Abandoned),
        ] {
            let bytes = claim.to_bytes();
            assert_eq!(PlanFile::parse(&bytes), Ok(claim));
            for cut in 0..bytes.len() {
                assert!(PlanFile::parse(&bytes[..cut]).is_err(), "{cut}");
            }
        }
        assert_ne!(random_id(), random_id());
    }

    #[test]
    fn each_attempt_has_a_file_of_its_own() {
        for (nchunks, first) in [(1, 0), (3, 7), (1 << 20, 5), (1 << 28, 0), (1 << 28, 15 << 28)] {
            let claim = PlanFile::of_many(nchunks, first, None, Vec::new()).unwrap();
            assert!(claim.end() <= 1 << 32 && claim.attempts >= 1);
            for chunk in [0, nchunks / 2, nchunks - 1] {
                for attempt in [0, claim.attempts / 2, claim.attempts - 1] {
                    let file = claim.file_of(chunk, attempt).unwrap();
                    assert_eq!(claim.chunk_of(file), Some((chunk, attempt)));
                }
                assert_eq!(claim.file_of(chunk, claim.attempts), None);
            }
            assert_eq!(claim.file_of(nchunks, 0), None);
            assert_eq!(u32::try_from(claim.end()).ok().and_then(|end| claim.chunk_of(end)), None);
        }
        assert_eq!(PlanFile::of_many(1 << 28, (15 << 28) + 1, None, Vec::new()), None);
        assert_eq!(PlanFile::of_many(0, 0, None, Vec::new()).unwrap().chunk_of(0), None);
    }
}
