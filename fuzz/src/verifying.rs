//! Checks that verification finds what reading finds.

use std::collections::BTreeSet;

use oxiblosc::blocking::FrameReader;
use oxiblosc::frame::ChecksumState;

use crate::place::Place;
use crate::reading::Content;

/// Checks that every chunk that does not decode is reported, that a good frame decodes as a whole, and that the chunks
/// of a frame that decodes as a whole are good unless its checksums say otherwise.
///
/// # Panics
/// When one of these does not hold.
pub(crate) fn check<P: Place>(reader: &FrameReader<P>, content: Option<&Content>) {
    let Ok(report) = reader.verify() else { return };
    let Some(content) = content else { return };
    let bad: BTreeSet<u64> = report.bad_chunks().collect();
    for (i, _) in (0..).zip(&content.chunks).filter(|(_, chunk)| chunk.is_none()) {
        let said = bad.contains(&i) || report.unverified.contains(&i);
        assert!(said, "chunk {i} does not decode, and the report does not say so: {report}");
    }
    if report.is_good() {
        assert!(content.whole.is_some(), "good, and the whole does not decode: {report}");
        for name in reader.vlmetalayer_names() {
            assert!(reader.vlmetalayer(&name).is_ok(), "good, and metalayer {name:?} does not decode");
        }
        assert_eq!(report.nbytes, reader.nbytes(), "good, and of another length");
        assert_eq!(report.chunks, reader.nchunks(), "good, with another number of chunks");
    }
    if content.whole.is_some() && !matches!(report.checksums, ChecksumState::Valid(_)) && bad.iter().len() > 0 {
        // A frame in which only some chunks have blocks of variable length decodes here, and C-Blosc2 refuses it.
        let variable = |i: u64| {
            let chunk = reader.encoded_chunk(i).ok()?;
            Some(oxiblosc::chunk::ChunkHeader::parse(&chunk).ok()?.has_vl_blocks())
        };
        let first = variable(0);
        for i in bad {
            assert_ne!(variable(i), first, "all chunks decode, and chunk {i} is called bad: {report}");
        }
    }
}
