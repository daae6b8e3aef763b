//! Verifying that a frame is as it was written.

mod report;
mod verify;

pub use report::{Finding, FingerprintCheck, VerifyReport};
pub(crate) use verify::verify;
