//! A frame being written or edited: its header, its entries, and what goes into index and trailer.

use bytes::Bytes;

use super::header::{ChunkSize, FrameHeader};
use super::index::{self, ENTRY_LEN, Index};
use super::metalayers::MAX_NAME_LEN;
use super::raw_header::RawHeader;
use super::rules::{CheckedChunk, ChunkRules, NewChunk, Representation};
use super::run_length::RunLengthVec;
use super::stored::stored_chunk;
use super::{
    Checksums, Fingerprint, Fingerprinter, Frame, FrameError, FrameLayout, FrameParams, FrameWriteError, Metalayers,
    Section, Sequential, SpecialPlacement, Trailer, chunk_checksum,
};
use crate::chunk::{ChunkContext, ChunkEncoder, ChunkFormat, ChunkHeader, EncodeParams, SpecialKind};
use crate::executor::Inline;
use crate::id::CodecId;
use crate::limits::Limits;
use crate::nd::ArrayMeta;
use crate::registry::Registry;

/// The most chunks a frame can have: the index is a chunk of 8-byte entries.
const MAX_CHUNKS: u64 = (ChunkHeader::MAX_NBYTES / ENTRY_LEN) as u64;
/// Lengths stay below this, so that what follows the chunks never pushes one past 2^63.
const MAX_LEN: u64 = i64::MAX as u64 / 2;

/// Whether a chunk comes between others or takes the place of one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Insertion {
    Insert,
    Replace,
}

/// A frame being written or edited. Its owner decides where chunks are stored, and keeps `header.cbytes` right.
#[derive(Debug, Clone)]
pub(super) struct ChunkTable {
    pub(super) header: FrameHeader,
    pub(super) metalayers: Metalayers,
    pub(super) trailer: Trailer,
    pub(super) registry: Registry,
    /// The limits that readers of the result are assumed to have.
    pub(super) limits: Limits,
    /// The header as it is in the file, if there is one.
    image: Option<RawHeader>,
    entries: Index,
    rules: ChunkRules,
    /// Decoded length of the last chunk, if all others have the chunk size.
    last_len: u64,
    /// The known decoded lengths of chunks that differ in size; `None` for a new frame, in which no chunk is ever
    /// replaced.
    lens: Option<RunLengthVec<Option<u64>>>,
    /// Checksum of each chunk, if the frame is to have them.
    sums: Option<Vec<u64>>,
    /// The codec of new variable-length metalayers, unless the default is to be used.
    vlmetalayer_codec: Option<CodecId>,
}

impl ChunkTable {
    /// An empty frame.
    pub(super) fn new(params: &FrameParams, registry: &Registry) -> Result<Self, FrameWriteError> {
        let header = params.header()?;
        let mut trailer = Trailer::new();
        if params.checksums {
            // Reserve one of the sixteen places.
            trailer.vlmetalayers.insert(Checksums::NAME, Bytes::new())?;
        }
        Ok(Self {
            rules: ChunkRules::new(&header, params.special),
            header,
            metalayers: params.metalayers.clone(),
            trailer,
            registry: registry.clone(),
            limits: Limits::FORMAT,
            image: None,
            entries: Index::EMPTY,
            last_len: 0,
            lens: None,
            sums: params.checksums.then(Vec::new),
            vlmetalayer_codec: params.vlmetalayer_codec,
        })
    }

    /// The contents of an open frame of the current layout.
    pub(super) fn of(frame: &Frame, special: SpecialPlacement, registry: &Registry) -> Result<Self, FrameError> {
        let header = frame.header().clone();
        let mut rules = ChunkRules::new(&header, special);
        // Writers that know of variable-length blocks set the flag; some set it without need, which a chunk header
        // will show.
        rules.vl_blocks = (frame.nchunks() > 0).then_some(header.vl_blocks);
        let entries = frame.entries().clone();
        let unknown = if header.chunk_size == ChunkSize::Variable { entries.len() } else { 0 };
        let last = frame.nchunks().checked_sub(1).and_then(|last| frame.chunk_len(last));
        let mut trailer = frame.trailer().clone();
        if frame.checksums().valid().is_none() {
            // Invalid ones are dropped; valid ones are computed again.
            trailer.vlmetalayers.remove(Checksums::NAME);
        }
        Ok(Self {
            lens: Some(RunLengthVec::uniform(None, unknown)),
            last_len: last.unwrap_or_default() as u64,
            sums: frame.checksums().valid().map(|checksums| checksums.chunks().to_vec()),
            header,
            metalayers: frame.metalayers().clone(),
            trailer,
            registry: registry.clone(),
            limits: *frame.limits(),
            image: Some(RawHeader::new(frame)?),
            entries,
            rules,
            vlmetalayer_codec: None,
        })
    }

