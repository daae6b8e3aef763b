//! Bounds on what a file may make a reader allocate.

/// Bounds on what a file may make a reader allocate. Every size read from a file is checked against what is left of
/// the file and against these before memory is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
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
    /// Compressed and decoded bytes that a reader or writer keeps in flight. An operation that would need
    /// more at once, such as verifying a chunk with larger blocks, fails with an error that names this limit.
    pub in_flight_bytes: usize,
    /// Bytes that one call returns: items, a range of bytes, a slice of an array. A few hundred bytes may be a frame of
    /// zeros that decodes to petabytes; asking for all of it is an error instead of an allocation that the system
    /// promises and does not have. Streams are not bounded by it.
    pub result_bytes: u64,
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
        result_bytes: isize::MAX as u64,
    };
}

impl Default for Limits {
    /// Allows every chunk that fits the format, but indexes and metadata only up to sizes met in practice (64 million
    /// chunks, whose index takes half a gigabyte), and 1 GiB in flight. A result may have 64 GiB: more than the memory
    /// of most machines, and little enough that a request for it fails at once or ends soon.
    fn default() -> Self {
        Self {
            chunks: 1 << 26,
            header_bytes: 64 << 20,
            trailer_bytes: 256 << 20,
            metalayer_bytes: 256 << 20,
            in_flight_bytes: 1 << 30,
            // Less on 32-bit machines, whose buffers are shorter anyway.
            result_bytes: (1 << 36).min(isize::MAX as u64),
            ..Self::FORMAT
        }
    }
}
