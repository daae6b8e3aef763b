//! What a plugin is told of the block that it works on.

use oxiblosc_core::FilterId;
use oxiblosc_core::codec::CodecContext;
use oxiblosc_core::filter::{ArrayBlock, BitshuffleRule, BlockContext};

use super::Slice;

/// The fields of [`BlockContext`] and [`CodecContext`].
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Context {
    typesize: usize,
    /// 0 for unknown.
    item_size: usize,
    block: usize,
    /// [`Context::NOWHERE`] for unknown.
    offset: usize,
    stream: usize,
    streams: usize,
    chunk_shape: Slice<u32>,
    block_shape: Slice<u32>,
    reference: Slice<u8>,
    dict: Slice<u8>,
    filter_meta: u8,
    last_short: bool,
    old_bitshuffle: bool,
    /// 0 for unknown.
    level: u8,
    version: u8,
    codec_meta: u8,
    last_filter: u8,
}

impl Context {
    const NOWHERE: usize = usize::MAX;

    /// For a filter. It holds pointers into what the context borrows.
    pub(crate) fn of_block(ctx: &BlockContext<'_>) -> Self {
        Self {
            typesize: ctx.typesize,
            item_size: ctx.item_size.unwrap_or(0),
            block: ctx.block,
            offset: ctx.offset.unwrap_or(Self::NOWHERE),
            stream: 0,
            streams: 1,
            chunk_shape: ctx.nd.map(|nd| nd.chunk_shape).into(),
            block_shape: ctx.nd.map(|nd| nd.block_shape).into(),
            reference: ctx.reference.into(),
            dict: Slice::NONE,
            filter_meta: ctx.meta,
            last_short: ctx.last_short,
            old_bitshuffle: ctx.bitshuffle == BitshuffleRule::WholeBlockOrNothing,
            level: 0,
            version: 0,
            codec_meta: 0,
            last_filter: 0,
        }
    }

    /// For a codec. It holds pointers into what the context borrows.
    pub(crate) fn of_stream(ctx: &CodecContext<'_>) -> Self {
        Self {
            stream: ctx.stream,
            streams: ctx.streams,
            dict: ctx.dict.into(),
            level: ctx.level.unwrap_or(0),
            version: ctx.version,
            codec_meta: ctx.meta,
            last_filter: ctx.filter.0,
            ..Self::of_block(&ctx.block)
        }
    }

    /// # Safety
    /// What the context was made from is still there.
    pub(crate) unsafe fn block(&self) -> BlockContext<'_> {
        let mut block = BlockContext::new(self.typesize);
        block.meta = self.filter_meta;
        block.item_size = (self.item_size != 0).then_some(self.item_size);
        block.block = self.block;
        block.offset = (self.offset != Self::NOWHERE).then_some(self.offset);
        block.last_short = self.last_short;
        // SAFETY: by the contract.
        let (chunk_shape, block_shape) = unsafe { (self.chunk_shape.some(), self.block_shape.some()) };
        block.nd =
            chunk_shape.zip(block_shape).map(|(chunk_shape, block_shape)| ArrayBlock { chunk_shape, block_shape });
        // SAFETY: by the contract.
        block.reference = unsafe { self.reference.some() };
        block.bitshuffle = match self.old_bitshuffle {
            true => BitshuffleRule::WholeBlockOrNothing,
            false => BitshuffleRule::LeadingEights,
        };
        block
    }

    /// # Safety
    /// What the context was made from is still there.
    pub(crate) unsafe fn stream(&self) -> CodecContext<'_> {
        // SAFETY: by the contract.
        let mut ctx = CodecContext::decoding(unsafe { self.block() });
        ctx.level = (self.level != 0).then_some(self.level);
        ctx.version = self.version;
        ctx.meta = self.codec_meta;
        ctx.stream = self.stream;
        ctx.streams = self.streams;
        ctx.filter = FilterId(self.last_filter);
        // SAFETY: by the contract.
        ctx.dict = unsafe { self.dict.some() };
        ctx
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_context_arrives_as_it_was_sent() {
        let (chunk_shape, block_shape) = ([10, 20], [5, 7]);
        for full in [false, true] {
            let mut block = BlockContext::new(3);
            block.offset = None;
            block.item_size = None;
            let mut sent = CodecContext::decoding(block);
            if full {
                sent.block.meta = 1;
                sent.block.item_size = Some(300);
                sent.block.block = 4;
                sent.block.offset = Some(0);
                sent.block.last_short = true;
                sent.block.nd = Some(ArrayBlock { chunk_shape: &chunk_shape, block_shape: &block_shape });
                sent.block.reference = Some(&[]);
                sent.block.bitshuffle = BitshuffleRule::WholeBlockOrNothing;
                (sent.level, sent.version, sent.meta) = (Some(9), 5, 6);
                (sent.stream, sent.streams) = (7, 8);
                (sent.filter, sent.dict) = (FilterId(200), Some(&b"words"[..]));
            }
            let context = Context::of_stream(&sent);
            // SAFETY: all of it lives in this function.
            let found = unsafe { context.stream() };
            assert_eq!(format!("{found:?}"), format!("{sent:?}"));
        }
    }
}
