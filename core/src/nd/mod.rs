//! N-dimensional arrays (b2nd) on top of a frame.
//!
//! An array is cut into chunks, and every chunk into blocks; items of a block are in C order. The metalayer
//! ([`ArrayMeta`]) says how, [`Tiling`] is that cut, checked, and [`Plan`] says which chunks and blocks a [`Selection`]
//! touches and what to copy:
//!
//! ```
//! use oxiblosc_core::nd::{Partition, Plan};
//!
//! // An array of 300 by 400 items of 8 bytes, its chunks and blocks chosen.
//! let partition = Partition { chunk_bytes: 1 << 17, block_bytes: 1 << 14, slab_bytes: None };
//! let tiling = partition.geometry(&[300, 400], 8, None, None)?.tile(8)?;
//! let array: Vec<u8> = (0..300 * 400_u64).flat_map(u64::to_le_bytes).collect();
//!
//! // Into chunks ...
//! let mut chunks = vec![vec![0; tiling.chunk_bytes()]; tiling.chunk_count() as usize];
//! for (number, chunk) in chunks.iter_mut().enumerate() {
//!     tiling.window_to_chunk(&tiling.whole(), &array, number as u64, chunk)?;
//! }
//!
//! // ... and out of them, a column from the bottom to the top.
//! let plan = Plan::new(&tiling, &"::-1, 7".parse()?)?;
//! let mut column = vec![0; plan.buffer_bytes()?];
//! for chunk in plan.chunks() {
//!     chunk.copy_out(&chunks[chunk.number() as usize], &mut column)?;
//! }
//! assert_eq!(column[..8], (299 * 400 + 7_u64).to_le_bytes());
//! # Ok::<(), oxiblosc_core::nd::NdError>(())
//! ```
//!
//! | to do | use |
//! |---|---|
//! | choose chunk and block shapes | [`Partition`] |
//! | make chunks of a C-order buffer, or of rows as they come | [`Tiling::window_to_chunk`] |
//! | read and write slices, single items, orthogonal lists and coordinates | [`Plan`] |
//! | grow, shrink, append | [`ResizePlan`] |
//! | know how wide the items of a NumPy dtype are | [`item_size`] |

mod axis;
mod band;
mod copy;
mod dtype;
mod error;
mod geometry;
mod meta;
mod partition;
mod plan;
mod resize;
mod selection;
mod tile;
mod tiling;
mod walk;

pub use band::{Band, BandAxis};
pub use dtype::item_size;
pub use error::NdError;
pub use geometry::{Geometry, MAX_DIMS};
pub use meta::{ArrayMeta, FrameSizes};
pub use partition::Partition;
pub use plan::{BlockPlan, ChunkPlan, Plan};
pub use resize::{ClearRegion, KeptChunks, ResizePlan};
pub use selection::{AxisSelection, Selection};
pub use tiling::{ItemPosition, MAX_BLOCK_BYTES, MAX_CHUNK_BYTES, MAX_CHUNKS, Tiling, Window};
