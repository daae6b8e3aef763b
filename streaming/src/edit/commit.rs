//! Writing chunks, and the commit that makes them part of the frame.

use crate::trace::{span, traced};
use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::task::Poll;

use bytes::Bytes;
use futures::StreamExt;
use oxiblosc_core::Registry;
use oxiblosc_core::chunk::ChunkDecoder;
use oxiblosc_core::frame::{self, ChunkAddress, ChunkEntry, ChunkWrite, Frame, FrameWriteError};
use oxiblosc_core::nd::Geometry;
use xxhash_rust::xxh3::xxh3_64;

use super::editor::array_in;
use super::storage::{Committed, open_index};
use super::{EditError, FrameEditor};
use crate::sparse::{FileVersion, random_id};

/// The variable-length metalayer of a sparse frame at a shared place whose content is another after every commit: two
/// indexes are never the same bytes, so that a conditional put of an older state fails even if everything else is as it
/// was.
const COMMIT_LAYER: &str = "oxiblosc_commit";
/// How many commits it names: enough to find out whether one has succeeded when its response was lost.
const NAMES: usize = 7;

/// Precedes the highest number of the files that compactions have removed, after the names.
const REMOVED: char = '<';

/// What the last attempt at a commit has led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Attempt {
    /// There was none, or it has succeeded.
    None,
    /// Nobody knows.
    Unknown,
    /// Somebody else has committed before.
    Conflict,
}

/// The names of the last commits to a frame, the latest first.
pub(super) fn commits_of(frame: &Frame, registry: &Registry) -> Vec<String> {
    let content = frame.vlmetalayer(COMMIT_LAYER, &mut ChunkDecoder::new(registry)).ok().flatten().unwrap_or_default();
    let names = match content.as_slice() {
        [0xd9, _, names @ ..] => std::str::from_utf8(names).unwrap_or_default(),
        _ => "",
    };
    names.split_ascii_whitespace().take(NAMES + 1).map(str::to_owned).collect()
}

/// The highest number of the files that compactions have removed from a shared place, which is recorded with the names
/// of the commits.
pub(super) fn highest_of(commits: &[String]) -> Option<u32> {
    commits.iter().find_map(|name| u32::from_str_radix(name.strip_prefix(REMOVED)?, 16).ok())
}

/// Records that number, and no other.
fn set_highest(commits: &mut Vec<String>, highest: Option<u32>) {
    commits.retain(|name| !name.starts_with(REMOVED));
    commits.extend(highest.map(|highest| format!("{REMOVED}{highest:08x}")));
}

impl FrameEditor {
    /// Makes all changes since the last commit take effect together.
    ///
    /// # Errors
    /// [`EditError::NoArray`] when chunks of an array were added or removed so that they contradict its shape, and
    /// [`EditError::Conflict`] when somebody else has committed to the same place: nothing has been committed then, and
    /// [`rebase`](Self::rebase) may help. Otherwise either the old frame is still in place or the new one already is;
    /// calling again continues. The same holds if the future is dropped; no other change is possible before.
    pub async fn commit(&mut self) -> Result<(), EditError> {
        if self.unfinished.is_none() {
            if self.storage.is_shared() && !self.changed {
                // Another index would only get in the way of other editors.
                return Ok(());
            }
            self.check_array()?;
            self.finish_writes().await?;
            if self.storage.is_shared() {
                self.name_commit()?;
            }
            self.unfinished = Some(Arc::new(self.editor.commit()?));
        }
        let Some(unfinished) = &self.unfinished else { return Ok(()) };
        self.attempt = Attempt::Unknown;
        let committing = self.committing.get_or_insert_with(|| self.storage.commit(unfinished, self.index.as_ref()));
        let span = span!("commit", chunks = self.editor.nchunks());
        let result = traced(span, poll_fn(|cx| committing.as_mut().poll(cx))).await;
        self.committing = None;
        self.index = match result? {
            Committed::Done(index) => index,
            Committed::Conflict { ours, now } => {
                // An attempt may have succeeded although its response was lost, and others have committed since.
                let (registry, limits) = (crate::given_or_linked(self.options.registry.as_ref())?, self.options.limits);
                let frame = open_index(&now, &registry, &limits).await?;
                let name = self.commits.first();
                if !name.is_some_and(|name| commits_of(&frame, &registry).contains(name)) {
                    self.attempt = Attempt::Conflict;
                    return Err(EditError::Conflict);
                }
                Some(FileVersion::new(ours))
            }
        };
        self.unfinished = None;
        self.attempt = Attempt::None;
        self.committed_nbytes = self.editor.nbytes();
        (self.only_appends, self.changed) = (true, false);
        self.digests.clear();
        Ok(())
    }

