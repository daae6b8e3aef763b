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
}

/// Chunks in memory, there and back.
pub trait ChunkCodec {
    /// Compresses `src` into `dst`.
    fn compress(&mut self, src: &[u8], dst: &mut Slot) -> Result<()>;

    /// Decompresses `chunk` into `dst`, which has exactly the decoded length.
    fn decompress(&mut self, chunk: &[u8], dst: &mut [u8]) -> Result<()>;
}
