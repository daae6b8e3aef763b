//! Checksums of the chunks of a frame, and of everything else in it.

use std::fmt;
use std::sync::Arc;

use rmp::Marker;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use super::stored::stored_chunk;
use super::{Fingerprint, FrameHeader, Trailer};
use crate::chunk::{ChunkError, ChunkHeader};

const ALGORITHM: &str = "xxh3-64";
const KEYS: [&str; 7] = ["algorithm", "fingerprint", "frame_len", "nbytes", "cbytes", "metadata", "chunks"];
/// Bytes of a checksum.
const SUM_LEN: usize = 8;

/// The checksum of the bytes of a chunk as stored: XXH3-64.
pub fn chunk_checksum(chunk: &[u8]) -> u64 {
    xxh3_64(chunk)
}

/// The checksums of the chunks of a frame, and the state of the frame when they were computed.
///
/// They are the variable-length metalayer [`NAME`](Self::NAME), a msgpack map with these entries in this order; later
/// versions may add entries after them. All numbers but the kind take nine bytes, and the chunk that holds the map is
/// stored uncompressed, so that its length is known before its content is.
///
/// | key | value |
/// |---|---|
/// | `algorithm` | the string `xxh3-64` |
/// | `fingerprint` | kind of the fingerprint that was written with the checksums, 0 for none |
/// | `frame_len`, `nbytes`, `cbytes` | what the header said then |
/// | `metadata` | XXH3-64 of the header, the index chunk and the trailer, in this order; of the trailer without the last 18 bytes (the fingerprint), and with zeros in place of this number |
/// | `chunks` | binary: for each chunk the big-endian XXH3-64 of its bytes as stored, 0 for one that is in the index alone |
///
/// C-Blosc2 and python-blosc2 keep the metalayer when they edit a frame, and with it checksums that are no longer
/// right. But they write a trailer without a fingerprint, and other lengths into the header. That distinguishes an edit
/// from damage: see [`ChecksumState`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checksums {
    /// Kind of the fingerprint written with them.
    pub(super) fingerprint: u8,
    pub(super) frame_len: u64,
    pub(super) nbytes: u64,
    pub(super) cbytes: u64,
    /// Of everything that is not a chunk.
    pub(super) metadata: u64,
    pub(super) chunks: Vec<u64>,
}

/// Whether the checksums of a frame can be trusted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum ChecksumState {
    /// There are none.
    #[default]
    Absent,
    /// Header, index and trailer are what they were, and the chunks have checksums.
    Valid(Arc<Checksums>),
    /// The frame has since been changed by software that does not know them: its fingerprint is gone, or its lengths
    /// differ. They say nothing any more.
    Outdated,
    /// They were computed with an algorithm that this version does not know, so nothing can be compared with them.
    Unknown,
    /// Header, index, trailer or the checksums themselves have changed, and nothing suggests an edit: damage, or an
    /// edit in place that kept all lengths.
    Damaged,
}

impl ChecksumState {
    /// The checksums, if they are valid.
    pub fn valid(&self) -> Option<&Arc<Checksums>> {
        if let Self::Valid(checksums) = self { Some(checksums) } else { None }
    }
}

impl fmt::Display for ChecksumState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Absent => "there are no checksums",
            Self::Valid(_) => "valid",
            Self::Outdated => "the frame was changed by software that does not keep its checksums",
            Self::Unknown => "they were computed in a way that this version does not know",
            Self::Damaged => "header, index or trailer do not match the checksums",
        })
    }
}

impl Checksums {
    /// Name of the variable-length metalayer.
    pub const NAME: &'static str = "oxiblosc_checksums";

    /// The checksum of chunk `i`: 0 for one that is in the index alone. `None` when there is no such chunk.
    pub fn chunk(&self, i: u64) -> Option<u64> {
        self.chunks.get(usize::try_from(i).ok()?).copied()
    }

    /// All checksums, by chunk.
    pub fn chunks(&self) -> &[u64] {
        &self.chunks
    }

    /// The value of the metalayer, which is a chunk.
    ///
    /// # Errors
    /// There are more checksums than a chunk can hold.
    pub(super) fn to_chunk(&self) -> Result<Vec<u8>, ChunkError> {
        let mut out = vec![Marker::FixMap(KEYS.len() as u8).to_u8()];
        let text = |out: &mut Vec<u8>, text: &str| {
            out.push(Marker::FixStr(text.len() as u8).to_u8());
            out.extend_from_slice(text.as_bytes());
        };
        let number = |out: &mut Vec<u8>, n: u64| {
            out.push(Marker::U64.to_u8());
            out.extend(n.to_be_bytes());
        };
        let [algorithm, fingerprint, frame_len, nbytes, cbytes, metadata, chunks] = KEYS;
        text(&mut out, algorithm);
        text(&mut out, ALGORITHM);
        text(&mut out, fingerprint);
        out.push(Marker::FixPos(self.fingerprint & 0x7F).to_u8());
        for (key, n) in [(frame_len, self.frame_len), (nbytes, self.nbytes), (cbytes, self.cbytes)] {
            text(&mut out, key);
            number(&mut out, n);
        }
        text(&mut out, metadata);
        number(&mut out, self.metadata);
        text(&mut out, chunks);
        out.push(Marker::Bin32.to_u8());
        // The number of chunks is bounded so that eight bytes for each fit 31 bits.
        out.extend(((self.chunks.len() * SUM_LEN) as u32).to_be_bytes());
        out.extend(self.chunks.iter().flat_map(|sum| sum.to_be_bytes()));
        stored_chunk(&out, 1)
    }

