//! The directory of a sparse frame, as a place that several writers fill.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use futures::future::BoxFuture;
use oxiblosc_core::frame::{INDEX_FILE, chunk_file_id, chunk_file_name};
use tempfile::NamedTempFile;

use super::directory::sync_directory;
use super::place::{FileVersion, SparsePlace, written_by_another};
use super::plan_file::CLAIM_FILE;
use crate::disk::{IoMode, lock_later};

/// The directory of a sparse frame that several writers fill, in one process or in many.
#[derive(Debug, Clone)]
pub struct Directory {
    path: PathBuf,
    mode: IoMode,
    durable: bool,
}

impl Directory {
    /// The directory `path`, created if needed.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn new(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref().to_owned();
        fs::create_dir_all(&path)?;
        Ok(Self { path, mode: IoMode::default(), durable: false })
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

    /// Writes a file without a name yet.
    fn write(&self, bytes: &[u8]) -> io::Result<NamedTempFile> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(".").suffix(".part");
        // Temporary files are private by default; this one becomes an ordinary file and follows the user's umask.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let mut file = builder.tempfile_in(&self.path)?;
        file.write_all(bytes)?;
        if self.durable {
            file.as_file().sync_all()?;
            // The new names of the chunk files must be on the disk before the index that needs them.
            sync_directory(&self.path)?;
        }
        Ok(file)
    }

    /// Compare-and-replace takes several steps; a lock on the directory makes them atomic for all that use it. Not
    /// every system allows directories to be locked.
    fn locked<T>(&self, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        let _locked = File::open(&self.path).ok().map(lock_later);
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
    fn create(&self, file: NamedTempFile, name: &str) -> io::Result<()> {
        file.persist_noclobber(self.path.join(name)).map(drop).map_err(|failed| match failed.error.kind() {
            io::ErrorKind::AlreadyExists => written_by_another(name),
            _ => failed.error,
        })
    }

    /// Writes a file if the one it replaces is unchanged.
    fn replace(&self, name: &str, content: &[u8], replaces: Option<&FileVersion>) -> io::Result<()> {
        let file = self.write(content)?;
        match replaces {
            Some(replaces) => self.locked(|| match self.version(name)? {
                Some(now) if now.content == replaces.content => {
                    file.persist(self.path.join(name)).map(drop).map_err(|failed| failed.error)
                }
                _ => Err(written_by_another(name)),
            })?,
            None => self.create(file, name)?,
        }
        if self.durable { sync_directory(&self.path) } else { Ok(()) }
    }
}

impl SparsePlace for Directory {
    fn put_chunk(&self, id: u32, bytes: Bytes) -> BoxFuture<'static, io::Result<()>> {
        self.run(move |this| {
            let file = this.write(&bytes)?;
            file.persist(this.path.join(chunk_file_name(id))).map(drop).map_err(|failed| failed.error)
        })
    }

    fn chunk_head(&self, id: u32, len: usize) -> BoxFuture<'static, io::Result<(u64, Bytes)>> {
        self.run(move |this| {
            let file = File::open(this.path.join(chunk_file_name(id)))?;
            let whole = file.metadata()?.len();
            // Lossless: no more than `len`.
            let mut bytes = Vec::with_capacity(whole.min(len as u64) as usize);
            file.take(len as u64).read_to_end(&mut bytes)?;
            Ok((whole, bytes.into()))
        })
    }

    fn create_chunk(&self, id: u32, bytes: Bytes) -> BoxFuture<'static, io::Result<()>> {
        self.run(move |this| {
            let file = this.write(&bytes)?;
            this.create(file, &chunk_file_name(id))
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
        self.run(move |this| match fs::remove_file(this.path.join(chunk_file_name(id))) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
            result => result,
        })
    }

    fn plan(&self) -> BoxFuture<'static, io::Result<Option<FileVersion>>> {
        self.run(|this| this.version(CLAIM_FILE))
    }

    fn put_plan(&self, plan: Bytes, replaces: Option<FileVersion>) -> BoxFuture<'static, io::Result<()>> {
        self.run(move |this| this.replace(CLAIM_FILE, &plan, replaces.as_ref()))
    }

    fn remove_plan(&self, version: FileVersion) -> BoxFuture<'static, io::Result<()>> {
        self.run(move |this| {
            this.locked(|| match this.version(CLAIM_FILE)? {
                Some(now) if now.content == version.content => fs::remove_file(this.path.join(CLAIM_FILE)),
                _ => Ok(()),
            })
        })
    }
}
