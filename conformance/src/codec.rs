//! The promises of a codec.

use oxiblosc_core::CodecId;
use oxiblosc_core::codec::{Codec, CodecContext};
use oxiblosc_core::filter::BlockContext;
use oxiblosc_core::registry::{CodecEntry, Registry, RegistryError};

use crate::data::{Random, Sample, lengths, samples};
use crate::report::Report;

/// Checks the codec `id` of `registry`.
#[derive(Debug, Clone)]
pub struct CodecCheck<'a> {
    registry: &'a Registry,
    id: CodecId,
    metas: Vec<u8>,
    levels: Vec<u8>,
}

impl<'a> CodecCheck<'a> {
    /// A check with meta byte 0 at the levels 1, 5 and 9.
    pub fn new(registry: &'a Registry, id: CodecId) -> Self {
        Self { registry, id, metas: vec![0], levels: vec![1, 5, 9] }
    }

    /// The meta bytes to run with.
    #[must_use]
    pub fn metas(mut self, metas: &[u8]) -> Self {
        self.metas = metas.to_vec();
        self
    }

    /// The levels to run with.
    #[must_use]
    pub fn levels(mut self, levels: &[u8]) -> Self {
        self.levels = levels.to_vec();
        self
    }

    /// Checks every promise and reports which were kept.
    ///
    /// # Errors
    /// When the registry has no codec with this id.
    pub fn run(&self) -> Result<Report, RegistryError> {
        let entry = self.registry.codec(self.id)?;
        let info = entry.info();
        let mut report = Report::new(format!("codec {:?}, id {}, of `{}`", info.name, info.id, info.provider));
        for &meta in &self.metas {
            for &level in &self.levels {
                for len in lengths(4) {
                    for sample in samples(len) {
                        check_sample(entry, level, meta, &sample, &mut report);
                    }
                }
            }
        }
        Ok(report)
    }
}

fn check_sample(entry: &CodecEntry, level: u8, meta: u8, sample: &Sample, report: &mut Report) {
    let src = &sample.bytes;
    let what = format!("{} of {} bytes, level {level}, meta {meta}", sample.name, src.len());
    let mut ctx = CodecContext::new(BlockContext::new(1), level);
    ctx.meta = meta;
    let mut worn = entry.instance();
    let mut packed = None;
    report.check("compress accepts every stream", || {
        packed = compress(&mut *worn, &ctx, src, src.len(), 0)?;
        Ok(())
    });
    report.check("a result that does not fit is told by value", || {
        for room in [0, 1, 2, src.len() / 4, src.len() / 2] {
            if let Some(fits) = compress(&mut *entry.instance(), &ctx, src, room, 0)?
                && decompress(&mut *entry.instance(), &ctx, &fits, src.len())? != *src
            {
                return Err(format!("{what}: into {room} bytes gives a wrong stream"));
            }
        }
        Ok(())
    });
    let Some(packed) = packed else { return };
    report.check("one call does not influence the next", || {
        let fresh = compress(&mut *entry.instance(), &ctx, src, src.len(), 0xff)?;
        if fresh.as_ref() == Some(&packed) { Ok(()) } else { Err(format!("{what}: two instances disagree")) }
    });
    report.check("decompress undoes compress", || {
        // The level is not stored.
        let mut back = ctx;
        back.level = None;
        let restored = decompress(&mut *entry.instance(), &back, &packed, src.len())?;
        if restored == *src { Ok(()) } else { Err(format!("{what}: other bytes come back")) }
    });
    report.check("a wrong decoded length is noticed", || {
        for len in [src.len() - 1, src.len() + 1].into_iter().filter(|&len| len > 0) {
            let mut dst = vec![0; len];
            if matches!(entry.instance().decompress(&ctx, &packed, &mut dst), Ok(n) if n == len) {
                return Err(format!("{what}: claims to decode to {len} bytes"));
            }
        }
        Ok(())
    });
    report.check("decompress survives damaged streams", || {
        let mut random = Random::new(packed.len() as u64);
        let mut codec = entry.instance();
        let mut dst = vec![0; src.len()];
        for cut in [0, 1, packed.len() / 2, packed.len() - 1] {
            let _ = codec.decompress(&ctx, &packed[..cut], &mut dst);
        }
        for _ in 0..8 {
            let mut damaged = packed.clone();
            damaged[random.below(packed.len())] ^= 1 << random.below(8);
            let _ = codec.decompress(&ctx, &damaged, &mut dst);
        }
        // Damage must not persist in a reused context.
        let restored = decompress(&mut *codec, &ctx, &packed, src.len())?;
        if restored == *src { Ok(()) } else { Err(format!("{what}: damage outlives its stream")) }
    });
}

/// Compresses into `room` bytes filled with `stale`.
fn compress(
    codec: &mut dyn Codec,
    ctx: &CodecContext<'_>,
    src: &[u8],
    room: usize,
    stale: u8,
) -> Result<Option<Vec<u8>>, String> {
    let mut dst = vec![stale; room];
    match codec.compress(ctx, src, &mut dst).map_err(|e| e.to_string())? {
        None => Ok(None),
        Some(0) => Err("claims that a stream takes no bytes".to_owned()),
        Some(n) if n > room => Err(format!("claims {n} bytes in a buffer of {room}")),
        Some(n) => {
            dst.truncate(n);
            Ok(Some(dst))
        }
    }
}

fn decompress(codec: &mut dyn Codec, ctx: &CodecContext<'_>, src: &[u8], len: usize) -> Result<Vec<u8>, String> {
    let mut dst = vec![0; len];
    let n = codec.decompress(ctx, src, &mut dst).map_err(|e| e.to_string())?;
    if n == len { Ok(dst) } else { Err(format!("{n} bytes decoded, expected {len}")) }
}
