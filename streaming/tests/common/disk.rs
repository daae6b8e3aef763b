//! A disk that remembers the order of what is done to it, and what a crash may leave of that.

use std::collections::BTreeMap;
use std::fs;
use std::future::{poll_fn, ready};
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::Poll;

use bytes::Bytes;
use futures::future::BoxFuture;
use oxiblosc_core::frame::{INDEX_FILE, chunk_file_id};
use oxiblosc_streaming::blocking::FrameEditor;
use oxiblosc_streaming::edit::{EditError, EditOptions, FrameFile};
use oxiblosc_streaming::source::ChunkFiles;
use oxiblosc_streaming::sparse::{FileVersion, SparsePlace};

use super::Random;

/// What a disk writes at once.
const SECTOR: usize = 512;

/// A frame on a disk: a file, and the chunk files of a sparse frame.
#[derive(Debug, Clone, Default)]
pub(crate) struct Image {
    pub(crate) file: Vec<u8>,
    chunks: Option<BTreeMap<u32, Vec<u8>>>,
}

#[derive(Debug, Clone)]
enum Action {
    Write(u64, Vec<u8>),
    Truncate(u64),
    Sync,
    /// What the new file holds. It is on the disk before it has the name.
    ReplaceFile(Vec<u8>),
    WriteChunk(u32, Vec<u8>),
    ReplaceIndex(Vec<u8>),
    RemoveChunk(u32),
}

/// What a disk does in one step: the bytes of one sector as far as the file had them, or one other action.
#[derive(Debug, Clone)]
struct Piece(Action);

/// A disk and what has been done to it.
#[derive(Debug)]
pub(crate) struct Disk {
    before: Image,
    now: Image,
    log: Vec<Action>,
    /// How many actions still succeed.
    pub(crate) left: usize,
}

impl Image {
    pub(crate) fn contiguous(file: Vec<u8>) -> Self {
        Self { file, chunks: None }
    }

    /// The sparse frame in a directory.
    pub(crate) fn sparse(directory: &Path) -> Self {
        let files = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap());
        let chunks = files.filter_map(|entry| {
            let id = chunk_file_id(entry.file_name().to_str()?)?;
            Some((id, fs::read(entry.path()).unwrap()))
        });
        Self { chunks: Some(chunks.collect()), file: fs::read(directory.join(INDEX_FILE)).unwrap() }
    }

    fn chunk(&self, id: u32) -> Option<&Vec<u8>> {
        self.chunks.as_ref()?.get(&id)
    }

    fn apply(&mut self, action: &Action) {
        match action {
            Action::Write(at, bytes) => self.file.write_at(*at, bytes).unwrap(),
            Action::Truncate(size) => FrameFile::truncate(&mut self.file, *size).unwrap(),
            Action::Sync => {}
            Action::ReplaceFile(bytes) => self.file.clone_from(bytes),
            Action::WriteChunk(id, bytes) => {
                self.chunks.get_or_insert_default().insert(*id, bytes.clone());
            }
            Action::ReplaceIndex(bytes) => self.file.clone_from(bytes),
            Action::RemoveChunk(id) => {
                self.chunks.get_or_insert_default().remove(id);
            }
        }
    }
}

impl Action {
    /// What becomes of it step by step when the file has `size` bytes: the sectors of a write reach the disk one by one
    /// and in any order, and a file becomes longer at another time than its bytes become others.
    fn pieces(&self, size: usize) -> Vec<Piece> {
        let Self::Write(at, bytes) = self else { return vec![Piece(self.clone())] };
        let (mut at, mut rest) = (*at as usize, &bytes[..]);
        let mut pieces = Vec::new();
        while !rest.is_empty() {
            let to_end = if at < size { size - at } else { usize::MAX };
            let (sector, behind) = rest.split_at(rest.len().min(SECTOR - at % SECTOR).min(to_end));
            pieces.push(Piece(Self::Write(at as u64, sector.to_vec())));
            (at, rest) = (at + sector.len(), behind);
        }
        pieces
    }
}

impl Disk {
    fn new(image: Image) -> Self {
        Self { before: image.clone(), now: image, log: Vec::new(), left: usize::MAX }
    }

    pub(crate) fn image(&self) -> &Image {
        &self.now
    }

    /// Whether a copy has taken the place of the file.
    pub(crate) fn replaces_file(&self) -> bool {
        self.log.iter().any(|action| matches!(action, Action::ReplaceFile(_)))
    }

