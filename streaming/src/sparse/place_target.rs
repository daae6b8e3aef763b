//! A sparse frame, into any place that can hold one.

use std::fmt;
use std::io;
use std::mem;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use futures::future::{self, BoxFuture, FutureExt};
use futures::stream::{self, StreamExt, TryStreamExt};

use super::place::{IndexVersion, SparsePlace};
use crate::target::{Part, Target};

/// Writes a sparse frame into a [`SparsePlace`]: each chunk as soon as it comes, a few at a time, and the index last.
///
/// The place must not have an index; should somebody write one meanwhile, the commit fails with
/// [`io::ErrorKind::AlreadyExists`] and leaves it alone. The chunks of a target that is dropped or aborted before it is
/// complete are removed, unless an index is there by then: they have the names of the chunks of that frame, and may have
/// been replaced by them.
///
/// Two of them at one place at the same time would write chunks of the same names: several writers fill one frame through
/// [`SharedWriter`](crate::SharedWriter).
///
/// (For a directory, [`SparseTarget`](crate::target::SparseTarget) is better: nothing is under the final name until the
/// frame is complete.)
pub struct PlaceTarget<P: SparsePlace> {
    place: P,
    most: usize,
    /// Whether it has been made sure that there is no frame yet.
    check: Check,
    /// The file whose bytes are coming.
    current: Option<Current>,
    putting: Vec<Put>,
    written: Vec<u32>,
    commit: Option<BoxFuture<'static, io::Result<()>>>,
    aborting: Option<BoxFuture<'static, io::Result<()>>>,
    /// A commit has failed, and may have succeeded all the same.
    doubtful: bool,
    /// A commit has found the index of somebody else, whose chunks have the names of ours.
    lost: bool,
    committed: bool,
}

enum Check {
    New,
    Running(BoxFuture<'static, io::Result<Option<IndexVersion>>>),
    Done,
}

struct Current {
    id: u32,
    bytes: Bytes,
    /// It has been handed over as it is.
    put: bool,
}

struct Put {
    id: u32,
    bytes: Bytes,
    /// `None` before it is first tried, and after a failure.
    work: Option<BoxFuture<'static, io::Result<()>>>,
}

// Futures are boxed and nothing else is ever pinned.
impl<P: SparsePlace> Unpin for PlaceTarget<P> {}

impl<P: SparsePlace> PlaceTarget<P> {
    /// A target for a frame at `place`.
    pub fn new(place: P) -> Self {
        Self {
            place,
            most: 8,
            check: Check::New,
            current: None,
            putting: Vec::new(),
            written: Vec::new(),
            commit: None,
            aborting: None,
            doubtful: false,
            lost: false,
            committed: false,
        }
    }

    /// How many chunks are written at the same time; 8 by default, at least 1.
    #[must_use]
    pub fn chunks_in_flight(mut self, chunks: usize) -> Self {
        self.most = chunks.max(1);
        self
    }

    /// The place.
    pub fn place(&self) -> &P {
        &self.place
    }

    fn poll_check(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            self.check = match &mut self.check {
                Check::New => Check::Running(self.place.index()),
                Check::Running(index) => {
                    let found = ready!(index.as_mut().poll(cx));
                    self.check = Check::New;
                    if found?.is_some() {
                        let message = "there is a sparse frame already, whose chunks would be overwritten";
                        return Poll::Ready(Err(io::Error::new(io::ErrorKind::AlreadyExists, message)));
                    }
                    Check::Done
                }
                Check::Done => return Poll::Ready(Ok(())),
            };
        }
    }

    /// Drives the files under way; ready when there are fewer than `limit`.
    fn poll_puts(&mut self, cx: &mut Context<'_>, limit: usize) -> Poll<io::Result<()>> {
        let mut failed = None;
        let place = &self.place;
        self.putting.retain_mut(|put| {
            // After one failure the others are left alone until the caller asks again.
            if failed.is_some() && put.work.is_none() {
                return true;
            }
            let work = put.work.get_or_insert_with(|| place.put_chunk(put.id, put.bytes.clone()));
            match work.as_mut().poll(cx) {
                Poll::Pending => true,
                Poll::Ready(Ok(())) => false,
                Poll::Ready(Err(error)) => {
                    put.work = None;
                    failed.get_or_insert(error);
                    true
                }
            }
        });
        match failed {
            Some(error) => Poll::Ready(Err(error)),
            None if self.putting.len() < limit => Poll::Ready(Ok(())),
            None => Poll::Pending,
        }
    }

