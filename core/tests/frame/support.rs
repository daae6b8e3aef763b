//! Frames in memory: a writer and a reader over byte buffers.

use std::collections::BTreeMap;

use bytes::Bytes;
use oxiblosc_core::chunk::{ChunkContext, ChunkDecoder, ChunkEncoder, ChunkHeader, EncodeParams};
use oxiblosc_core::frame::{
    ChunkAddress, ChunkEntry, Frame, FrameAudit, FrameError, FrameOpener, FrameParams, FrameType, FrameWriteError,
    FrameWriter, INDEX_FILE, OpenStep, chunk_file_name,
};
use oxiblosc_core::{Inline, Limits, Registry};
use oxiblosc_plugins as _;

pub(crate) fn registry() -> &'static Registry {
    Registry::linked().expect("the plugins are linked")
}

/// `n` bytes that compress, but not to nothing.
pub(crate) fn ramp(n: usize) -> Vec<u8> {
    (0..n).map(|i| (i / 7) as u8 ^ (i >> 9) as u8).collect()
}

/// `n` bytes that do not compress.
pub(crate) fn noise(n: usize) -> Vec<u8> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    (0..n).map(|_| next()).collect()
}

/// The frame of one writer run over chunks of these data.
pub(crate) fn write<'a>(
    params: &FrameParams,
    data: impl IntoIterator<Item = &'a [u8]>,
    vlmeta: &[(&str, &[u8])],
) -> Result<Vec<u8>, FrameWriteError> {
    let mut encoder = ChunkEncoder::new(&params.encode, registry()).expect("plain parameters");
    let mut writer = FrameWriter::new(params, registry())?;
    let mut out = writer.header();
    for part in data {
        let chunk = encoder.encode(part, &ChunkContext::numbered(writer.nchunks()), &Inline).expect("plain data");
        out.extend(stored_for(&mut writer, &chunk)?);
    }
    for (name, content) in vlmeta {
        writer.set_vlmetalayer(name, content)?;
    }
    out.extend(writer.finish()?);
    let header = writer.header();
    out[..header.len()].copy_from_slice(&header);
    assert_eq!(out.len() as u64, writer.frame_len());
    Ok(out)
}

/// What a contiguous frame stores for a chunk.
pub(crate) fn stored_for(writer: &mut FrameWriter, chunk: &[u8]) -> Result<Vec<u8>, FrameWriteError> {
    Ok(writer.push(chunk)?.map_or_else(Vec::new, |write| write.bytes(chunk).to_vec()))
}

/// zstd-free parameters with this type size.
pub(crate) fn encode(typesize: usize) -> EncodeParams {
    EncodeParams { typesize, ..EncodeParams::default() }
}

/// Opens a frame and counts the rounds of reading that took.
pub(crate) fn open_counting(file: &[u8], limits: Limits) -> Result<(Frame, usize), FrameError> {
    let opener = FrameOpener::new(file.len() as u64, registry(), limits);
    drive(opener, file)
}

fn drive(mut opener: FrameOpener, file: &[u8]) -> Result<(Frame, usize), FrameError> {
    let file = Bytes::copy_from_slice(file);
    let mut rounds = 0;
    loop {
        match opener.step()? {
            OpenStep::Read(ranges) => {
                rounds += 1;
                assert!(rounds < 6, "the opener does not come to an end");
                for range in ranges {
                    assert!(range.start < range.end && range.end <= file.len() as u64, "{range:?}");
                    opener.feed(range.start, file.slice(range.start as usize..range.end as usize));
                }
            }
            OpenStep::Done(frame) => return Ok((*frame, rounds)),
        }
    }
}

pub(crate) fn open(file: &[u8]) -> Result<Frame, FrameError> {
    open_counting(file, Limits::default()).map(|(frame, _)| frame)
}

/// The stored bytes of chunk `i`, or those of the chunk that stands for its special value.
pub(crate) fn chunk_bytes(file: &[u8], frame: &Frame, i: u64) -> Result<Vec<u8>, FrameError> {
    match frame.entry(i)? {
        ChunkEntry::Special(_) => Ok(frame.special_chunk(i)?.expect("the entry is special")),
        ChunkEntry::Stored { .. } => {
            let span = frame.span(i)?.expect("the entry is stored");
            let guess = &file[span.start as usize..span.end as usize];
            let header = ChunkHeader::parse(guess).map_err(|source| FrameError::Chunk {
                chunk: i,
                offset: None,
                source: Box::new(source),
            })?;
            let exact = frame.exact_span(i, &header)?.expect("the entry is stored");
            Ok(file[exact.start as usize..exact.end as usize].to_vec())
        }
        ChunkEntry::File { .. } => panic!("the frame is contiguous"),
    }
}

