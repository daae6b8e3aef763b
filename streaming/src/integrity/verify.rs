//! Verifying a whole frame.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures::future::join_all;
use futures::stream::{self, StreamExt};
use oxiblosc_core::chunk::{ChunkDecoder, ChunkError, ChunkHeader};
use oxiblosc_core::frame::{
    ChecksumState, ChunkEntry, Fingerprint, FingerprintKind, Fingerprinter, FrameAudit, FrameLayout,
};

use super::{Finding, FingerprintCheck, VerifyReport};
use crate::budget::Budget;
use crate::error::ReadError;
use crate::kind::ErrorKind;
use crate::reader::ReaderInner;
use crate::recover::ChunkNumbers;
use crate::source::RangeSource;

/// Encoded bytes that are asked for at once, at most one chunk more...
const GROUP_BYTES: u64 = 4 << 20;
/// ... and the bytes they decode to.
const GROUP_DECODED: usize = 32 << 20;
const GROUP_CHUNKS: u64 = 256;
/// Groups in flight at a time.
const GROUPS_AT_ONCE: usize = 2;

pub(crate) async fn verify<S: RangeSource + 'static>(shared: &Arc<ReaderInner<S>>) -> Result<VerifyReport, ReadError> {
    let frame = &shared.frame;
    let mut report = VerifyReport {
        chunks: frame.nchunks(),
        nbytes: 0,
        checksums: frame.checksums().clone(),
        fingerprint: FingerprintCheck::Absent,
        findings: Vec::new(),
        more_findings: 0,
        unverified: ChunkNumbers::default(),
        unverified_metalayers: Vec::new(),
        missing: Vec::new(),
    };
    let mut plugins = BTreeSet::new();
    let mut digest = Digest::begin(shared, &mut report).await?;
    let mut audit = FrameAudit::new(frame);
    // Results for chunks whose bytes are shared by others.
    let mut outcomes: HashMap<u64, Outcome> = HashMap::new();
    // Bounds the blocks being decoded by all groups together.
    let memory = Budget::new(shared.decoding.limits.in_flight_bytes);
    let groups = groups(shared).map(|group| check_group(shared, &memory, group));
    let mut groups = stream::iter(groups).buffered(GROUPS_AT_ONCE);
    while let Some(group) = groups.next().await {
        for look in group? {
            let CheckedGroup { chunks, of, encoded, decoded } = look;
            if of != chunks.start {
                match outcomes.get(&of) {
                    Some(Outcome::Good(header)) if audit.chunks(chunks.clone(), header).is_ok() => {
                        report.nbytes += (chunks.end - chunks.start).saturating_mul(header.nbytes as u64);
                    }
                    Some(Outcome::Unverified(header)) if audit.chunks(chunks.clone(), header).is_ok() => {
                        report.unverified.push(chunks);
                    }
                    _ => report.find(Finding::Duplicate { chunks, of }),
                }
                continue;
            }
            let first = chunks.start;
            let audited = encoded.and_then(|bytes| {
                let header = ChunkHeader::parse(&bytes).map_err(|e| shared.decode_error(first, e))?;
                audit.chunks(chunks.clone(), &header)?;
                frame.check_chunk_bytes(first, &bytes)?;
                Ok((bytes, header))
            });
            if let Some(digest) = &mut digest {
                digest.chunk(first, audited.as_ref().ok().map(|(bytes, _)| bytes)).await?;
            }
            let outcome = match (audited, decoded) {
                (Ok((_, header)), Ok(_)) => {
                    report.nbytes += (chunks.end - first).saturating_mul(header.nbytes as u64);
                    Outcome::Good(header)
                }
                (Ok((_, header)), Err(error)) if error.kind() == ErrorKind::NoProvider => {
                    report.unverified.push(chunks);
                    plugins.extend(header.plugins());
                    Outcome::Unverified(header)
                }
                // What has been read so far and what there is now are two frames.
                (Err(error @ ReadError::Replaced(_)), _) | (Ok(_), Err(error @ ReadError::Replaced(_))) => {
                    return Err(error);
                }
                (Err(source), _) | (Ok(_), Err(source)) => {
                    report.find(Finding::Chunk { chunk: first, source });
                    if chunks.end - first > 1 {
                        report.find(Finding::Duplicate { chunks: first + 1..chunks.end, of: first });
                    }
                    Outcome::Bad
                }
            };
            if frame.shares_chunks() {
                outcomes.insert(first, outcome);
            }
        }
    }
    if report.findings.is_empty()
        && let Err(error) = audit.finish()
    {
        report.find(Finding::Totals(error));
    }
    let names: Vec<String> = frame.trailer().vlmetalayers.names().map(|name| name.into_owned()).collect();
    for name in names {
        match shared.check_vlmetalayer(&name).await {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::NoProvider => {
                let chunk = frame.trailer().vlmetalayers.get(&name).map(|chunk| ChunkHeader::parse(chunk));
                plugins.extend(chunk.iter().flatten().flat_map(ChunkHeader::plugins));
                report.unverified_metalayers.push(name);
            }
            Err(source) => report.find(Finding::Metalayer { name, source }),
        }
    }
    report.missing = shared.decoding.registry.missing(plugins);
    if report.checksums == ChecksumState::Damaged {
        report.find(Finding::Metadata);
    }
    if let Some(digest) = digest {
        let expected = frame.fingerprint();
        let found = digest.finish().await?;
        report.fingerprint = if found == Some(expected) {
            FingerprintCheck::Matches(expected)
        } else {
            // Without all chunk files there is nothing to compare with, and there is a finding already.
            if let Some(found) = found {
                report.find(Finding::Fingerprint { expected, found });
            }
            FingerprintCheck::Differs
        };
    }
    Ok(report)
}

