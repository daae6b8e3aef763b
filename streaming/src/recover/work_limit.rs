//! Bounds on the work of a recovery.

use std::time::Instant;

use super::output_limit::OutputLimit;
use super::{RecoverError, RecoverOptions};
use crate::progress::Progress;

/// The work that a recovery has done so far, and its bounds.
#[derive(Debug)]
pub(super) struct WorkLimit {
    output: OutputLimit,
    work_bytes: Option<u64>,
    deadline: Option<Instant>,
    progress: Progress,
    decoded: u64,
}

impl WorkLimit {
    pub(super) fn new(options: &RecoverOptions, input: u64) -> Self {
        let RecoverOptions { output_bytes, work_bytes, deadline, .. } = *options;
        let progress = options.progress.clone();
        Self { output: OutputLimit::new(output_bytes, input), work_bytes, deadline, progress, decoded: 0 }
    }

    /// Adds to the bytes of the old frame: the length of a chunk file is known only when it is read.
    pub(super) fn read(&mut self, bytes: u64) {
        self.output.read(bytes);
    }

    /// Charges bytes to be written.
    pub(super) fn write(&mut self, bytes: u64) -> Result<(), RecoverError> {
        self.check_time()?;
        self.output.write(bytes).map_err(|limit| RecoverError::Output { limit })
    }

    /// Charges bytes to be decoded.
    pub(super) fn decode(&mut self, bytes: u64) -> Result<(), RecoverError> {
        self.check_time()?;
        self.decoded = self.decoded.saturating_add(bytes);
        let usual = self.output.input().saturating_mul(RecoverOptions::WORK_RATIO).max(RecoverOptions::WORK_BYTES);
        let limit = self.work_bytes.unwrap_or(usual);
        if self.decoded > limit { Err(RecoverError::Work { limit }) } else { Ok(()) }
    }

    /// # Errors
    /// When the deadline has passed, or the work has been cancelled.
    pub(super) fn check_time(&self) -> Result<(), RecoverError> {
        self.progress.check()?;
        match self.deadline {
            Some(deadline) if Instant::now() >= deadline => Err(RecoverError::Deadline),
            _ => Ok(()),
        }
    }
}
