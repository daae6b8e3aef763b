//! Chunks with blocks of variable length, chosen by the caller (C-Blosc2 3.0: "VL-block chunks").
//!
//! Source: C-Blosc2 3.0. The header's block size holds the number of blocks, the starts rise, and each block is its
//! decoded length followed by the output of the codec, or by the bytes themselves if that is not shorter.

use super::assemble::{ChunkBuffer, EncodeResult};
use super::block_encoder::resized;
use super::dict;
use super::map::WORD;
use super::plan::Blocking;
use super::source::{self, SourceBlock};
use super::{ChunkContext, ChunkEncoder, ChunkError, ChunkFormat, ChunkHeader};
use crate::executor::Executor;
use crate::pipeline::FilterSlots;

impl ChunkEncoder {
    /// Encodes each of `blocks` as a separate block, over the workers of `executor`. Such a chunk is read block by block
    /// ([`ChunkDecoder::decode_blocks`](super::ChunkDecoder::decode_blocks)) or as the concatenation of its blocks.
    ///
    /// Every block is filtered and compressed alone, delta included. Such chunks are never split and have no runs, no
    /// special values and no stored form: they take up to 32 bytes, and 8 bytes per block, more than the data. At level
    /// 0 the blocks are stored, without filters.
    ///
    /// # Errors
    /// [`ChunkError::Parameter`] when there are no blocks, one is empty, or the format is that of Blosc 1;
    /// [`ChunkError::Limit`] when the chunk would be too long.
    pub fn encode_blocks<B: AsRef<[u8]>>(
        &mut self,
        blocks: &[B],
        ctx: &ChunkContext<'_>,
        executor: &dyn Executor,
    ) -> Result<Vec<u8>, ChunkError> {
        if self.params().format != ChunkFormat::Blosc2 {
            let found = format!("{:?}", self.params().format);
            return Err(ChunkError::parameter("format", found, "Blosc2 for blocks of variable length"));
        }
        if blocks.is_empty() {
            return Err(ChunkError::parameter("number of blocks", 0, "at least 1"));
        }
        let blocks: Vec<&[u8]> = blocks.iter().map(AsRef::as_ref).collect();
        if let Some(block) = blocks.iter().position(|block| block.is_empty()) {
            return Err(ChunkError::parameter("length of a block", format!("0 (block {block})"), "at least 1"));
        }
        let nbytes = source::len_of(&blocks);
        let most =
            blocks.len().saturating_mul(2 * WORD).saturating_add(nbytes).saturating_add(ChunkHeader::EXTENDED_LEN);
        if most > i32::MAX as usize {
            let (what, limit) = ("chunk of variable-length blocks", i32::MAX as usize);
            return Err(ChunkError::Limit { what, limit, found: most });
        }
        let plan = Blocking::variable(self.params(), blocks.len(), nbytes);
        if self.params().level == 0 {
            return self.keep_blocks(&plan, &blocks, most);
        }
        let mut bytes = self.take_scratch();
        // A dictionary may be added.
        let room = resized(&mut bytes, most.saturating_add(WORD + dict::MAX_LEN));
        let result = self.write_variable(&plan, &blocks, ctx, executor, room);
        let chunk = result.map(|len| bytes[..len].to_vec());
        self.give_back_scratch(bytes);
        chunk
    }

    /// Returns the length of the chunk.
    fn write_variable(
        &mut self,
        plan: &Blocking,
        blocks: &[&[u8]],
        ctx: &ChunkContext<'_>,
        executor: &dyn Executor,
        bytes: &mut [u8],
    ) -> Result<usize, ChunkError> {
        let mut header = self.header(plan, self.params().filters);
        let header_len = header.header_len();
        let (limit, found) = (i32::MAX as usize, bytes.len());
        let too_long = || ChunkError::Limit { what: "chunk of variable-length blocks", limit, found };
        let most = found.min(limit);
        let bytes = &mut bytes[..most];
        let mut out = ChunkBuffer::new(bytes, header_len, header.block_starts_end()).ok_or_else(too_long)?;
        let blocks: Vec<_> = blocks.iter().map(|block| SourceBlock::Whole(block)).collect();
        if let EncodeResult::TooLong = self.write_blocks(plan, &blocks, ctx, executor, &mut header, &mut out)? {
            return Err(too_long());
        }
        header.cbytes = out.len();
        bytes[..header_len].copy_from_slice(&header.to_checked_bytes()?);
        Ok(header.cbytes)
    }

    /// Writes blocks that are neither filtered nor compressed, which takes no plugin.
    fn keep_blocks(&self, plan: &Blocking, blocks: &[&[u8]], len: usize) -> Result<Vec<u8>, ChunkError> {
        let mut header = self.header(plan, FilterSlots::NONE);
        header.cbytes = len;
        let mut out = Vec::with_capacity(len);
        out.extend(header.to_checked_bytes()?);
        let mut start = header.block_starts_end();
        for block in blocks {
            // All of these are below `len`, which fits 31 bits.
            out.extend_from_slice(&(start as u32).to_le_bytes());
            start += WORD + block.len();
        }
        for block in blocks {
            out.extend_from_slice(&(block.len() as u32).to_le_bytes());
            out.extend_from_slice(block);
        }
        Ok(out)
    }
}
