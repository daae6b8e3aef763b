//! Copies of frames.

use std::collections::HashSet;
use std::path::Path;

use futures::StreamExt;
use oxiblosc_core::chunk::{ChunkContext, ChunkDecoder, ChunkEncoder, ChunkHeader, EncodeParams};
use oxiblosc_core::frame::{
    BitshuffleAge, ChecksumState, Checksums, ChunkEntry, FrameLayout, FrameParams, FrameType, FrameWriteError,
    Sequential,
};
use oxiblosc_core::plugin_params::PluginParams;
use oxiblosc_core::{FilterId, Registry};

use super::{ChunkOutput, DecodedOutput, EditError, EditOptions, FrameLock};
use crate::compute::Pool;
use crate::disk::IoMode;
use crate::error::ReadError;
use crate::reader::{FrameReader, ReadOptions};
use crate::recover::OutputLimit;
#[cfg(doc)]
use crate::recover::RecoverOptions;
use crate::sink::{Summary, WriteOptions};
use crate::source::{FileSource, ProgressSource, RangeSource};
use crate::target::{FileTarget, SparseTarget, Target};

/// Copies a frame chunk by chunk without decoding, with all metalayers and without the holes and unused chunk files
/// that editing has left. The target decides whether the copy is contiguous or sparse.
///
/// Fingerprint and checksums are computed again; every chunk is compared with its checksum. Checksums that other
/// software has [outdated](ChecksumState::Outdated) are left out, since nothing tells whether the chunks are what they
/// were. Those of a [later version](ChecksumState::Unknown) are kept, and the copy has no fingerprint: that tells
/// readers that know them that the frame may have changed.
///
/// Chunks of 2019, whose bytes have another meaning in current frames, are encoded again.
///
/// # Errors
/// [`FrameWriteError::Checksums`] for a frame whose header, index or trailer do not match its checksums. [Recovering]
/// it makes a frame of what is left, which has no checksums.
///
/// [`ReadError::Limit`] when the chunks of the copy would take more than [`RecoverOptions::OUTPUT_RATIO`] times the
/// bytes of the frame, and more than [`RecoverOptions::OUTPUT_BYTES`]. Only a damaged or malicious index, which names
/// chunks again and again, makes such a frame. Recovering it allows more ([`RecoverOptions::output_bytes`]).
///
/// The target has then not been committed, and what was written to it is left as it is.
///
/// [Recovering]: crate::recover
pub async fn copy<S, T>(reader: &FrameReader<S>, target: &mut T) -> Result<Summary, EditError>
where
    S: RangeSource + 'static,
    T: Target,
{
    let frame = reader.frame();
    if *frame.checksums() == ChecksumState::Damaged {
        return Err(FrameWriteError::Checksums.into());
    }
    let mut params = FrameParams::from_frame(frame);
    if *frame.checksums() == ChecksumState::Unknown {
        params.fingerprint = None;
    }
    if frame.bitshuffle_age() != BitshuffleAge::ByChunk {
        let params = encodable(params.encode, reader.registry());
        let copied = with_layers_of(reader, WriteOptions::new(params).registry(reader.registry())).await?;
        return match copied.lost {
            Some(error) => Err(error.into()),
            None => recompress_kept(reader, copied.options, target).await,
        };
    }
    params.sequential &= target.frame_type() == FrameType::Contiguous;
    let mut output = ChunkOutput::new(&params, reader.registry(), target)?;
    output.copy_vlmetalayers(frame)?;
    let mut limit = OutputLimit::new(None, frame.frame_len());
    let mut files = HashSet::new();
    let mut next = 0;
    while next < reader.nchunks() {
        let chunks = frame.run_of(next);
        next = chunks.end;
        // There may be millions of them.
        if let (Ok(ChunkEntry::Special(kind)), Some(len)) = (frame.entry(chunks.start), frame.chunk_len(chunks.start))
            && output.push_specials(kind, len, chunks.end - chunks.start).await?
        {
            continue;
        }
        for i in chunks {
            let chunk = reader.encoded_chunk(i).await?;
            // Damage must not get a checksum of its own.
            frame.check_chunk_bytes(i, &chunk).map_err(ReadError::from)?;
            let len = chunk.len() as u64;
            // The length of a sparse frame is that of its index: the files count when they are read first.
            if let Ok(ChunkEntry::File { id }) = frame.entry(i)
                && files.insert(id)
            {
                limit.read(len);
            }
            limit.write(len).map_err(|max| ReadError::Limit {
                what: "a copy of the frame, whose index names chunks again and again,",
                needed: limit.written(),
                limit: max,
            })?;
            output.push(chunk).await?;
        }
    }
    output.finish().await
}

