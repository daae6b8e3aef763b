//! What is served, and what a path leads to.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use oxiblosc::frame::{INDEX_FILE, chunk_file_name};

use super::failure::Failure;
use crate::args::Source;
use crate::error::CliError;
use crate::remote::Remote;

/// Entries of a directory that are listed.
const MOST_ENTRIES: usize = 10_000;
/// The first bytes of a frame, behind the two that depend on its age.
const MAGIC: &[u8] = b"b2frame\0";

/// The inputs of the command, under their names.
#[derive(Clone)]
pub(super) struct Shares(Arc<Shared>);

enum Shared {
    /// A directory as the root.
    Root(PathBuf),
    Named(BTreeMap<String, Share>),
}

#[derive(Clone)]
enum Share {
    Place(Place),
    /// A directory, without symbolic links in its path.
    Folder(PathBuf),
}

/// Where a frame is.
#[derive(Clone)]
pub(super) enum Place {
    File(PathBuf),
    /// A directory with the files of a sparse frame.
    Sparse(PathBuf),
    Remote(Remote),
}

/// What a path leads to.
pub(super) enum Found {
    Frame(Place),
    /// A file of a sparse frame.
    ChunkFile(PathBuf),
    Folder(Folder),
}

/// The content of a directory, or of the root.
pub(super) struct Folder {
    pub(super) entries: Vec<Entry>,
    /// Whether there are more than are listed.
    pub(super) has_more: bool,
}

pub(super) struct Entry {
    pub(super) name: String,
    pub(super) is_folder: bool,
    /// Length of a file.
    pub(super) bytes: Option<u64>,
    pub(super) modified: Option<SystemTime>,
}

impl Shares {
    /// # Errors
    /// When an input does not exist or is not a frame, and when two have one name.
    pub(super) fn new(inputs: &[Source]) -> Result<Self, CliError> {
        let mut named = BTreeMap::new();
        for input in inputs {
            let share = Share::new(input)?;
            if let (Share::Folder(path), [_]) = (&share, inputs) {
                return Ok(Self(Arc::new(Shared::Root(path.clone()))));
            }
            let name = share.name().ok_or_else(|| CliError::Usage(format!("{}: it has no name", input.name())))?;
            if named.insert(name.clone(), share).is_some() {
                return Err(CliError::Usage(format!("two inputs are called {name}, and each needs a name of its own")));
            }
        }
        Ok(Self(Arc::new(Shared::Named(named))))
    }

    /// What a path leads to.
    ///
    /// # Errors
    /// When nothing is served there, however it exists.
    pub(super) async fn find(&self, path: &[String]) -> Result<Found, Failure> {
        let (shares, path) = (self.clone(), path.to_vec());
        let found = tokio::task::spawn_blocking(move || shares.find_now(&path)).await;
        Ok(found.map_err(io::Error::from)??)
    }

    fn find_now(&self, path: &[String]) -> io::Result<Found> {
        match (&*self.0, path) {
            (Shared::Root(root), path) => below(root, path),
            (Shared::Named(shares), []) => {
                let entries = shares.iter().map(|(name, share)| share.entry(name.clone())).collect();
                Ok(Found::Folder(Folder { entries, has_more: false }))
            }
            (Shared::Named(shares), [name, rest @ ..]) => match (shares.get(name), rest) {
                (Some(Share::Place(Place::Sparse(path))), [file]) => below(path, std::slice::from_ref(file)),
                (Some(Share::Place(place)), []) => Ok(Found::Frame(place.clone())),
                (Some(Share::Folder(root)), rest) => below(root, rest),
                _ => Err(io::ErrorKind::NotFound.into()),
            },
        }
    }
}

impl Share {
    fn new(input: &Source) -> Result<Self, CliError> {
        let name = input.name();
        let path = match input {
            Source::Standard => {
                return Err(CliError::Usage("-: only files, directories and URLs can be served".into()));
            }
            Source::Remote(object) => {
                // Whether it is there is seen now, and its content when it is asked for.
                object.source().map_err(CliError::io(name))?;
                return Ok(Self::Place(Place::Remote(object.clone())));
            }
            Source::Path(path) => fs::canonicalize(path).map_err(CliError::io(&name))?,
        };
        let metadata = path.metadata().map_err(CliError::io(&name))?;
        match () {
            () if metadata.is_dir() && is_sparse(&path) => Ok(Self::Place(Place::Sparse(path))),
            () if metadata.is_dir() => Ok(Self::Folder(path)),
            () if is_frame(&path).map_err(CliError::io(&name))? => Ok(Self::Place(Place::File(path))),
            () => {
                let reason = "not a frame (no `b2frame` at offset 2); `oxiblosc compress` makes a frame of anything";
                Err(CliError::data(name)(reason))
            }
        }
    }

