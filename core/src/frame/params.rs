//! The parameters of a new frame.

use super::header::{ChunkSize, FrameHeader, FrameType, full_len};
use super::{FingerprintKind, Frame, FrameLayout, FrameWriteError, Metalayers, PartialHeader, Section, Sequential};
use crate::chunk::EncodeParams;
use crate::id::CodecId;
use crate::pipeline::FilterSlots;
use crate::plugin_params::PluginParams;

/// Where chunks of a special value go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum SpecialPlacement {
    /// Zeros, NaNs and uninitialised chunks become an entry of the index and take no other space. Where C-Blosc2 could
    /// not read that (chunks of variable size, or with a partial item), they are stored in a few bytes.
    #[default]
    Index,
    /// All are stored in a few bytes, so that the chunks section holds every chunk of the frame in
    /// order and can be decoded without the index.
    Stored,
}

/// The parameters of a new frame.
#[derive(Debug, Clone)]
pub struct FrameParams {
    /// Whether the chunks go into the frame itself or into files of their own.
    pub frame_type: FrameType,
    /// How the chunks are encoded. The header records it for those who append; each chunk is encoded by the caller.
    /// The type size of the frame is taken from here.
    pub encode: EncodeParams,
    /// Decoded bytes of every chunk but the last, which may have fewer; 0 when chunks differ in size (C-Blosc2 3.0 and
    /// later read those, chunk by chunk). At most 2^31 - 1, as C-Blosc2 reads it, although no chunk that is encoded can
    /// have more than [`ChunkHeader::MAX_NBYTES`](crate::chunk::ChunkHeader::MAX_NBYTES): a frame of one short chunk may
    /// state any size, and its copy states the same.
    pub chunk_size: usize,
    /// Metalayers of the header; they cannot change in length later.
    pub metalayers: Metalayers,
    /// Where chunks of one special value go.
    pub special: SpecialPlacement,
    /// Age of the layout to write: [`FrameLayout::Current`], or [`FrameLayout::Early`] for the software of 2019, with chunks in
    /// [`ChunkFormat::Early`](crate::chunk::ChunkFormat::Early).
    pub layout: FrameLayout,
    /// Promise to readers that see the frame only once, front to back, that its chunks lie in order without holes: adds
    /// the header metalayer [`Sequential::NAME`](super::Sequential::NAME) and implies [`SpecialPlacement::Stored`].
    pub sequential: bool,
    /// Which fingerprint of the whole frame the trailer gets; none by default.
    pub fingerprint: Option<FingerprintKind>,
    /// Whether the trailer gets the metalayer [`Checksums::NAME`](super::Checksums::NAME), with a checksum of each chunk
    /// and one of everything else.
    pub checksums: bool,
    /// The codec of variable-length metalayers. By default Zstandard, as python-blosc2 has it, or what else the registry
    /// has: BloscLZ, and no compression without either. A codec that is named here must be in the registry.
    pub vlmetalayer_codec: Option<CodecId>,
}

impl FrameParams {
    /// A contiguous frame of chunks of `chunk_size` bytes encoded as `encode` says, without metalayers.
    pub fn new(encode: EncodeParams, chunk_size: usize) -> Self {
        Self {
            frame_type: FrameType::Contiguous,
            encode,
            chunk_size,
            metalayers: Metalayers::new(),
            special: SpecialPlacement::default(),
            layout: FrameLayout::Current,
            sequential: false,
            fingerprint: None,
            checksums: false,
            vlmetalayer_codec: None,
        }
    }

    /// Parameters for a copy of `frame`: with its metalayers, and with the promise, the kind of fingerprint and the
    /// checksums (unless they are outdated) if it carries them. (The
    /// variable-length metalayers are copied by [`FrameWriter::copy_vlmetalayers`](super::FrameWriter::copy_vlmetalayers).)
    ///
    /// Chunks can be copied as they are when the frame's [`bitshuffle_age`](super::Frame::bitshuffle_age) is
    /// [`ByChunk`](super::BitshuffleAge::ByChunk); otherwise those that are bit-shuffled must be encoded again.
    pub fn from_frame(frame: &Frame) -> Self {
        Self {
            fingerprint: FingerprintKind::from_u8(frame.fingerprint().kind),
            checksums: frame.checksums().valid().is_some(),
            ..Self::of(frame.header(), frame.metalayers().clone())
        }
    }

