//! Where encoding and decoding run: a handle on worker threads, and jobs whose results are futures.

mod block_on;
mod buffers;
mod job;
mod pool;
mod turn;

pub use block_on::block_on;
pub(crate) use buffers::{Buffer, Buffers, let_go};
pub use job::{Job, JobPanicked};
pub use pool::{Pool, Share};
pub(crate) use turn::Turn;
