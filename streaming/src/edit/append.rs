//! Appending bytes at the end of a frame, in whichever chunks they fit.

use bytes::{Bytes, BytesMut};
use futures::{AsyncRead, AsyncReadExt};
use oxiblosc_core::chunk::{ChunkHeader, SpecialValue};

use super::{EditError, FrameEditor};
use crate::sink::WriteOptions;

/// Where a frame has no chunks and no chunk size, fewer bytes than this do not settle it: all chunks that follow would be
/// as small.
const SMALLEST_CHUNK: usize = 64 << 10;

impl FrameEditor {
    /// Appends decoded bytes: a last chunk that is shorter than the chunk size is filled up (and encoded again), then
    /// new ones follow. If chunks differ in size, the bytes become new chunks.
    ///
    /// Chunks of a frame that has none yet have the size that [`EditOptions::chunk_size`](super::EditOptions::chunk_size)
    /// says, or else [`WriteOptions::CHUNK_SIZE`]; but if the first bytes are fewer than these, and at least 64 KiB, they
    /// are a full chunk. C-Blosc2 appends nothing to a frame whose only chunk is shorter than the chunk size.
    ///
    /// Existing bytes stay as they are. Where encoding them again could change them, as with filters and codecs that
    /// discard information, the chunk that they share with new bytes is stored uncompressed.
    ///
    /// # Errors
    /// [`EditError::IsArray`]. What was appended before the error remains, and so it does if the future is dropped.
    pub async fn append(&mut self, data: impl Into<Bytes>) -> Result<(), EditError> {
        let mut data = data.into();
        self.append_parts(|len| data.split_to(len.min(data.len()))).await.map(drop)
    }

    /// As [`append`](Self::append), for bytes of which only a chunk at a time is copied.
    pub(crate) async fn append_slice(&mut self, mut data: &[u8]) -> Result<(), EditError> {
        let part = |len: usize| {
            let (part, rest) = data.split_at(len.min(data.len()));
            data = rest;
            Bytes::copy_from_slice(part)
        };
        self.append_parts(part).await.map(drop)
    }

    /// Appends the parts that `next` returns, each of at most the length it is called with, until one is empty.
    async fn append_parts(&mut self, mut next: impl FnMut(usize) -> Bytes) -> Result<u64, EditError> {
        self.check_bytes().await?;
        let mut total = 0;
        loop {
            let slot = self.slot()?;
            let part = next(slot.len);
            if part.is_empty() {
                return Ok(total);
            }
            total += part.len() as u64;
            self.append_part(&slot, part).await?;
        }
    }

    /// Appends everything from `reader`, as [`append`](Self::append) does, with one chunk in memory at a time. Returns
    /// the number of bytes.
    ///
    /// # Errors
    /// [`EditError::IsArray`]; [`EditError::Store`] also when `reader` fails. What was appended before the error
    /// remains, and so it does if the future is dropped; bytes that had been read for the next chunk are lost then.
    pub async fn append_from(&mut self, mut reader: impl AsyncRead + Unpin) -> Result<u64, EditError> {
        self.check_bytes().await?;
        let mut total = 0;
        loop {
            let slot = self.slot()?;
            let mut part = Vec::new();
            (&mut reader).take(slot.len as u64).read_to_end(&mut part).await?;
            if part.is_empty() {
                return Ok(total);
            }
            total += part.len() as u64;
            self.append_part(&slot, part.into()).await?;
        }
    }

    /// Appends `nbytes` bytes of a special value: a short last chunk is filled up, then chunks follow that take next to
    /// no space.
    ///
    /// # Errors
    /// [`EditError::IsArray`], and when the bytes would not consist of whole items of that value. What was appended
    /// before the error remains, and so it does if the future is dropped.
    pub async fn fill(&mut self, value: SpecialValue<'_>, mut nbytes: u64) -> Result<(), EditError> {
        self.check_bytes().await?;
        while nbytes > 0 {
            let slot = self.slot()?;
            let len = usize::try_from(nbytes).map_or(slot.len, |n| n.min(slot.len));
            if slot.shared {
                let chunk = self.encode_special(self.nchunks(), value, len)?;
                let part = self.decode(self.nchunks(), chunk).await?;
                self.append_part(&slot, part.into()).await?;
            } else {
                self.settle_chunk_size(len)?;
                self.begin_append().await?;
                self.put_special(self.nchunks(), value, len).await?;
            }
            nbytes -= len as u64;
        }
        Ok(())
    }

    /// Sets the chunk size of a frame without chunks, even one that allows chunks to differ in size.
    pub(crate) async fn fix_chunk_size(&mut self, chunk_size: usize) -> Result<(), EditError> {
        self.begin_change().await?;
        self.editor.set_chunk_size(chunk_size)?;
        self.variable = false;
        Ok(())
    }

    /// Where appended bytes go: how many fit into the last chunk, or into a new one.
    fn slot(&mut self) -> Result<AppendSlot, EditError> {
        let Some(chunk_size) = self.editor.chunk_size() else {
            return Ok(AppendSlot { len: self.new_chunk_size().clamp(1, ChunkHeader::MAX_NBYTES), shared: false });
        };
        let last = match self.nchunks().checked_sub(1) {
            Some(last) => self.editor.chunk_len(last)? as usize,
            None => chunk_size,
        };
        Ok(match chunk_size.saturating_sub(last) {
            0 => AppendSlot { len: chunk_size, shared: false },
            len => AppendSlot { len, shared: true },
        })
    }

    /// The chunk size of a frame that has none.
    fn new_chunk_size(&self) -> usize {
        self.options.chunk_size.unwrap_or_else(|| {
            let typesize = self.typesize.max(1);
            (WriteOptions::CHUNK_SIZE / typesize).max(1).saturating_mul(typesize)
        })
    }

    /// Gives a frame without chunks a chunk size, if it has none, before `len` bytes become its first chunk.
    fn settle_chunk_size(&mut self, len: usize) -> Result<(), EditError> {
        if self.editor.chunk_size().is_some() || self.nchunks() > 0 || self.variable {
            return Ok(());
        }
        let whole = len >= SMALLEST_CHUNK && len.is_multiple_of(self.typesize.max(1));
        let chunk_size = if whole && self.options.chunk_size.is_none() { len } else { self.new_chunk_size() };
        Ok(self.editor.set_chunk_size(chunk_size)?)
    }

    async fn append_part(&mut self, slot: &AppendSlot, part: Bytes) -> Result<(), EditError> {
        if slot.shared {
            return self.fill_up(part).await;
        }
        self.settle_chunk_size(part.len())?;
        let i = self.nchunks();
        let chunk = self.encode(i, part).await?;
        self.begin_append().await?;
        self.put_inserted(i, chunk).await
    }

    /// Adds bytes to the last chunk.
    async fn fill_up(&mut self, part: Bytes) -> Result<(), EditError> {
        // There is a last chunk, since it is shared.
        let last = self.nchunks() - 1;
        let data = self.chunk(last).await?;
        let kept = data.len();
        let mut data = BytesMut::from(Bytes::from(data));
        data.extend_from_slice(&part);
        self.check_committed().await?;
        let chunk = self.coder.encode_kept(last, self.geometry.clone(), data.freeze(), kept).await?;
        self.begin_append().await?;
        self.put_updated(last, chunk).await
    }

    /// Checked before bytes are appended.
    async fn check_bytes(&mut self) -> Result<(), EditError> {
        if self.geometry.is_some() { Err(EditError::IsArray) } else { self.check_committed().await }
    }
}

/// How many bytes fit, and whether they go into an existing chunk.
struct AppendSlot {
    len: usize,
    shared: bool,
}
