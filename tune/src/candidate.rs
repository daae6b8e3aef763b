//! A combination of parameters.

use std::fmt;

use oxiblosc::chunk::EncodeParams;
use oxiblosc::pipeline::FilterSlots;
use oxiblosc::registry::CodecInfo;
use oxiblosc::{CodecId, FilterId};

use crate::filters::Filters;

/// A combination of codec, level, filters and sizes that is tried.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Candidate {
    /// The codec.
    pub codec: CodecId,
    /// Its name in the registry.
    pub codec_name: &'static str,
    /// Its meta byte.
    pub codec_meta: u8,
    /// The compression level.
    pub level: u8,
    /// The filters.
    pub filters: FilterSlots,
    /// Their names in the registry, in the order of the slots that are used.
    pub filter_names: Vec<&'static str>,
    /// Bytes of an item.
    pub typesize: usize,
    /// It is tried on an array, in the chunks and blocks that are chosen for arrays.
    pub of_array: bool,
    /// Decoded bytes of a block; `None` leaves them to the encoder.
    pub block_size: Option<usize>,
    /// Decoded bytes of a chunk; `None` stands for the usual ones of whoever writes the frame.
    pub chunk_size: Option<usize>,
}

impl Candidate {
    pub(crate) fn new(codec: &CodecInfo, filters: &Filters, level: u8, typesize: usize) -> Self {
        Self {
            codec: codec.id,
            codec_name: codec.name,
            codec_meta: 0,
            level,
            filters: filters.slots,
            filter_names: filters.names.clone(),
            typesize,
            of_array: false,
            block_size: None,
            chunk_size: None,
        }
    }

    /// The parameters for an encoder. A size of chunks is not among them: who writes the frame chooses it.
    pub fn params(&self) -> EncodeParams {
        EncodeParams {
            codec: self.codec,
            codec_meta: self.codec_meta,
            level: self.level,
            typesize: self.typesize,
            filters: self.filters,
            block_size: self.block_size,
            ..EncodeParams::default()
        }
    }

    /// The filters in order: id, name and meta byte.
    pub fn active_filters(&self) -> impl Iterator<Item = (FilterId, &'static str, u8)> {
        self.filters.active().zip(&self.filter_names).map(|((_, slot), &name)| (slot.id, name, slot.meta))
    }
}

/// `zstd at level 5, shuffle, bytedelta=4, blocks of 32768 bytes`.
impl fmt::Display for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.codec_name)?;
        if self.codec_meta != 0 {
            write!(f, "={}", self.codec_meta)?;
        }
        write!(f, " at level {}", self.level)?;
        for (_, name, meta) in self.active_filters() {
            write!(f, ", {name}")?;
            if meta != 0 {
                write!(f, "={meta}")?;
            }
        }
        for (what, size) in [("blocks", self.block_size), ("chunks", self.chunk_size)] {
            if let Some(size) = size {
                write!(f, ", {what} of {size} bytes")?;
            }
        }
        Ok(())
    }
}
