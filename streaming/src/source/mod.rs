//! Where a frame is read from.
//!
//! | source | what it reads |
//! |---|---|
//! | [`FileSource`] | a file at positions, or the directory of a sparse frame |
//! | `Bytes`, `Vec<u8>` | memory |
//! | `MmapSource` (feature `mmap`) | a file mapped into memory |
//! | [`SeekSource`] | any `Read + Seek`, for blocking programs |
//! | [`ProgressSource`] | another source, counting what is read |
//! | `ObjectSource` (feature `object_store`) | an object in S3, GCS, Azure or behind HTTP, or the prefix of a sparse frame |

mod buffered;
mod coalesce;
mod file;
mod memory;
#[cfg(feature = "mmap")]
mod mmap;
#[cfg(feature = "object_store")]
mod object;
mod progress;
mod seek;

use std::io;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures::future::BoxFuture;

pub(crate) use buffered::BufferedSource;
pub use coalesce::Coalesced;
pub use file::FileSource;
#[cfg(feature = "mmap")]
pub use mmap::MmapSource;
#[cfg(feature = "object_store")]
pub use object::ObjectSource;
pub use progress::ProgressSource;
pub use seek::SeekSource;

/// How many bytes readers request first: enough for the header of nearly every frame, and for all of a small one.
pub(crate) const HEAD: u64 = 8 << 10;

/// A place that a frame is read from: of known length, and read in any number of ranges at once.
///
/// # Contract
/// - `read_ranges` returns one buffer for each range, in the order of the ranges and of exactly their lengths. Ranges
///   may overlap, touch or be empty. A range that reaches past the end is an error ([`io::ErrorKind::UnexpectedEof`]),
///   and must be detected before memory is allocated for it.
/// - All ranges of one call are one *round*: a remote source fetches them at the same time, and joins those that are
///   close together.
/// - Dropping a future cancels its work or leaves it without effect.
/// - All responses are of one state of the place: if it is replaced meanwhile, that is an error
///   ([`Replaced`](crate::Replaced)), until [`reopen`](RangeSource::reopen).
///
/// # What readers check
/// - There is one response for each range, of the length of the range. If a range overlaps the next one of the round, the
///   two responses agree.
/// - The header of a chunk has the decoded length that the frame requires, and a stored length that fits the space up to
///   whatever follows. If the frame promises to have no holes, it fills that space exactly.
/// - Blocks lie within their chunk, and streams within their block. Each stream decodes to exactly its share of the
///   block. (Bytes between the last stream of a block and the next block are ignored, and so are those that a codec
///   does not consume.)
///
/// Bytes that pass these checks are trusted. So two chunks or blocks of the same lengths swapped, bytes of an older
/// version, or anything in place of bytes that are stored uncompressed, are detected only by the
/// [checksums](crate::ChecksumPolicy) of a frame, if the reader is asked to check them, and by
/// [`verify`](crate::FrameReader::verify), which also compares the fingerprint.
pub trait RangeSource: Send + Sync {
    /// Length in bytes.
    fn size(&self) -> BoxFuture<'_, io::Result<u64>>;

    /// The bytes of every range.
    fn read_ranges(&self, ranges: Vec<Range<u64>>) -> BoxFuture<'_, io::Result<Vec<Bytes>>>;

    /// The bytes of one range.
    fn read_range(&self, range: Range<u64>) -> BoxFuture<'_, io::Result<Bytes>> {
        Box::pin(async move {
            let bytes = self.read_ranges(std::iter::once(range).collect()).await?;
            Ok(bytes.into_iter().next().unwrap_or_default())
        })
    }

    /// The length, and the first `head` bytes or all there are. A remote source gets the length with the bytes, in one
    /// round trip instead of two, and should implement this.
    fn open(&self, head: u64) -> BoxFuture<'_, io::Result<(u64, Bytes)>> {
        Box::pin(async move {
            let len = self.size().await?;
            Ok((len, self.read_range(0..head.min(len)).await?))
        })
    }

    /// Whether reading happens on the polling thread, before the first poll returns. Read-ahead gains nothing with such
    /// a source.
    fn is_immediate(&self) -> bool {
        false
    }

    /// The cost of a request in bytes: how many unneeded bytes may be read to save one. Readers request single blocks
    /// of a chunk only if that saves more than this for each request.
    fn request_cost(&self) -> u64 {
        32 << 10
    }

    /// Limits the requests in flight to `at_once`, if this source turns a round into several requests and counts them.
    /// Returns whether it does; for other sources readers count the rounds themselves.
    fn limit_requests(&self, at_once: usize) -> bool {
        let _ = at_once;
        false
    }

    /// Opens the current state of this place, for a reader that follows a frame which others commit to: a source that
    /// sees the newest bytes, while this one keeps its state. `None` if this one sees them itself.
    fn reopen(&self) -> BoxFuture<'_, io::Result<Option<Arc<dyn RangeSource>>>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    /// The chunk files, if this is a sparse frame: the bytes of [`size`](RangeSource::size),
    /// [`open`](RangeSource::open) and [`read_ranges`](RangeSource::read_ranges) are then those of its index file.
    fn chunk_files(&self) -> Option<&dyn ChunkFiles> {
        None
    }
}

