//! Reading a whole frame to see whether it is what it was.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures::stream::{self, StreamExt};
use oxiblosc_core::chunk::ChunkHeader;
use oxiblosc_core::frame::{
    ChecksumState, ChunkEntry, Fingerprint, FingerprintKind, Fingerprinter, FrameAudit, Layout,
};

use super::{Finding, FingerprintCheck, VerifyReport};
use crate::error::ReadError;
use crate::reader::Shared;
use crate::source::RangeSource;

/// Encoded bytes that are asked for at once, at most one chunk more...
const GROUP_BYTES: u64 = 4 << 20;
/// ... and the bytes they decode to.
const GROUP_DECODED: usize = 32 << 20;
const GROUP_CHUNKS: u64 = 256;
/// Groups under way at a time.
const GROUPS_AT_ONCE: usize = 2;

pub(crate) async fn verify<S: RangeSource + 'static>(shared: &Arc<Shared<S>>) -> Result<VerifyReport, ReadError> {
    let frame = &shared.frame;
    let mut report = VerifyReport {
        chunks: frame.nchunks(),
        nbytes: 0,
        checksums: frame.checksums().clone(),
        fingerprint: FingerprintCheck::Absent,
        findings: Vec::new(),
    };
    let mut digest = Digest::begin(shared, &mut report).await?;
    let mut audit = FrameAudit::new(frame);
    let groups = groups(shared).map(|group| decode_group(shared, group));
    let mut groups = stream::iter(groups).buffered(GROUPS_AT_ONCE);
    while let Some(group) = groups.next().await {
        for (chunk, encoded, decoded) in group? {
            let audited = encoded.and_then(|bytes| {
                let header = ChunkHeader::parse(&bytes).map_err(|e| shared.decode_error(chunk, e))?;
                audit.chunk(chunk, &header)?;
                frame.check_chunk_bytes(chunk, &bytes)?;
                Ok(bytes)
            });
            if let Some(digest) = &mut digest {
                digest.chunk(chunk, audited.as_ref().ok()).await?;
            }
            match audited.and(decoded) {
                Ok(len) => report.nbytes += len as u64,
                Err(source) => report.findings.push(Finding::Chunk { chunk, source }),
            }
        }
    }
    if report.findings.is_empty()
        && let Err(error) = audit.finish()
    {
        report.findings.push(Finding::Totals(error));
    }
    let names: Vec<String> = frame.trailer().vlmetalayers.names().map(|name| name.into_owned()).collect();
    for name in names {
        if let Err(source) = shared.vlmetalayer(&name).await {
            report.findings.push(Finding::Metalayer { name, source });
        }
    }
    if report.checksums == ChecksumState::Damaged {
        report.findings.push(Finding::Metadata);
    }
    if let Some(digest) = digest {
        let expected = frame.fingerprint();
        let found = digest.finish().await?;
        report.fingerprint = if found == Some(expected) {
            FingerprintCheck::Matches(expected)
        } else {
            // Without all chunk files there is nothing to compare with, and a finding already.
            report.findings.extend(found.map(|found| Finding::Fingerprint { expected, found }));
            FingerprintCheck::Differs
        };
    }
    Ok(report)
}

/// Ranges of chunks that are fetched together.
fn groups<S: RangeSource>(shared: &Shared<S>) -> impl Iterator<Item = Range<u64>> {
    let nchunks = shared.frame.nchunks();
    let mut next = 0;
    std::iter::from_fn(move || {
        let first = next;
        let (mut bytes, mut decoded) = (0, 0usize);
        while next < nchunks && next - first < GROUP_CHUNKS && bytes < GROUP_BYTES && decoded < GROUP_DECODED {
            // An entry that makes no sense is an error when the group is read.
            bytes += shared.stored_span(next).ok().flatten().map_or(0, |span| span.end - span.start);
            // Chunks that take next to nothing in the file may decode to gigabytes.
            decoded = decoded.saturating_add(shared.frame.chunk_len(next).unwrap_or(GROUP_DECODED));
            next += 1;
        }
        (first < next).then_some(first..next)
    })
}

/// A chunk, its bytes, and how many bytes they decode to.
type Decoded = (u64, Result<Bytes, ReadError>, Result<usize, ReadError>);

async fn decode_group<S: RangeSource>(shared: &Shared<S>, group: Range<u64>) -> Result<Vec<Decoded>, ReadError> {
    let mut jobs = Vec::new();
    for (chunk, encoded) in shared.fetch_chunks(group).await? {
        let (decoding, context) = (&shared.decoding, shared.frame.chunk_context(chunk));
        let job = encoded.as_ref().ok().map(|bytes| decoding.decode(bytes.clone(), context));
        jobs.push((chunk, encoded, job));
    }
    let mut decoded = Vec::with_capacity(jobs.len());
    for (chunk, encoded, job) in jobs {
        let len = match job {
            Some(job) => shared.decoded(chunk, job.await).map(|bytes| bytes.len()),
            None => Ok(0),
        };
        decoded.push((chunk, encoded, len));
    }
    Ok(decoded)
}

/// The fingerprint of a frame, computed as its chunks come by.
struct Digest<'a, S> {
    shared: &'a Shared<S>,
    fingerprint: Fingerprinter,
    /// Everything before this offset has been digested; nothing of the chunks section when they come out of order.
    at: u64,
    /// Whether the chunks of a sparse frame have all been there.
    complete: bool,
}

impl<'a, S: RangeSource> Digest<'a, S> {
    /// `None` when the frame has no fingerprint that could be compared.
    async fn begin(shared: &'a Shared<S>, report: &mut VerifyReport) -> Result<Option<Self>, ReadError> {
        let frame = &shared.frame;
        if frame.header().layout != Layout::Current {
            // Frames before 2021 may have anything in its place.
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
            // What is skipped here, because it is damaged or comes later, is read again when its turn comes.
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
async fn read<S: RangeSource>(shared: &Shared<S>, range: Range<u64>) -> Result<Bytes, ReadError> {
    Ok(shared.reads().read_range(shared.start + range.start..shared.start + range.end).await?)
}
