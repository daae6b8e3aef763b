//! Whether a frame is what it was when it was written.

mod report;
mod verify;

pub use report::{Finding, FingerprintCheck, VerifyReport};
pub(crate) use verify::verify;
