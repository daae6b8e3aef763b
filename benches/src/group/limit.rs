//! Group `limits`: how far from what the machine can do. A stored chunk beside a memory copy of the same bytes, and a
//! chunk beside its codec and its filter alone on the same blocks.

use std::time::Duration;

use oxiblosc_core::FilterId;
use oxiblosc_core::codec::CodecContext;
use oxiblosc_core::filter::BlockContext;
use oxiblosc_core::registry::Registry;

use super::{Schedule, Session, Subject};
use crate::matrix::Form;
use crate::peer::{ChunkCodec, Slot, name, ours};
use crate::race::Lane;
use crate::settings::{Codec, Filter, Settings};
use crate::synthetic::Random;
use crate::workload::{Role, Source};
use crate::{Error, Result};

/// Bytes of stored chunks; those of less than a cache line's worth of work are repeated.
const SIZES: [usize; 7] = [100, 1 << 10, 10 << 10, 100 << 10, 1 << 20, 8 << 20, 64 << 20];
/// A round handles at least so many bytes, or its time could not be taken.
const ROUND: usize = 256 << 10;
const RACE: Duration = Duration::from_millis(500);
/// A block in the cache, a chunk of one, and one of several.
const BLOCK: usize = 128 << 10;
const CHUNKS: [usize; 2] = [BLOCK, 4 << 20];

fn codecs(form: Form) -> &'static [Codec] {
    if form == Form::Short { &[Codec::Lz4] } else { &Codec::ALL }
}

/// Measures all limits.
///
/// # Errors
/// When the data cannot be loaded; a case that fails is noted and passed over.
pub fn run(session: &mut Session, time: Duration) -> Result<()> {
    eprintln!("limits");
    let mut schedule = Schedule::start(time, SIZES.len() + 3 * CHUNKS.len() * codecs(session.form).len());
    for size in SIZES {
        let subject = subject(format!("stored chunk of {size} bytes"), "-", "none", 5);
        let result = stored(session, &subject, size, &mut schedule);
        session.note(&subject, result);
    }
    for &codec in codecs(session.form) {
        for len in CHUNKS {
            let level = if codec == Codec::Zstd { 1 } else { 5 };
            let subject = |what: &str| {
                let workload = format!("disparity-f32, {what} of {} KiB chunk", len >> 10);
                subject(workload, codec.name(), "shuffle", level)
            };
            let result = alone(session, &subject, codec, level, len, &mut schedule);
            session.note(&subject("work"), result);
        }
    }
    Ok(())
}

fn subject(workload: String, codec: &'static str, filter: &'static str, level: u8) -> Subject {
    Subject { group: "limits", workload, role: Role::Tuned, codec, filter, level, threads: 1 }
}

fn stored(session: &mut Session, subject: &Subject, size: usize, schedule: &mut Schedule) -> Result<()> {
    let mut random = Random::seeded(size as u64);
    let data: Vec<u8> = (0..size).map(|_| random.next() as u8).collect();
    let settings =
        Settings { codec: Codec::Lz4, filter: Filter::None, level: 5, threads: 1, typesize: 1, block_size: None };
    let (mut ours, mut c) = (ours::Chunks::new(&settings)?, session.c.chunks(&settings)?);
    let mut chunk = Slot::default();
    c.compress(&data, &mut chunk)?;
    let repeats = (ROUND / size).max(1);
    let mut buffers = [(); 3].map(|()| vec![1; size]);
    let [to_ours, to_c, to_copy] = &mut buffers;
    let mut lanes = [
        Lane::new(name::OURS, |_| (0..repeats).try_for_each(|_| ours.decompress(&chunk, to_ours))),
        Lane::new(name::C, |_| (0..repeats).try_for_each(|_| c.decompress(&chunk, to_c))),
        Lane::new(name::COPY, |_| {
            for _ in 0..repeats {
                to_copy.copy_from_slice(std::hint::black_box(&data));
                std::hint::black_box(&mut *to_copy);
            }
            Ok(())
        }),
    ];
    session.measure(subject, repeats * size, schedule.next(RACE), &mut lanes, |_| 1.0)?;
    drop(lanes);
    if *to_ours == data { Ok(()) } else { Err(Error::new("a stored chunk differs")) }
}

