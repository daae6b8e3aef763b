//! The directory of a sparse frame, as a place that several writers fill or one editor changes.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use futures::future::BoxFuture;
use oxiblosc_core::frame::{INDEX_FILE, chunk_file_id, chunk_file_name};
use tempfile::TempPath;

use super::directory::{read_chunk_file, remove_temporary};
use super::place::{FileVersion, SparsePlace, written_by_another};
use super::plan_file::CLAIM_FILE;
use crate::disk::{
    Handle, IoMode, TRIES, is_at, lock, lock_later, replace_file, replaced_by_another, sync_directory, write_beside,
};
use crate::source::ChunkFiles;

/// The directory of a sparse frame that several writers fill, in one process or in many, or that one editor changes.
#[derive(Debug, Clone)]
pub struct Directory {
    path: Arc<Path>,
    mode: IoMode,
    durable: bool,
    locked: Option<Arc<Locked>>,
}

/// The lock on a directory.
#[derive(Debug)]
struct Locked {
    /// `None` where directories cannot be opened.
    handle: Option<Handle>,
}

impl Directory {
    /// The directory `path`, created if needed.
    ///
    /// # Errors
    /// When it cannot be made; [`io::ErrorKind::NotADirectory`] when there is a file of this name.
    pub fn new(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref();
        fs::create_dir_all(path).map_err(|e| if path.is_file() { is_a_file() } else { e })?;
        Ok(Self::existing(path, IoMode::default()))
    }

    /// The directory `path`, which has been there before.
    pub(crate) fn existing(path: impl Into<Arc<Path>>, mode: IoMode) -> Self {
        Self { path: path.into(), mode, durable: false, locked: None }
    }

    /// The existing directory `path`.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`] when there is nothing, and [`io::ErrorKind::NotADirectory`] when it is a file.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref();
        match fs::metadata(path)?.is_dir() {
            true => Ok(Self::existing(path, IoMode::default())),
            false => Err(is_a_file()),
        }
    }

    /// The existing directory `path`, locked against other editors until the last clone of this handle is dropped,
    /// where the system supports it. Readers are not affected. Temporary files of killed editors are removed.
    ///
    /// # Errors
    /// When there is none, and [`io::ErrorKind::WouldBlock`] when another editor has locked it.
    pub fn lock(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref();
        for _ in 0..TRIES {
            if !path.is_dir() {
                return Err(io::ErrorKind::NotADirectory.into());
            }
            let handle = File::open(path).ok().map(|handle| lock(handle, path)).transpose()?;
            // It may have been replaced before it was locked.
            if handle.as_ref().map_or(Ok(true), |handle| is_at(handle, path))? {
                let locked = Some(Arc::new(Locked { handle }));
                remove_temporary(path)?;
                return Ok(Self { locked, ..Self::existing(path, IoMode::default()) });
            }
        }
        Err(replaced_by_another(path))
    }

    /// Which thread reads and writes files.
    #[must_use]
    pub fn io_mode(mut self, mode: IoMode) -> Self {
        self.mode = mode;
        self
    }

    /// Whether every file is synced to the disk before it gets its name. Off by default.
    #[must_use]
    pub fn durable(mut self, durable: bool) -> Self {
        self.durable = durable;
        self
    }

    fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> io::Result<T> + Send + 'static,
    ) -> BoxFuture<'static, io::Result<T>> {
        let directory = self.clone();
        Box::pin(async move { directory.mode.run(move || work(&directory)).await })
    }

    /// Checks that a locked directory has not been replaced: its replacement must not be written to.
    fn check(&self) -> io::Result<()> {
        match self.locked.as_ref().and_then(|locked| locked.handle.as_ref()) {
            Some(handle) if !is_at(handle, &self.path)? => Err(replaced_by_another(&self.path)),
            _ => Ok(()),
        }
    }

    /// Writes a file that does not have its name yet.
    fn write(&self, name: &str, bytes: &[u8]) -> io::Result<TempPath> {
        self.check()?;
        write_beside(&self.path.join(name), bytes, self.durable)
    }

    /// Compare-and-replace takes several steps; a lock on the directory makes them atomic for all that use it. Not
    /// every system allows directories to be locked.
    fn exclusively<T>(&self, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        let _locked = match self.locked {
            // Waiting for another handle of the same lock would never end.
            Some(_) => None,
            None => File::open(&self.path).ok().map(lock_later),
        };
        work()
    }

    /// The file of this name, if there is one.
    fn version(&self, name: &str) -> io::Result<Option<FileVersion>> {
        match fs::read(self.path.join(name)) {
            Ok(content) => Ok(Some(FileVersion::new(content.into()))),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Gives a file its name if it has none yet.
    fn create(&self, file: TempPath, name: &str) -> io::Result<()> {
        file.persist_noclobber(self.path.join(name)).map_err(|failed| match failed.error.kind() {
            io::ErrorKind::AlreadyExists => written_by_another(name),
            _ => failed.error,
        })
    }

    /// Writes a file if the one it replaces is unchanged.
    fn replace(&self, name: &str, content: &[u8], replaces: Option<&FileVersion>) -> io::Result<()> {
        let file = self.write(name, content)?;
        match replaces {
            Some(replaces) => self.exclusively(|| match self.version(name)? {
                Some(now) if now.content == replaces.content => replace_file(file, &self.path.join(name)),
                // An earlier call failed before the new name was on the disk, and nobody else writes here.
                Some(now) if self.locked.is_some() && now.content == content => Ok(()),
                _ => Err(written_by_another(name)),
            })?,
            None => self.create(file, name)?,
        }
        if self.durable { sync_directory(&self.path) } else { Ok(()) }
    }
}

fn is_a_file() -> io::Error {
    io::Error::new(io::ErrorKind::NotADirectory, "this is a file, and a sparse frame is a directory")
}

impl ChunkFiles for Directory {
    fn read_files(&self, ranges: Vec<(u32, Range<u64>)>) -> BoxFuture<'_, Vec<io::Result<Bytes>>> {
        let (path, mode) = (Arc::clone(&self.path), self.mode);
        // All of them at once: changing to another thread takes longer than reading a small file.
        Box::pin(async move {
            mode.run(move || ranges.iter().map(|(id, range)| read_chunk_file(&path, *id, range)).collect()).await
        })
    }
}

