//! Frames whose writer died, or whose end is missing: what is left of them, as a frame.
//!
//! | to | use |
//! |---|---|
//! | copy what is left into a new file or directory | [`recover()`] |
//! | the same from any source into any target | [`recover_into`] |
//! | make an open-ended frame a plain one where it lies | [`seal()`], [`seal_file`] |
//!
//! What is there is believed if it holds: every chunk is decoded before it is taken (unless its codec or a filter of
//! it is not known here).

mod agree;
mod assemble;
mod error;
mod files;
mod found;
mod scan;
mod seal;
mod whole;

use std::path::Path;
use std::sync::Arc;

use oxiblosc_core::Registry;

pub use error::RecoverError;
pub use found::{Found, Recovered};
pub use seal::{seal, seal_file};

use crate::compute::block_on;
use crate::edit::EditError;
use crate::reader::ReadOptions;
use crate::source::{FileSource, RangeSource};
use crate::target::{FileTarget, SparseTarget, Target};

/// Copies what is left of the frame in the file or directory `input` to `output`, which appears when it is complete:
/// a contiguous frame to a file, a sparse one to a directory. The input is not changed.
///
/// Restored is every complete chunk. A frame that opens keeps its length: chunks of it that are damaged become zeros,
/// and [`Recovered::replaced`] names them. What edits have written behind a frame that opens and never committed is left
/// out: the frame is the one before these edits.
///
/// ```
/// use std::io::Write;
/// use oxiblosc_streaming::{WriteOptions, blocking::{FrameReader, FrameWriter}, recover::recover};
/// # use oxiblosc_plugins as _;
///
/// # let directory = tempfile::tempdir()?;
/// # let (cut, whole) = (directory.path().join("cut.b2frame"), directory.path().join("whole.b2frame"));
/// # let mut writer = FrameWriter::in_memory(WriteOptions::default().chunk_size(1000))?;
/// # writer.write_all(&(0..250_000u32).map(|i| (i / 7) as u8).collect::<Vec<_>>())?;
/// # writer.finish()?;
/// # let frame = writer.into_bytes();
/// std::fs::write(&cut, &frame[..frame.len() / 2])?;
/// let recovered = recover(&cut, &whole)?;
/// assert!(recovered.chunks > 100 && recovered.nbytes == 1000 * recovered.chunks);
/// assert_eq!(recovered.lost_nbytes, Some(250_000 - recovered.nbytes));
/// assert_eq!(FrameReader::open(&whole)?.nchunks(), recovered.chunks);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// When not even the header of the frame is left, and when input or output fail.
pub fn recover(input: impl AsRef<Path>, output: impl AsRef<Path>) -> Result<Recovered, RecoverError> {
    let (input, output) = (input.as_ref(), output.as_ref());
    if !input.is_dir() {
        let source = FileSource::open_inline(input)?;
        return block_on(recover_into(source, &mut FileTarget::create(output)?.inline()));
    }
    let mut target = SparseTarget::create(output)?.inline();
    match FileSource::open_inline(input) {
        Ok(source) => match block_on(recover_into(source, &mut target)) {
            // Nothing has been written to the target yet.
            Err(RecoverError::Index(_)) => block_on(files::recover(input, &mut target)),
            recovered => recovered,
        },
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => block_on(files::recover(input, &mut target)),
        Err(e) => Err(e.into()),
    }
}

/// Copies what is left of the frame in `source` to `target`; see [`recover()`]. (A sparse frame must have its index.)
///
/// # Errors
/// When not even the header of the frame is left, and when source or target fail. What has been written is then left to
/// the target, which has not been committed.
pub async fn recover_into<S, T>(source: S, target: &mut T) -> Result<Recovered, RecoverError>
where
    S: RangeSource + 'static,
    T: Target,
{
    let registry = Registry::linked().map_err(EditError::from)?.clone();
    let source = Arc::new(source);
    let opened = ReadOptions::new().registry(&registry).open(Arc::clone(&source)).await;
    match opened {
        Ok(reader) if whole::agrees(reader.frame(), &source).await => whole::recover(&reader, &source, target).await,
        Err(crate::ReadError::Source(e)) => Err(e.into()),
        Err(error) if source.is_sparse() => Err(RecoverError::Index(Box::new(error))),
        _ => {
            let scan = scan::scan(&*source, &registry).await?;
            assemble::write(scan, &*source, &registry, target).await
        }
    }
}
