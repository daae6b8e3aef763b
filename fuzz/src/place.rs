//! Frames in memory, contiguous or sparse, from one input.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use oxiblosc::blocking::FrameEditor;
use oxiblosc::edit::{EditError, EditOptions};
use oxiblosc::source::RangeSource;
use oxiblosc::sparse::MemoryDirectory;

/// Where a frame is: it can be read, and copied to be changed.
pub trait Place: RangeSource + Clone + 'static {
    /// A copy that can be changed.
    type Copy;

    /// Makes a copy.
    fn copy(&self) -> Self::Copy;

    /// Opens the frame in a copy to change it.
    ///
    /// # Errors
    /// As [`EditOptions::edit`].
    fn edit(copy: &Self::Copy, options: EditOptions) -> Result<FrameEditor, EditError>;

    /// The frame in a copy, with everything that an editor has left there.
    fn of(copy: Self::Copy) -> Self;

    /// Writes it to a file or a directory.
    fn save(&self, path: &Path) -> io::Result<()>;

    /// Reads it back.
    fn load(path: &Path) -> io::Result<Self>;
}

impl Place for Bytes {
    type Copy = Arc<Mutex<Vec<u8>>>;

    fn copy(&self) -> Self::Copy {
        Arc::new(Mutex::new(self.to_vec()))
    }

    fn edit(copy: &Self::Copy, options: EditOptions) -> Result<FrameEditor, EditError> {
        FrameEditor::with_file(Arc::clone(copy), options)
    }

    fn of(copy: Self::Copy) -> Self {
        std::mem::take(&mut *copy.lock().unwrap_or_else(PoisonError::into_inner)).into()
    }

    fn save(&self, path: &Path) -> io::Result<()> {
        fs::write(path, self)
    }

    fn load(path: &Path) -> io::Result<Self> {
        Ok(fs::read(path)?.into())
    }
}

impl Place for MemoryDirectory {
    type Copy = Self;

    fn copy(&self) -> Self {
        self.snapshot()
    }

    fn edit(copy: &Self, options: EditOptions) -> Result<FrameEditor, EditError> {
        FrameEditor::sparse(copy.clone(), options)
    }

    fn of(copy: Self) -> Self {
        copy
    }

    fn save(&self, path: &Path) -> io::Result<()> {
        fs::create_dir(path)?;
        self.files().into_iter().try_for_each(|(name, content)| fs::write(path.join(name), content))
    }

    fn load(path: &Path) -> io::Result<Self> {
        let mut files = Vec::new();
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            files.push((entry.file_name().to_string_lossy().into_owned(), fs::read(entry.path())?.into()));
        }
        Ok(Self::from_files(files))
    }
}

/// The files of a directory, one after the other: name, a zero byte, length (little-endian, 32 bits), content.
///
/// Of other bytes, the files before the first that does not fit this form.
pub fn files(mut input: &[u8]) -> Vec<(String, Bytes)> {
    let mut files = Vec::new();
    while let Some((name, content, rest)) = split_file(input) {
        files.push((name, Bytes::copy_from_slice(content)));
        input = rest;
    }
    files
}

fn split_file(input: &[u8]) -> Option<(String, &[u8], &[u8])> {
    let end = input.iter().position(|&byte| byte == 0)?;
    let name = std::str::from_utf8(&input[..end]).ok()?;
    let (len, rest) = input[end + 1..].split_first_chunk()?;
    let (content, rest) = rest.split_at_checked(u32::from_le_bytes(*len) as usize)?;
    Some((name.to_owned(), content, rest))
}

/// What [`files`] takes apart.
pub fn bundle<N: AsRef<str>, C: AsRef<[u8]>>(files: impl IntoIterator<Item = (N, C)>) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, content) in files {
        let content = content.as_ref();
        out.extend_from_slice(name.as_ref().as_bytes());
        out.push(0);
        out.extend_from_slice(&(content.len() as u32).to_le_bytes());
        out.extend_from_slice(content);
    }
    out
}

/// The sparse frame in such files.
pub fn directory(input: &[u8]) -> MemoryDirectory {
    MemoryDirectory::from_files(files(input))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_come_back() {
        let list = [("00000000.chunk", vec![1, 2, 3]), ("chunks.b2frame", vec![])];
        let back = files(&bundle(list.clone()));
        assert_eq!(back, list.map(|(name, content)| (name.to_owned(), Bytes::from(content))));
        assert!(files(b"no list").is_empty());
    }
}
