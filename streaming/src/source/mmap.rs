//! Files mapped into memory.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;

use bytes::Bytes;
use futures::future::BoxFuture;
use memmap2::Mmap;

use super::RangeSource;

/// A file mapped into memory: ranges are views of the map, nothing is copied. Worth it for files that are in the page
/// cache and read in small parts.
#[derive(Debug, Clone)]
pub struct MmapSource {
    map: Bytes,
}

impl MmapSource {
    /// Maps a file.
    ///
    /// # Safety
    /// As long as the source and any of the bytes it gave exist, nobody may write to the file or cut it, in this process
    /// or another. No lock of the operating system can promise that, which is why the caller has to. A frame that
    /// others edit or append to is to be read through [`FileSource`](super::FileSource).
    ///
    /// # Errors
    /// When the file cannot be opened or mapped.
    #[allow(unsafe_code, reason = "the caller promises what the compiler cannot know")]
    pub unsafe fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        let file = File::open(path)?;
        // SAFETY: `Mmap::map` asks that the file is not modified while the map exists: bytes behind a shared slice would
        // change, and pages behind the end would fault. The map is owned by `Bytes`, so it exists as long as the source
        // or bytes it gave, which is how long this function's caller promises that nobody modifies the file.
        let map = unsafe { Mmap::map(&file)? };
        Ok(Self { map: Bytes::from_owner(map) })
    }
}

impl RangeSource for MmapSource {
    fn size(&self) -> BoxFuture<'_, io::Result<u64>> {
        RangeSource::size(&self.map)
    }

    fn is_immediate(&self) -> bool {
        self.map.is_immediate()
    }

    fn read_ranges(&self, ranges: Vec<Range<u64>>) -> BoxFuture<'_, io::Result<Vec<Bytes>>> {
        self.map.read_ranges(ranges)
    }
}
