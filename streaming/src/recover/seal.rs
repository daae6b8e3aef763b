//! Sealing an open-ended frame in place.

use std::collections::BTreeSet;
use std::io;
use std::ops::Range;
use std::path::Path;

use bytes::Bytes;
use futures::future::{BoxFuture, ready};
use oxiblosc_core::chunk::ChunkHeader;
use oxiblosc_core::frame::{
    ChunkAddress, ChunkWrite, Fingerprint, Frame, FrameOpener, FrameParams, FrameType, FrameWriter, Sequential,
};
use oxiblosc_core::registry::MissingPlugin;
use oxiblosc_core::{Limits, Registry};

use super::assemble::{fill_up_array, state};
use super::error::RecoverError;
use super::found::{Found, Recovered};
use super::items::ChunkContent;
use super::numbers::ChunkNumbers;
use super::options::RecoverOptions;
use super::scan::{Scan, scan};
use crate::compute::block_on;
use crate::edit::{EditError, FrameFile, open_file, open_with};
use crate::sink::Summary;
use crate::source::{ProgressSource, RangeSource};

/// Seals the frame in a file: see [`seal()`].
///
/// # Errors
/// Those of [`seal()`].
pub fn seal_file(path: impl AsRef<Path>) -> Result<Recovered, RecoverError> {
    RecoverOptions::new().seal_file(path)
}

/// Turns an open-ended frame into a plain one, which every reader opens, by writing the totals into its header. If its
/// writer was interrupted, what follows the last complete chunk is first cut off, and index and trailer are written;
/// the chunks stay where they are. A frame that already opens is left as it is.
///
/// The totals are written last, so an interrupted seal can be repeated.
///
/// # Errors
/// [`RecoverError::Seal`] when chunks of it are damaged, or it was finished once and its end is missing: then use
/// [`recover`](super::recover()). Nothing has been changed then.
pub fn seal<S: FrameFile + Send + Sync>(store: &mut S) -> Result<Recovered, RecoverError> {
    RecoverOptions::new().seal(store)
}

pub(super) fn seal_store<S: FrameFile + Send + Sync>(
    store: &mut S,
    options: &RecoverOptions,
) -> Result<Recovered, RecoverError> {
    let registry = crate::given_or_linked(options.registry.as_ref())?;
    if let Ok(frame) = open_file(&*store, &registry, &options.limits) {
        return Ok(already(&frame, store.size()?));
    }
    let mut budget = options.budget(store.size()?);
    let source = ProgressSource::new(StoreSource(&*store), &options.progress);
    let mut scan = block_on(scan(&source, &registry, &options.limits, &mut budget))?;
    let found = state(&scan);
    let refuse = |reason| Err(RecoverError::Seal { reason });
    match found {
        Found::Cut => return refuse("it was complete once, and its end is missing"),
        _ if !scan.dense => return refuse("its chunks do not lie one behind the other"),
        _ if fill_up_array(&mut scan, &registry, &options.limits)? > 0 => {
            return refuse("chunks of it are damaged or missing");
        }
        _ => {}
    }
    let unused_bytes = scan.unused;
    let (unchecked, missing) = unchecked(&scan, store, &registry)?;
    let sealed = match scan.tail {
        Some(tail) => complete(&scan, tail.index_at, tail.end),
        None => finish(&scan, store, &registry)?,
    };
    if !sealed.opens(store, &registry, &options.limits)? {
        return refuse("what its header says contradicts its chunks");
    }
    let Sealed { header, tail, summary } = sealed;
    budget.check_time()?;
    if let Some((end, tail)) = tail {
        store.truncate(end)?;
        store.write_at(end, &tail)?;
    }
    store.sync()?;
    store.write_at(0, &header)?;
    store.sync()?;
    Ok(Recovered {
        found,
        chunks: summary.chunks,
        nbytes: summary.nbytes,
        replaced: ChunkNumbers::default(),
        unchecked,
        missing,
        lost_nbytes: (found == Found::Open).then_some(0),
        unused_bytes,
        in_order: scan.in_order,
        damaged_array: None,
        lost_vlmetalayers: false,
        summary,
    })
}

/// The chunks that have not been decoded, and what that would take.
fn unchecked<S: FrameFile>(
    scan: &Scan,
    store: &S,
    registry: &Registry,
) -> Result<(ChunkNumbers, Vec<MissingPlugin>), RecoverError> {
    let (mut numbers, mut plugins) = (ChunkNumbers::default(), BTreeSet::new());
    for (chunks, item) in scan.items.runs() {
        if let ChunkContent::Stored { offset, checked: false, .. } = item.content {
            numbers.push(chunks);
            let header = ChunkHeader::parse(&store.read_at(offset..offset + ChunkHeader::EXTENDED_LEN as u64)?);
            plugins.extend(header.iter().flat_map(ChunkHeader::plugins));
        }
    }
    Ok((numbers, registry.missing(plugins)))
}