    /// Commits the frame as it is, so that all other editors of a shared place have to open it again.
    ///
    /// # Errors
    /// As [`commit`](Self::commit), and when there is no room for the name of the commit: others would not notice it.
    ///
    /// `removed` is the highest number of the files that are about to be removed.
    pub(super) async fn touch(&mut self, removed: Option<u32>) -> Result<(), EditError> {
        self.begin_change().await?;
        let highest = highest_of(&self.commits).max(removed);
        set_highest(&mut self.commits, highest);
        self.editor.set_vlmetalayer(COMMIT_LAYER, b"")?;
        self.commit().await
    }

    /// Makes the next index differ from all others. A frame with sixteen other metalayers has no room for that.
    fn name_commit(&mut self) -> Result<(), EditError> {
        let highest = highest_of(&self.commits);
        set_highest(&mut self.commits, None);
        self.commits.insert(0, random_id());
        self.commits.truncate(NAMES);
        set_highest(&mut self.commits, highest);
        let names = self.commits.join(" ");
        // A str of msgpack with fewer than 256 bytes.
        let mut content = vec![0xd9, names.len() as u8];
        content.extend_from_slice(names.as_bytes());
        match self.editor.set_vlmetalayer(COMMIT_LAYER, &content) {
            Err(FrameWriteError::TooManyMetalayers { .. }) => Ok(()),
            result => Ok(result?),
        }
    }

    /// Checks a chunk file that this editor has written: when a place is compacted, its number may be given to another.
    pub(super) fn check_own_file(&self, i: u64, chunk: &[u8]) -> Result<(), EditError> {
        let Ok(ChunkEntry::File { id }) = self.editor.entry(i) else { return Ok(()) };
        match self.digests.get(&id) {
            Some(&digest) if digest != xxh3_64(chunk) => Err(EditError::Conflict),
            _ => Ok(()),
        }
    }

    /// Moves bytes that were appended behind those that others have committed since this editor was opened, after
    /// [`commit`](Self::commit) has failed with [`EditError::Conflict`]. The appended bytes are read back and encoded
    /// again, a chunk at a time; commit again afterwards.
    ///
    /// The chunks that were written before stay where they are, unused, until
    /// [`compact_place`](super::compact_place) removes them.
    ///
    /// # Errors
    /// [`EditError::Conflict`] when anything but appending bytes has changed since the last commit, as what that meant
    /// may not be true of the new frame, or when the place was compacted and the bytes are gone. Open the frame and
    /// make the change again. [`EditError::Uncommitted`] when it is not known whether the last commit has succeeded:
    /// commit again first. After any error, or if the future is dropped, the editor is as it was.
    pub async fn rebase(&mut self) -> Result<(), EditError> {
        if !self.has_rivals()? {
            return Ok(());
        }
        if !self.only_appends {
            return Err(EditError::Conflict);
        }
        let mut fresh = self.reopen().await?;
        // From the end, as the lengths of older chunks may not be known.
        let (mut first, mut start) = (self.nchunks(), self.nbytes());
        while start > self.committed_nbytes && first > 0 {
            first -= 1;
            start = start.saturating_sub(self.editor.chunk_len(first)?);
        }
        let mut kept = self.committed_nbytes.saturating_sub(start);
        for i in first..self.nchunks() {
            let chunk = match self.chunk(i).await {
                // The place was compacted since.
                Err(EditError::Store(error)) if error.kind() == io::ErrorKind::NotFound => {
                    return Err(EditError::Conflict);
                }
                chunk => Bytes::from(chunk?),
            };
            // Lossless: within a chunk.
            fresh.append(chunk.slice((kept as usize).min(chunk.len())..)).await?;
            kept = 0;
        }
        *self = fresh;
        Ok(())
    }

    /// Whether others may have committed, so that there is something to rebase on. (In a locked file, a second editor
    /// would also write over the chunks that this one has not committed.)
    ///
    /// # Errors
    /// [`EditError::Uncommitted`] when a commit is not completed for another reason than a conflict.
    pub(crate) fn has_rivals(&self) -> Result<bool, EditError> {
        match self.unfinished.is_some() && self.attempt != Attempt::Conflict {
            true => Err(EditError::Uncommitted),
            false => Ok(self.storage.is_shared()),
        }
    }

    /// Opens the frame as it is now.
    pub(crate) async fn reopen(&mut self) -> Result<Self, EditError> {
        Self::with_storage(self.storage.clone(), self.options.clone()).await
    }