/// The chunk files of a sparse frame. Every [`SparsePlace`](crate::sparse::SparsePlace) reads its own.
pub trait ChunkFiles: Send + Sync {
    /// A range of the chunk file of each number, or as much of it as the file has. One round; a missing file is an
    /// error ([`io::ErrorKind::NotFound`]) for its own ranges only.
    fn read_files(&self, ranges: Vec<(u32, Range<u64>)>) -> BoxFuture<'_, Vec<io::Result<Bytes>>>;

    /// A range of one chunk file, or as much of it as the file has.
    fn read_file(&self, id: u32, range: Range<u64>) -> BoxFuture<'_, io::Result<Bytes>> {
        Box::pin(async move {
            let found = self.read_files(std::iter::once((id, range)).collect()).await;
            found.into_iter().next().unwrap_or_else(|| Err(io::ErrorKind::InvalidData.into()))
        })
    }
}

impl<C: ChunkFiles + ?Sized> ChunkFiles for Arc<C> {
    fn read_files(&self, ranges: Vec<(u32, Range<u64>)>) -> BoxFuture<'_, Vec<io::Result<Bytes>>> {
        (**self).read_files(ranges)
    }
}

macro_rules! forward {
    ($($wrapper:ty),*) => {$(
        impl<S: RangeSource + ?Sized> RangeSource for $wrapper {
            fn size(&self) -> BoxFuture<'_, io::Result<u64>> {
                (**self).size()
            }

            fn read_ranges(&self, ranges: Vec<Range<u64>>) -> BoxFuture<'_, io::Result<Vec<Bytes>>> {
                (**self).read_ranges(ranges)
            }

            fn open(&self, head: u64) -> BoxFuture<'_, io::Result<(u64, Bytes)>> {
                (**self).open(head)
            }

            fn is_immediate(&self) -> bool {
                (**self).is_immediate()
            }

            fn request_cost(&self) -> u64 {
                (**self).request_cost()
            }

            fn limit_requests(&self, at_once: usize) -> bool {
                (**self).limit_requests(at_once)
            }

            fn reopen(&self) -> BoxFuture<'_, io::Result<Option<Arc<dyn RangeSource>>>> {
                (**self).reopen()
            }

            fn chunk_files(&self) -> Option<&dyn ChunkFiles> {
                (**self).chunk_files()
            }
        }
    )*};
}

forward!(Arc<S>, Box<S>, &S);

/// Checks that every range lies within a source of `len` bytes.
pub(crate) fn check(ranges: &[Range<u64>], len: u64) -> io::Result<()> {
    match ranges.iter().find(|r| r.start > r.end || r.end > len || usize::try_from(r.end - r.start).is_err()) {
        Some(Range { start, end }) => Err(io::Error::new(
            io::ErrorKind::UnexpectedEof,
            format!("bytes {start}..{end} requested, but the source ends at {len}"),
        )),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Cursor;

    use super::*;
    use crate::compute::block_on;

    /// Checks what every source must do.
    fn conforms(source: &dyn RangeSource, expected: &[u8]) {
        let len = expected.len() as u64;
        assert_eq!(block_on(source.size()).unwrap(), len);
        let ranges = [0..len, 0..0, len..len, len / 2..len, 0..len.min(3), 0..len.min(3)];
        let found = block_on(source.read_ranges(ranges.to_vec())).unwrap();
        assert_eq!(found.len(), ranges.len());
        for (range, bytes) in ranges.iter().zip(found) {
            assert_eq!(bytes, &expected[range.start as usize..range.end as usize], "{range:?}");
        }
        #[expect(clippy::reversed_empty_ranges, reason = "what a source must refuse")]
        for bad in [0..len + 1, len + 1..len + 1, u64::MAX - 1..u64::MAX, 1..0] {
            let error = block_on(source.read_ranges(vec![0..len, bad.clone()])).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof, "{bad:?}");
        }
        for head in [0, 1, len, len + 1, u64::MAX] {
            let (found_len, bytes) = block_on(source.open(head)).unwrap();
            assert_eq!(found_len, len);
            assert_eq!(bytes, &expected[..head.min(len) as usize]);
        }
    }

    #[test]
    fn all_sources_conform() {
        for len in [0, 1, 1000] {
            let bytes: Vec<u8> = (0..len).map(|i| (i * 7 % 256) as u8).collect();
            let file = tempfile::NamedTempFile::new().unwrap();
            fs::write(file.path(), &bytes).unwrap();
            conforms(&Bytes::from(bytes.clone()), &bytes);
            conforms(&bytes, &bytes);
            conforms(&FileSource::open_inline(file.path()).unwrap(), &bytes);
            conforms(&block_on(FileSource::open(file.path())).unwrap(), &bytes);
            conforms(&SeekSource::new(Cursor::new(bytes.clone())), &bytes);
            conforms(&Arc::new(bytes.clone()), &bytes);
            conforms(&(Box::new(bytes.clone()) as Box<dyn RangeSource>), &bytes);
        }
    }
}