    /// How much has been done.
    pub(crate) fn actions(&self) -> usize {
        self.log.len()
    }

    /// What a crash after some of the actions may leave: all that was done before the last of them that waited for the
    /// disk, and any of what came later.
    pub(crate) fn crash(&self, after: usize, random: &mut Random) -> Image {
        let (mut image, pieces) = self.pending(after);
        for Piece(action) in pieces {
            match action {
                Action::WriteChunk(id, bytes) if random.chance(2) => {
                    let cut = random.below(bytes.len() as u64 + 1) as usize;
                    image.apply(&Action::WriteChunk(id, bytes[..cut].to_vec()));
                }
                action if random.chance(2) => image.apply(&action),
                _ => {}
            }
        }
        image
    }

    /// Calls `look` with all that a crash after some of the actions may leave, as long as the steps that are not on the
    /// disk for certain are no more than `most`: with every choice of them, each choice in order and in the reverse.
    /// When there are more, with so many random choices as `most` steps have, and with each step alone and missing.
    pub(crate) fn every_crash(&self, after: usize, most: u32, random: &mut Random, mut look: impl FnMut(&Image)) {
        let (image, pieces) = self.pending(after);
        let mut try_choice = |chosen: &dyn Fn(usize) -> bool| {
            let chosen: Vec<_> = pieces.iter().enumerate().filter(|(i, _)| chosen(*i)).map(|(_, p)| p).collect();
            for reversed in [false, true] {
                let mut image = image.clone();
                match reversed {
                    false => chosen.iter().for_each(|Piece(action)| image.apply(action)),
                    true => chosen.iter().rev().for_each(|Piece(action)| image.apply(action)),
                }
                look(&image);
                if chosen.len() < 2 {
                    break;
                }
            }
        };
        if pieces.len() <= most as usize {
            (0_u64..1 << pieces.len()).for_each(|choice| try_choice(&|i| choice >> i & 1 == 1));
            return;
        }
        for i in 0..pieces.len() {
            try_choice(&|k| k == i);
            try_choice(&|k| k != i);
            try_choice(&|k| k < i);
        }
        for _ in 0..1_u64 << most {
            let choice: Vec<bool> = pieces.iter().map(|_| random.chance(2)).collect();
            try_choice(&|k| choice[k]);
        }
    }

    /// What is on the disk for certain after some of the actions, and the steps of which nobody knows.
    fn pending(&self, after: usize) -> (Image, Vec<Piece>) {
        let done = &self.log[..after];
        let synced = done.iter().rposition(|action| matches!(action, Action::Sync)).map_or(0, |at| at + 1);
        let mut image = self.before.clone();
        done[..synced].iter().for_each(|action| image.apply(action));
        let pieces = done[synced..].iter().flat_map(|action| action.pieces(image.file.len())).collect();
        (image, pieces)
    }

    fn act(&mut self, action: Action) -> io::Result<()> {
        self.left = self.left.checked_sub(1).ok_or_else(|| io::Error::other("the disk fails"))?;
        self.now.apply(&action);
        self.log.push(action);
        Ok(())
    }
}

impl FrameFile for Disk {
    fn size(&self) -> io::Result<u64> {
        self.now.file.size()
    }

    fn read_at(&self, range: Range<u64>) -> io::Result<Bytes> {
        self.now.file.read_at(range)
    }

    fn write_at(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.act(Action::Write(at, bytes.to_vec()))
    }

    fn truncate(&mut self, size: u64) -> io::Result<()> {
        self.act(Action::Truncate(size))
    }

    fn replace(&mut self, head: &[u8], tail_at: u64, tail: &[u8]) -> io::Result<()> {
        let kept = self.now.file.get(head.len()..tail_at as usize).unwrap_or_default();
        self.act(Action::ReplaceFile([head, kept, tail].concat()))
    }

    fn sync(&mut self) -> io::Result<()> {
        self.act(Action::Sync)
    }
}

/// A disk that an editor changes while a test looks at it.
#[derive(Debug, Clone)]
pub(crate) struct SharedDisk(Arc<Mutex<Disk>>);

impl SharedDisk {
    pub(crate) fn new(image: Image) -> Self {
        Self(Arc::new(Mutex::new(Disk::new(image))))
    }

