//! Copies between a C-order buffer and a chunk.

use super::{NdError, Plan, Tiling, Window};

impl Tiling {
    /// Fills a decoded chunk from `buffer`, which holds `window` of the array in C order: the whole array
    /// ([`Tiling::whole`]), or some rows of it. Items of the chunk outside the window, and the padding, become zero.
    ///
    /// # Errors
    /// There is no such chunk, the window has another rank, or a buffer has the wrong length.
    pub fn window_to_chunk(
        &self,
        window: &Window,
        buffer: &[u8],
        number: u64,
        chunk: &mut [u8],
    ) -> Result<(), NdError> {
        let plan = Plan::of_chunk(self, number, window)?;
        let covered = plan.chunks().any(|part| part.covers_all());
        if !(covered && self.is_unpadded(number)?) {
            // Clearing all is cheaper than finding the cells that are left over: the copy that follows overwrites most
            // of them.
            chunk.fill(0);
        }
        plan.chunks().try_for_each(|part| part.copy_in(buffer, chunk))
    }

    /// Copies a decoded chunk to `buffer`, which holds `window` of the array in C order. Items of the window that
    /// are not in the chunk stay as they are.
    ///
    /// # Errors
    /// As [`window_to_chunk`](Self::window_to_chunk).
    pub fn chunk_to_window(
        &self,
        number: u64,
        chunk: &[u8],
        window: &Window,
        buffer: &mut [u8],
    ) -> Result<(), NdError> {
        let plan = Plan::of_chunk(self, number, window)?;
        plan.chunks().try_for_each(|part| part.copy_out(chunk, buffer))
    }

    /// Whether everything that a chunk stores belongs to the array.
    fn is_unpadded(&self, number: u64) -> Result<bool, NdError> {
        Ok(self.chunk_window(number)?.shape.into_iter().eq(self.extended_chunk_shape()))
    }

    /// Clears what a decoded chunk stores beyond `extents`, a length along each axis, and returns whether anything
    /// there was not zero.
    ///
    /// # Errors
    /// The extents have another rank, or the chunk has the wrong length.
    pub fn clear_beyond(&self, extents: &[u64], chunk: &mut [u8]) -> Result<bool, NdError> {
        if extents.len() != self.ndim() {
            return Err(NdError::Rank { what: "the extents", expected: self.ndim(), found: extents.len() });
        }
        if chunk.len() != self.chunk_bytes() {
            let (expected, found) = (self.chunk_bytes(), chunk.len());
            return Err(NdError::Buffer { what: "the chunk", expected, found });
        }
        let mut changed = false;
        let mut clear = |bytes: &mut [u8]| {
            if bytes.iter().any(|&byte| byte != 0) {
                bytes.fill(0);
                changed = true;
            }
        };
        if self.block_bytes() == 0 {
            return Ok(false);
        }
        let axes = self.axes();
        for (number, block) in chunk.chunks_exact_mut(self.block_bytes()).enumerate() {
            // How much of the block is kept along an axis.
            let kept = |axis: usize| {
                let at = (number / axes[axis].block_stride) as u64 % axes[axis].blocks * axes[axis].block;
                extents[axis].saturating_sub(at).min(axes[axis].block)
            };
            // One axis after the other: of the items that differ only along it and the axes inside of it, the first
            // ones are kept as far as this axis is concerned.
            for (axis, tiling) in axes.iter().enumerate() {
                let stride = tiling.item_stride;
                let (keep, len) = (kept(axis) as usize * stride, tiling.block as usize * stride);
                if keep < len {
                    for run in block.chunks_exact_mut(len) {
                        clear(&mut run[keep..]);
                    }
                }
            }
        }
        Ok(changed)
    }
}
