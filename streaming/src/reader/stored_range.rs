//! Where bytes of a chunk are stored.

use std::ops::Range;

/// A range of bytes of a frame, or of one of its chunk files.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct StoredRange {
    /// The number of the chunk file; `None` for a range of the frame itself.
    pub(crate) file: Option<u32>,
    /// In a contiguous frame, relative to its start.
    pub(crate) range: Range<u64>,
}

impl StoredRange {
    pub(crate) fn in_frame(range: Range<u64>) -> Self {
        Self { file: None, range }
    }

    pub(crate) fn in_file(id: u32, range: Range<u64>) -> Self {
        Self { file: Some(id), range }
    }

    /// Number of bytes.
    pub(crate) fn len(&self) -> u64 {
        self.range.end - self.range.start
    }

    /// The first `len` bytes, or as many as there are.
    pub(crate) fn head(&self, len: u64) -> Self {
        self.within(0..len.min(self.len()))
    }

    /// The bytes `part`, relative to the start of this range. They may lie behind its end.
    pub(crate) fn within(&self, part: Range<u64>) -> Self {
        let start = self.range.start;
        Self { file: self.file, range: start + part.start..start + part.end }
    }

    /// What distinguishes it from ranges that start elsewhere.
    pub(crate) fn start(&self) -> (Option<u32>, u64) {
        (self.file, self.range.start)
    }
}
