//! Reading selections.

use std::future::Future;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use futures::future::try_join_all;
use futures::stream::{self, Stream, StreamExt, TryStreamExt};
use oxiblosc_core::nd::{BlockPlan, ChunkPlan, NdError, Plan, Selection};

use super::decode::{DecodeError, Destination, Simple};
use super::fetch::{FetchList, Fetched};
use super::groups::{BandGroup, BandGroups, chunk_groups};
use super::job::{ChunkJob, JobInput};
use super::{ArrayError, NdArray, NdBuffer};
use crate::reader::{BoundedFutures, ReadAhead, ReaderInner, Task, zeroed};
use crate::source::RangeSource;

/// Groups in flight at a time.
const GROUPS_AT_ONCE: usize = 4;

impl<S: RangeSource + 'static> NdArray<S> {
    /// The selected items.
    ///
    /// # Errors
    /// When the selection does not fit the array, the source fails, or a chunk is damaged.
    pub async fn read(&self, selection: &Selection) -> Result<NdBuffer, ArrayError> {
        let plan = Plan::new(self.tiling(), selection)?;
        let shape = plan.shape().to_vec();
        let bytes = self.read_plan(plan).await?;
        Ok(NdBuffer { shape, dtype: self.dtype().map(Arc::from), item_size: self.item_size(), bytes })
    }

    /// The bytes of one item; negative indices count from the end.
    ///
    /// Reading one item costs one block, however it is selected: the stored bytes of the block are fetched, and the whole
    /// block is decoded, because filters need all of it. That takes the memory of the decoded block, as much again if
    /// there are filters, and that of the first block of the chunk if the others are coded against it (delta). A chunk of
    /// one repeated value takes no memory beyond the item, and a stored chunk none beyond the fetched bytes.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub async fn item(&self, index: &[i64]) -> Result<Bytes, ArrayError> {
        if index.len() != self.ndim() {
            return Err(NdError::Rank { what: "the index", expected: self.ndim(), found: index.len() }.into());
        }
        Ok(self.read(&Selection::item(index)).await?.into_bytes())
    }

    /// The selected items in C order, as a stream of pieces of any length, fetched and decoded ahead: for more than
    /// memory holds. Bytes that are fetched or decoded and not yet taken are limited to
    /// [`ReadOptions::bytes_ahead`](crate::ReadOptions::bytes_ahead), or a single piece. (A list of points, or of
    /// indices that are not in ascending order, is a single piece.)
    ///
    /// # Errors
    /// When the selection does not fit the array. Items of the stream fail as [`read`](Self::read) does; the first
    /// that does is the last.
    pub fn stream(
        &self,
        selection: &Selection,
    ) -> Result<impl Stream<Item = Result<Bytes, ArrayError>> + Send + Unpin + use<S>, ArrayError> {
        let plan = Plan::new(self.tiling(), selection)?;
        plan.buffer_bytes()?;
        let array = self.clone();
        let pieces = if plan.is_banded() {
            let ahead = self.shared().ahead;
            let groups = BandGroups::new(&plan, self.threads())?.with_max_bytes(ahead.bytes);
            let read = move |group: BandGroup| {
                let array = array.clone();
                let bytes = group.bytes().saturating_add(group.wants.stored(array.shared()));
                let work = async move {
                    let out = zeroed(group.bytes() as u64)?;
                    Ok(array.read_group(group, out).await?.freeze())
                };
                Task { bytes, work }
            };
            self.in_flight(groups.map(read), ahead.bytes).left_stream()
        } else {
            stream::once(async move { array.read_plan(plan).await }).right_stream()
        };
        let mut failed = false;
        let until_failure = move |piece: &Result<Bytes, ArrayError>| {
            let go_on = !failed;
            failed |= piece.is_err();
            std::future::ready(go_on)
        };
        Ok(Box::pin(pieces.take_while(until_failure)))
    }

    pub(super) async fn read_plan(&self, plan: Plan) -> Result<Bytes, ArrayError> {
        let len = plan.buffer_bytes()? as u64;
        self.shared().check_result_len(len).await?;
        let out = zeroed(len)?;
        let bytes =
            if plan.is_banded() { self.read_bands(&plan, out).await } else { self.read_chunks(plan, out).await };
        Ok(bytes?.freeze())
    }

    /// Reads a few groups of bands at a time, with at most `bytes` in flight.
    fn in_flight<I, F>(&self, groups: I, bytes: usize) -> BoundedFutures<stream::Iter<I>, F>
    where
        I: Iterator<Item = Task<F>>,
        F: Future,
    {
        let limits = ReadAhead { chunks: GROUPS_AT_ONCE, bytes };
        BoundedFutures::new(stream::iter(groups), limits, self.shared().budget.as_ref())
    }

    fn shared(&self) -> &Arc<ReaderInner<S>> {
        &self.reader.shared
    }

    fn threads(&self) -> usize {
        self.shared().decoding.pool.threads().max(1)
    }

    /// Reads a plan into `out`, which has the length of its buffer. Each band has its own part, so that bands are
    /// decoded and copied concurrently.
    async fn read_bands(&self, plan: &Plan, mut out: BytesMut) -> Result<BytesMut, ArrayError> {
        let groups = BandGroups::new(plan, self.threads())?.map(|group| {
            let place = out.split_to(group.bytes());
            Task { bytes: group.wants.stored(self.shared()), work: self.read_group(group, place) }
        });
        let mut groups = self.in_flight(groups, usize::MAX);
        let mut whole = BytesMut::new();
        while let Some(part) = groups.try_next().await? {
            // The parts were split off one buffer: putting them together again copies nothing.
            whole.unsplit(part);
        }
        Ok(whole)
    }

    /// Fetches what some bands need with one call, and decodes each in a separate job.
    async fn read_group(&self, group: BandGroup, mut out: BytesMut) -> Result<BytesMut, ArrayError> {
        let fetched = group.wants.fetch(self.shared(), self.tiling().chunk_bytes()).await?;
        let jobs = group.bands.into_iter().map(|band| {
            let (plan, mut place) = (band.plan, out.split_to(band.buffer.len()));
            let job = self.spawn(&fetched, move |parts| {
                for part in plan.chunks() {
                    parts.decode(&part, &mut InBuffer(&mut place))?;
                }
                Ok(place)
            });
            job.join()
        });
        let mut whole = BytesMut::new();
        for place in try_join_all(jobs).await? {
            whole.unsplit(place);
        }
        Ok(whole)
    }

    /// Reads a plan that cannot be cut into bands into `out`, which has the length of its buffer: chunks are decoded
    /// concurrently, and copied one after the other.
    async fn read_chunks(&self, plan: Plan, mut out: BytesMut) -> Result<BytesMut, ArrayError> {
        let plan = Arc::new(plan);
        let groups = chunk_groups(&plan).map(|wants| {
            let bytes = wants.bytes().saturating_add(wants.stored(self.shared()));
            Task { bytes, work: self.decode_chunks(&plan, wants) }
        });
        // One group is copied while the next is decoded.
        let limits = ReadAhead { chunks: 2, bytes: usize::MAX };
        let mut groups = BoundedFutures::new(stream::iter(groups), limits, self.shared().budget.as_ref());
        while let Some((fetched, decoded)) = groups.try_next().await? {
            let plan = Arc::clone(&plan);
            let job = self.spawn(&fetched, move |parts| {
                for (number, blocks) in decoded {
                    let Some(part) = plan.chunk(number) else { continue };
                    parts.at(number);
                    blocks.copy_out(&part, &mut out)?;
                }
                Ok(out)
            });
            out = job.join().await?;
        }
        Ok(out)
    }

    /// Fetches what a plan needs of some chunks with one call, and decodes each chunk in a separate job.
    async fn decode_chunks(
        &self,
        plan: &Arc<Plan>,
        wants: FetchList,
    ) -> Result<(Fetched, Vec<(u64, Apart)>), ArrayError> {
        let fetched = wants.fetch(self.shared(), self.tiling().chunk_bytes()).await?;
        let jobs = fetched.keys().map(|&number| {
            let plan = Arc::clone(plan);
            let job = self.spawn(&fetched, move |parts| {
                let part = plan.chunk(number);
                let count = part.as_ref().map_or(0, |part| part.blocks().count());
                let mut blocks = Apart::new(plan.tiling().block_bytes(), count);
                if let Some(part) = part {
                    parts.decode(&part, &mut blocks)?;
                }
                Ok((number, blocks))
            });
            job.join()
        });
        let decoded = try_join_all(jobs).await?;
        Ok((fetched, decoded))
    }

    fn spawn<T: Send + 'static>(
        &self,
        fetched: &Fetched,
        work: impl FnOnce(&mut JobInput<'_, S>) -> Result<T, DecodeError> + Send + 'static,
    ) -> ChunkJob<S, T> {
        ChunkJob::spawn(self.shared(), fetched, work)
    }
}

