//! The settings of a call, as contexts and in words.

use std::fmt;
use std::sync::Arc;

use oxiblosc_core::FilterId;
use oxiblosc_core::codec::CodecContext;
use oxiblosc_core::filter::BlockContext;
use oxiblosc_core::nd::Geometry;

/// The settings of a call.
#[derive(Debug, Clone)]
pub(super) struct Case {
    /// What the input is called.
    pub(super) name: &'static str,
    pub(super) meta: u8,
    pub(super) typesize: usize,
    pub(super) item_size: Option<usize>,
    pub(super) block: usize,
    pub(super) offset: Option<usize>,
    pub(super) geometry: Option<Arc<Geometry>>,
    pub(super) reference: Option<Arc<[u8]>>,
    /// What only codecs are told.
    pub(super) stream: StreamCase,
}

/// What only codecs are told.
#[derive(Debug, Clone)]
pub(super) struct StreamCase {
    pub(super) level: u8,
    pub(super) version: u8,
    pub(super) number: usize,
    pub(super) count: usize,
    pub(super) filter: FilterId,
    pub(super) dict: Option<Arc<[u8]>>,
}

impl Case {
    pub(super) fn new(name: &'static str, typesize: usize, meta: u8) -> Self {
        let stream = StreamCase { level: 5, version: 1, number: 0, count: 1, filter: FilterId::NONE, dict: None };
        Self {
            name,
            meta,
            typesize,
            item_size: Some(typesize),
            block: 0,
            offset: Some(0),
            geometry: None,
            reference: None,
            stream,
        }
    }

    /// What a filter is told of a block of `len` bytes.
    pub(super) fn block(&self, len: usize) -> BlockContext<'_> {
        let mut ctx = BlockContext::new(self.typesize);
        ctx.meta = self.meta;
        ctx.item_size = self.item_size;
        ctx.block = self.block;
        ctx.offset = self.offset;
        ctx.last_short = !len.is_multiple_of(self.typesize);
        ctx.nd = self.geometry.as_deref().map(Into::into);
        ctx.reference = self.reference.as_deref();
        ctx
    }

    /// What a codec is told of a stream of `len` bytes that it compresses.
    pub(super) fn encoding(&self, len: usize) -> CodecContext<'_> {
        let mut ctx = self.decoding(len);
        ctx.level = Some(self.stream.level);
        ctx
    }

    /// What a codec is told of a stream that it decompresses to `len` bytes. The level is not stored.
    pub(super) fn decoding(&self, len: usize) -> CodecContext<'_> {
        let mut block = self.block(len);
        block.meta = 0;
        block.reference = None;
        let mut ctx = CodecContext::decoding(block);
        ctx.meta = self.meta;
        ctx.version = self.stream.version;
        ctx.stream = self.stream.number;
        ctx.streams = self.stream.count;
        ctx.filter = self.stream.filter;
        ctx.dict = self.stream.dict.as_deref();
        ctx
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "type size {}, meta {}", self.typesize, self.meta)?;
        match self.item_size {
            Some(size) if size == self.typesize => {}
            Some(size) => write!(f, ", item size {size}")?,
            None => f.write_str(", item size unknown")?,
        }
        let stream = &self.stream;
        write!(f, ", level {}", stream.level)?;
        if (self.block, self.offset) != (0, Some(0)) {
            write!(f, ", block {}", self.block)?;
            match self.offset {
                Some(offset) => write!(f, " at byte {offset}")?,
                None => f.write_str(" of variable length")?,
            }
        }
        if stream.count > 1 {
            write!(f, ", stream {} of {}", stream.number, stream.count)?;
        }
        if stream.filter != FilterId::NONE {
            write!(f, ", after filter {}", stream.filter.0)?;
        }
        if let Some(geometry) = &self.geometry {
            write!(f, ", chunks {:?} of blocks {:?}", geometry.chunk_shape, geometry.block_shape)?;
        }
        if let Some(reference) = &self.reference {
            write!(f, ", a reference of {} bytes", reference.len())?;
        }
        if let Some(dict) = &stream.dict {
            write!(f, ", a dictionary of {} bytes", dict.len())?;
        }
        Ok(())
    }
}
