//! Frames in memory.

use std::future::ready;
use std::io;
use std::ops::Range;

use bytes::Bytes;
use futures::future::BoxFuture;

use super::{RangeSource, check};

/// Ranges share the buffer: nothing is copied.
impl RangeSource for Bytes {
    fn size(&self) -> BoxFuture<'_, io::Result<u64>> {
        Box::pin(ready(Ok(self.len() as u64)))
    }

    fn is_immediate(&self) -> bool {
        true
    }

    fn read_ranges(&self, ranges: Vec<Range<u64>>) -> BoxFuture<'_, io::Result<Vec<Bytes>>> {
        // Lossless casts: `check` has compared with the length of a slice.
        let read = |r: Range<u64>| self.slice(r.start as usize..r.end as usize);
        let result = check(&ranges, self.len() as u64);
        Box::pin(ready(result.map(|()| ranges.into_iter().map(read).collect())))
    }
}

/// Ranges are copied; turn the vector into [`Bytes`] to avoid that.
impl RangeSource for Vec<u8> {
    fn size(&self) -> BoxFuture<'_, io::Result<u64>> {
        Box::pin(ready(Ok(self.len() as u64)))
    }

    fn is_immediate(&self) -> bool {
        true
    }

    fn read_ranges(&self, ranges: Vec<Range<u64>>) -> BoxFuture<'_, io::Result<Vec<Bytes>>> {
        // Lossless casts: `check` has compared with the length of a slice.
        let read = |r: Range<u64>| Bytes::copy_from_slice(&self[r.start as usize..r.end as usize]);
        let result = check(&ranges, self.len() as u64);
        Box::pin(ready(result.map(|()| ranges.into_iter().map(read).collect())))
    }
}
