//! Recovering the directory of a sparse frame without an index.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

use bytes::Bytes;
use oxiblosc_core::chunk::{ChunkContext, ChunkHeader, EncodeParams, SpecialKind};
use oxiblosc_core::frame::{
    Fingerprint, FrameParams, FrameType, FrameWriter, INDEX_FILE, Metalayers, PartialHeader, chunk_file_id,
};
use oxiblosc_core::{Limits, Registry};

use super::assemble::{RecoveryCount, fill_up_array, write_specials};
use super::block_kind::BlockKind;
use super::chunk_checker::{CheckResult, ChunkChecker};
use super::error::RecoverError;
use super::former_array::{FormerArray, still_decodes};
use super::found::{Found, Recovered};
use super::items::{ChunkContent, RecoveredChunk, RecoveredChunks};
use super::options::RecoverOptions;
use super::reconcile::reconcile_header;
use super::scan::Scan;
use crate::edit::{ChunkOutput, EditError};
use crate::sparse::directory::{HEADER_FILE, read_chunk_file};
use crate::target::Target;

/// Copies the chunks in the files of a directory. The number of a file is that of its chunk; a missing number between
/// others is a lost chunk.
pub(super) async fn recover<T: Target>(
    directory: &Path,
    target: &mut T,
    options: &RecoverOptions,
) -> Result<Recovered, RecoverError> {
    let registry = crate::given_or_linked(options.registry.as_ref())?;
    let (limits, mut budget) = (&options.limits, options.budget(0));
    let ids = ids(directory)?;
    let head = match fs::read(directory.join(HEADER_FILE)) {
        Ok(bytes) => Some(PartialHeader::parse(&Bytes::from(bytes), limits).map_err(RecoverError::Head)?),
        // A damaged index may still have a valid header.
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            let index = fs::read(directory.join(INDEX_FILE)).unwrap_or_default();
            PartialHeader::parse(&Bytes::from(index), limits).ok()
        }
        Err(e) => return Err(e.into()),
    };
    let first = ids.first().map(|&id| read_chunk_file(directory, id, &(0..u64::MAX)).map(|chunk| (id, chunk)));
    let first = first.transpose()?;
    let params = match (&head, &first) {
        (Some(head), _) => FrameParams::from_head(head),
        // Without a header the first chunk shows how the others were encoded.
        (None, Some((id, chunk))) => like_chunk(*id, chunk)?,
        (None, None) => return Err(RecoverError::NoFiles),
    };
    let head = match head {
        Some(head) => head,
        None => new_header(&params, &registry)?,
    };
    let full = params.chunk_size as u64;
    let mut checker = ChunkChecker::new(&head, &registry, limits);
    let mut scan = Scan {
        head,
        items: RecoveredChunks::default(),
        vlmetalayers: Metalayers::new(),
        fingerprint: Fingerprint::NONE,
        tail: None,
        unused: 0,
        in_order: true,
        dense: true,
        vl_blocks: false,
    };
    for &id in &ids {
        let chunk = read_chunk_file(directory, id, &(0..u64::MAX))?;
        budget.read(chunk.len() as u64);
        options.progress.advance(chunk.len() as u64);
        budget.check_time()?;
        let header = checker.header(&chunk).filter(|header| header.cbytes == chunk.len());
        let verdict = match &header {
            // A number too large for any index.
            _ if u64::from(id) >= limits.chunks => CheckResult::Damaged,
            Some(header) => checker.check(id.into(), header, &chunk, &mut budget)?,
            None => CheckResult::Damaged,
        };
        let (Some(header), true) = (header, verdict != CheckResult::Damaged) else {
            scan.unused += chunk.len() as u64;
            continue;
        };
        let gap = u64::from(id).saturating_sub(scan.items.len());
        if full == 0 && gap > 0 {
            // Chunks differ in size, so the others move up.
            scan.in_order = false;
        } else {
            scan.items.push_run(RecoveredChunk { content: ChunkContent::Lost, nbytes: full }, gap);
        }
        scan.vl_blocks |= header.has_vl_blocks();
        let (len, checked) = (chunk.len() as u64, verdict == CheckResult::Holds);
        let content = ChunkContent::Stored { offset: id.into(), len, checked };
        scan.items.push(RecoveredChunk { content, nbytes: header.nbytes as u64 });
    }
    let missing = fill_up_array(&mut scan, &registry, limits)?;
    let mut params = FrameParams { sequential: false, ..FrameParams { metalayers: metalayers_of(&scan), ..params } };
    let layers = params.metalayers.clone();
    let damaged_array = reconcile_header(&mut params, &scan.items.lens());
    let mut former = damaged_array.as_ref().map(|_| FormerArray::new(&scan.head, &registry, limits));
    if let Some(former) = &mut former {
        for (chunks, item) in scan.items.runs() {
            if let ChunkContent::Stored { offset, .. } = item.content
                // Lossless: it was made of one.
                && former.needs_layer(chunks.start, &read_chunk_file(directory, offset as u32, &(0..u64::MAX))?, &mut budget)?
            {
                params.metalayers = layers;
                break;
            }
        }
    }
    let mut output = ChunkOutput::new(&params, &registry, target)?;
    let mut blocks = BlockKind::new(&params.encode, scan.vl_blocks, &registry, *limits);
    let mut totals = RecoveryCount::default();
    for (chunks, item) in scan.items.runs() {
        if let ChunkContent::Stored { offset, len, checked } = item.content {
            // Lossless: it was made of one.
            let chunk = read_chunk_file(directory, offset as u32, &(0..u64::MAX))?;
            if still_decodes(former.as_mut(), chunks.start, &chunk, &mut budget)?
                && let Some(chunk) = blocks.fit(chunk, &ChunkContext::numbered(chunks.start), &mut budget)?
            {
                budget.write(len)?;
                totals.save(chunks, item.nbytes, checked, &chunk);
                output.push(chunk).await?;
                continue;
            }
        }
        let count = chunks.end - chunks.start;
        totals.lose(chunks, item.nbytes);
        write_specials(&mut output, &mut blocks, SpecialKind::Zero, item.nbytes, count, &mut budget).await?;
    }
    budget.check_time()?;
    totals.check_not_empty(scan.had_chunks())?;
    let summary = output.finish().await?;
    let missing_plugins = totals.missing(&registry);
    Ok(Recovered {
        found: Found::Unfinished,
        chunks: totals.chunks,
        nbytes: totals.nbytes,
        lost_nbytes: (missing > 0).then_some(totals.lost),
        replaced: totals.replaced,
        missing: missing_plugins,
        unchecked: totals.unchecked,
        unused_bytes: scan.unused,
        in_order: scan.in_order,
        damaged_array,
        lost_vlmetalayers: scan.lost_vlmetalayers(),
        summary,
    })
}