impl SparsePlace for Directory {
    fn put_chunk(&self, id: u32, bytes: Bytes) -> BoxFuture<'static, io::Result<()>> {
        self.run(move |this| {
            let name = chunk_file_name(id);
            let file = this.write(&name, &bytes)?;
            replace_file(file, &this.path.join(name))
        })
    }

    fn create_chunk(&self, id: u32, bytes: Bytes) -> BoxFuture<'static, io::Result<()>> {
        self.run(move |this| {
            let name = chunk_file_name(id);
            let file = this.write(&name, &bytes)?;
            this.create(file, &name)
        })
    }

    fn chunks(&self) -> BoxFuture<'static, io::Result<BTreeMap<u32, u64>>> {
        self.run(|this| {
            let mut chunks = BTreeMap::new();
            for entry in fs::read_dir(&this.path)? {
                let entry = entry?;
                let Some(id) = entry.file_name().to_str().and_then(chunk_file_id) else { continue };
                match entry.metadata() {
                    Ok(metadata) => drop(chunks.insert(id, metadata.len())),
                    // It was removed meanwhile.
                    Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                    Err(e) => return Err(e),
                }
            }
            Ok(chunks)
        })
    }

    fn index(&self) -> BoxFuture<'static, io::Result<Option<FileVersion>>> {
        self.run(|this| this.version(INDEX_FILE))
    }

    fn put_index(&self, index: Bytes, replaces: Option<FileVersion>) -> BoxFuture<'static, io::Result<()>> {
        self.run(move |this| this.replace(INDEX_FILE, &index, replaces.as_ref()))
    }

    fn remove_chunk(&self, id: u32) -> BoxFuture<'static, io::Result<()>> {
        self.run(move |this| {
            this.check()?;
            match fs::remove_file(this.path.join(chunk_file_name(id))) {
                Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
                result => result,
            }
        })
    }

    fn is_locked(&self) -> bool {
        self.locked.is_some()
    }

    fn plan(&self) -> BoxFuture<'static, io::Result<Option<FileVersion>>> {
        self.run(|this| this.version(CLAIM_FILE))
    }

    fn put_plan(&self, plan: Bytes, replaces: Option<FileVersion>) -> BoxFuture<'static, io::Result<()>> {
        self.run(move |this| this.replace(CLAIM_FILE, &plan, replaces.as_ref()))
    }

    fn remove_plan(&self, version: FileVersion) -> BoxFuture<'static, io::Result<()>> {
        self.run(move |this| {
            this.exclusively(|| match this.version(CLAIM_FILE)? {
                Some(now) if now.content == version.content => fs::remove_file(this.path.join(CLAIM_FILE)),
                _ => Ok(()),
            })
        })
    }
}