    pub(super) fn len(&self) -> u64 {
        self.entries.len()
    }

    pub(super) fn entries(&self) -> &Index {
        &self.entries
    }

    pub(super) fn entry(&self, i: u64) -> Result<u64, FrameWriteError> {
        self.entries.get(i).ok_or(FrameWriteError::NoSuchChunk { chunk: i, nchunks: self.len() })
    }

    /// Decoded length of chunk `i`.
    pub(super) fn chunk_len(&self, i: u64) -> Result<u64, FrameWriteError> {
        self.entry(i)?;
        match self.rules.full_len() {
            Some(_) if i + 1 == self.len() => Ok(self.last_len),
            Some(len) => Ok(len),
            None => {
                let len = self.lens.as_ref().and_then(|lens| lens.get(i));
                len.flatten().ok_or(FrameWriteError::UnknownLen { chunk: i })
            }
        }
    }

    /// Records the header of chunk `i`.
    pub(super) fn set_chunk_header(&mut self, i: u64, chunk: &ChunkHeader) -> Result<(), FrameWriteError> {
        self.entry(i)?;
        self.rules.vl_blocks = Some(chunk.has_vl_blocks());
        if let Some(lens) = &mut self.lens {
            lens.replace(i, Some(chunk.nbytes as u64));
        }
        Ok(())
    }

    /// Checks that a chunk may be put at `i`. Nothing is changed yet.
    pub(super) fn check_chunk(
        &self,
        i: u64,
        offered: NewChunk<'_>,
        place: Insertion,
    ) -> Result<CheckedChunk, FrameWriteError> {
        let last = match place {
            Insertion::Insert if i > self.len() => {
                return Err(FrameWriteError::NoSuchChunk { chunk: i, nchunks: self.len() });
            }
            Insertion::Insert => i == self.len(),
            Insertion::Replace => i + 1 == self.entry(i).map(|_| self.len())?,
        };
        if place == Insertion::Insert && self.len() >= MAX_CHUNKS {
            return Err(FrameWriteError::TooManyChunks { max: MAX_CHUNKS });
        }
        if place == Insertion::Insert && self.len() >= self.limits.chunks {
            let (found, limit) = (self.len() + 1, self.limits.chunks);
            return Err(FrameError::TooManyChunks { found, limit }.into());
        }
        let accepted = self.rules.accept(i, offered)?;
        let nbytes = accepted.nbytes as u64;
        if let Some(full) = self.rules.full_len() {
            if place == Insertion::Insert && last && !self.entries.is_empty() && self.last_len < full {
                let (chunk, len, chunk_size) = (i - 1, self.last_len, full as usize);
                return Err(FrameWriteError::ShortChunk { chunk, len, chunk_size });
            }
            if nbytes > full || (nbytes < full && !last) {
                let (expected, found) = (full as usize, accepted.nbytes);
                return Err(FrameWriteError::ChunkSize { chunk: i, expected, found });
            }
        }
        let others = if place == Insertion::Replace { self.total_without(i)? } else { self.header.nbytes };
        if others + nbytes > MAX_LEN {
            return Err(FrameWriteError::TooLong);
        }
        Ok(accepted)
    }

    /// Decoded bytes of all chunks but `i`. If chunks differ in size, only the chunks say how long they are, and the
    /// total in the header may be less than that.
    fn total_without(&self, i: u64) -> Result<u64, FrameWriteError> {
        let (len, nbytes) = (self.chunk_len(i)?, self.header.nbytes);
        if self.len() == 1 {
            return Ok(0);
        }
        let others = nbytes.checked_sub(len).filter(|&others| others > 0);
        others.ok_or(FrameWriteError::Total { chunk: i, len, nbytes })
    }