    /// An editor of the frame on it.
    pub(crate) fn edit(&self, options: EditOptions) -> Result<FrameEditor, EditError> {
        let is_sparse = self.lock().now.chunks.is_some();
        match is_sparse {
            true => FrameEditor::sparse(self.clone(), options),
            false => FrameEditor::with_file(Arc::clone(&self.0), options),
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Disk> {
        self.0.lock().unwrap()
    }

    fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Disk) -> io::Result<T> + Send + 'static,
    ) -> BoxFuture<'static, io::Result<T>> {
        let this = self.clone();
        Box::pin(async move { work(&mut this.lock()) })
    }

    /// Writes a chunk file if `may` says so, and waits for the disk. Other writes begin meanwhile.
    fn write_chunk(
        &self,
        id: u32,
        bytes: Bytes,
        may: impl FnOnce(&Disk) -> io::Result<()> + Send + 'static,
    ) -> BoxFuture<'static, io::Result<()>> {
        let this = self.clone();
        Box::pin(async move {
            {
                let mut disk = this.lock();
                may(&disk)?;
                disk.act(Action::WriteChunk(id, bytes.to_vec()))?;
            }
            let mut others_began = false;
            poll_fn(|cx| {
                if std::mem::replace(&mut others_began, true) {
                    return Poll::Ready(());
                }
                cx.waker().wake_by_ref();
                Poll::Pending
            })
            .await;
            this.lock().act(Action::Sync)
        })
    }
}

impl ChunkFiles for SharedDisk {
    fn read_files(&self, ranges: Vec<(u32, Range<u64>)>) -> BoxFuture<'_, Vec<io::Result<Bytes>>> {
        let disk = self.lock();
        let read = |(id, range): (u32, Range<u64>)| disk.now.chunk(id).ok_or(io::ErrorKind::NotFound)?.read_at(range);
        Box::pin(ready(ranges.into_iter().map(read).collect()))
    }
}

/// The files of a sparse frame on a disk that nobody else writes to.
impl SparsePlace for SharedDisk {
    fn put_chunk(&self, id: u32, bytes: Bytes) -> BoxFuture<'static, io::Result<()>> {
        self.write_chunk(id, bytes, |_| Ok(()))
    }

    fn create_chunk(&self, id: u32, bytes: Bytes) -> BoxFuture<'static, io::Result<()>> {
        self.write_chunk(id, bytes, move |disk| match disk.now.chunk(id) {
            Some(_) => Err(io::ErrorKind::AlreadyExists.into()),
            None => Ok(()),
        })
    }

    fn chunks(&self) -> BoxFuture<'static, io::Result<BTreeMap<u32, u64>>> {
        self.run(|disk| {
            let chunks = disk.now.chunks.iter().flatten();
            Ok(chunks.map(|(&id, chunk)| (id, chunk.len() as u64)).collect())
        })
    }

    fn index(&self) -> BoxFuture<'static, io::Result<Option<FileVersion>>> {
        self.run(|disk| Ok(Some(FileVersion::new(disk.now.file.clone().into()))))
    }

    fn put_index(&self, index: Bytes, replaces: Option<FileVersion>) -> BoxFuture<'static, io::Result<()>> {
        self.run(move |disk| {
            // When it is there already, an earlier call failed before it was on the disk for certain.
            if disk.now.file != index {
                if replaces.is_none_or(|replaces| replaces.content != disk.now.file) {
                    return Err(io::ErrorKind::AlreadyExists.into());
                }
                disk.act(Action::ReplaceIndex(index.to_vec()))?;
            }
            disk.act(Action::Sync)
        })
    }

    fn remove_chunk(&self, id: u32) -> BoxFuture<'static, io::Result<()>> {
        self.run(move |disk| disk.act(Action::RemoveChunk(id)))
    }

    fn plan(&self) -> BoxFuture<'static, io::Result<Option<FileVersion>>> {
        Box::pin(ready(Ok(None)))
    }

    fn put_plan(&self, _: Bytes, _: Option<FileVersion>) -> BoxFuture<'static, io::Result<()>> {
        Box::pin(ready(Err(io::ErrorKind::Unsupported.into())))
    }

    fn remove_plan(&self, _: FileVersion) -> BoxFuture<'static, io::Result<()>> {
        Box::pin(ready(Ok(())))
    }

    fn is_locked(&self) -> bool {
        true
    }
}