/// Nothing to be done: chunks are not looked at.
fn already(frame: &Frame, size: u64) -> Recovered {
    let (chunks, nbytes, frame_len) = (frame.nchunks(), frame.nbytes(), frame.frame_len());
    let cbytes = frame.header().cbytes;
    Recovered {
        found: Found::Whole,
        chunks,
        nbytes,
        replaced: ChunkNumbers::default(),
        unchecked: ChunkNumbers::default(),
        missing: Vec::new(),
        lost_nbytes: Some(0),
        unused_bytes: size.saturating_sub(frame_len),
        in_order: true,
        damaged_array: None,
        lost_vlmetalayers: false,
        summary: Summary { chunks, nbytes, cbytes, frame_len, fingerprint: frame.fingerprint() },
    }
}

/// What turns the frame into a plain one.
struct Sealed {
    header: Vec<u8>,
    /// Index and trailer and their offset, if they are missing.
    tail: Option<(u64, Vec<u8>)>,
    summary: Summary,
}

impl Sealed {
    /// Whether the frame in `store` will open. The header may describe an array that the chunks do not fit.
    fn opens<S: FrameFile>(&self, store: &S, registry: &Registry, limits: &Limits) -> io::Result<bool> {
        let opener = FrameOpener::new(self.len(store)?, registry, *limits);
        match open_with(opener, |range| self.read(store, &range)) {
            Err(EditError::Store(error)) => Err(error),
            result => Ok(result.is_ok()),
        }
    }

    fn len<S: FrameFile>(&self, store: &S) -> io::Result<u64> {
        match &self.tail {
            Some((end, tail)) => Ok(end + tail.len() as u64),
            None => store.size(),
        }
    }

    /// Bytes of the sealed frame.
    fn read<S: FrameFile>(&self, store: &S, range: &Range<u64>) -> io::Result<Bytes> {
        let end = self.len(store)?;
        let (tail_at, tail) = self.tail.as_ref().map_or((end, &[][..]), |(at, tail)| (*at, tail));
        let head = self.header.len() as u64;
        let within = |from: u64, to: u64| range.start.clamp(from, to)..range.end.clamp(from, to);
        let slice = |bytes: &[u8], at: u64, part: Range<u64>| {
            bytes.get((part.start - at) as usize..(part.end - at) as usize).unwrap_or_default().to_vec()
        };
        let mut bytes = slice(&self.header, 0, within(0, head));
        let kept = within(head, tail_at.max(head));
        if !kept.is_empty() {
            bytes.extend_from_slice(&store.read_at(kept)?);
        }
        bytes.extend(slice(tail, tail_at, within(tail_at, end)));
        Ok(bytes.into())
    }
}

/// Only the totals are missing.
fn complete(scan: &Scan, index_at: u64, frame_len: u64) -> Sealed {
    let nbytes = scan.items.each().map(|item| item.nbytes).sum();
    let cbytes = index_at - u64::from(scan.head.header.header_len);
    let totals = Sequential { frame_len, nbytes, cbytes };
    let header = scan.head.sealed(totals, scan.vl_blocks, !scan.vlmetalayers.is_empty());
    let chunks = scan.items.len();
    let summary = Summary { chunks, nbytes, cbytes, frame_len, fingerprint: scan.fingerprint };
    Sealed { header, tail: None, summary }
}

/// Index and trailer, to be written after the last chunk.
fn finish<S: FrameFile>(scan: &Scan, store: &S, registry: &Registry) -> Result<Sealed, RecoverError> {
    let mut params = FrameParams::from_head(&scan.head);
    params.frame_type = FrameType::Contiguous;
    params.special = oxiblosc_core::frame::SpecialPlacement::Stored;
    let mut writer = FrameWriter::new(&params, registry)?;
    for item in scan.items.each() {
        let ChunkContent::Stored { offset, len, .. } = item.content else {
            return Err(RecoverError::Seal { reason: "chunks of it are damaged or missing" });
        };
        let chunk = store.read_at(offset..offset + len)?;
        match writer.push(&chunk)? {
            Some(ChunkWrite { address: ChunkAddress::Offset(found), replacement: None }) if found == offset => {}
            _ => return Err(RecoverError::Seal { reason: "its chunks do not lie one behind the other" }),
        }
    }
    let end = writer.header_len() + writer.cbytes();
    let tail = writer.finish()?;
    let (chunks, nbytes, cbytes, frame_len) = (writer.nchunks(), writer.nbytes(), writer.cbytes(), writer.frame_len());
    let summary = Summary { chunks, nbytes, cbytes, frame_len, fingerprint: Fingerprint::NONE };
    Ok(Sealed { header: writer.header(), tail: Some((end, tail)), summary })
}

/// A store as a source.
struct StoreSource<'a, S>(&'a S);

impl<S: FrameFile + Send + Sync> RangeSource for StoreSource<'_, S> {
    fn size(&self) -> BoxFuture<'_, io::Result<u64>> {
        Box::pin(ready(self.0.size()))
    }

    fn read_ranges(&self, ranges: Vec<Range<u64>>) -> BoxFuture<'_, io::Result<Vec<Bytes>>> {
        let read = |range: Range<u64>| {
            let bytes = self.0.read_at(range.clone())?;
            match bytes.len() as u64 == range.end.saturating_sub(range.start) {
                true => Ok(bytes),
                false => Err(io::ErrorKind::UnexpectedEof.into()),
            }
        };
        Box::pin(ready(ranges.into_iter().map(read).collect()))
    }
}