/// What came of a chunk.
enum Outcome {
    Good(ChunkHeader),
    /// Its codec, or one of its filters, is not available.
    Unverified(ChunkHeader),
    Bad,
}

/// Chunks to be looked at.
struct ChunkGroup {
    /// They are identical: the first one stands for all.
    chunks: Range<u64>,
    /// The chunk to be examined for them: the first one, or an earlier one in the same place.
    of: u64,
}

/// Chunks that are looked at together.
fn groups<S: RangeSource + 'static>(shared: &ReaderInner<S>) -> impl Iterator<Item = Vec<ChunkGroup>> {
    let frame = &shared.frame;
    let mut next = 0;
    // The first chunk at each place and length that several share.
    let mut seen = HashMap::new();
    std::iter::from_fn(move || {
        let mut group = Vec::new();
        let (mut bytes, mut decoded) = (0, 0usize);
        while next < frame.nchunks()
            && (group.len() as u64) < GROUP_CHUNKS
            && bytes < GROUP_BYTES
            && decoded < GROUP_DECODED
        {
            let chunks = frame.run_of(next);
            next = chunks.end;
            let first = chunks.start;
            // An entry that makes no sense is an error when the group is read.
            let span = shared.stored_span(first).ok().flatten();
            if let Some(span) = span.as_ref().filter(|_| frame.shares_chunks()) {
                let of = *seen.entry((span.start(), frame.chunk_len(first))).or_insert(first);
                if of != first {
                    group.push(ChunkGroup { chunks, of });
                    continue;
                }
            }
            bytes += span.map_or(0, |span| span.len());
            // Chunks that take next to nothing in the file may take long to decode.
            decoded = decoded.saturating_add(frame.chunk_len(first).unwrap_or(GROUP_DECODED));
            group.push(ChunkGroup { chunks, of: first });
        }
        (!group.is_empty()).then_some(group)
    })
}

/// The result of examining chunks.
struct CheckedGroup {
    chunks: Range<u64>,
    of: u64,
    /// The bytes of the first chunk and its decoded length; nothing if another chunk was examined for it.
    encoded: Result<Bytes, ReadError>,
    decoded: Result<usize, ReadError>,
}

async fn check_group<S: RangeSource + 'static>(
    shared: &Arc<ReaderInner<S>>,
    memory: &Budget,
    group: Vec<ChunkGroup>,
) -> Result<Vec<CheckedGroup>, ReadError> {
    let wanted: Vec<u64> = group.iter().filter(|look| look.of == look.chunks.start).map(|look| look.of).collect();
    let mut fetched = shared.fetch_chunks(wanted.into_iter()).await?.into_iter();
    let looks = group.into_iter().map(|ChunkGroup { chunks, of }| {
        let encoded = match of == chunks.start {
            true => fetched.next().map_or_else(|| Err(shared.changed(of)), |(_, encoded)| encoded).map(Some),
            false => Ok(None),
        };
        async move {
            let decoded = match &encoded {
                Ok(Some(bytes)) => check(shared, memory, of, bytes).await,
                _ => Ok(0),
            };
            CheckedGroup { chunks, of, encoded: encoded.map(Option::unwrap_or_default), decoded }
        }
    });
    // All of them are polled, so that one that waits for memory never blocks one that holds some.
    Ok(join_all(looks).await)
}

