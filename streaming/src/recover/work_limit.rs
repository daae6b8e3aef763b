//! Bounds on the work of a recovery.

use std::time::Instant;

use super::{RecoverError, RecoverOptions};

/// The work that a recovery has done so far, and its bounds.
#[derive(Debug)]
pub(super) struct WorkLimit {
    output_bytes: Option<u64>,
    work_bytes: Option<u64>,
    deadline: Option<Instant>,
    /// Bytes of the old frame.
    input: u64,
    written: u64,
    decoded: u64,
}

impl WorkLimit {
    pub(super) fn new(options: &RecoverOptions, input: u64) -> Self {
        let RecoverOptions { output_bytes, work_bytes, deadline, .. } = *options;
        Self { output_bytes, work_bytes, deadline, input, written: 0, decoded: 0 }
    }

    /// Adds to the bytes of the old frame: the length of a chunk file is known only when it is read.
    pub(super) fn read(&mut self, bytes: u64) {
        self.input = self.input.saturating_add(bytes);
    }

    /// Charges bytes to be written.
    pub(super) fn write(&mut self, bytes: u64) -> Result<(), RecoverError> {
        self.check_time()?;
        self.written = self.written.saturating_add(bytes);
        let usual = self.input.saturating_mul(RecoverOptions::OUTPUT_RATIO).max(RecoverOptions::OUTPUT_BYTES);
        let limit = self.output_bytes.unwrap_or(usual);
        if self.written > limit { Err(RecoverError::Output { limit }) } else { Ok(()) }
    }

    /// Charges bytes to be decoded.
    pub(super) fn decode(&mut self, bytes: u64) -> Result<(), RecoverError> {
        self.check_time()?;
        self.decoded = self.decoded.saturating_add(bytes);
        let usual = self.input.saturating_mul(RecoverOptions::WORK_RATIO).max(RecoverOptions::WORK_BYTES);
        let limit = self.work_bytes.unwrap_or(usual);
        if self.decoded > limit { Err(RecoverError::Work { limit }) } else { Ok(()) }
    }

    fn check_time(&self) -> Result<(), RecoverError> {
        match self.deadline {
            Some(deadline) if Instant::now() >= deadline => Err(RecoverError::Deadline),
            _ => Ok(()),
        }
    }
}
