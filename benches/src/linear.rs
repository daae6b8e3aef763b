//! Time and memory of frames from 1 MiB to 8 GiB: neither may grow faster than the frame.

use std::fs;
use std::path::Path;

use bytes::Bytes;
use oxiblosc_streaming::source::FileSource;
use oxiblosc_streaming::{Pool, ReadOptions, WriteOptions, blocking};

use crate::peer::ours;
use crate::race::{Clock, median};
use crate::settings::{Codec, Filter, Settings};
use crate::workload::Source;
use crate::{Error, Result};

const MIB: usize = 1 << 20;
const CHUNK: usize = MIB;

/// Lengths of the frames in MiB. The longest are written from one buffer again and again and never held.
const LENGTHS: [usize; 6] = [1, 8, 64, 512, 2048, 8192];

/// The buffer that is written repeatedly.
const BUFFER: usize = 64 * MIB;

/// The most by which the time per byte, or the memory for the longest frame, may exceed that of the frame of [`BUFFER`]
/// bytes.
const TOLERANCE: f64 = 1.10;

/// What one frame cost.
struct Cost {
    mib: usize,
    /// Nanoseconds of processor time per byte.
    write: f64,
    read: f64,
    /// The most memory that was resident, in KiB; `None` where the system does not say.
    peak: Option<u64>,
}

/// Measures and prints; returns how many figures are out of proportion.
///
/// # Errors
/// When a file cannot be written or read.
pub fn run() -> Result<usize> {
    let source = Source::named("timestamps-i64").ok_or_else(|| Error::new("no such data set"))?;
    let workload = source.load(BUFFER)?;
    let settings = Settings {
        codec: Codec::Lz4,
        filter: Filter::Shuffle,
        level: 5,
        threads: 1,
        typesize: workload.typesize,
        block_size: None,
    };
    let options = WriteOptions::new(ours::params(&settings)).chunk_size(CHUNK).pool(&Pool::inline());
    let data = Bytes::from(workload.bytes);
    let directory = tempfile::tempdir().map_err(Error::new)?;
    let path = directory.path().join("frame.b2frame");
    let costs = LENGTHS.iter().map(|&mib| measure(&path, &options, &data, mib)).collect::<Result<Vec<_>>>()?;

    let base =
        costs.iter().find(|cost| cost.mib * MIB == BUFFER).ok_or_else(|| Error::new("no frame to compare with"))?;
    println!("{:>8}{:>14}{:>8}{:>14}{:>8}{:>16}", "MiB", "write ns/B", "", "read ns/B", "", "peak KiB");
    let mut out_of_line = 0;
    for cost in &costs {
        let (write, read) = (cost.write / base.write, cost.read / base.read);
        let peak = cost.peak.map_or_else(|| "-".into(), |peak| peak.to_string());
        println!("{:>8}{:>14.3}{write:>8.2}{:>14.3}{read:>8.2}{peak:>16}", cost.mib, cost.write, cost.read);
        // In shorter frames, opening and closing files matters.
        if cost.mib * MIB > BUFFER {
            let grown = matches!((cost.peak, base.peak), (Some(a), Some(b)) if a as f64 > b as f64 * TOLERANCE);
            out_of_line += usize::from(write > TOLERANCE) + usize::from(read > TOLERANCE) + usize::from(grown);
        }
    }
    Ok(out_of_line)
}

fn measure(path: &Path, options: &WriteOptions, data: &Bytes, mib: usize) -> Result<Cost> {
    let len = mib * MIB;
    // Medians of several, of short frames of more.
    let rounds = (512 / mib).clamp(1, 63) | 1;
    forget_peak();
    let timed = |work: &dyn Fn() -> Result<()>| -> Result<f64> {
        let times = (0..rounds).map(|_| {
            let begin = Clock::Cpu.now();
            work()?;
            Ok((Clock::Cpu.now() - begin) * 1e9 / len as f64)
        });
        times.collect::<Result<Vec<f64>>>().map(median)
    };
    let write = timed(&|| {
        let mut writer = blocking::FrameWriter::create(path, options.clone()).map_err(Error::new)?;
        for start in (0..len).step_by(CHUNK) {
            let start = start % data.len();
            writer.push(data.slice(start..start + CHUNK)).map_err(Error::new)?;
        }
        writer.finish().map(drop).map_err(Error::new)
    })?;
    let read = timed(&|| {
        let source = FileSource::open_inline(path).map_err(Error::new)?;
        let reader = blocking::FrameReader::with_options(source, ReadOptions::new().pool(&Pool::inline()));
        let mut at = 0;
        for chunk in reader.map_err(Error::new)?.chunks() {
            let chunk = chunk.map_err(Error::new)?;
            // One look at each: the time is that of reading.
            if chunk.len() != CHUNK || chunk[..64] != data[at % data.len()..][..64] {
                return Err(Error::new(format!("the bytes at {at} differ")));
            }
            at += CHUNK;
        }
        if at == len { Ok(()) } else { Err(Error::new(format!("{at} bytes read, {len} written"))) }
    })?;
    Ok(Cost { mib, write, read, peak: peak() })
}

/// Makes Linux reset its record of the most memory that was resident; does nothing elsewhere.
fn forget_peak() {
    let _ = fs::write("/proc/self/clear_refs", "5");
}

fn peak() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches("kB").trim().parse().ok()
}