    /// Parameters for a copy of what is left of a frame, given only its head.
    pub fn from_head(head: &PartialHeader) -> Self {
        Self::of(&head.header, head.metalayers.clone())
    }

    fn of(header: &FrameHeader, mut metalayers: Metalayers) -> Self {
        let sequential = metalayers.remove(Sequential::NAME).is_some() && header.frame_type == FrameType::Contiguous;
        let early_filters = header.layout == FrameLayout::Early;
        let chunk_size = match header.chunk_size {
            ChunkSize::Fixed(n) => n as usize,
            ChunkSize::Variable if header.nbytes > 0 || header.layout == FrameLayout::Current => 0,
            // An empty frame whose chunk size is not settled. Its copy does not state one either.
            ChunkSize::Variable | ChunkSize::Unset => 1 << 20,
        };
        let filters = if early_filters { FilterSlots::SHUFFLE } else { header.filters };
        // Readers report one that cannot be parsed; here it records nothing.
        let recorded = PluginParams::find(&metalayers).unwrap_or_default();
        Self {
            frame_type: header.frame_type,
            encode: EncodeParams {
                codec: header.codec,
                codec_meta: header.codec_meta,
                level: header.level.min(9),
                typesize: header.typesize as usize,
                filters,
                block_size: (header.block_size > 0).then_some(header.block_size as usize),
                split: header.split.unwrap_or_default(),
                use_dict: header.use_dict,
                plugin_params: recorded.of_pipeline(header.codec, &filters),
                ..EncodeParams::default()
            },
            chunk_size,
            metalayers,
            special: SpecialPlacement::Index,
            layout: FrameLayout::Current,
            sequential,
            fingerprint: None,
            checksums: false,
            vlmetalayer_codec: None,
        }
    }

    /// The header of an empty frame with these parameters.
    pub(super) fn header(&self) -> Result<FrameHeader, FrameWriteError> {
        let early = match self.layout {
            FrameLayout::Current => false,
            FrameLayout::Early if self.frame_type == FrameType::Contiguous => true,
            layout => return Err(FrameWriteError::Layout { layout }),
        };
        let fits = |what, value: usize, min: usize, max: usize| match u32::try_from(value) {
            Ok(n) if (min..=max).contains(&value) => Ok(n),
            _ => Err(FrameWriteError::Param { what, found: value, min, max }),
        };
        // Both are nominal in the header of a frame. That a chunk fits a 32-bit length is checked chunk by chunk.
        let max_field = i32::MAX as usize;
        let chunk_size = fits("chunk size", self.chunk_size, 0, max_field)?;
        // Early chunks have one byte for the type size, and their frames have no other field for it.
        let max_typesize = if early { 255 } else { max_field };
        let typesize = fits("type size", self.encode.typesize, 1, max_typesize)?;
        let block_size = fits("block size", self.encode.block_size.unwrap_or(0), 0, max_field)?;
        if early && (self.fingerprint.is_some() || self.checksums) {
            return Err(FrameWriteError::EarlyFeature { what: "trailer for fingerprint and checksums" });
        }
        if early && chunk_size == 0 {
            // Readers of 2019 divide by it.
            return Err(FrameWriteError::EarlyFeature { what: "chunks of different sizes" });
        }
        if early && self.encode.codec > CodecId::ZSTD {
            return Err(FrameWriteError::EarlyCodec { codec: self.encode.codec });
        }
        let header_len = full_len(self.layout, &self.metalayers);
        self.metalayers.check(Section::Header, self.layout.min_header_len())?;
        Ok(FrameHeader {
            layout: self.layout,
            header_len: header_len as u32,
            frame_len: 0,
            version: 0,
            vl_blocks: false,
            frame_type: self.frame_type,
            codec: self.encode.codec,
            codec_meta: self.encode.codec_meta,
            level: self.encode.level.min(9),
            split: Some(self.encode.split),
            nbytes: 0,
            cbytes: 0,
            typesize,
            block_size,
            chunk_size: if chunk_size == 0 { ChunkSize::Variable } else { ChunkSize::Fixed(chunk_size) },
            threads: (1, 1),
            has_vlmetalayers: false,
            filters: self.encode.filters,
            use_dict: self.encode.use_dict,
        })
    }
}
