//! Recovering frames whose writer died, or whose end is missing.
//!
//! | to | use |
//! |---|---|
//! | copy what is left into a new file or directory | [`recover()`] |
//! | the same from any source into any target | [`recover_into`] |
//! | make an open-ended frame a plain one where it lies | [`seal()`], [`seal_file`] |
//!
//! Every chunk is decoded before it is taken, unless its codec or one of its filters is not available: see
//! [`Recovered::unchecked`]. The work is bounded; [`RecoverOptions`] has these bounds and others.

mod assemble;
mod block_kind;
mod chunk_checker;
mod error;
mod files;
mod former_array;
mod found;
mod items;
mod numbers;
mod options;
mod output_limit;
mod readable;
mod reconcile;
mod scan;
mod seal;
mod walk;
mod work_limit;

use std::path::Path;
use std::sync::Arc;

pub use error::RecoverError;
pub use found::{Found, Recovered};
pub use numbers::ChunkNumbers;
pub use options::RecoverOptions;
pub(crate) use output_limit::OutputLimit;
pub use seal::{seal, seal_file};

use crate::compute::block_on;
use crate::reader::ReadOptions;
use crate::source::{FileSource, ProgressSource, RangeSource};
use crate::target::{FileTarget, SparseTarget, Target};

/// Recovers the frame in the file or directory `input` into `output`, which appears when it is complete: a contiguous
/// frame to a file, a sparse one to a directory. The input is not changed.
///
/// Every complete chunk is restored. A frame that opens keeps its length: damaged chunks become zeros, and
/// [`Recovered::replaced`] lists them. Uncommitted edits after a frame that opens are left out: the result is the frame
/// before these edits.
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
/// When not even the header of the frame is intact, or no chunk of a frame that had some, when input or output fail, and
/// when it would take more than the default [`RecoverOptions`] allow.
pub fn recover(input: impl AsRef<Path>, output: impl AsRef<Path>) -> Result<Recovered, RecoverError> {
    RecoverOptions::new().recover(input, output)
}

fn recover_path(input: &Path, output: &Path, options: &RecoverOptions) -> Result<Recovered, RecoverError> {
    if !input.is_dir() {
        let source = FileSource::open_inline(input)?;
        return block_on(recover_source(source, &mut FileTarget::create(output)?.inline(), options));
    }
    let mut target = SparseTarget::create(output)?.inline();
    match FileSource::open_inline(input) {
        Ok(source) => match block_on(recover_source(source, &mut target, options)) {
            // So far nothing has been written to the target.
            Err(RecoverError::Index(_)) => block_on(files::recover(input, &mut target, options)),
            recovered => recovered,
        },
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => block_on(files::recover(input, &mut target, options)),
        Err(e) => Err(e.into()),
    }
}

/// Recovers the frame in `source` into `target`; see [`recover()`]. (A sparse frame must have its index.)
///
/// # Errors
/// When not even the header of the frame is intact, or no chunk of a frame that had some, when source or target fail, and
/// when it would take more than the default [`RecoverOptions`] allow. The target has then not been committed, and what was
/// written to it is left as it is.
pub async fn recover_into<S, T>(source: S, target: &mut T) -> Result<Recovered, RecoverError>
where
    S: RangeSource + 'static,
    T: Target,
{
    RecoverOptions::new().recover_into(source, target).await
}

async fn recover_source<S, T>(source: S, target: &mut T, options: &RecoverOptions) -> Result<Recovered, RecoverError>
where
    S: RangeSource + 'static,
    T: Target,
{
    let registry = crate::given_or_linked(options.registry.as_ref())?;
    let source = Arc::new(ProgressSource::new(source, &options.progress));
    let read = ReadOptions::new().registry(&registry).limits(options.limits);
    let opened = read.open(Arc::clone(&source)).await;
    // For a sparse frame this is the index; its files are counted when they are read.
    let mut budget = options.budget(source.size().await?);
    match opened {
        Ok(reader) if readable::agrees(reader.frame(), &source).await => {
            readable::recover(&reader, &source, &mut budget, target).await
        }
        Err(crate::ReadError::Source(e)) => Err(e.into()),
        Err(error) if source.chunk_files().is_some() => Err(RecoverError::Index(Box::new(error))),
        _ => {
            let scan = scan::scan(&*source, &registry, &options.limits, &mut budget).await?;
            assemble::write(scan, &*source, &registry, &options.limits, &mut budget, target).await
        }
    }
}