    /// The checksum of a chunk to be stored, if the frame has checksums.
    pub(super) fn checksum(&self, chunk: &[u8]) -> u64 {
        if self.sums.is_some() { chunk_checksum(chunk) } else { 0 }
    }

    /// The checksum of chunk `i`, if the frame has checksums.
    pub(super) fn stored_checksum(&self, i: u64) -> Option<u64> {
        self.sums.as_ref()?.get(usize::try_from(i).ok()?).copied()
    }

    /// Whether the frame has checksums.
    pub(super) fn has_checksums(&self) -> bool {
        self.sums.is_some()
    }

    /// Puts a checked chunk at `i`, with its checksum.
    pub(super) fn put(&mut self, i: u64, entry: u64, nbytes: usize, vl_blocks: bool, sum: u64, place: Insertion) {
        let i = i.min(self.len());
        let others = match place {
            Insertion::Insert => self.header.nbytes,
            // `check_chunk` has computed it before.
            Insertion::Replace => self.total_without(i).unwrap_or(self.header.nbytes),
        };
        let nbytes = nbytes as u64;
        self.rules.fix_chunk_size(nbytes, vl_blocks);
        self.header.chunk_size = self.rules.chunk_size;
        self.header.vl_blocks = self.rules.vl_blocks == Some(true);
        let variable = self.rules.full_len().is_none();
        match place {
            Insertion::Insert => self.entries.insert(i, entry),
            Insertion::Replace => self.entries.replace(i, entry),
        }
        if let Some(sums) = &mut self.sums {
            // Lossless: it is in memory.
            let at = (i as usize).min(sums.len());
            match place {
                Insertion::Insert => sums.insert(at, sum),
                Insertion::Replace => sums[at] = sum,
            }
        }
        if i + 1 == self.len() {
            self.last_len = nbytes;
        }
        if let Some(lens) = self.lens.as_mut().filter(|_| variable) {
            match place {
                Insertion::Insert => lens.insert(i, Some(nbytes)),
                Insertion::Replace => lens.replace(i, Some(nbytes)),
            }
        }
        self.header.nbytes = others + nbytes;
    }

    /// Appends `count` chunks of a special value, if they can be in the index alone.
    pub(super) fn push_specials(
        &mut self,
        kind: SpecialKind,
        nbytes: usize,
        count: u64,
    ) -> Result<bool, FrameWriteError> {
        let items = nbytes.is_multiple_of(self.header.typesize as usize);
        let nan = kind == SpecialKind::Nan && !matches!(self.header.typesize, 4 | 8);
        if count == 0 || !items || nan || kind == SpecialKind::Value {
            return Ok(count == 0);
        }
        let accepted = self.check_chunk(self.len(), NewChunk::Special(kind, nbytes), Insertion::Insert)?;
        let Representation::Entry(entry) = accepted.form else { return Ok(false) };
        if count > 1 && self.rules.full_len().is_some_and(|full| full != nbytes as u64) {
            // Only the last chunk may be shorter.
            return Ok(false);
        }
        if count > MAX_CHUNKS - self.len() {
            return Err(FrameWriteError::TooManyChunks { max: MAX_CHUNKS });
        }
        let (found, limit) = (self.len() + count, self.limits.chunks);
        if found > limit {
            return Err(FrameError::TooManyChunks { found, limit }.into());
        }
        let more = (nbytes as u64).saturating_mul(count);
        if self.header.nbytes.saturating_add(more) > MAX_LEN {
            return Err(FrameWriteError::TooLong);
        }
        self.put(self.len(), entry, nbytes, accepted.vl_blocks, 0, Insertion::Insert);
        self.entries.push_run(entry, count - 1);
        if let Some(sums) = &mut self.sums {
            // Lossless: no more than an index has entries.
            sums.resize(sums.len() + (count - 1) as usize, 0);
        }
        self.header.nbytes += more - nbytes as u64;
        Ok(true)
    }

    /// Replaces an entry that at most one chunk has by another.
    pub(super) fn replace_entry(&mut self, old: u64, new: u64) {
        let found = self.entries.runs().find(|(_, entry)| *entry == old).map(|(chunks, _)| chunks.start);
        if let Some(i) = found {
            self.entries.replace(i, new);
        }
    }

