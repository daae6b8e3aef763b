//! Writing encoded chunks to a target.

use std::future::poll_fn;
use std::io;

use bytes::Bytes;
use oxiblosc_core::Registry;
use oxiblosc_core::chunk::SpecialKind;
use oxiblosc_core::frame::{Frame, FrameParams, FrameWriter, Metalayers};

use super::EditError;
use crate::sink::Summary;
use crate::sink::emit::{self, FrameEnd};
use crate::target::{Part, Target, poll_offer};

/// Writes chunks that are already encoded to a target.
pub(crate) struct ChunkOutput<'a, T> {
    writer: FrameWriter,
    target: &'a mut T,
    /// The provisional header, until it is emitted.
    header: Option<Vec<u8>>,
}

impl<'a, T: Target> ChunkOutput<'a, T> {
    pub(crate) fn new(params: &FrameParams, registry: &Registry, target: &'a mut T) -> Result<Self, EditError> {
        let writer = emit::writer_for(params, registry, target)?;
        let header = Some(writer.header());
        Ok(Self { writer, target, header })
    }

    pub(crate) fn copy_vlmetalayers(&mut self, frame: &Frame) -> Result<(), EditError> {
        self.copy_encoded_vlmetalayers(&frame.trailer().vlmetalayers)
    }

    pub(crate) fn set_vlmetalayer(&mut self, name: &str, content: &[u8]) -> Result<(), EditError> {
        Ok(self.writer.set_vlmetalayer(name, content)?)
    }

    pub(crate) fn copy_encoded_vlmetalayers(&mut self, encoded: &Metalayers) -> Result<(), EditError> {
        Ok(self.writer.copy_encoded_vlmetalayers(encoded)?)
    }

    /// Writes the next chunk.
    pub(crate) async fn push(&mut self, chunk: Bytes) -> Result<(), EditError> {
        self.put_header().await?;
        match emit::push(&mut self.writer, chunk)? {
            Some((part, bytes)) => self.append(part, bytes).await,
            None => Ok(()),
        }
    }

    /// Writes `count` chunks of `nbytes` bytes that exist only in the index. Returns `false`, having done nothing, if
    /// such chunks must be stored.
    pub(crate) async fn push_specials(
        &mut self,
        kind: SpecialKind,
        nbytes: usize,
        count: u64,
    ) -> Result<bool, EditError> {
        self.put_header().await?;
        Ok(self.writer.push_specials(kind, nbytes, count)?)
    }

    /// Completes the frame and closes the target.
    pub(crate) async fn finish(mut self) -> Result<Summary, EditError> {
        self.put_header().await?;
        let FrameEnd { tail, committed } = emit::finish(&mut self.writer)?;
        self.append(Part::Tail, tail).await?;
        poll_fn(|cx| self.target.poll_commit(cx, &committed)).await?;
        poll_fn(|cx| self.target.poll_close(cx)).await?;
        Ok(emit::summary(&self.writer))
    }

    async fn put_header(&mut self) -> Result<(), EditError> {
        match self.header.take() {
            Some(header) => self.append(Part::Header, header.into()).await,
            None => Ok(()),
        }
    }

    async fn append(&mut self, part: Part, mut bytes: Bytes) -> Result<(), EditError> {
        while !bytes.is_empty() {
            poll_fn(|cx| poll_offer(self.target, cx, part, &mut bytes)).await.map_err(io::Error::from)?;
        }
        Ok(())
    }
}
