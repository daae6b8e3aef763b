//! Where an edited frame is stored: in one file, or in the files of a sparse frame.

use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures::TryFutureExt;
use futures::future::{BoxFuture, try_join_all};
use oxiblosc_core::frame::{ChunkAddress, ChunkEntry, EditCommit, Frame, FrameOpener, INDEX_FILE};
use oxiblosc_core::{Limits, Registry};

use super::frame_file::held;
use super::{EditError, FrameFile};
use crate::disk::IoMode;
use crate::reader::drive;
use crate::source::RangeSource;
use crate::sparse::{ConditionalPutsIgnored, FileVersion, SparsePlace, check_editable, whole_chunk};

/// Where a frame is stored. Every operation is a future that does not borrow it: the editor keeps those that change
/// something until they are done, so that none of them runs late and undoes a later one.
#[derive(Clone)]
pub(super) enum Storage {
    File {
        file: Arc<Mutex<dyn FrameFile + Send>>,
        mode: IoMode,
    },
    Sparse {
        place: Arc<dyn SparsePlace>,
        writes_in_flight: usize,
        /// The caller has noted that it removes files, which keeps other editors out.
        clearing: bool,
    },
}

/// A chunk that has been written, or not.
pub(super) struct ChunkWritten {
    pub(super) address: ChunkAddress,
    pub(super) bytes: Bytes,
    pub(super) result: io::Result<()>,
}

/// What a commit has led to.
pub(super) enum Committed {
    /// The new index, of a sparse frame.
    Done(Option<FileVersion>),
    /// Something else than expected is there: somebody else has committed, or `ours` was there before.
    Conflict { ours: Bytes, now: FileVersion },
}

impl Storage {
    /// Opens the frame, and returns the version of its index if it is a sparse one.
    pub(super) async fn open(
        &self,
        registry: &Registry,
        limits: &Limits,
    ) -> Result<(Frame, Option<FileVersion>), EditError> {
        match self {
            Self::File { file, mode } => {
                let (shared, mode) = (Arc::clone(file), *mode);
                let size = mode.run(move || held(&shared).size()).await?;
                let opener = FrameOpener::new(size, registry, *limits);
                let read = |ranges: Vec<Range<u64>>| {
                    try_join_all(ranges.into_iter().map(|range| self.read_file(range))).err_into::<EditError>()
                };
                Ok((drive(opener, read).await?, None))
            }
            Self::Sparse { place, clearing, .. } => {
                let missing = || io::Error::new(io::ErrorKind::NotFound, format!("there is no {INDEX_FILE}"));
                let version = place.index().await?.ok_or_else(missing)?;
                // After the index: see `compact_place`.
                if !place.is_locked() && place.ignores_conditions().await? {
                    return Err(io::Error::new(io::ErrorKind::Unsupported, ConditionalPutsIgnored).into());
                }
                if !clearing {
                    check_editable(&**place).await?;
                }
                Ok((open_index(&version, registry, limits).await?, Some(version)))
            }
        }
    }

    /// Whether others may commit at the same time.
    pub(super) fn is_shared(&self) -> bool {
        matches!(self, Self::Sparse { place, .. } if !place.is_locked())
    }

    /// The numbers of the chunk files at the place of a sparse frame.
    pub(super) async fn chunk_files(&self) -> io::Result<Vec<u32>> {
        match self {
            Self::File { .. } => Ok(Vec::new()),
            Self::Sparse { place, .. } => Ok(place.chunks().await?.into_keys().collect()),
        }
    }

    /// How many chunks are written at the same time.
    pub(super) fn writes_in_flight(&self) -> usize {
        match self {
            // In the order in which they will be read.
            Self::File { .. } => 1,
            Self::Sparse { writes_in_flight, .. } => *writes_in_flight,
        }
    }

    /// The bytes of the file of a contiguous frame.
    pub(super) async fn whole_file(&self) -> io::Result<Bytes> {
        self.read_file(0..u64::MAX).await
    }