/// The buffer of a plan.
pub(super) struct InBuffer<'b>(pub(super) &'b mut [u8]);

impl Destination for InBuffer<'_> {
    fn chunk(&mut self, part: &ChunkPlan<'_>) -> Option<&mut [u8]> {
        part.in_place().and_then(|place| self.0.get_mut(place))
    }

    fn block(&mut self, block: &BlockPlan<'_>) -> Option<&mut [u8]> {
        block.in_place().and_then(|place| self.0.get_mut(place))
    }

    fn simple(&mut self, part: &ChunkPlan<'_>, chunk: Simple) -> Result<(), NdError> {
        chunk.copy_out(part, self.0)
    }

    fn copy(&mut self, block: &BlockPlan<'_>, decoded: &[u8]) -> Result<(), NdError> {
        block.copy_out(decoded, self.0)
    }
}

/// The part of a chunk that a plan touches, kept until it can be copied to the buffer.
struct Apart {
    block_bytes: usize,
    count: usize,
    content: Content,
}

enum Content {
    /// The touched blocks one after the other, and how many of them are filled in.
    Blocks(Vec<u8>, usize),
    Simple(Simple),
}

impl Apart {
    fn new(block_bytes: usize, count: usize) -> Self {
        Self { block_bytes, count, content: Content::Blocks(Vec::new(), 0) }
    }