    /// The state to roll back to if not all of several changes succeed.
    pub(crate) async fn snapshot(&mut self) -> Result<EditorSnapshot, EditError> {
        // Chunks that are unwritten at a rollback then all belong to the changes that it undoes.
        self.check_committed().await?;
        self.finish_writes().await?;
        Ok(EditorSnapshot { editor: self.editor.clone(), variable: self.variable, geometry: self.geometry.clone() })
    }

    /// Undoes all changes since [`snapshot`](Self::snapshot). What is being written is waited for: the next changes
    /// write to the same place.
    pub(crate) async fn roll_back(&mut self, to: &EditorSnapshot) {
        self.unwritten.clear();
        while self.writing.next().await.is_some() {}
        self.editor.roll_back(to.editor.clone());
        (self.variable, self.geometry) = (to.variable, to.geometry.clone());
    }

    /// Stores a chunk of which the frame knows already, and starts to write it.
    pub(super) async fn store_chunk(&mut self, write: Option<ChunkWrite>, chunk: Bytes) {
        if let Some(write) = write {
            self.queue_chunk(write, chunk);
        }
        self.start_writes().await;
    }

    pub(super) fn queue_chunk(&mut self, write: ChunkWrite, chunk: Bytes) {
        let ChunkWrite { address, replacement } = write;
        let chunk = replacement.map_or(chunk, Bytes::from);
        if let (ChunkAddress::File(id), true) = (address, self.storage.is_shared()) {
            self.digests.insert(id, xxh3_64(&chunk));
        }
        self.unwritten.push_back((address, chunk));
    }

    /// Writes queued chunks until there is room for another one. The changes are already made: the next call reports an
    /// error before it does anything else, and retries. So an error always means that a call has changed nothing.
    pub(super) async fn start_writes(&mut self) {
        let _ = self.write_until(self.storage.writes_in_flight()).await;
    }

    /// Waits until all chunks are written.
    pub(super) async fn finish_writes(&mut self) -> Result<(), EditError> {
        self.write_until(1).await
    }

    /// Writes chunks until fewer than `limit` are in flight and none waits.
    async fn write_until(&mut self, limit: usize) -> Result<(), EditError> {
        loop {
            while self.writing.len() < self.storage.writes_in_flight()
                && let Some((address, bytes)) = self.unwritten.pop_front()
            {
                self.writing.push(self.storage.write_chunk(address, bytes));
            }
            // Starts what has been queued, whether or not there is anything to wait for.
            let polled = poll_fn(|cx| Poll::Ready(self.writing.poll_next_unpin(cx))).await;
            let done = match polled {
                Poll::Ready(done) => done,
                Poll::Pending if self.unwritten.is_empty() && self.writing.len() < limit => return Ok(()),
                Poll::Pending => self.writing.next().await,
            };
            let Some(done) = done else { return Ok(()) };
            match (done.result, done.address) {
                (Ok(()), _) => {}
                (Err(error), ChunkAddress::File(id))
                    if error.kind() == io::ErrorKind::AlreadyExists && self.storage.is_shared() =>
                {
                    match self.editor.renumber_file(id) {
                        Ok(new) => {
                            self.digests.remove(&id);
                            self.digests.insert(new, xxh3_64(&done.bytes));
                            self.unwritten.push_front((ChunkAddress::File(new), done.bytes));
                        }
                        Err(error) => {
                            self.unwritten.push_front((done.address, done.bytes));
                            return Err(error.into());
                        }
                    }
                }
                (Err(error), address) => {
                    self.unwritten.push_front((address, done.bytes));
                    return Err(error.into());
                }
            }
        }
    }

    /// Checked before any change: an earlier commit must not be left unfinished.
    pub(super) async fn check_committed(&mut self) -> Result<(), EditError> {
        if self.unfinished.is_some() {
            return Err(EditError::Uncommitted);
        }
        self.write_until(self.storage.writes_in_flight()).await
    }

    /// The first step of every change that does not merely append bytes.
    pub(super) async fn begin_change(&mut self) -> Result<(), EditError> {
        self.check_committed().await?;
        (self.only_appends, self.changed) = (false, true);
        Ok(())
    }

    /// The first step of a change that appends bytes: it can be made again after a conflict.
    pub(super) async fn begin_append(&mut self) -> Result<(), EditError> {
        self.check_committed().await?;
        self.changed = true;
        Ok(())
    }

    /// An array must still be one.
    fn check_array(&self) -> Result<(), EditError> {
        if self.geometry.is_none() {
            return Ok(());
        }
        let checked = array_in(self.editor.metalayers(), &self.sizes()).transpose();
        checked.map(drop).map_err(EditError::NoArray)
    }
}

/// The state of an editor before several changes.
pub(crate) struct EditorSnapshot {
    editor: frame::FrameEditor,
    variable: bool,
    geometry: Option<Arc<Geometry>>,
}
