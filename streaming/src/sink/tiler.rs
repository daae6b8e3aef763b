//! Cutting rows of an array into chunks.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use bytes::Bytes;
use oxiblosc_core::nd::{NdError, Plan, Selection, Tiling, Window};

use super::{ChunkInput, Rechunker};
use crate::compute::Buffers;

/// Collects the rows of an array into slabs (the chunks that share the same rows), and cuts the slabs into chunks.
///
/// The cutting itself is left to the workers that encode the chunks. Few slabs exist at a time: the one being filled,
/// and a limited number of which chunks are still to be cut.
pub(crate) struct Tiler {
    rows: Rechunker,
    /// One slab as an array of its own.
    slab: Arc<Tiling>,
    row_bytes: usize,
    /// A slab has one chunk, whose items are in row order.
    in_order: bool,
    current: Option<PendingSlab>,
    shared: Arc<SlabCounter>,
    max_slabs: usize,
}

/// A slab that is being cut into chunks.
struct PendingSlab {
    slab: Arc<Slab>,
    window: Arc<Window>,
    next: u64,
}

struct SlabCounter {
    slabs: AtomicUsize,
    /// Free lists of buffers for slabs and for chunks.
    slab_buffers: Buffers,
    chunk_buffers: Mutex<Vec<Vec<u8>>>,
}

/// The rows of a slab. It is counted while it exists, and returns its buffer on drop.
struct Slab {
    /// As they were given, until the first worker needs them contiguous.
    rows: Mutex<Option<ChunkInput>>,
    joined: OnceLock<ChunkInput>,
    shared: Arc<SlabCounter>,
}

impl Slab {
    fn rows(&self) -> &[u8] {
        let rows = self.joined.get_or_init(|| {
            let rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner).take();
            let mut rows = rows.unwrap_or(ChunkInput::Shared(Bytes::new()));
            rows.join(&self.shared.slab_buffers);
            rows
        });
        rows.pieces().first().copied().unwrap_or_default()
    }
}

impl Drop for Slab {
    fn drop(&mut self) {
        self.shared.slabs.fetch_sub(1, Ordering::Relaxed);
        if let Some(rows) = self.joined.take() {
            rows.recycle(&self.shared.slab_buffers);
        }
    }
}

impl Tiler {
    /// For arrays laid out as `tiling`, with any number of rows. Slabs that wait for workers may have `max_bytes` in
    /// total; one is always allowed.
    ///
    /// `buffers` are those that [`ChunkInput::recycle`] returns buffers to.
    pub(crate) fn new(tiling: &Tiling, max_bytes: usize, buffers: &Buffers) -> Result<Self, NdError> {
        let mut shape = tiling.shape().to_vec();
        if let (Some(rows), Some(&chunk)) = (shape.first_mut(), tiling.geometry().chunk_shape.first()) {
            *rows = chunk.into();
        }
        let row_bytes = row_bytes(tiling)?;
        let slab = tiling.with_shape(&shape)?;
        let all = Plan::new(&slab, &Selection::all())?;
        let slab_bytes = all.buffer_bytes()?;
        let in_order = slab.chunk_count() == 1 && all.chunk(0).is_some_and(|chunk| chunk.in_place().is_some());
        let slab_buffers = Buffers::new(2);
        Ok(Self {
            // Empty rows make no slabs; the sink takes no bytes in that case.
            rows: Rechunker::new(slab_bytes.max(1), if in_order { buffers } else { &slab_buffers }),
            row_bytes,
            in_order,
            current: None,
            shared: Arc::new(SlabCounter { slabs: AtomicUsize::new(0), slab_buffers, chunk_buffers: Mutex::default() }),
            max_slabs: (max_bytes / slab_bytes.max(1)).max(1),
            slab: Arc::new(slab),
        })
    }

    pub(crate) fn wants_more(&self) -> bool {
        self.current.is_none() && self.rows.wants_more()
    }

    pub(crate) fn buffered(&self) -> usize {
        let waiting = if self.in_order { 0 } else { self.shared.slabs.load(Ordering::Relaxed) };
        self.rows.buffered() + waiting * self.slab.array_bytes() as usize
    }

    pub(crate) fn push(&mut self, bytes: Bytes) {
        self.rows.push(bytes);
    }