    fn copy_out(&self, part: &ChunkPlan<'_>, buffer: &mut [u8]) -> Result<(), NdError> {
        match &self.content {
            Content::Blocks(blocks, _) => {
                let mut blocks = part.blocks().zip(blocks.chunks_exact(self.block_bytes.max(1)));
                blocks.try_for_each(|(block, decoded)| block.copy_out(decoded, buffer))
            }
            Content::Simple(chunk) => chunk.copy_out(part, buffer),
        }
    }
}

impl Destination for Apart {
    fn chunk(&mut self, _: &ChunkPlan<'_>) -> Option<&mut [u8]> {
        None
    }

    fn block(&mut self, _: &BlockPlan<'_>) -> Option<&mut [u8]> {
        let Content::Blocks(blocks, here) = &mut self.content else { return None };
        if blocks.is_empty() {
            *blocks = vec![0; self.count * self.block_bytes];
        }
        *here += 1;
        blocks.chunks_exact_mut(self.block_bytes.max(1)).nth(*here - 1)
    }

    fn simple(&mut self, _: &ChunkPlan<'_>, chunk: Simple) -> Result<(), NdError> {
        self.content = Content::Simple(chunk);
        Ok(())
    }

    fn copy(&mut self, block: &BlockPlan<'_>, decoded: &[u8]) -> Result<(), NdError> {
        let (expected, found) = (self.block_bytes, decoded.len());
        let place = self.block(block).filter(|_| found == expected);
        place.ok_or(NdError::Buffer { what: "the block", expected, found })?.copy_from_slice(decoded);
        Ok(())
    }
}