    /// The last part of its path.
    fn name(&self) -> Option<String> {
        match self {
            Self::Folder(path) | Self::Place(Place::File(path) | Place::Sparse(path)) => {
                path.file_name().map(|name| name.to_string_lossy().into_owned())
            }
            Self::Place(Place::Remote(object)) => {
                object.path().file_name().map(|name| name.to_string_lossy().into_owned())
            }
        }
    }

    fn entry(&self, name: String) -> Entry {
        let (path, is_folder) = match self {
            Self::Folder(path) => (path, true),
            Self::Place(Place::File(path)) => (path, false),
            Self::Place(_) => return Entry { name, is_folder: false, bytes: None, modified: None },
        };
        let metadata = path.metadata().ok();
        Entry {
            name,
            is_folder,
            bytes: metadata.as_ref().filter(|_| !is_folder).map(fs::Metadata::len),
            modified: metadata.and_then(|metadata| metadata.modified().ok()),
        }
    }
}

/// What a path below a directory leads to. Symbolic links are followed as long as they stay below it.
fn below(root: &Path, names: &[String]) -> io::Result<Found> {
    // A file where a directory should be, a link in a circle, a name that is too long: there is nothing of that name.
    let missing = |error: io::Error| match error.kind() {
        io::ErrorKind::PermissionDenied => error,
        _ => io::ErrorKind::NotFound.into(),
    };
    let path =
        fs::canonicalize(names.iter().fold(root.to_path_buf(), |path, name| path.join(name))).map_err(missing)?;
    if !is_visible(root, &path) {
        return Err(io::ErrorKind::NotFound.into());
    }
    let metadata = path.metadata()?;
    if metadata.is_file() && is_frame(&path)? {
        // The index of a sparse frame is a part of one.
        return Ok(match path.file_name().is_some_and(|name| name == INDEX_FILE) {
            true => Found::ChunkFile(path),
            false => Found::Frame(Place::File(path)),
        });
    }
    let is_chunk = path.file_name().and_then(|name| name.to_str()).is_some_and(is_chunk_file_name);
    match () {
        () if metadata.is_file() && is_chunk && path.parent().is_some_and(is_sparse) => Ok(Found::ChunkFile(path)),
        () if metadata.is_dir() && is_sparse(&path) => Ok(Found::Frame(Place::Sparse(path))),
        () if metadata.is_dir() => folder(root, &path).map(Found::Folder),
        () => Err(io::ErrorKind::NotFound.into()),
    }
}

/// Whether a path without links is below a directory. What a link leads to behind a dot is as hidden as what has one itself.
fn is_visible(root: &Path, path: &Path) -> bool {
    path.strip_prefix(root).is_ok_and(|rest| rest.iter().all(|part| !part.to_string_lossy().starts_with('.')))
}

/// The frames and directories in a directory, by name.
fn folder(root: &Path, path: &Path) -> io::Result<Folder> {
    let (mut entries, mut has_more) = (Vec::new(), false);
    for entry in fs::read_dir(path)? {
        // Names that are not text have no URL.
        let Some(name) = entry?.file_name().to_str().map(str::to_owned) else { continue };
        if name.starts_with('.') || name.contains(|c: char| c.is_control() || c == '\\') {
            continue;
        }
        if entries.len() >= MOST_ENTRIES {
            has_more = true;
            break;
        }
        let Ok(target) = fs::canonicalize(path.join(&name)) else { continue };
        let Ok(metadata) = target.metadata() else { continue };
        let (is_folder, is_sparse) = (metadata.is_dir(), metadata.is_dir() && is_sparse(&target));
        if is_visible(root, &target) && (is_folder || metadata.is_file() && is_frame(&target).unwrap_or(false)) {
            let bytes = (!is_folder).then_some(metadata.len());
            entries.push(Entry { name, is_folder: is_folder && !is_sparse, bytes, modified: metadata.modified().ok() });
        }
    }
    entries.sort_by(|a, b| b.is_folder.cmp(&a.is_folder).then_with(|| a.name.cmp(&b.name)));
    Ok(Folder { entries, has_more })
}

/// Whether a directory has the index of a sparse frame, as a file of its own.
fn is_sparse(path: &Path) -> bool {
    let index = path.join(INDEX_FILE);
    index.symlink_metadata().is_ok_and(|metadata| metadata.is_file()) && is_frame(&index).unwrap_or(false)
}

fn is_chunk_file_name(name: &str) -> bool {
    let id = name.split('.').next().and_then(|digits| u32::from_str_radix(digits, 16).ok());
    id.is_some_and(|id| chunk_file_name(id) == name)
}

fn is_frame(path: &Path) -> io::Result<bool> {
    // Opening a pipe would wait for somebody to write.
    if !path.metadata()?.is_file() {
        return Ok(false);
    }
    let mut head = Vec::with_capacity(16);
    File::open(path)?.take(10).read_to_end(&mut head)?;
    Ok(head.get(2..) == Some(MAGIC))
}
