//! The directory of a sparse frame, as a place that several writers fill.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use futures::future::BoxFuture;
use oxiblosc_core::frame::{INDEX_FILE, chunk_file_id, chunk_file_name};
use tempfile::NamedTempFile;

use super::directory::sync_directory;
use super::place::{IndexVersion, SparsePlace, index_exists};
use crate::disk::IoMode;

/// The directory of a sparse frame that several writers fill, in one process or in many.
#[derive(Debug, Clone)]
pub struct Directory {
    path: PathBuf,
    mode: IoMode,
    durable: bool,
}

impl Directory {
    /// The directory `path`, made if need be.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn new(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref().to_owned();
        fs::create_dir_all(&path)?;
        Ok(Self { path, mode: IoMode::default(), durable: false })
    }

    /// On which thread files are read and written.
    #[must_use]
    pub fn io_mode(mut self, mode: IoMode) -> Self {
        self.mode = mode;
        self
    }

    /// Has the system write every file to the disk before it gets its name. Off by default.
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

    /// A file with these bytes that has no name yet.
    fn write(&self, bytes: &[u8]) -> io::Result<NamedTempFile> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(".").suffix(".part");
        // Temporary files are private by default; this one is to become an ordinary file, under the user's umask.
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

    /// Replacing takes three steps, reading, comparing and renaming: a lock on the directory makes them one for all who
    /// do it this way. Not every system lets directories be locked.
    fn replace_index(&self, file: NamedTempFile, replaces: &IndexVersion) -> io::Result<()> {
        let lock = File::open(&self.path).ok();
        let _locked = lock.as_ref().map(File::lock);
        let path = self.path.join(INDEX_FILE);
        if fs::read(&path)? != replaces.content {
            return Err(index_exists(INDEX_FILE));
        }
        file.persist(&path).map(drop).map_err(|failed| failed.error)
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

    fn chunks(&self) -> BoxFuture<'static, io::Result<BTreeSet<u32>>> {
        self.run(|this| {
            let names = fs::read_dir(&this.path)?.map(|entry| Ok(entry?.file_name()));
            let ids = names.filter_map(|name| match name {
                Ok(name) => chunk_file_id(name.to_str()?).map(Ok),
                Err(error) => Some(Err(error)),
            });
            ids.collect()
        })
    }

    fn index(&self) -> BoxFuture<'static, io::Result<Option<IndexVersion>>> {
        self.run(|this| match fs::read(this.path.join(INDEX_FILE)) {
            Ok(content) => Ok(Some(IndexVersion::new(content.into()))),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(e),
        })
    }

    fn put_index(&self, index: Bytes, replaces: Option<IndexVersion>) -> BoxFuture<'static, io::Result<()>> {
        self.run(move |this| {
            let file = this.write(&index)?;
            match replaces {
                Some(replaces) => this.replace_index(file, &replaces)?,
                None => file.persist_noclobber(this.path.join(INDEX_FILE)).map(drop).map_err(|failed| match failed
                    .error
                    .kind()
                {
                    io::ErrorKind::AlreadyExists => index_exists(INDEX_FILE),
                    _ => failed.error,
                })?,
            }
            if this.durable { sync_directory(&this.path) } else { Ok(()) }
        })
    }

    fn remove_chunk(&self, id: u32) -> BoxFuture<'static, io::Result<()>> {
        self.run(move |this| match fs::remove_file(this.path.join(chunk_file_name(id))) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
            result => result,
        })
    }

    fn discard(&self, ids: Vec<u32>) {
        // Somebody else has completed a frame here, of files with these names.
        if self.path.join(INDEX_FILE).exists() {
            return;
        }
        for id in ids {
            // What cannot be removed now does no harm: only the index says which files matter.
            let _ = fs::remove_file(self.path.join(chunk_file_name(id)));
        }
    }
}
