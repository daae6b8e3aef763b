//! Bounds on what a file may make a reader allocate.

/// Bounds on what a file may make a reader allocate. Every size read from a file is checked against what is left of
/// the file and against these before memory is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Decoded bytes of one chunk.
    pub chunk_bytes: usize,
    /// Chunks in one frame.
    pub chunks: u64,
    /// Bytes of a frame header with its metalayers.
    pub header_bytes: usize,
    /// Bytes of a frame trailer with its variable-length metalayers.
    pub trailer_bytes: usize,
    /// Decoded bytes of one variable-length metalayer.
    pub metalayer_bytes: usize,
    /// Compressed and decoded bytes that a reader or writer keeps in flight.
    pub in_flight_bytes: usize,
}

impl Limits {
    /// What the formats themselves allow; for trusted files only.
    pub const FORMAT: Self = Self {
        chunk_bytes: i32::MAX as usize,
        chunks: (i32::MAX / 8) as u64,
        header_bytes: i32::MAX as usize,
        trailer_bytes: i32::MAX as usize,
        metalayer_bytes: i32::MAX as usize,
        in_flight_bytes: usize::MAX,
    };
}

impl Default for Limits {
    /// Allows every chunk that fits the format, but indexes and metadata only up to sizes met in practice (64 million
    /// chunks, whose index takes half a gigabyte), and 1 GiB in flight.
    fn default() -> Self {
        Self {
            chunks: 1 << 26,
            header_bytes: 64 << 20,
            trailer_bytes: 256 << 20,
            metalayer_bytes: 256 << 20,
            in_flight_bytes: 1 << 30,
            ..Self::FORMAT
        }
    }
}
