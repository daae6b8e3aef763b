//! Reading into a buffer of the caller's.

use std::future::poll_fn;
use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;

use oxiblosc_core::executor::try_for_each;
use oxiblosc_core::nd::{BlockPlan, ChunkPlan, NdError, Plan, Selection};

use super::decode::{Destination, Simple};
use super::groups::{BandGroup, BandGroups};
use super::job::{JobInput, array_error};
use super::read::InBuffer;
use super::{ArrayError, NdArray};
use crate::compute::block_on;
use crate::source::RangeSource;

/// Groups that are decoded for each thread before other tasks get a turn: some hundredths of a second.
const GROUPS_FOR_EACH_THREAD: usize = 4;

impl<S: RangeSource + 'static> NdArray<S> {
    /// How many items a selection has along each axis of its result.
    ///
    /// # Errors
    /// When the selection does not fit the array.
    pub fn selected_shape(&self, selection: &Selection) -> Result<Vec<u64>, ArrayError> {
        Ok(Plan::new(self.tiling(), selection)?.shape().to_vec())
    }

    /// Reads the selected items, in C order, into `out`, whose length must be theirs in bytes. Nothing needs to be in it.
    ///
    /// This saves the time to get fresh memory from the system, which for large results is a good part of the whole.
    /// With a source that [is immediate](RangeSource::is_immediate), the polling thread and the others of the pool decode
    /// straight into `out` while the future is polled: it yields now and then, and yet holds up its thread as a blocking
    /// call would. With other sources it is [`read`](Self::read) and a copy.
    ///
    /// If the future fails or is dropped, `out` holds a part of the items and of what was there before.
    ///
    /// # Errors
    /// As [`read`](Self::read), and when `out` has another length.
    pub async fn read_into(&self, selection: &Selection, out: &mut [u8]) -> Result<(), ArrayError> {
        let plan = Plan::new(self.tiling(), selection)?;
        let (expected, found) = (plan.buffer_bytes()?, out.len());
        if expected != found {
            return Err(NdError::Buffer { what: "the buffer", expected, found }.into());
        }
        let shared = &self.reader.shared;
        if !plan.is_banded() || !shared.source.is_immediate() || shared.budget.is_some() {
            let bytes = self.read_plan(plan).await?;
            out.copy_from_slice(&bytes);
            return Ok(());
        }
        shared.check_result_len(expected as u64).await?;
        let pool = &shared.decoding.pool;
        let mut rest = out;
        let mut groups = BandGroups::new(&plan, pool.threads().max(1))?;
        loop {
            let batch: Vec<_> = groups
                .by_ref()
                .take(GROUPS_FOR_EACH_THREAD * pool.threads().max(1))
                .map(|group| {
                    let place;
                    (place, rest) = mem::take(&mut rest).split_at_mut(group.bytes());
                    (group, place)
                })
                .collect();
            if batch.is_empty() {
                return Ok(());
            }
            // Bands are enough work for all threads: a chunk need not be spread over several.
            let busy = pool.occupy();
            try_for_each(pool, batch.len(), batch.into_iter(), |_, (group, place)| self.decode_group(group, place))?;
            drop(busy);
            yield_once().await;
        }
    }

    /// Fetches and decodes some bands on this thread.
    fn decode_group(&self, group: BandGroup, mut out: &mut [u8]) -> Result<(), ArrayError> {
        let shared = &self.reader.shared;
        let fetched = block_on(group.wants.fetch(shared, self.tiling().chunk_bytes()))?;
        let chunk = AtomicU64::new(0);
        let mut parts = JobInput::new(shared, &fetched, &chunk);
        for band in group.bands {
            let place;
            (place, out) = mem::take(&mut out).split_at_mut(band.buffer.len());
            for part in band.plan.chunks() {
                let decoded = parts.decode(&part, &mut Used(InBuffer(place)));
                decoded.map_err(|error| array_error(shared, chunk.load(Ordering::Relaxed), error))?;
            }
        }
        Ok(())
    }
}

/// A buffer that need not hold zeros.
struct Used<'b>(InBuffer<'b>);

impl Destination for Used<'_> {
    fn chunk(&mut self, part: &ChunkPlan<'_>) -> Option<&mut [u8]> {
        self.0.chunk(part)
    }

    fn block(&mut self, block: &BlockPlan<'_>) -> Option<&mut [u8]> {
        self.0.block(block)
    }

    fn simple(&mut self, part: &ChunkPlan<'_>, chunk: Simple) -> Result<(), NdError> {
        let chunk = match chunk {
            Simple::Zeros => Simple::Item(vec![0; part.item_size()]),
            chunk => chunk,
        };
        self.0.simple(part, chunk)
    }

    fn copy(&mut self, block: &BlockPlan<'_>, decoded: &[u8]) -> Result<(), NdError> {
        self.0.copy(block, decoded)
    }
}

/// Lets the executor poll other tasks.
async fn yield_once() {
    let mut has_yielded = false;
    poll_fn(|cx| {
        if mem::replace(&mut has_yielded, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
