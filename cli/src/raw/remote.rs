//! Reading the bytes of an object front to back.

use std::io::{self, Read};
use std::sync::Arc;

use bytes::{Buf, Bytes};
use futures::stream::{self, BoxStream, StreamExt};
use oxiblosc::block_on;
use oxiblosc::source::RangeSource;

/// Bytes per request ...
const PIECE: u64 = 4 << 20;
/// ... and requests in flight at a time.
const AHEAD: usize = 4;

/// A reader that requests pieces ahead.
pub(super) struct RemoteReader {
    pieces: BoxStream<'static, io::Result<Bytes>>,
    rest: Bytes,
}

impl RemoteReader {
    /// A reader of all `len` bytes of a source.
    pub(super) fn new(source: Arc<dyn RangeSource>, len: u64) -> Self {
        let ranges = (0..len.div_ceil(PIECE)).map(move |i| i * PIECE..len.min((i + 1) * PIECE));
        let read = move |range| {
            let source = Arc::clone(&source);
            async move { source.read_range(range).await }
        };
        Self { pieces: stream::iter(ranges).map(read).buffered(AHEAD).boxed(), rest: Bytes::new() }
    }
}

impl Read for RemoteReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.rest.is_empty() {
            self.rest = block_on(self.pieces.next()).transpose()?.unwrap_or_default();
        }
        let len = self.rest.len().min(buffer.len());
        self.rest.copy_to_slice(&mut buffer[..len]);
        Ok(len)
    }
}
