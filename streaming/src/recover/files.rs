//! The directory of a sparse frame without an index.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

use bytes::Bytes;
use oxiblosc_core::chunk::{ChunkHeader, EncodeParams, SpecialKind};
use oxiblosc_core::frame::{Fingerprint, FrameParams, Head, INDEX_FILE, Metalayers, chunk_file_id};
use oxiblosc_core::{Limits, Registry};

use super::agree::agree;
use super::assemble::{Tally, settle, special};
use super::error::RecoverError;
use super::found::{Found, Recovered};
use super::scan::{Content, Examiner, Item, Scan};
use crate::edit::{EditError, Output};
use crate::sparse::directory::{HEADER_FILE, read_chunk_file};
use crate::target::Target;

/// Copies the chunks in the files of a directory. The number of a file is that of its chunk; a number that is missing
/// between others is a chunk that is lost.
pub(super) async fn recover<T: Target>(directory: &Path, target: &mut T) -> Result<Recovered, RecoverError> {
    let registry = Registry::linked().map_err(EditError::from)?.clone();
    let ids = ids(directory)?;
    let head = match fs::read(directory.join(HEADER_FILE)) {
        Ok(bytes) => Some(Head::parse(&Bytes::from(bytes), &Limits::default()).map_err(RecoverError::Head)?),
        // A damaged index may still have a header.
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            let index = fs::read(directory.join(INDEX_FILE)).unwrap_or_default();
            Head::parse(&Bytes::from(index), &Limits::default()).ok()
        }
        Err(e) => return Err(e.into()),
    };
    let first = ids.first().map(|&id| read_chunk_file(directory, id, &(0..u64::MAX))).transpose()?;
    let params = match (&head, &first) {
        (Some(head), _) => FrameParams::like_head(head),
        // Without a header the first chunk tells how the others were encoded.
        (None, Some(chunk)) => like_chunk(chunk)?,
        (None, None) => return Err(RecoverError::NoFiles),
    };
    let head = match head {
        Some(head) => head,
        None => blank(&params, &registry)?,
    };
    let full = params.chunk_size as u64;
    let mut examiner = Examiner::new(&head, &registry);
    let mut scan = Scan {
        head,
        items: Vec::new(),
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
        let header = examiner.header(&chunk).filter(|header| header.cbytes == chunk.len());
        let Some(header) = header.filter(|header| examiner.holds(id.into(), header, &chunk)) else {
            scan.unused += chunk.len() as u64;
            continue;
        };
        // Lossless: numbers of files fit 32 bits.
        let gap = (id as usize).saturating_sub(scan.items.len());
        if full == 0 && gap > 0 {
            // Chunks of no common size: the others move up.
            scan.in_order = false;
        } else {
            scan.items.extend((0..gap).map(|_| Item { content: Content::Lost, nbytes: full }));
        }
        let content = Content::Stored { offset: id.into(), len: chunk.len() as u64 };
        scan.items.push(Item { content, nbytes: header.nbytes as u64 });
    }
    let missing = settle(&mut scan, &registry);
    let mut params = FrameParams { sequential: false, ..FrameParams { metalayers: metalayers_of(&scan), ..params } };
    let lens: Vec<_> = scan.items.iter().map(|item| item.nbytes).collect();
    let damaged_array = agree(&mut params, &lens);
    let mut output = Output::new(&params, &registry, target)?;
    let mut tally = Tally::default();
    for (i, item) in scan.items.iter().enumerate() {
        let chunk = match item.content {
            Content::Stored { offset, .. } => {
                tally.save(item.nbytes);
                // Lossless: it was made of one.
                read_chunk_file(directory, offset as u32, &(0..u64::MAX))?
            }
            Content::Special(_) | Content::Lost => {
                tally.lose(i as u64, item.nbytes);
                special(SpecialKind::Zero, item.nbytes, params.encode.typesize)
            }
        };
        output.push(chunk).await?;
    }
    let summary = output.finish().await?;
    Ok(Recovered {
        found: Found::Unfinished,
        chunks: tally.chunks,
        nbytes: tally.nbytes,
        lost_nbytes: (missing > 0).then_some(tally.lost),
        replaced: tally.replaced,
        unused_bytes: scan.unused,
        in_order: scan.in_order,
        damaged_array,
        lost_vlmetalayers: scan.lost_vlmetalayers(),
        summary,
    })
}

fn ids(directory: &Path) -> io::Result<BTreeSet<u32>> {
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

fn like_chunk(chunk: &[u8]) -> Result<FrameParams, RecoverError> {
    let header = ChunkHeader::parse(chunk).map_err(|source| EditError::Decode { chunk: 0, source })?;
    let encode = EncodeParams {
        codec: header.codec().unwrap_or_default(),
        typesize: usize::from(header.typesize).max(1),
        filters: header.filters,
        block_size: Some(header.blocksize),
        ..EncodeParams::default()
    };
    Ok(FrameParams::new(encode, header.nbytes))
}

/// The head of a new frame with these parameters.
fn blank(params: &FrameParams, registry: &Registry) -> Result<Head, RecoverError> {
    let header = oxiblosc_core::frame::SparseWriter::new(params, registry)?.header();
    Head::parse(&header.into(), &Limits::default()).map_err(RecoverError::Head)
}
