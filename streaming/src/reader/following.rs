//! An open-ended frame that arrives front to back.

use std::io;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use futures::io::{AsyncRead, AsyncReadExt};
use oxiblosc_core::Registry;
use oxiblosc_core::chunk::ChunkHeader;
use oxiblosc_core::frame::{Frame, OpenEnded, Trailer, TrailerExtent, chunk_checksum};

use super::forward::{End, Numbered};
use super::frame_reader::is_checked;
use super::open_end::OpenEnd;
use super::{ChecksumPolicy, ReadOptions};
use crate::error::ReadError;

/// A frame without totals, whose chunks are taken as they come until there are no more.
pub(super) struct Following<R> {
    reader: R,
    state: OpenEnded,
    registry: Registry,
    options: ReadOptions,
    /// A byte that was needed to tell what lies before it.
    peeked: Option<u8>,
    /// The checksum of each chunk, if they are to be compared.
    sums: Vec<u64>,
    end: Arc<OnceLock<End>>,
}

/// What has come.
enum Next {
    Chunk(ChunkHeader, Bytes),
    /// Index and the first bytes of the trailer.
    Tail(Bytes, Vec<u8>),
    /// Nothing, or bytes of something that is not complete.
    Nothing {
        left_over: u64,
    },
}

impl<R: AsyncRead + Unpin> Following<R> {
    pub(super) fn new(
        reader: R,
        state: OpenEnded,
        registry: Registry,
        options: ReadOptions,
        end: Arc<OnceLock<End>>,
    ) -> Self {
        Self { reader, state, registry, options, peeked: None, sums: Vec::new(), end }
    }

    /// The next chunk; after the last one nothing, or what is wrong with the frame.
    pub(super) async fn next(&mut self) -> Result<Option<Numbered>, ReadError> {
        let offset = self.state.end();
        match self.complete().await? {
            Next::Chunk(header, bytes) => {
                let number = self.state.push(&header)?;
                if self.options.checksums != ChecksumPolicy::Ignore {
                    self.sums.push(chunk_checksum(&bytes));
                }
                Ok(Some((number, bytes, offset)))
            }
            Next::Tail(index, begin) => {
                let index_len = index.len() as u64;
                match self.trailer(begin).await? {
                    Ok(trailer) => {
                        let frame = self.state.closed(index, trailer, &self.registry)?;
                        self.finish(frame, OpenEnd { closed: true, left_over: 0 })?;
                    }
                    Err(found) => self.break_off(index_len + found)?,
                }
                Ok(None)
            }
            Next::Nothing { left_over: 0 } => {
                self.finish(self.state.so_far()?, OpenEnd { closed: false, left_over: 0 })?;
                // Nothing tells the end of a frame that is still being written from that of one that was cut here.
                if self.options.open_ended { Ok(None) } else { Err(self.unfinished(0)) }
            }
            Next::Nothing { left_over } => {
                self.break_off(left_over)?;
                Ok(None)
            }
        }
    }

    /// What comes next, once it is complete.
    async fn complete(&mut self) -> Result<Next, ReadError> {
        let mut bytes: Vec<u8> = self.peeked.take().into_iter().collect();
        self.read_up_to(&mut bytes, ChunkHeader::EXTENDED_LEN as u64).await?;
        if self.state.nchunks() == 0 && bytes.first().copied().is_some_and(OpenEnded::begins_trailer) {
            // A trailer is longer than the header of a chunk: nothing behind the frame has been taken.
            return Ok(Next::Tail(Bytes::new(), bytes));
        }
        if bytes.len() < ChunkHeader::EXTENDED_LEN {
            return Ok(Next::Nothing { left_over: bytes.len() as u64 });
        }
        let (chunk, offset) = (self.state.nchunks(), self.state.end());
        let failed = |source| ReadError::Decode { chunk, offset: Some(offset), source };
        let header = ChunkHeader::parse(&bytes).map_err(failed)?;
        let len = header.cbytes as u64;
        self.read_up_to(&mut bytes, len).await?;
        if (bytes.len() as u64) < len {
            return Ok(Next::Nothing { left_over: bytes.len() as u64 });
        }
        let bytes = Bytes::from(bytes);
        if self.state.may_be_index(&header) && self.state.is_index(&bytes, &self.registry) {
            let mut behind = Vec::new();
            self.read_up_to(&mut behind, 1).await?;
            match behind.first() {
                None => return Ok(Next::Nothing { left_over: len }),
                Some(&byte) if OpenEnded::begins_trailer(byte) => return Ok(Next::Tail(bytes, behind)),
                Some(&byte) => self.peeked = Some(byte),
            }
        }
        Ok(Next::Chunk(header, bytes))
    }

    /// The trailer that begins with `bytes`, or how many bytes of it there are.
    async fn trailer(&mut self, mut bytes: Vec<u8>) -> Result<Result<Bytes, u64>, ReadError> {
        let most = self.options.limits.trailer_bytes;
        loop {
            let wanted = match Trailer::extent(&bytes)? {
                TrailerExtent::Len(len) if len == bytes.len() => return Ok(Ok(bytes.into())),
                TrailerExtent::Len(len) | TrailerExtent::Needs(len) => len,
            };
            if wanted > most {
                let (needed, limit) = (wanted as u64, most as u64);
                return Err(ReadError::Limit { what: "the trailer", needed, limit });
            }
            self.read_up_to(&mut bytes, wanted as u64).await?;
            if bytes.len() < wanted {
                return Ok(Err(bytes.len() as u64));
            }
        }
    }

    /// Fills `bytes` up to `len`, or with all there is. Memory is taken as bytes come, not as a length says.
    async fn read_up_to(&mut self, bytes: &mut Vec<u8>, len: u64) -> io::Result<()> {
        let missing = len.saturating_sub(bytes.len() as u64);
        (&mut self.reader).take(missing).read_to_end(bytes).await?;
        Ok(())
    }

    /// The stream has ended where a frame can end.
    fn finish(&self, frame: Frame, end: OpenEnd) -> Result<(), ReadError> {
        if is_checked(&frame, self.options.checksums)? {
            for (i, &sum) in (0..).zip(&self.sums) {
                frame.check_chunk_sum(i, sum)?;
            }
        }
        // Nobody else sets it.
        let _ = self.end.set(End { frame, open: Some(end) });
        Ok(())
    }

    /// The stream has ended within something.
    fn break_off(&self, left_over: u64) -> Result<(), ReadError> {
        let frame = self.state.so_far()?;
        let _ = self.end.set(End { frame, open: Some(OpenEnd { closed: false, left_over }) });
        Err(self.unfinished(left_over))
    }

    fn unfinished(&self, left_over: u64) -> ReadError {
        ReadError::BreaksOff { chunks: self.state.nchunks(), offset: self.state.end(), left_over }
    }
}
