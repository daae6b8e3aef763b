//! The two kinds of frames that a sink writes.

use bytes::Bytes;
use oxiblosc_core::Registry;
use oxiblosc_core::chunk::SpecialKind;
use oxiblosc_core::frame::{
    ChunkWrite, FrameParams, FrameWriteError, FrameWriter, Layout, Metalayers, Placement, SparseWriter,
    SpecialPlacement, Target as Place,
};

use super::Summary;
use crate::target::{Part, Target};

/// Says what to emit for each chunk, whatever the kind of the frame.
pub(crate) enum Machine {
    Contiguous(FrameWriter),
    Sparse {
        writer: SparseWriter,
        /// Bytes of the index file, once it exists.
        index_len: u64,
        /// Bytes of the chunk files. (What a header says can be more: it must be larger than every file number.)
        chunk_bytes: u64,
    },
}

impl Machine {
    /// A frame as `params` say, of the kind that `target` takes.
    pub(crate) fn new(
        params: &FrameParams,
        registry: &Registry,
        target: &(impl Target + ?Sized),
    ) -> Result<Self, FrameWriteError> {
        let mut params = params.clone();
        // Who looks at the frame before it has an index must find every chunk where it belongs. (Layouts of the past have
        // no place for the promise.)
        if target.is_open_ended() && params.layout == Layout::Current {
            if target.is_sparse() {
                params.special = SpecialPlacement::Stored;
            } else {
                params.sequential = true;
            }
        }
        Ok(match target.is_sparse() {
            false => Self::Contiguous(FrameWriter::new(&params, registry)?),
            true => {
                let writer = SparseWriter::new(&params, registry)?;
                Self::Sparse { writer, index_len: 0, chunk_bytes: 0 }
            }
        })
    }

    /// What to emit before the first chunk.
    pub(crate) fn head(&self) -> Option<(Part, Vec<u8>)> {
        match self {
            Self::Contiguous(writer) => Some((Part::Header, writer.header())),
            Self::Sparse { writer, .. } => Some((Part::Header, writer.header())),
        }
    }

    /// What to emit for the next chunk; `None` when the index says it all.
    pub(crate) fn push(&mut self, chunk: Bytes) -> Result<Option<(Part, Bytes)>, FrameWriteError> {
        let number = self.nchunks();
        match self {
            Self::Contiguous(writer) => Ok(match writer.push(&chunk)? {
                Placement::Append { .. } => Some((Part::Chunk(number), chunk)),
                Placement::Replace { bytes, .. } => Some((Part::Chunk(number), bytes.into())),
                Placement::IndexOnly => None,
            }),
            Self::Sparse { writer, chunk_bytes, .. } => {
                let Some(ChunkWrite { target: Place::File(id), replacement }) = writer.push(&chunk)? else {
                    return Ok(None);
                };
                let bytes = replacement.map_or(chunk, Bytes::from);
                *chunk_bytes += bytes.len() as u64;
                Ok(Some((Part::File(id), bytes)))
            }
        }
    }

    /// Adds `count` chunks of one value that are in the index alone; `false`, and nothing has changed, when they have to be
    /// stored.
    pub(crate) fn push_specials(
        &mut self,
        kind: SpecialKind,
        nbytes: usize,
        count: u64,
    ) -> Result<bool, FrameWriteError> {
        match self {
            Self::Contiguous(writer) => writer.push_specials(kind, nbytes, count),
            Self::Sparse { writer, .. } => writer.push_specials(kind, nbytes, count),
        }
    }

    /// Ends the frame: what to emit after the last chunk, and what the target is to commit: the final header, or the
    /// whole index file of a sparse frame.
    pub(crate) fn finish(&mut self) -> Result<(Option<Vec<u8>>, Bytes), FrameWriteError> {
        match self {
            Self::Contiguous(writer) => {
                let tail = writer.finish()?;
                Ok((Some(tail), writer.header().into()))
            }
            Self::Sparse { writer, index_len, .. } => {
                let index = writer.finish()?;
                *index_len = index.len() as u64;
                Ok((None, index.into()))
            }
        }
    }

    pub(crate) fn set_metalayer(&mut self, name: &str, content: &[u8]) -> Result<(), FrameWriteError> {
        match self {
            Self::Contiguous(writer) => writer.set_metalayer(name, content),
            Self::Sparse { writer, .. } => writer.set_metalayer(name, content),
        }
    }

    pub(crate) fn set_vlmetalayer(&mut self, name: &str, content: &[u8]) -> Result<(), FrameWriteError> {
        match self {
            Self::Contiguous(writer) => writer.set_vlmetalayer(name, content),
            Self::Sparse { writer, .. } => writer.set_vlmetalayer(name, content),
        }
    }

    pub(crate) fn copy_encoded_vlmetalayers(&mut self, encoded: &Metalayers) -> Result<(), FrameWriteError> {
        match self {
            Self::Contiguous(writer) => writer.copy_encoded_vlmetalayers(encoded),
            Self::Sparse { writer, .. } => writer.copy_encoded_vlmetalayers(encoded),
        }
    }

    pub(crate) fn nchunks(&self) -> u64 {
        match self {
            Self::Contiguous(writer) => writer.nchunks(),
            Self::Sparse { writer, .. } => writer.nchunks(),
        }
    }

    /// What has been written; only right once the frame is finished.
    pub(crate) fn summary(&self) -> Summary {
        let chunks = self.nchunks();
        match self {
            Self::Contiguous(writer) => Summary {
                chunks,
                nbytes: writer.nbytes(),
                cbytes: writer.cbytes(),
                frame_len: writer.frame_len(),
                fingerprint: writer.fingerprint(),
            },
            Self::Sparse { writer, index_len, chunk_bytes } => Summary {
                chunks,
                nbytes: writer.nbytes(),
                cbytes: *chunk_bytes,
                frame_len: index_len + chunk_bytes,
                fingerprint: writer.fingerprint(),
            },
        }
    }
}
