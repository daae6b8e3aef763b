//! Writing frames.

mod encoding;
mod frame_sink;
mod options;
mod rechunk;
mod summary;
mod traits;

pub use frame_sink::FrameSink;
pub use options::WriteOptions;
pub use summary::Summary;
