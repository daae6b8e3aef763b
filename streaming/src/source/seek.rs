//! Frames in any `Read + Seek`.

use std::future::ready;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use futures::future::BoxFuture;

use super::{RangeSource, check};

/// A `Read + Seek` as a source: calls take turns, on their own threads. For blocking programs; for files use
/// [`FileSource`](super::FileSource).
#[derive(Debug)]
pub struct SeekSource<R> {
    reader: Mutex<R>,
}

impl<R> SeekSource<R> {
    /// Reads from `reader`, from its own start.
    pub fn new(reader: R) -> Self {
        Self { reader: Mutex::new(reader) }
    }

    /// The reader, at whatever position.
    pub fn into_inner(self) -> R {
        self.reader.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<R: Read + Seek + Send> SeekSource<R> {
    fn with<T>(&self, work: impl FnOnce(&mut R) -> io::Result<T>) -> io::Result<T> {
        // Every use begins with a seek, so the state left by a panicking reader does not matter.
        work(&mut self.reader.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<R: Read + Seek + Send> RangeSource for SeekSource<R> {
    fn size(&self) -> BoxFuture<'_, io::Result<u64>> {
        Box::pin(ready(self.with(|reader| reader.seek(SeekFrom::End(0)))))
    }

    fn read_ranges(&self, ranges: Vec<Range<u64>>) -> BoxFuture<'_, io::Result<Vec<Bytes>>> {
        Box::pin(ready(self.with(|reader| {
            check(&ranges, reader.seek(SeekFrom::End(0))?)?;
            let read = |r: Range<u64>| {
                reader.seek(SeekFrom::Start(r.start))?;
                // Lossless: `check` has made sure that the length fits.
                let mut bytes = vec![0; (r.end - r.start) as usize];
                reader.read_exact(&mut bytes)?;
                Ok(bytes.into())
            };
            ranges.into_iter().map(read).collect()
        })))
    }
}