    /// Hands over the file whose bytes have come.
    fn poll_put_current(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_check(cx))?;
        let Some(current) = &mut self.current else { return Poll::Ready(Ok(())) };
        if current.put {
            return Poll::Ready(Ok(()));
        }
        let (id, bytes) = (current.id, current.bytes.clone());
        let most = self.most;
        ready!(self.poll_puts(cx, most))?;
        // An earlier, shorter version of the same file must not arrive after this one.
        if self.putting.iter().any(|put| put.id == id) {
            ready!(self.poll_puts(cx, 1))?;
        }
        self.putting.push(Put { id, bytes, work: None });
        self.written.push(id);
        if let Some(current) = &mut self.current {
            current.put = true;
        }
        let _ = self.poll_puts(cx, most)?;
        Poll::Ready(Ok(()))
    }

    fn discard(&mut self) {
        self.putting.clear();
        self.current = None;
        let written = mem::take(&mut self.written);
        if self.committed || self.doubtful || self.lost || written.is_empty() {
            return;
        }
        // A place that answers at once is asked here, since there is no waiting; one across a network looks by itself.
        if matches!(self.place.index().now_or_never(), None | Some(Ok(None))) {
            self.place.discard(written);
        }
    }
}

impl<P: SparsePlace> Target for PlaceTarget<P> {
    fn poll_append(&mut self, cx: &mut Context<'_>, part: Part, bytes: &mut Bytes) -> Poll<io::Result<()>> {
        if part == Part::Header {
            // Nothing is recovered from places like this: what is not committed goes.
            bytes.clear();
        }
        if bytes.is_empty() {
            return Poll::Ready(Ok(()));
        }
        let Part::File(id) = part else {
            let message = format!("a sparse frame consists of files, it has no {part:?}");
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidInput, message)));
        };
        match &mut self.current {
            Some(current) if current.id == id => {
                let mut joined = BytesMut::with_capacity(current.bytes.len() + bytes.len());
                joined.extend_from_slice(&current.bytes);
                joined.extend_from_slice(bytes);
                *current = Current { id, bytes: joined.freeze(), put: false };
                bytes.clear();
            }
            _ => {
                ready!(self.poll_put_current(cx))?;
                self.current = Some(Current { id, bytes: mem::take(bytes), put: false });
            }
        }
        Poll::Ready(Ok(()))
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_put_current(cx))?;
        self.poll_puts(cx, 1)
    }

    fn poll_commit(&mut self, cx: &mut Context<'_>, header: &Bytes) -> Poll<io::Result<()>> {
        if self.committed {
            return Poll::Ready(Ok(()));
        }
        if self.commit.is_none() {
            ready!(self.poll_flush(cx))?;
        }
        let commit = self.commit.get_or_insert_with(|| {
            let put = self.place.put_index(header.clone(), None);
            if !self.doubtful {
                return put;
            }
            let (found, header) = (self.place.index(), header.clone());
            Box::pin(async move {
                // The attempt before may have succeeded and its answer been lost.
                if found.await?.is_some_and(|found| found.content == header) { Ok(()) } else { put.await }
            })
        });
        let result = ready!(commit.as_mut().poll(cx));
        self.commit = None;
        self.committed = result.is_ok();
        self.lost = result.as_ref().is_err_and(|e| e.kind() == io::ErrorKind::AlreadyExists);
        self.doubtful = result.is_err() && !self.lost;
        Poll::Ready(result)
    }

    fn is_sparse(&self) -> bool {
        true
    }

    fn poll_close(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// Waits until the chunks are gone; if an index is there, they are left alone.
    fn poll_abort(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.committed || self.doubtful || self.lost {
            return Poll::Ready(Ok(()));
        }
        self.commit = None;
        self.current = None;
        let aborting = self.aborting.get_or_insert_with(|| {
            // A chunk that arrives after its removal would stay: let those under way arrive before.
            let puts: Vec<_> = self.putting.drain(..).filter_map(|put| put.work).collect();
            let removals: Vec<_> = self.written.iter().map(|&id| self.place.remove_chunk(id)).collect();
            let most = self.most;
            let index = (!removals.is_empty()).then(|| self.place.index());
            Box::pin(async move {
                stream::iter(puts).buffer_unordered(most).for_each(|_| future::ready(())).await;
                if let Some(index) = index
                    && index.await?.is_some()
                {
                    return Ok(());
                }
                stream::iter(removals).buffer_unordered(most).try_collect().await
            })
        });
        let result = ready!(aborting.as_mut().poll(cx));
        self.aborting = None;
        if result.is_ok() {
            self.written.clear();
        }
        Poll::Ready(result)
    }
}

impl<P: SparsePlace> Drop for PlaceTarget<P> {
    fn drop(&mut self) {
        // A commit under way may succeed: its chunks must stay.
        self.doubtful |= self.commit.is_some();
        self.discard();
    }
}

impl<P: SparsePlace + fmt::Debug> fmt::Debug for PlaceTarget<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlaceTarget")
            .field("place", &self.place)
            .field("committed", &self.committed)
            .finish_non_exhaustive()
    }
}