/// A chunk that is not split, against filter and codec on each of its blocks, there and back; then one item of it
/// against the decoding of one block.
fn alone(
    session: &mut Session,
    subject: &dyn Fn(&str) -> Subject,
    codec: Codec,
    level: u8,
    len: usize,
    schedule: &mut Schedule,
) -> Result<()> {
    let workload = Source::named("disparity-f32").ok_or_else(|| Error::new("no such data set"))?.load(len)?;
    let typesize = workload.typesize;
    let settings = Settings { codec, filter: Filter::Shuffle, level, threads: 1, typesize, block_size: Some(BLOCK) };
    let mut params = ours::params(&settings);
    params.split = oxiblosc_core::chunk::SplitMode::Never;
    let mut ours = ours::Chunks::with_params(&params, 1)?;
    let registry = Registry::linked().map_err(Error::new)?;
    let mut filter = registry.filter(FilterId::SHUFFLE).map_err(Error::new)?.instance();
    let mut instance = registry.codec(codec.id()).map_err(Error::new)?.instance();
    let block = BlockContext::new(typesize);
    let mut ctx = CodecContext::new(block, level);
    ctx.filter = FilterId::SHUFFLE;
    let blocks: Vec<&[u8]> = workload.bytes.chunks(BLOCK).collect();
    let mut shuffled = vec![0; BLOCK];
    let mut coded: Vec<(Vec<u8>, Option<usize>)> = blocks.iter().map(|_| (vec![0; BLOCK], None)).collect();

    let mut chunk = Slot::default();
    let mut lanes = [
        Lane::new(name::OURS, |_| ours.compress(&workload.bytes, &mut chunk)),
        Lane::new(name::ALONE, |_| {
            for (plain, (coded, used)) in blocks.iter().zip(&mut coded) {
                filter.forward(&block, plain, &mut shuffled).map_err(Error::new)?;
                *used = instance.compress(&ctx, &shuffled, coded).map_err(Error::new)?;
            }
            Ok(())
        }),
    ];
    session.measure(&subject("compress"), len, schedule.next(RACE), &mut lanes, |_| 1.0)?;
    drop(lanes);

    let mut buffers = [(); 2].map(|()| vec![1; len]);
    let [to_ours, to_alone] = &mut buffers;
    let mut lanes = [
        Lane::new(name::OURS, |_| ours.decompress(&chunk, to_ours)),
        Lane::new(name::ALONE, |_| {
            for ((coded, used), decoded) in coded.iter().zip(to_alone.chunks_mut(BLOCK)) {
                // A block that did not get shorter is copied, as in a chunk.
                if let Some(used) = used {
                    instance.decompress(&ctx, &coded[..*used], &mut shuffled).map_err(Error::new)?;
                } else {
                    shuffled.copy_from_slice(coded);
                }
                filter.backward(&block, &shuffled, decoded).map_err(Error::new)?;
            }
            Ok(())
        }),
    ];
    session.measure(&subject("decompress"), len, schedule.next(RACE), &mut lanes, |_| 1.0)?;
    drop(lanes);
    if *to_ours != workload.bytes {
        return Err(Error::new("a chunk differs"));
    }

    let mut item = vec![0; typesize];
    let middle = BLOCK / typesize / 2;
    let (coded, used) = &coded[0];
    let Some(used) = used else { return Ok(()) };
    let mut lanes = [
        Lane::new(name::OURS, |_| ours.items(&chunk, middle, typesize, &mut item)),
        Lane::new(name::ALONE, |_| {
            instance.decompress(&ctx, &coded[..*used], &mut shuffled).map_err(Error::new)?;
            filter.backward(&block, &shuffled, &mut to_alone[..BLOCK]).map_err(Error::new)
        }),
    ];
    session.measure(&subject("1 item beside its block"), typesize, schedule.next(RACE), &mut lanes, |_| 1.0)
}
