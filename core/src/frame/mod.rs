//! Many chunks in one file: contiguous and sparse frames, of every age.
//!
//! Source: contiguous frame format document, early frame format document.
//!
//! ```text
//! 0          header_len     header_len + cbytes     frame_len - trailer_len   frame_len
//! | header   | chunks       | index                 | trailer                 |
//! ```
//!
//! Nothing here does I/O: [`FrameWriter`] takes chunks and says what to emit, [`FrameOpener`] says which bytes it needs
//! and yields a [`Frame`], which says where each chunk is.

mod audit;
mod checksums;
mod chunk_table;
mod chunk_walk;
mod commit_check;
mod early;
mod editor;
mod error;
mod fields;
mod fingerprint;
#[expect(clippy::module_inception, reason = "the noun of this file is the frame")]
mod frame;
mod header;
mod index;
mod layout;
mod metalayers;
mod open_ended;
mod opener;
mod params;
mod partial;
mod raw_header;
mod rules;
mod run_length;
mod sequential;
mod sparse;
mod stored;
mod trailer;
mod value;
mod write_error;
mod writer;

pub use audit::FrameAudit;
pub use checksums::{ChecksumState, Checksums, chunk_checksum};
pub use chunk_walk::{ChunkWalk, ChunkWalkStep};
pub use editor::{EditCommit, FrameEditor};
pub use error::{ExpectedIndex, FrameError, Section};
pub use fingerprint::{Fingerprint, FingerprintKind, Fingerprinter};
pub use frame::Frame;
pub use header::{ChunkSize, FrameHeader, FrameType};
pub use index::ChunkEntry;
pub use layout::{BitshuffleAge, FrameLayout, MAGIC};
pub use metalayers::{MAX_METALAYERS, MAX_NAME_LEN, Metalayers};
pub use open_ended::{OpenEnded, OpenEndedStep};
pub use opener::{FrameOpener, OpenStep};
pub use params::{FrameParams, SpecialPlacement};
pub use partial::{EntryRun, PartialHeader, find_trailer, index_entries, index_entry_count};
pub use sequential::Sequential;
pub use sparse::{INDEX_FILE, chunk_file_id, chunk_file_name};
pub use trailer::Trailer;
pub use value::{MetaValue, ValueError};
pub use write_error::FrameWriteError;
pub use writer::{ChunkAddress, ChunkWrite, FrameWriter};
