//! Chunks that stand for one repeated value and store no blocks.

use super::{ChunkHeader, SpecialKind};

/// What fills a special chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fill {
    /// Zero bytes.
    Zero,
    /// This item, over and over from the start of the chunk.
    Item(Vec<u8>),
}

impl Fill {
    /// The fill of a chunk of `kind`, read from its first bytes; `Err` is the number of bytes needed.
    pub(crate) fn parse(kind: SpecialKind, header: &ChunkHeader, prefix: &[u8]) -> Result<Self, usize> {
        match kind {
            // What an uninitialised chunk decodes to is not defined by the format; zeros leak nothing.
            SpecialKind::Zero | SpecialKind::Uninit => Ok(Self::Zero),
            SpecialKind::Nan => Ok(Self::Item(match header.typesize {
                4 => 0x7FC0_0000_u32.to_le_bytes().to_vec(),
                _ => 0x7FF8_0000_0000_0000_u64.to_le_bytes().to_vec(),
            })),
            // The item's length is that of the rest of the chunk; the type size says 1 when it is above 255.
            SpecialKind::Value => prefix
                .get(ChunkHeader::EXTENDED_LEN..header.cbytes)
                .map(|item| Self::Item(item.to_vec()))
                .ok_or(header.cbytes),
        }
    }

    /// Fills `dst`, whose first byte stands at `offset` of the decoded chunk.
    pub(crate) fn write(&self, offset: usize, dst: &mut [u8]) {
        let item = match self {
            Self::Zero => return dst.fill(0),
            Self::Item(item) => item,
        };
        if item.is_empty() {
            return dst.fill(0);
        }
        // The first copy starts inside the item when `offset` does; from then on the filled part doubles.
        let phase = offset % item.len();
        let mut filled = dst.len().min(item.len());
        for (i, byte) in dst[..filled].iter_mut().enumerate() {
            *byte = item[(phase + i) % item.len()];
        }
        while filled < dst.len() {
            let more = filled.min(dst.len() - filled);
            let (done, rest) = dst.split_at_mut(filled);
            rest[..more].copy_from_slice(&done[..more]);
            filled += more;
        }
    }
}