    /// The offset of the name of the algorithm in the chunk.
    const ALGORITHM_AT: usize = ChunkHeader::EXTENDED_LEN + 1 + 1 + KEYS[0].len() + 1;

    /// The offset of the number `metadata` in the chunk.
    const fn metadata_at() -> usize {
        // The algorithm as a string and the kind of the fingerprint as a byte, the lengths as numbers of nine bytes.
        let mut at = Self::ALGORITHM_AT + ALGORITHM.len();
        at += 1 + KEYS[1].len() + 1;
        at += 3 * (1 + 1 + SUM_LEN) + KEYS[2].len() + KEYS[3].len() + KEYS[4].len();
        at + 1 + KEYS[5].len() + 1
    }

    /// Parses the value of the metalayer, if it has the form that this version writes.
    fn parse(chunk: &[u8]) -> Option<Self> {
        let header = ChunkHeader::parse(chunk).ok()?;
        if !header.is_stored() || header.cbytes != chunk.len() || !header.is_extended() {
            return None;
        }
        let mut rest = chunk.get(ChunkHeader::EXTENDED_LEN..)?;
        if (rmp::decode::read_map_len(&mut rest).ok()? as usize) < KEYS.len() {
            return None;
        }
        key(&mut rest, KEYS[0])?;
        key(&mut rest, ALGORITHM)?;
        key(&mut rest, KEYS[1])?;
        let fingerprint = rmp::decode::read_pfix(&mut rest).ok()?;
        let mut numbers = [0; 4];
        for (number, name) in numbers.iter_mut().zip(&KEYS[2..]) {
            key(&mut rest, name)?;
            *number = rmp::decode::read_u64(&mut rest).ok()?;
        }
        key(&mut rest, KEYS[6])?;
        let len = rmp::decode::read_bin_len(&mut rest).ok()? as usize;
        let (sums, odd) = rest.get(..len)?.as_chunks::<SUM_LEN>();
        if !odd.is_empty() {
            return None;
        }
        let chunks = sums.iter().map(|sum| u64::from_be_bytes(*sum)).collect();
        let [frame_len, nbytes, cbytes, metadata] = numbers;
        Some(Self { fingerprint, frame_len, nbytes, cbytes, metadata, chunks })
    }

    /// Whether this is the value of the metalayer of a later version, with an algorithm that is not known.
    pub(super) fn is_unknown(chunk: &[u8]) -> bool {
        let found = || {
            let header = ChunkHeader::parse(chunk).ok()?;
            if !header.is_stored() || header.cbytes != chunk.len() || !header.is_extended() {
                return None;
            }
            let mut rest = chunk.get(ChunkHeader::EXTENDED_LEN..)?;
            let entries = rmp::decode::read_map_len(&mut rest).ok()?;
            key(&mut rest, KEYS[0])?;
            let algorithm = text(&mut rest)?;
            // A damaged length makes the next key begin in the middle of something else.
            let goes_on = entries == 1 || text(&mut rest).is_some();
            Some(goes_on && !algorithm.is_empty() && algorithm != ALGORITHM)
        };
        found() == Some(true)
    }

    /// Whether everything matches the checksums in `trailer` once the name of their algorithm is the known one: then
    /// nothing but the name is damaged.
    fn is_renamed(header: &[u8], index: &[u8], trailer: &Trailer, trailer_bytes: &[u8]) -> bool {
        let restored = || {
            let start = trailer.content_at(Self::NAME)?;
            let chunk_len = trailer.vlmetalayers.get(Self::NAME)?.len();
            let mut bytes = trailer_bytes.to_vec();
            let at = start + Self::ALGORITHM_AT;
            bytes.get_mut(at..at + ALGORITHM.len())?.copy_from_slice(ALGORITHM.as_bytes());
            let checksums = Self::parse(bytes.get(start..start.checked_add(chunk_len)?)?)?;
            Some(metadata_digest(header, index, &bytes, start + Self::metadata_at())? == checksums.metadata)
        };
        restored() == Some(true)
    }

