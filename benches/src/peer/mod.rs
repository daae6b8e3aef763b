//! The implementations that are measured, behind one small interface.

pub mod c;
pub mod ours;
pub mod pure;
mod slot;

pub use slot::Slot;

use crate::Result;

/// Names in tables and JSON.
pub mod name {
    /// This project.
    pub const OURS: &str = "oxiblosc";
    /// C-Blosc2 through its shared library.
    pub const C: &str = "c-blosc2";
    /// The crate blosc2-pure-rs.
    pub const PURE: &str = "blosc2-pure-rs";
    /// A plain copy of the same bytes.
    pub const COPY: &str = "memcpy";
    /// Our own encoder or decoder on chunks in memory, with which streams are compared.
    pub const IN_MEMORY: &str = "in-memory";
    /// Ourselves with one thread, with whom more threads are compared.
    pub const ONE_THREAD: &str = "one-thread";
    /// Our own codec and filter on the same blocks, without the chunk around them.
    pub const ALONE: &str = "codec-alone";
    /// The command `zstd`, with as many threads.
    pub const ZSTD: &str = "zstd";
    /// The command `lz4`.
    pub const LZ4: &str = "lz4";
    /// A process that does nothing.
    pub const NOTHING: &str = "true";

    /// All but ourselves, in the order of the tables.
    pub const PEERS: [&str; 9] = [C, PURE, IN_MEMORY, ONE_THREAD, ALONE, ZSTD, LZ4, NOTHING, COPY];
}

/// Chunks in memory, there and back.
pub trait ChunkCodec {
    /// Compresses `src` into `dst`.
    fn compress(&mut self, src: &[u8], dst: &mut Slot) -> Result<()>;

    /// Decompresses `chunk` into `dst`, which has exactly the decoded length.
    fn decompress(&mut self, chunk: &[u8], dst: &mut [u8]) -> Result<()>;
}