    pub(crate) fn fill(&mut self, bytes: &[u8]) -> usize {
        if self.current.is_some() { 0 } else { self.rows.fill(bytes) }
    }

    pub(crate) fn next_chunk(&mut self) -> Option<ChunkInput> {
        if self.current.is_none() {
            if self.in_order {
                return self.rows.next_chunk();
            }
            if self.shared.slabs.load(Ordering::Relaxed) >= self.max_slabs {
                return None;
            }
            let rows = self.rows.next_chunk()?;
            self.cut(rows);
        }
        self.next_of_slab()
    }

    pub(crate) fn last_chunk(&mut self) -> Option<ChunkInput> {
        if self.current.is_none() {
            if !self.in_order && self.shared.slabs.load(Ordering::Relaxed) >= self.max_slabs {
                return None;
            }
            let rows = self.rows.last_chunk()?;
            if self.in_order {
                // Chunks at the edge are stored at full size.
                return Some(rows.padded(self.slab.chunk_bytes()));
            }
            self.cut(rows);
        }
        self.next_of_slab()
    }

    /// Makes a slab the current one.
    fn cut(&mut self, rows: ChunkInput) {
        let mut window = self.slab.whole();
        if let Some(len) = window.shape.first_mut() {
            *len = (rows.len() / self.row_bytes.max(1)) as u64;
        }
        self.shared.slabs.fetch_add(1, Ordering::Relaxed);
        let slab = Slab { rows: Mutex::new(Some(rows)), joined: OnceLock::new(), shared: Arc::clone(&self.shared) };
        self.current = Some(PendingSlab { slab: Arc::new(slab), window: Arc::new(window), next: 0 });
    }

    fn next_of_slab(&mut self) -> Option<ChunkInput> {
        let cutting = self.current.as_mut()?;
        let tile = Tile {
            slab: Some(Arc::clone(&cutting.slab)),
            window: Arc::clone(&cutting.window),
            tiling: Arc::clone(&self.slab),
            number: cutting.next,
            chunk: Vec::new(),
            shared: Arc::clone(&self.shared),
        };
        cutting.next += 1;
        if cutting.next == self.slab.chunk_count() {
            self.current = None;
        }
        Some(ChunkInput::Tile(tile))
    }
}

/// Bytes of a row: of everything that shares an index along the first axis. An array of no dimensions is one row.
pub(crate) fn row_bytes(tiling: &Tiling) -> Result<usize, NdError> {
    let lens = tiling.shape().iter().skip(1);
    let mut bytes = tiling.item_size() as u64;
    for &len in lens {
        bytes = bytes.saturating_mul(len);
    }
    let limit = isize::MAX as u64;
    usize::try_from(bytes.min(limit + 1)).ok().filter(|&n| n as u64 <= limit).ok_or(NdError::TooLarge {
        what: "a row",
        limit,
        found: Some(bytes),
    })
}

/// A chunk that is to be cut out of a slab.
pub(crate) struct Tile {
    /// Released as soon as the chunk is cut.
    slab: Option<Arc<Slab>>,
    /// The rows of the slab.
    window: Arc<Window>,
    tiling: Arc<Tiling>,
    /// Number of the chunk in the slab.
    number: u64,
    chunk: Vec<u8>,
    shared: Arc<SlabCounter>,
}

impl Tile {
    pub(crate) fn len(&self) -> usize {
        self.tiling.chunk_bytes()
    }

    /// The chunk, once it is cut.
    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.chunk
    }

    /// Cuts the chunk.
    pub(crate) fn cut(&mut self) {
        let Some(slab) = self.slab.take() else { return };
        let used = self.buffers().pop();
        self.chunk = used.unwrap_or_default();
        self.chunk.resize(self.tiling.chunk_bytes(), 0);
        let cut = self.tiling.window_to_chunk(&self.window, slab.rows(), self.number, &mut self.chunk);
        cut.expect("the slab has whole rows, and the chunk is one of its own");
    }

    /// Returns the buffer once the chunk is encoded.
    pub(crate) fn recycle(mut self) {
        let chunk = std::mem::take(&mut self.chunk);
        self.buffers().push(chunk);
    }

    fn buffers(&self) -> MutexGuard<'_, Vec<Vec<u8>>> {
        self.shared.chunk_buffers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