    /// Removes chunk `i` and returns its entry.
    pub(super) fn remove(&mut self, i: u64) -> Result<u64, FrameWriteError> {
        let others = self.total_without(i)?;
        let nchunks = self.len();
        let entry = self.entries.remove(i).ok_or(FrameWriteError::NoSuchChunk { chunk: i, nchunks })?;
        if let Some(sums) = self.sums.as_mut().filter(|sums| i < sums.len() as u64) {
            // Lossless: it is in memory.
            sums.remove(i as usize);
        }
        match self.rules.full_len() {
            // The chunk before the last one has full length.
            Some(full) if i == self.len() => self.last_len = full,
            Some(_) => {}
            None => {
                if let Some(lens) = &mut self.lens {
                    lens.remove(i);
                }
            }
        }
        self.header.nbytes = others;
        if self.entries.is_empty() {
            self.last_len = 0;
        }
        Ok(entry)
    }

    /// Reorders the chunks: chunk `order[i]` becomes chunk `i`.
    pub(super) fn reorder(&mut self, order: &[u64]) -> Result<(), FrameWriteError> {
        let nchunks = self.len();
        let wrong = |reason| FrameWriteError::Order { nchunks, reason };
        if order.len() as u64 != nchunks {
            return Err(wrong("it has another length"));
        }
        let mut seen = vec![false; order.len()];
        for &from in order {
            match seen.get_mut(usize::try_from(from).unwrap_or(usize::MAX)) {
                Some(seen) if !*seen => *seen = true,
                Some(_) => return Err(wrong("a chunk is named twice")),
                None => return Err(wrong("it names a chunk that does not exist")),
            }
        }
        if let (Some(full), Some(&last)) = (self.rules.full_len(), order.last())
            && self.last_len < full
            && last + 1 != nchunks
        {
            return Err(wrong("the last chunk is shorter than the others and must stay the last"));
        }
        self.entries = order.iter().filter_map(|&from| self.entries.get(from)).collect();
        if let Some(sums) = &mut self.sums {
            *sums = order.iter().map(|&from| sums[from as usize]).collect();
        }
        if let Some(lens) = self.lens.as_mut().filter(|lens| lens.len() == nchunks) {
            *lens = order.iter().filter_map(|&from| lens.get(from)).collect();
        }
        Ok(())
    }

    /// Gives up the common size of the chunks.
    pub(super) fn set_variable(&mut self) {
        if let Some(full) = self.rules.full_len() {
            let mut lens = RunLengthVec::uniform(Some(full), self.len().saturating_sub(1));
            if !self.entries.is_empty() {
                lens.push(Some(self.last_len));
            }
            self.lens = Some(lens);
        }
        self.rules.chunk_size = ChunkSize::Variable;
        self.header.chunk_size = ChunkSize::Variable;
    }

    /// Sets the chunk size of an empty frame.
    pub(super) fn set_chunk_size(&mut self, chunk_size: u32) {
        self.rules.chunk_size = ChunkSize::Fixed(chunk_size);
        self.header.chunk_size = self.rules.chunk_size;
        self.lens = self.lens.take().map(|_| RunLengthVec::EMPTY);
    }

    /// Replaces the content of a metalayer by one of the same length, as the header cannot grow.
    pub(super) fn set_metalayer(&mut self, name: &str, content: &[u8]) -> Result<(), FrameWriteError> {
        let reason = match self.metalayers.get(name) {
            None => "there is none with that name",
            Some(old) if old.len() != content.len() => "its length cannot change once the frame exists",
            Some(_) => {
                if let Some(image) = &mut self.image {
                    image.set_metalayer(name, content)?;
                }
                return self.metalayers.insert(name, content.to_vec());
            }
        };
        Err(FrameWriteError::Metalayer { name: name.to_owned(), reason })
    }

    /// Adds or replaces a variable-length metalayer.
    pub(super) fn set_vlmetalayer(&mut self, name: &str, content: &[u8]) -> Result<(), FrameWriteError> {
        self.set_vlmetalayer_with(name, content, self.vlmetalayer_codec)
    }