    /// Validates the checksums in `trailer`, whose bytes are `trailer_bytes`, of a frame of `nchunks` chunks.
    pub(super) fn examine(
        header: &FrameHeader,
        header_bytes: &[u8],
        index: &[u8],
        nchunks: u64,
        trailer: &Trailer,
        trailer_bytes: &[u8],
    ) -> ChecksumState {
        let Some(chunk) = trailer.vlmetalayers.get(Self::NAME) else { return ChecksumState::Absent };
        // Software that does not know the checksums keeps the bytes of the metalayer, whatever else it changes.
        let Some(checksums) = Self::parse(chunk) else {
            let damaged = || Self::is_renamed(header_bytes, index, trailer, trailer_bytes);
            return if Self::is_unknown(chunk) && !damaged() { ChecksumState::Unknown } else { ChecksumState::Damaged };
        };
        let unsigned = checksums.fingerprint != 0 && trailer.fingerprint == Fingerprint::NONE;
        let now = (header.frame_len, header.nbytes, header.cbytes);
        let at = trailer.content_at(Self::NAME).map(|at| at + Self::metadata_at());
        let found = at.and_then(|at| metadata_digest(header_bytes, index, trailer_bytes, at));
        if found == Some(checksums.metadata) && checksums.chunks.len() as u64 == nchunks {
            return if unsigned { ChecksumState::Outdated } else { ChecksumState::Valid(Arc::new(checksums)) };
        }
        // Damage does not remove a fingerprint without a trace. Without one, the lengths have to tell.
        let signed = checksums.fingerprint != 0 && !unsigned;
        if unsigned || (!signed && now != (checksums.frame_len, checksums.nbytes, checksums.cbytes)) {
            return ChecksumState::Outdated;
        }
        ChecksumState::Damaged
    }

    /// Completes the checksums in a serialised trailer, in which `metadata` is still zero: digests header, index and
    /// trailer and puts the number in its place.
    pub(super) fn seal(trailer: &Trailer, header: &[u8], index: &[u8], trailer_bytes: &mut [u8]) {
        let Some(at) = trailer.content_at(Self::NAME).map(|at| at + Self::metadata_at()) else { return };
        let Some(digest) = metadata_digest(header, index, trailer_bytes, at) else { return };
        super::fields::put(trailer_bytes, at, &digest.to_be_bytes());
    }
}

/// Takes the string `expected` from the front of `rest`.
fn key(rest: &mut &[u8], expected: &str) -> Option<()> {
    (text(rest)? == expected).then_some(())
}

/// Takes a string from the front of `rest`.
fn text<'a>(rest: &mut &'a [u8]) -> Option<&'a str> {
    let len = rmp::decode::read_str_len(rest).ok()? as usize;
    let (found, behind) = rest.split_at_checked(len)?;
    *rest = behind;
    str::from_utf8(found).ok()
}

/// The digest of everything that is not a chunk, with zeros for the eight bytes at `at` of the trailer.
fn metadata_digest(header: &[u8], index: &[u8], trailer: &[u8], at: usize) -> Option<u64> {
    let trailer = trailer.get(..trailer.len().checked_sub(Fingerprint::LEN)?)?;
    let (before, rest) = trailer.split_at_checked(at)?;
    let (_, behind) = rest.split_at_checked(SUM_LEN)?;
    let mut hasher = Xxh3::new();
    for part in [header, index, before, &[0; SUM_LEN], behind] {
        hasher.update(part);
    }
    Some(hasher.digest())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_come_back() {
        for chunks in [vec![], vec![1], vec![u64::MAX, 0, 7]] {
            let sums = Checksums { fingerprint: 3, frame_len: 1 << 40, nbytes: 2, cbytes: 3, metadata: 0x0102, chunks };
            let chunk = sums.to_chunk().unwrap();
            assert_eq!(Checksums::parse(&chunk), Some(sums));
            let at = Checksums::metadata_at();
            assert_eq!(chunk[at - 1], 0xCF);
            assert_eq!(chunk[at..at + 8], 0x0102u64.to_be_bytes());
            for len in 0..chunk.len() {
                assert_eq!(Checksums::parse(&chunk[..len]), None);
            }
        }
    }

    #[test]
    fn later_versions_are_told_from_damage() {
        let sums = Checksums { fingerprint: 0, frame_len: 1, nbytes: 2, cbytes: 3, metadata: 4, chunks: vec![5] };
        let ours = sums.to_chunk().unwrap();
        let at = Checksums::ALGORITHM_AT;
        assert_eq!(&ours[at..at + ALGORITHM.len()], ALGORITHM.as_bytes());
        assert!(!Checksums::is_unknown(&ours));
        let mut later = ours.clone();
        later[at..at + 5].copy_from_slice(b"blake");
        assert!(Checksums::is_unknown(&later) && Checksums::parse(&later).is_none());
        // Only the name of the algorithm is known of those.
        let short = stored_chunk(b"\x81\xa9algorithm\xa5other", 1).unwrap();
        assert!(Checksums::is_unknown(&short));
        for len in 0..short.len() {
            assert!(!Checksums::is_unknown(&short[..len]));
        }
        // A length that is damaged is no other algorithm.
        for bit in 0..8 {
            let mut damaged = ours.clone();
            damaged[at - 1] ^= 1 << bit;
            assert!(!Checksums::is_unknown(&damaged), "bit {bit}");
        }
    }
}
