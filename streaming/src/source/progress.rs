//! A source whose reading is watched.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures::future::BoxFuture;

use super::{ChunkFiles, RangeSource};
use crate::progress::Progress;

/// A source that counts what is read from it, and fails once the work has been cancelled: see [`Progress`].
///
/// What a reader has in its cache is read without it. Finding the length of the source, and the bytes at its beginning,
/// is not counted.
#[derive(Debug, Clone)]
pub struct ProgressSource<S> {
    source: S,
    progress: Progress,
}

impl<S> ProgressSource<S> {
    /// Watches `source`.
    pub fn new(source: S, progress: &Progress) -> Self {
        Self { source, progress: progress.clone() }
    }

    /// What is watched.
    pub fn get_ref(&self) -> &S {
        &self.source
    }

    /// Gives the source back.
    pub fn into_inner(self) -> S {
        self.source
    }
}

impl<S: RangeSource> RangeSource for ProgressSource<S> {
    fn size(&self) -> BoxFuture<'_, io::Result<u64>> {
        self.source.size()
    }

    fn read_ranges(&self, ranges: Vec<Range<u64>>) -> BoxFuture<'_, io::Result<Vec<Bytes>>> {
        Box::pin(async move {
            self.progress.check()?;
            let found = self.source.read_ranges(ranges).await?;
            self.progress.advance(found.iter().map(|bytes| bytes.len() as u64).sum());
            Ok(found)
        })
    }

    fn open(&self, head: u64) -> BoxFuture<'_, io::Result<(u64, Bytes)>> {
        Box::pin(async move {
            self.progress.check()?;
            self.source.open(head).await
        })
    }

    fn is_immediate(&self) -> bool {
        self.source.is_immediate()
    }

    fn request_cost(&self) -> u64 {
        self.source.request_cost()
    }

    fn limit_requests(&self, at_once: usize) -> bool {
        self.source.limit_requests(at_once)
    }

    fn reopen(&self) -> BoxFuture<'_, io::Result<Option<Arc<dyn RangeSource>>>> {
        Box::pin(async move {
            let newer = self.source.reopen().await?;
            Ok(newer.map(|newer| Arc::new(ProgressSource::new(newer, &self.progress)) as _))
        })
    }

    fn chunk_files(&self) -> Option<&dyn ChunkFiles> {
        self.source.chunk_files().is_some().then_some(self as _)
    }
}

impl<S: RangeSource> ChunkFiles for ProgressSource<S> {
    fn read_files(&self, ranges: Vec<(u32, Range<u64>)>) -> BoxFuture<'_, Vec<io::Result<Bytes>>> {
        Box::pin(async move {
            // A source without chunk files is not asked for any.
            let Some(files) = self.source.chunk_files() else { return Vec::new() };
            if self.progress.is_cancelled() {
                return ranges.iter().map(|_| self.progress.check().map(|()| Bytes::new())).collect();
            }
            let found = files.read_files(ranges).await;
            self.progress.advance(found.iter().flatten().map(|bytes| bytes.len() as u64).sum());
            found
        })
    }
}