    /// Adds or replaces a variable-length metalayer, compressed with `codec` or the default.
    pub(super) fn set_vlmetalayer_with(
        &mut self,
        name: &str,
        content: &[u8],
        codec: Option<CodecId>,
    ) -> Result<(), FrameWriteError> {
        if !self.header.layout.has_trailer() {
            return Err(FrameWriteError::EarlyFeature { what: "variable-length metalayers" });
        }
        if name == Checksums::NAME {
            let reason = "the name is reserved for the checksums";
            return Err(FrameWriteError::Metalayer { name: name.to_owned(), reason });
        }
        if content.len() > self.limits.metalayer_bytes {
            let (name, limit) = (name.to_owned(), self.limits.metalayer_bytes as u64);
            return Err(FrameError::VlmetalayerLimit { name, found: content.len() as u64, limit }.into());
        }
        let chunk = encode_vlmetalayer(name, content, codec, &self.registry)?;
        self.trailer.vlmetalayers.insert(name, chunk)
    }

    /// Takes over the variable-length metalayers of another frame, without decoding them. Checksums are computed anew
    /// or left out, except those of later versions: they are for a reader that knows them to judge.
    pub(super) fn copy_vlmetalayers(&mut self, theirs: &Metalayers) -> Result<(), FrameWriteError> {
        if !self.header.layout.has_trailer() && !theirs.is_empty() {
            return Err(FrameWriteError::EarlyFeature { what: "variable-length metalayers" });
        }
        let mut ours = self.trailer.vlmetalayers.clone();
        let is_kept = |chunk: &[u8]| self.sums.is_none() && Checksums::is_unknown(chunk);
        ours.insert_all(theirs, |name, chunk| name != Checksums::NAME || is_kept(chunk))?;
        self.trailer.vlmetalayers = ours;
        Ok(())
    }

    /// The index chunk; empty for an empty frame.
    pub(super) fn index_bytes(&self) -> Result<Vec<u8>, FrameWriteError> {
        if self.entries.is_empty() {
            return Ok(Vec::new());
        }
        let early = self.header.layout == FrameLayout::Early;
        let format = if early { ChunkFormat::Early } else { ChunkFormat::Blosc2 };
        index::encode(&self.entries, format, &self.registry)
    }

    /// Makes the trailer of a frame that ends with `index` and the trailer, after `before` other bytes. Makes the
    /// length in the header, and everything that depends on it, final, including the promise if there is one.
    ///
    /// `fingerprint` has digested what lies between header and index. Without it the frame gets no fingerprint: the old
    /// one does not match what is written now.
    pub(super) fn close(
        &mut self,
        index: &[u8],
        before: u64,
        promise: bool,
        fingerprint: Option<Fingerprinter>,
    ) -> Result<Vec<u8>, FrameWriteError> {
        if !self.header.layout.has_trailer() {
            self.header.frame_len = before + index.len() as u64;
            return Ok(Vec::new());
        }
        self.trailer.fingerprint = Fingerprint::NONE;
        self.put_checksums(fingerprint.as_ref())?;
        self.header.has_vlmetalayers = !self.trailer.vlmetalayers.is_empty();
        let trailer_len = self.trailer.written_len() as u64;
        self.header.frame_len = before + index.len() as u64 + trailer_len;
        let max = self.limits.trailer_bytes as u64;
        if trailer_len > max {
            let offset = before + index.len() as u64;
            return Err(FrameError::TrailerLen { offset, found: trailer_len, min: 0, max }.into());
        }
        // Again, now with the length, which takes the same room.
        self.put_checksums(fingerprint.as_ref())?;
        if promise {
            let FrameHeader { frame_len, nbytes, cbytes, .. } = self.header;
            // This replaces the provisional one, which has the same length.
            self.metalayers.insert(Sequential::NAME, Sequential { frame_len, nbytes, cbytes }.to_bytes())?;
        }
        let mut trailer = self.trailer.to_bytes()?;
        let header = self.header_bytes();
        if self.sums.is_some() {
            Checksums::seal(&self.trailer, &header, index, &mut trailer);
        }
        if let Some(mut fingerprint) = fingerprint {
            fingerprint.update(index);
            fingerprint.update(&trailer[..trailer.len() - Fingerprint::LEN]);
            fingerprint.update(&header);
            self.trailer.fingerprint = fingerprint.finish();
            Trailer::set_fingerprint(&mut trailer, self.trailer.fingerprint);
        }
        Ok(trailer)
    }

