//! Turns what a frame writer stores into parts for a target.

use bytes::Bytes;
use oxiblosc_core::Registry;
use oxiblosc_core::frame::{
    ChunkAddress, ChunkWrite, FrameLayout, FrameParams, FrameType, FrameWriteError, FrameWriter, SpecialPlacement,
};

use super::Summary;
use crate::compute::CoopBudget;
use crate::target::{Part, Target};

/// An index of up to this many chunks is compressed in some tens of microseconds.
const SHORT_INDEX: u64 = 4096;

/// Starts a frame of the type that `target` takes.
pub(crate) fn writer_for(
    params: &FrameParams,
    registry: &Registry,
    target: &(impl Target + ?Sized),
) -> Result<FrameWriter, FrameWriteError> {
    let mut params = params.clone();
    params.frame_type = target.frame_type();
    // A reader that opens the frame before it has an index must find every chunk where it belongs. (Older layouts have
    // no place for the promise.)
    if target.is_open_ended() && params.layout == FrameLayout::Current {
        match params.frame_type {
            FrameType::Contiguous => params.sequential = true,
            FrameType::Sparse => params.special = SpecialPlacement::Stored,
        }
    }
    FrameWriter::new(&params, registry)
}

/// Adds the next chunk; returns what to emit for it, or `None` when the index describes it in full.
pub(crate) fn push(writer: &mut FrameWriter, chunk: Bytes) -> Result<Option<(Part, Bytes)>, FrameWriteError> {
    let number = writer.nchunks();
    Ok(writer.push(&chunk)?.map(|ChunkWrite { address, replacement }| {
        let part = match address {
            ChunkAddress::Offset(_) => Part::Chunk(number),
            ChunkAddress::File(id) => Part::File(id),
        };
        (part, replacement.map_or(chunk, Bytes::from))
    }))
}

/// The end of a frame.
pub(crate) struct FrameEnd {
    /// Index and trailer, to emit after the last chunk; empty for a sparse frame, which has them in the index file.
    pub(crate) tail: Bytes,
    /// What the target commits: the final header, or the index file of a sparse frame.
    pub(crate) committed: Bytes,
}

/// Finishes the frame.
pub(crate) fn finish(writer: &mut FrameWriter) -> Result<FrameEnd, FrameWriteError> {
    let end = writer.finish()?.into();
    Ok(match writer.frame_type() {
        FrameType::Contiguous => FrameEnd { tail: end, committed: writer.header().into() },
        FrameType::Sparse => FrameEnd { tail: Bytes::new(), committed: end },
    })
}

/// Whether pushing a chunk of `len` bytes takes no noticeable time. One that is digested, for checksums or a
/// fingerprint, takes as long as reading it does.
pub(crate) fn pushes_quickly(writer: &FrameWriter, len: usize) -> bool {
    len <= CoopBudget::PIECE || !writer.digests()
}

/// Whether finishing the frame, which compresses the index, takes no noticeable time.
pub(crate) fn finishes_quickly(writer: &FrameWriter) -> bool {
    writer.nchunks() <= SHORT_INDEX
}

/// What has been written; the lengths are right once the frame is finished.
pub(crate) fn summary(writer: &FrameWriter) -> Summary {
    Summary {
        chunks: writer.nchunks(),
        nbytes: writer.nbytes(),
        cbytes: writer.cbytes(),
        frame_len: writer.frame_len(),
        fingerprint: writer.fingerprint(),
    }
}