/// Checks that a chunk decodes, as soon as the budget has room for its blocks.
async fn check<S: RangeSource + 'static>(
    shared: &Arc<ReaderInner<S>>,
    memory: &Budget,
    chunk: u64,
    bytes: &Bytes,
) -> Result<usize, ReadError> {
    let decoding = &shared.decoding;
    let header = ChunkHeader::parse(bytes).map_err(|e| shared.decode_error(chunk, e))?;
    let limit = decoding.limits.in_flight_bytes;
    let mut needed = ChunkDecoder::check_bytes(&header, &decoding.registry, decoding.pool.threads());
    let alone = needed > limit;
    if alone {
        needed = ChunkDecoder::check_bytes(&header, &decoding.registry, 1);
    }
    if needed > limit {
        let what = "memory for its blocks (`Limits::in_flight_bytes`)";
        let source = ChunkError::Limit { what, limit, found: needed };
        return Err(shared.decode_error(chunk, source));
    }
    let _held = memory.acquire(needed).await;
    let job = decoding.check(bytes.clone(), shared.frame.chunk_context(chunk), alone);
    shared.decoded(chunk, job.await)
}

/// The fingerprint of a frame, computed while its chunks are read.
struct Digest<'a, S> {
    shared: &'a ReaderInner<S>,
    fingerprint: Fingerprinter,
    /// Everything before this offset has been digested; nothing of the chunks section when they come out of order.
    at: u64,
    /// Whether the chunks of a sparse frame have all been there.
    complete: bool,
}

impl<'a, S: RangeSource + 'static> Digest<'a, S> {
    /// `None` when the frame has no fingerprint that could be compared.
    async fn begin(shared: &'a ReaderInner<S>, report: &mut VerifyReport) -> Result<Option<Self>, ReadError> {
        let frame = &shared.frame;
        if frame.header().layout != FrameLayout::Current {
            // Frames from before 2021 may have anything in its place.
            return Ok(None);
        }
        if shared.growing.as_ref().is_some_and(|growing| !growing.end.closed) {
            // It has no trailer yet.
            return Ok(None);
        }
        let end = frame.frame_len();
        // No overflow: a frame ends with a trailer, which ends with these.
        let tail = end - Fingerprint::LEN as u64..end;
        let marker = read(shared, tail).await?.first().copied().unwrap_or_default();
        let found = frame.fingerprint();
        let kind = FingerprintKind::from_u8(found.kind);
        if marker != Fingerprint::NONE.to_bytes()[0] || (kind.is_none() && found != Fingerprint::NONE) {
            report.findings.push(Finding::NoFingerprint { marker, kind: found.kind, digest: found });
            report.fingerprint = FingerprintCheck::Differs;
            return Ok(None);
        }
        let at = frame.header_bytes().len() as u64;
        let digest = |kind| Self { shared, fingerprint: Fingerprinter::new(kind), at, complete: true };
        Ok(kind.map(digest))
    }

    /// Digests the next chunk of the index, whose bytes may be damaged.
    async fn chunk(&mut self, chunk: u64, bytes: Option<&Bytes>) -> Result<(), ReadError> {
        match (self.shared.frame.entry(chunk), bytes) {
            (Ok(ChunkEntry::File { .. }), Some(bytes)) => self.fingerprint.update(bytes),
            (Ok(ChunkEntry::File { .. }), None) => self.complete = false,
            // What is skipped here, because it is damaged or follows later, is read again in its turn.
            (Ok(ChunkEntry::Stored { offset }), Some(bytes))
                if self.shared.frame.is_in_order() && offset >= self.at =>
            {
                self.read_to(offset).await?;
                self.fingerprint.update(bytes);
                self.at = offset + bytes.len() as u64;
            }
            _ => {}
        }
        Ok(())
    }

    /// Digests everything up to `end`, from the source.
    async fn read_to(&mut self, end: u64) -> Result<(), ReadError> {
        while self.at < end {
            let part = self.at..end.min(self.at + GROUP_BYTES);
            let bytes = read(self.shared, part.clone()).await?;
            self.fingerprint.update(&bytes);
            self.at = part.end;
        }
        Ok(())
    }

    /// `None` when parts are missing.
    async fn finish(mut self) -> Result<Option<Fingerprint>, ReadError> {
        let frame = &self.shared.frame;
        self.read_to(frame.frame_len() - Fingerprint::LEN as u64).await?;
        self.fingerprint.update(frame.header_bytes());
        Ok(self.complete.then(|| self.fingerprint.finish()))
    }
}

/// Bytes of the file with the frame, or with the index of a sparse frame.
async fn read<S: RangeSource + 'static>(shared: &ReaderInner<S>, range: Range<u64>) -> Result<Bytes, ReadError> {
    Ok(shared.source_ref().read_range(shared.start + range.start..shared.start + range.end).await?)
}