pub(super) fn ids(directory: &Path) -> io::Result<BTreeSet<u32>> {
    let mut ids = BTreeSet::new();
    for entry in fs::read_dir(directory)? {
        ids.extend(entry?.file_name().to_str().and_then(chunk_file_id));
    }
    Ok(ids)
}

fn metalayers_of(scan: &Scan) -> Metalayers {
    let mut metalayers = scan.head.metalayers.clone();
    metalayers.remove(oxiblosc_core::frame::Sequential::NAME);
    metalayers
}

fn like_chunk(id: u32, chunk: &[u8]) -> Result<FrameParams, RecoverError> {
    let header = ChunkHeader::parse(chunk).map_err(|source| EditError::Decode { chunk: id.into(), source })?;
    let encode = EncodeParams {
        codec: header.codec().unwrap_or_default(),
        typesize: usize::from(header.typesize).max(1),
        filters: header.filters,
        block_size: Some(header.blocksize),
        ..EncodeParams::default()
    };
    Ok(FrameParams { frame_type: FrameType::Sparse, ..FrameParams::new(encode, header.nbytes) })
}

/// The head of a new frame with these parameters.
fn new_header(params: &FrameParams, registry: &Registry) -> Result<PartialHeader, RecoverError> {
    let header = FrameWriter::new(params, registry)?.header();
    PartialHeader::parse(&header.into(), &Limits::default()).map_err(RecoverError::Head)
}