/// Decodes a frame and encodes it again with `options`, a few chunks at a time. The chunk size stays as it is unless
/// `options` name one, so that chunks (and blocks) of variable length keep their boundaries; metalayers that `options`
/// do not name are copied.
///
/// # Errors
/// When the frame is damaged, the parameters are not possible, or source or target fail. The target has then not been
/// committed, and what was written to it is left as it is.
pub async fn recompress<S, T>(
    reader: &FrameReader<S>,
    options: WriteOptions,
    target: &mut T,
) -> Result<Summary, EditError>
where
    S: RangeSource + 'static,
    T: Target,
{
    let kept = options.chunk_size.is_none() && options.params.typesize == reader.typesize();
    let CopiedLayers { options, damaged, lost } = with_layers_of(reader, options).await?;
    if let Some(error) = damaged.or(lost) {
        return Err(error.into());
    }
    if options.chunk_size.is_none() && reader.header().layout == FrameLayout::Current && reader.nchunks() > 0 {
        return recompress_each(reader, options, target).await;
    }
    if kept {
        return recompress_kept(reader, options, target).await;
    }
    feed_all(reader, DecodedOutput::rechunked(options, target)?).await
}

/// As [`recompress`], with the chunk size of the frame, whatever it is.
async fn recompress_kept<S, T>(
    reader: &FrameReader<S>,
    options: WriteOptions,
    target: &mut T,
) -> Result<Summary, EditError>
where
    S: RangeSource + 'static,
    T: Target,
{
    feed_all(reader, DecodedOutput::new(options, &reader.limits(), target)?).await
}

async fn feed_all<S, T>(reader: &FrameReader<S>, mut output: DecodedOutput<'_, T>) -> Result<Summary, EditError>
where
    S: RangeSource + 'static,
    T: Target,
{
    let mut chunks = reader.chunks();
    while let Some(chunk) = chunks.next().await {
        output.push(chunk?).await?;
    }
    output.finish().await
}

/// Options for a copy of a frame, and what of its variable-length metalayers does not decode.
pub(crate) struct CopiedLayers {
    pub(crate) options: WriteOptions,
    /// Why one of them does not decode that the copy has as it is.
    damaged: Option<ReadError>,
    /// Why one of them does not decode that the copy lacks: its bytes mean something else in current frames.
    pub(crate) lost: Option<ReadError>,
}

/// `options`, completed with the chunk size and the metalayers of a frame.
pub(crate) async fn with_layers_of<S: RangeSource + 'static>(
    reader: &FrameReader<S>,
    mut options: WriteOptions,
) -> Result<CopiedLayers, EditError> {
    let (mut damaged, mut lost) = (None, None);
    if options.chunk_size.is_none() {
        options.chunk_size = reader.chunk_size();
    }
    for (name, content) in reader.metalayers().iter() {
        // They describe the order of the chunks in the other frame, and how those were encoded.
        let describes = [Sequential::NAME, PluginParams::METALAYER].contains(&&*name);
        if name.contains(char::REPLACEMENT_CHARACTER) {
            options.unnamed_metalayers.insert_from(reader.metalayers(), &name)?;
        } else if !describes && !options.metalayers.iter().any(|(n, _)| *n == name) {
            options = options.metalayer(name, content.clone());
        }
    }
    for name in reader.vlmetalayer_names() {
        if name == Checksums::NAME || options.vlmetalayers.iter().any(|(n, _)| *n == name) {
            continue;
        }
        let error = match reader.vlmetalayer(&name).await {
            // Its name is not text: it stays what it is, unless its bytes mean something else in current frames.
            Ok(Some(_)) if name.contains(char::REPLACEMENT_CHARACTER) && !is_bit_shuffled_in(reader, &name) => {
                options.encoded_vlmetalayers.insert_from(&reader.frame().trailer().vlmetalayers, &name)?;
                continue;
            }
            Ok(Some(content)) => {
                options = options.vlmetalayer(name, content);
                continue;
            }
            Ok(None) => continue,
            Err(error) => error,
        };
        // Perhaps only its codec is not available here.
        match is_bit_shuffled_in(reader, &name) {
            true => lost = lost.or(Some(error)),
            false => {
                options.encoded_vlmetalayers.insert_from(&reader.frame().trailer().vlmetalayers, &name)?;
                damaged = damaged.or(Some(error));
            }
        }
    }
    Ok(CopiedLayers { options, damaged, lost })
}

/// Whether the bytes of a variable-length metalayer may mean something else in a current frame.
fn is_bit_shuffled_in<S>(reader: &FrameReader<S>, name: &str) -> bool {
    let chunk = reader.frame().trailer().vlmetalayers.get(name);
    let header = chunk.and_then(|chunk| ChunkHeader::parse(chunk).ok());
    header.is_some_and(|header| header.filters.contains(FilterId::BITSHUFFLE))
}

