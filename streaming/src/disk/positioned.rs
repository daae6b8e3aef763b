//! Reads and writes at a position, which need no cursor and may therefore be shared and repeated.

use std::fs::File;
use std::io;

use super::Handle;

/// A file that is read and written at given positions only.
#[derive(Debug)]
pub(crate) struct PositionedFile {
    file: Handle,
    #[cfg(not(any(unix, windows)))]
    cursor: std::sync::Mutex<()>,
}

impl PositionedFile {
    pub(crate) fn new(file: impl Into<Handle>) -> Self {
        Self {
            file: file.into(),
            #[cfg(not(any(unix, windows)))]
            cursor: std::sync::Mutex::new(()),
        }
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    pub(crate) fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    #[cfg(unix)]
    pub(crate) fn read_exact_at(&self, buf: &mut [u8], at: u64) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(self.file(), buf, at)
    }

    #[cfg(unix)]
    pub(crate) fn write_all_at(&self, buf: &[u8], at: u64) -> io::Result<()> {
        std::os::unix::fs::FileExt::write_all_at(self.file(), buf, at)
    }

    #[cfg(windows)]
    pub(crate) fn read_exact_at(&self, mut buf: &mut [u8], mut at: u64) -> io::Result<()> {
        while !buf.is_empty() {
            match std::os::windows::fs::FileExt::seek_read(self.file(), buf, at) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(n) => {
                    buf = &mut buf[n..];
                    at += n as u64;
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    #[cfg(windows)]
    pub(crate) fn write_all_at(&self, mut buf: &[u8], mut at: u64) -> io::Result<()> {
        while !buf.is_empty() {
            match std::os::windows::fs::FileExt::seek_write(self.file(), buf, at) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(n) => {
                    buf = &buf[n..];
                    at += n as u64;
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    #[cfg(not(any(unix, windows)))]
    pub(crate) fn read_exact_at(&self, buf: &mut [u8], at: u64) -> io::Result<()> {
        use std::io::{Read, Seek};
        let _cursor = self.cursor.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        self.file().seek(io::SeekFrom::Start(at))?;
        self.file().read_exact(buf)
    }

    #[cfg(not(any(unix, windows)))]
    pub(crate) fn write_all_at(&self, buf: &[u8], at: u64) -> io::Result<()> {
        use std::io::{Seek, Write};
        let _cursor = self.cursor.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        self.file().seek(io::SeekFrom::Start(at))?;
        self.file().write_all(buf)
    }
}