/// All chunks of a frame, decoded and checked.
pub(crate) fn decode(file: &[u8], frame: &Frame) -> Result<Vec<u8>, FrameError> {
    let mut decoder = ChunkDecoder::new(registry());
    let mut audit = FrameAudit::new(frame);
    let mut out = Vec::new();
    for i in 0..frame.nchunks() {
        let chunk = chunk_bytes(file, frame, i)?;
        let failed = |source| FrameError::Chunk { chunk: i, offset: None, source: Box::new(source) };
        let header = ChunkHeader::parse(&chunk).map_err(failed)?;
        audit.chunk(i, &header)?;
        out.extend(decoder.decode(&chunk, &frame.chunk_context(i), &Inline).map_err(failed)?);
    }
    audit.finish()?;
    Ok(out)
}

/// The files of a sparse frame, by name.
pub(crate) type Directory = BTreeMap<String, Vec<u8>>;

/// A chunk of 4-byte items.
pub(crate) fn encode_chunk(data: &[u8]) -> Vec<u8> {
    let mut encoder = ChunkEncoder::new(&encode(4), registry()).expect("plain parameters");
    encoder.encode(data, &ChunkContext::default(), &Inline).expect("plain data")
}

/// The same parameters for a sparse frame.
pub(crate) fn sparse(params: &FrameParams) -> FrameParams {
    FrameParams { frame_type: FrameType::Sparse, ..params.clone() }
}

pub(crate) fn write_sparse<'a>(
    params: &FrameParams,
    data: impl IntoIterator<Item = &'a [u8]>,
) -> Result<Directory, FrameWriteError> {
    let mut encoder = ChunkEncoder::new(&params.encode, registry()).expect("plain parameters");
    let mut writer = FrameWriter::new(&sparse(params), registry())?;
    let mut files = Directory::new();
    for part in data {
        let chunk = encoder.encode(part, &ChunkContext::numbered(writer.nchunks()), &Inline).expect("plain data");
        if let Some(write) = writer.push(&chunk)? {
            let ChunkAddress::File(id) = write.address else { panic!("a sparse frame has files") };
            files.insert(chunk_file_name(id), write.bytes(&chunk).to_vec());
        }
    }
    files.insert(INDEX_FILE.to_owned(), writer.finish()?);
    Ok(files)
}

pub(crate) fn open_sparse(files: &Directory) -> Result<Frame, FrameError> {
    let index = &files[INDEX_FILE];
    drive(FrameOpener::sparse(index.len() as u64, registry(), Limits::default()), index).map(|(frame, _)| frame)
}

pub(crate) fn sparse_chunk(files: &Directory, frame: &Frame, i: u64) -> Result<Vec<u8>, FrameError> {
    match frame.entry(i)? {
        ChunkEntry::Special(_) => Ok(frame.special_chunk(i)?.expect("the entry is special")),
        ChunkEntry::File { id } => {
            let file = &files[&chunk_file_name(id)];
            let header = ChunkHeader::parse(file).map_err(|source| FrameError::Chunk {
                chunk: i,
                offset: None,
                source: Box::new(source),
            })?;
            frame.check_chunk_file(i, &header, file.len() as u64)?;
            Ok(file[..header.cbytes].to_vec())
        }
        ChunkEntry::Stored { .. } => panic!("the frame is sparse"),
    }
}

pub(crate) fn decode_sparse(files: &Directory, frame: &Frame) -> Result<Vec<u8>, FrameError> {
    let mut decoder = ChunkDecoder::new(registry());
    let mut out = Vec::new();
    for i in 0..frame.nchunks() {
        let chunk = sparse_chunk(files, frame, i)?;
        let decoded = decoder.decode(&chunk, &frame.chunk_context(i), &Inline);
        out.extend(decoded.map_err(|source| FrameError::Chunk { chunk: i, offset: None, source: Box::new(source) })?);
    }
    Ok(out)
}