/// `params`, or parameters like them if there is no encoder for these: the header of a frame may name a codec or filters
/// that none of its chunks has.
pub(crate) fn encodable(params: EncodeParams, registry: &Registry) -> EncodeParams {
    // Whatever the type size is, chunks can be encoded: see `DecodedOutput`.
    let works =
        |params: &EncodeParams| ChunkEncoder::new(&EncodeParams { typesize: 1, ..params.clone() }, registry).is_ok();
    if works(&params) {
        return params;
    }
    let usual = EncodeParams { level: params.level, typesize: params.typesize, ..EncodeParams::default() };
    if works(&usual) { usual } else { EncodeParams { level: 0, ..usual } }
}

/// Encodes each chunk again as one chunk, and each block of variable length as one block: in such frames the boundaries
/// are part of the data.
async fn recompress_each<S, T>(
    reader: &FrameReader<S>,
    options: WriteOptions,
    target: &mut T,
) -> Result<Summary, EditError>
where
    S: RangeSource + 'static,
    T: Target,
{
    let registry = crate::given_or_linked(options.registry.as_ref())?;
    let pool = options.pool.clone().unwrap_or_default();
    let params = options.frame_params(0)?;
    let mut output = ChunkOutput::new(&params, &registry, target)?;
    for (name, content) in &options.vlmetalayers {
        output.set_vlmetalayer(name, content)?;
    }
    output.copy_encoded_vlmetalayers(&options.encoded_vlmetalayers)?;
    let mut recoder = Reencoder {
        decoder: reader.decoder(),
        encoder: ChunkEncoder::new(&options.params, &registry).map_err(EditError::Params)?,
        pool: pool.clone(),
    };
    for chunk in 0..reader.nchunks() {
        let encoded = reader.encoded_chunk(chunk).await?;
        let ctx = reader.frame().chunk_context(chunk);
        // Off the polling thread, like all decoding and encoding.
        let job = pool.spawn(move || (recoder.recode(chunk, &encoded, &ctx), recoder));
        let (again, kept) = job.await.map_err(|panic| ReadError::Panicked { chunk, panic })?;
        recoder = kept;
        output.push(again?.into()).await?;
    }
    output.finish().await
}

/// Encodes chunks again.
struct Reencoder {
    decoder: ChunkDecoder,
    encoder: ChunkEncoder,
    pool: Pool,
}

impl Reencoder {
    fn recode(&mut self, chunk: u64, encoded: &[u8], ctx: &ChunkContext<'_>) -> Result<Vec<u8>, EditError> {
        let decode = |source| EditError::Decode { chunk, source };
        let encode = |source| EditError::Encode { chunk, source };
        if ChunkHeader::parse(encoded).map_err(decode)?.has_vl_blocks() {
            let blocks = self.decoder.decode_blocks(encoded, ctx).map_err(decode)?;
            return self.encoder.encode_blocks(&blocks, ctx, &self.pool).map_err(encode);
        }
        let decoded = self.decoder.decode(encoded, ctx, &self.pool).map_err(decode)?;
        self.encoder.encode(&decoded, ctx, &self.pool).map_err(encode)
    }
}

/// Rewrites a frame in a file or directory without the holes that editing has left. The new frame replaces the old one
/// when it is complete and on the disk, in one step. (Only for a directory outside Linux are there two steps; if the
/// machine crashes between them, the old frame is complete in a hidden directory `.….old` next to it.)
///
/// # Errors
/// As for [`copy`]. The old frame is then as it was.
pub async fn compact(path: impl AsRef<Path>) -> Result<Summary, EditError> {
    EditOptions::new().compact(path).await
}

pub(super) async fn compact_with(path: &Path, options: &EditOptions) -> Result<Summary, EditError> {
    let (owned, mode, durable) = (path.to_owned(), options.mode, options.durable);
    let sparse = path.is_dir();
    // Before it is read, or an edit could be lost.
    let _lock = mode.run(move || FrameLock::new(owned)).await?;
    let source = match mode {
        IoMode::Inline => FileSource::open_inline(path)?,
        IoMode::Offloaded => FileSource::open(path).await?,
    };
    let registry = crate::given_or_linked(options.registry.as_ref())?;
    // Nothing is decoded but what frames of 2019 need to be encoded again, which have a pool of their own.
    let mut read = ReadOptions::new().registry(&registry).limits(options.limits);
    if let Some(pool) = &options.pool {
        read = read.pool(pool);
    }
    let reader = read.open(ProgressSource::new(source, &options.progress)).await?;
    match sparse {
        true => copy(&reader, &mut SparseTarget::create(path)?.io_mode(mode).durable(durable)).await,
        false => copy(&reader, &mut FileTarget::create(path)?.io_mode(mode).durable(durable)).await,
    }
}
