//! Where encoding and decoding run: a handle on worker threads, and jobs whose results are futures.

mod block_on;
mod buffers;
mod coop;
mod job;
mod pool;

pub use block_on::block_on;
pub(crate) use buffers::{Buffer, Buffers, free_in_background};
pub(crate) use coop::CoopBudget;
pub use job::{Job, JobPanicked};
pub use pool::{Pool, Share};
