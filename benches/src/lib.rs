//! Measurements of oxiblosc against C-Blosc2, blosc2-pure-rs and a memory copy; see `README.md` beside this crate.

pub mod fetched;
pub mod generated;
pub mod group;
pub mod linear;
pub mod matrix;
pub mod npy;
pub mod peer;
pub mod race;
pub mod report;
pub mod settings;
mod synthetic;
pub mod workload;

/// Why something could not be measured.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Error(String);

impl Error {
    /// An error with this message.
    pub fn new(message: impl std::fmt::Display) -> Self {
        Self(message.to_string())
    }
}

/// The result of everything here. Errors are only printed.
pub type Result<T> = std::result::Result<T, Error>;