    fn read_file(&self, range: Range<u64>) -> BoxFuture<'static, io::Result<Bytes>> {
        match self {
            Self::File { file, mode } => {
                let (file, mode) = (Arc::clone(file), *mode);
                Box::pin(async move { mode.run(move || held(&file).read_at(range)).await })
            }
            Self::Sparse { .. } => Box::pin(std::future::ready(Ok(Bytes::new()))),
        }
    }

    /// The first `len` bytes of a stored chunk, or as many as there are.
    pub(super) fn read_chunk(&self, entry: ChunkEntry, len: usize) -> BoxFuture<'static, io::Result<Bytes>> {
        match (self, entry) {
            (Self::File { .. }, ChunkEntry::Stored { offset }) => self.read_file(offset..offset + len as u64),
            (Self::Sparse { place, .. }, ChunkEntry::File { id }) => {
                let place = Arc::clone(place);
                Box::pin(async move { place.read_file(id, 0..len as u64).await })
            }
            // A special value has no bytes, and no frame has entries of the other type.
            _ => Box::pin(std::future::ready(Ok(Bytes::new()))),
        }
    }

    /// Writes a chunk that no index names yet.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`] when the place is shared and somebody else has a file of that number.
    pub(super) fn write_chunk(&self, address: ChunkAddress, bytes: Bytes) -> BoxFuture<'static, ChunkWritten> {
        let content = bytes.clone();
        let write: BoxFuture<'static, io::Result<()>> = match (self, address) {
            (Self::File { file, mode }, ChunkAddress::Offset(at)) => {
                let (file, mode) = (Arc::clone(file), *mode);
                Box::pin(async move { mode.run(move || held(&file).write_at(at, &content)).await })
            }
            (Self::Sparse { place, .. }, ChunkAddress::File(id)) if place.is_locked() => place.put_chunk(id, content),
            (Self::Sparse { place, .. }, ChunkAddress::File(id)) => {
                let place = Arc::clone(place);
                Box::pin(async move {
                    match place.create_chunk(id, content.clone()).await {
                        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                            // It may be our own, if the response was lost.
                            if whole_chunk(&*place, id, content).await? { Ok(()) } else { Err(error) }
                        }
                        result => result,
                    }
                })
            }
            _ => Box::pin(std::future::ready(Err(io::ErrorKind::InvalidInput.into()))),
        };
        Box::pin(async move { ChunkWritten { address, bytes, result: write.await } })
    }

    /// Carries out a commit. Every step can be repeated, so that a failed commit is carried out again from the start.
    /// `index` is the version of the index that it replaces.
    pub(super) fn commit(
        &self,
        commit: &Arc<EditCommit>,
        index: Option<&FileVersion>,
    ) -> BoxFuture<'static, io::Result<Committed>> {
        let commit = Arc::clone(commit);
        match self {
            Self::File { file, mode } => {
                let (file, mode) = (Arc::clone(file), *mode);
                Box::pin(async move {
                    mode.run(move || commit_to_file(&mut *held(&file), &commit)).await?;
                    Ok(Committed::Done(None))
                })
            }
            Self::Sparse { place, .. } => {
                let (place, index) = (Arc::clone(place), index.cloned());
                Box::pin(async move { commit_to_place(&*place, &commit, index).await })
            }
        }
    }
}

/// Opens the frame with this index.
pub(super) async fn open_index(index: &FileVersion, registry: &Registry, limits: &Limits) -> Result<Frame, EditError> {
    let opener = FrameOpener::sparse(index.content.len() as u64, registry, *limits);
    drive(opener, |ranges: Vec<Range<u64>>| index.content.read_ranges(ranges).err_into::<EditError>()).await
}

fn commit_to_file(file: &mut dyn FrameFile, commit: &EditCommit) -> io::Result<()> {
    match commit {
        EditCommit::Patch { tail, patch, frame_len } => {
            if let Some((at, bytes)) = tail {
                file.write_at(*at, bytes)?;
            }
            if let Some((at, bytes)) = patch {
                // What the header will refer to must be on the disk first.
                file.sync()?;
                file.write_at(*at, bytes)?;
                file.sync()?;
            }
            if file.size()? > *frame_len {
                file.truncate(*frame_len)?;
            }
            Ok(())
        }
        EditCommit::Rewrite { head, tail_at, tail } => {
            file.replace(head, *tail_at, tail)?;
            file.sync()
        }
        EditCommit::Replace { .. } => Err(io::Error::new(io::ErrorKind::InvalidInput, "the frame is a sparse one")),
    }
}

async fn commit_to_place(
    place: &dyn SparsePlace,
    commit: &EditCommit,
    replaces: Option<FileVersion>,
) -> io::Result<Committed> {
    let EditCommit::Replace { index, remove } = commit else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the frame is not a sparse one"));
    };
    let ours = Bytes::copy_from_slice(index);
    match place.put_index(ours.clone(), replaces).await {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            // An earlier attempt may have succeeded although its response was lost.
            let gone = || io::Error::new(io::ErrorKind::NotFound, format!("there is no {INDEX_FILE} any more"));
            let now = place.index().await?.ok_or_else(gone)?;
            if now.content != ours {
                return Ok(Committed::Conflict { ours, now });
            }
        }
        result => result?,
    }
    for &id in remove {
        place.remove_chunk(id).await?;
    }
    let found = place.index().await.ok().flatten().filter(|found| found.content == ours);
    // If somebody else has committed meanwhile, or that cannot be found out, the next commit is refused as a conflict.
    Ok(Committed::Done(Some(found.unwrap_or_else(|| FileVersion::new(ours)))))
}