    fn put_checksums(&mut self, fingerprint: Option<&Fingerprinter>) -> Result<(), FrameWriteError> {
        let Some(chunks) = &mut self.sums else { return Ok(()) };
        let FrameHeader { frame_len, nbytes, cbytes, .. } = self.header;
        let checksums = Checksums {
            fingerprint: fingerprint.map_or(0, |f| f.kind().to_u8()),
            frame_len,
            nbytes,
            cbytes,
            metadata: 0,
            chunks: std::mem::take(chunks),
        };
        let chunk = checksums.to_chunk();
        *chunks = checksums.chunks;
        let chunk =
            chunk.map_err(|source| FrameWriteError::Vlmetalayer { name: Checksums::NAME.to_owned(), source })?;
        self.trailer.vlmetalayers.insert(Checksums::NAME, chunk)
    }

    /// The header with its metalayers. An empty frame does not state its chunk size, as C-Blosc2 expects, unless it is
    /// an array: that has a chunk shape before it has chunks, and C-Blosc2 could not enlarge it otherwise.
    pub(super) fn header_bytes(&self) -> Vec<u8> {
        let mut header = self.header.clone();
        let is_array = [ArrayMeta::NAME, ArrayMeta::LEGACY_NAME].iter().any(|name| self.metalayers.get(name).is_some());
        if header.nbytes == 0 && header.chunk_size != ChunkSize::Variable && !is_array {
            header.chunk_size = ChunkSize::Unset;
        }
        match &self.image {
            Some(image) => image.with(&header),
            None => self.with_metalayers(&header),
        }
    }

    /// The header of an unfinished frame: without lengths, which would not be reliable, but with the chunk size, which
    /// is needed to follow or recover the frame.
    pub(super) fn provisional_header_bytes(&self) -> Vec<u8> {
        self.with_metalayers(&FrameHeader { frame_len: 0, nbytes: 0, cbytes: 0, ..self.header.clone() })
    }

    fn with_metalayers(&self, header: &FrameHeader) -> Vec<u8> {
        let mut out = header.to_bytes();
        if header.layout.always_has_metalayers() || !self.metalayers.is_empty() {
            self.metalayers.write(Section::Header, 0, &mut out);
        }
        out
    }
}

/// Checks that the chunks section may grow to this many bytes.
pub(super) fn check_len(cbytes: u64) -> Result<u64, FrameWriteError> {
    if cbytes > MAX_LEN { Err(FrameWriteError::TooLong) } else { Ok(cbytes) }
}

/// Compresses the content of a variable-length metalayer with `wanted`, or else as python-blosc2 does, with what the
/// registry has.
fn encode_vlmetalayer(
    name: &str,
    content: &[u8],
    wanted: Option<CodecId>,
    registry: &Registry,
) -> Result<Bytes, FrameWriteError> {
    if name.len() > MAX_NAME_LEN {
        return Err(FrameWriteError::MetalayerName { name: name.to_owned(), max: MAX_NAME_LEN });
    }
    if content.len() > ChunkHeader::MAX_NBYTES {
        return Err(FrameWriteError::MetalayerLen { name: name.to_owned(), len: content.len() });
    }
    let usual = || [CodecId::ZSTD, CodecId::BLOSCLZ].into_iter().find(|&id| registry.codec(id).is_ok());
    let codec = wanted.or_else(usual);
    let params = EncodeParams { codec: codec.unwrap_or_default(), typesize: 1, ..EncodeParams::default() };
    let encoded = match (codec, ChunkEncoder::new(&params, registry)) {
        (Some(_), Ok(mut encoder)) => encoder.encode(content, &ChunkContext::default(), &Inline),
        // Metalayers must be possible without plugins, but what was asked for is not silently left undone.
        (_, Err(error)) if wanted.is_some() => Err(error),
        _ => stored_chunk(content, 1),
    };
    encoded.map(Bytes::from).map_err(|source| FrameWriteError::Vlmetalayer { name: name.to_owned(), source })
}
