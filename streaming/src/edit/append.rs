//! Appending bytes at the end of a frame, in whichever chunks they fit.

use std::io::Read;

use oxiblosc_core::chunk::{ChunkHeader, SpecialValue};

use super::{EditError, FrameEditor, Store};
use crate::sink::WriteOptions;

impl<S: Store> FrameEditor<S> {
    /// Appends decoded bytes: a last chunk that is shorter than the chunk size is filled up (and encoded again), then
    /// new ones follow. If chunks differ in size, the bytes become new chunks.
    ///
    /// Existing bytes stay as they are. Where encoding them again could change them, as with filters and codecs that
    /// discard information, the chunk that they share with new bytes is stored uncompressed.
    ///
    /// # Errors
    /// [`EditError::IsArray`]. What was appended before the error remains.
    pub fn append(&mut self, mut data: &[u8]) -> Result<(), EditError> {
        self.check_bytes()?;
        while !data.is_empty() {
            let room = self.room()?;
            let (part, rest) = data.split_at(room.len.min(data.len()));
            self.append_part(&room, part)?;
            data = rest;
        }
        Ok(())
    }

    /// Appends everything from `reader`, as [`append`](Self::append) does, with one chunk in memory at a time. Returns
    /// the number of bytes.
    ///
    /// # Errors
    /// [`EditError::IsArray`]; [`EditError::Store`] also when `reader` fails. What was appended before the error
    /// remains.
    pub fn append_from(&mut self, mut reader: impl Read) -> Result<u64, EditError> {
        self.check_bytes()?;
        let mut total = 0;
        let mut part = Vec::new();
        loop {
            let room = self.room()?;
            part.clear();
            reader.by_ref().take(room.len as u64).read_to_end(&mut part)?;
            if part.is_empty() {
                return Ok(total);
            }
            self.append_part(&room, &part)?;
            total += part.len() as u64;
        }
    }

    /// Appends `nbytes` bytes of a special value: a short last chunk is filled up, then chunks follow that take next to
    /// no space.
    ///
    /// # Errors
    /// [`EditError::IsArray`], and when the bytes would not consist of whole items of that value. What was appended
    /// before the error remains.
    pub fn fill(&mut self, value: SpecialValue<'_>, mut nbytes: u64) -> Result<(), EditError> {
        self.check_bytes()?;
        while nbytes > 0 {
            let room = self.room()?;
            let len = usize::try_from(nbytes).map_or(room.len, |n| n.min(room.len));
            if room.shared {
                let chunk = self.encode_special(value, len)?;
                let part = self.decode(self.nchunks(), &chunk)?;
                self.append_part(&room, &part)?;
            } else {
                self.insert_special(self.nchunks(), value, len)?;
            }
            nbytes -= len as u64;
        }
        Ok(())
    }

    /// Sets the chunk size of a frame without chunks, even one that allows chunks to differ in size.
    pub(crate) fn settle_chunk_size(&mut self, chunk_size: usize) -> Result<(), EditError> {
        self.check_committed()?;
        self.editor.set_chunk_size(chunk_size)?;
        self.variable = false;
        Ok(())
    }

    /// Where appended bytes go: how many fit into the last chunk, or into a new one.
    fn room(&mut self) -> Result<AppendSlot, EditError> {
        let default = self.chunk_size.unwrap_or_else(|| {
            let typesize = self.typesize.max(1);
            (WriteOptions::CHUNK_SIZE / typesize).max(1).saturating_mul(typesize)
        });
        if self.editor.chunk_size().is_none() && self.nchunks() == 0 && !self.variable {
            self.editor.set_chunk_size(default)?;
        }
        let Some(chunk_size) = self.editor.chunk_size() else {
            return Ok(AppendSlot { len: default.clamp(1, ChunkHeader::MAX_NBYTES), shared: false });
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

    fn append_part(&mut self, room: &AppendSlot, part: &[u8]) -> Result<(), EditError> {
        if !room.shared {
            return self.append_chunk(part);
        }
        // There is a last chunk, since it is shared.
        let last = self.nchunks() - 1;
        let mut data = self.chunk(last)?;
        let kept = data.len();
        data.extend_from_slice(part);
        let mut chunk = self.encode(last, &data)?;
        // Existing bytes must not change because others follow them.
        if self.may_lose && self.decode(last, &chunk)?.get(..kept) != data.get(..kept) {
            chunk = self.encode_stored(last, &data)?;
        }
        self.update_encoded(last, &chunk)
    }

    /// Checked before bytes are appended.
    fn check_bytes(&mut self) -> Result<(), EditError> {
        if self.geometry.is_some() { Err(EditError::IsArray) } else { self.check_committed() }
    }
}

/// How many bytes fit, and whether they go into an existing chunk.
struct AppendSlot {
    len: usize,
    shared: bool,
}
