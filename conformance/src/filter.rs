//! The promises of a filter.

use oxiblosc_core::filter::{BlockContext, Filter};
use oxiblosc_core::registry::{FilterEntry, Registry, RegistryError};
use oxiblosc_core::{FilterId, nd::Geometry};

use crate::data::{Random, lengths, samples};
use crate::report::Report;

/// Checks the filter `id` of `registry`.
#[derive(Debug, Clone)]
pub struct FilterCheck<'a> {
    registry: &'a Registry,
    id: FilterId,
    metas: Vec<u8>,
    typesizes: Vec<usize>,
    geometry: Option<(Geometry, usize)>,
}

impl<'a> FilterCheck<'a> {
    /// A check with meta byte 0 and the type sizes 1, 2, 3, 4, 7, 8, 12, 16 and 255.
    pub fn new(registry: &'a Registry, id: FilterId) -> Self {
        Self { registry, id, metas: vec![0], typesizes: vec![1, 2, 3, 4, 7, 8, 12, 16, 255], geometry: None }
    }

    /// The meta bytes to run with; each must be valid for every type size.
    #[must_use]
    pub fn metas(mut self, metas: &[u8]) -> Self {
        self.metas = metas.to_vec();
        self
    }

    /// The type sizes to run with, for filters that do not work on all of them.
    #[must_use]
    pub fn typesizes(mut self, typesizes: &[usize]) -> Self {
        self.typesizes = typesizes.to_vec();
        self
    }

    /// Checks blocks of one array instead of blocks of any length, for filters that need the shape.
    #[must_use]
    pub fn geometry(mut self, geometry: Geometry, typesize: usize) -> Self {
        self.typesizes = vec![typesize];
        self.geometry = Some((geometry, typesize));
        self
    }

    /// Checks every promise and reports which were kept.
    ///
    /// # Errors
    /// When the registry has no filter with this id.
    pub fn run(&self) -> Result<Report, RegistryError> {
        let entry = self.registry.filter(self.id)?;
        let info = entry.info();
        let mut report = Report::new(format!("filter {:?}, id {}, of `{}`", info.name, info.id, info.provider));
        for &typesize in &self.typesizes {
            for &meta in &self.metas {
                for len in self.block_lengths(typesize) {
                    self.check_length(entry, typesize, meta, len, &mut report);
                }
            }
        }
        Ok(report)
    }

    fn block_lengths(&self, typesize: usize) -> Vec<usize> {
        match &self.geometry {
            Some((geometry, typesize)) => {
                let items: usize = geometry.block_shape.iter().map(|&n| n as usize).product();
                vec![items * typesize]
            }
            None => lengths(typesize),
        }
    }

    fn check_length(&self, entry: &FilterEntry, typesize: usize, meta: u8, len: usize, report: &mut Report) {
        let mut ctx = BlockContext::new(typesize);
        ctx.meta = meta;
        ctx.last_short = !len.is_multiple_of(typesize);
        ctx.nd = self.geometry.as_ref().map(|(geometry, _)| geometry.into());
        let lossy = entry.info().traits.lossy;
        let mut worn = entry.instance();
        for sample in samples(len) {
            let what = format!("{} of {len} bytes, type size {typesize}, meta {meta}", sample.name);
            let src = &sample.bytes;
            let mut stored = Vec::new();
            report.check("forward accepts every block", || {
                stored = apply(&mut *worn, Direction::Forward, &ctx, src, 0)?;
                Ok(())
            });
            if stored.is_empty() {
                continue;
            }
            report.check("every byte of the output is written", || {
                let again = apply(&mut *entry.instance(), Direction::Forward, &ctx, src, 0xff)?;
                same(&stored, &again, &what)
            });
            report.check("one call does not influence the next", || {
                let fresh = apply(&mut *entry.instance(), Direction::Forward, &ctx, src, 0)?;
                same(&fresh, &stored, &what)
            });
            report.check("backward undoes forward", || {
                let restored = apply(&mut *worn, Direction::Backward, &ctx, &stored, 0x55)?;
                if lossy {
                    // A lossy filter must be idempotent: filtering the restored block again gives the same bytes.
                    let again = apply(&mut *worn, Direction::Forward, &ctx, &restored, 0x55)?;
                    let twice = apply(&mut *worn, Direction::Backward, &ctx, &again, 0x55)?;
                    same(&restored, &twice, &what)
                } else {
                    same(src, &restored, &what)
                }
            });
            report.check("backward survives damaged blocks", || {
                let mut random = Random::new(len as u64);
                let mut damaged = stored.clone();
                for _ in 0..4 {
                    damaged[random.below(len)] ^= 1 << random.below(8);
                }
                // An error is fine; a panic is not.
                let _ = apply(&mut *worn, Direction::Backward, &ctx, &damaged, 0);
                Ok(())
            });
            report.check("clones work side by side", || {
                std::thread::scope(|scope| {
                    let workers: Vec<_> = (0..2)
                        .map(|_| {
                            let mut clone = worn.clone();
                            let ctx = &ctx;
                            scope.spawn(move || apply(&mut *clone, Direction::Forward, ctx, src, 0))
                        })
                        .collect();
                    workers.into_iter().try_for_each(|w| {
                        let out = w.join().map_err(|_| "panicked on a thread".to_owned())??;
                        same(&stored, &out, &what)
                    })
                })
            });
        }
    }
}

#[derive(Clone, Copy)]
enum Direction {
    Forward,
    Backward,
}

/// Runs the filter into a buffer filled with `stale`.
fn apply(
    filter: &mut dyn Filter,
    direction: Direction,
    ctx: &BlockContext<'_>,
    src: &[u8],
    stale: u8,
) -> Result<Vec<u8>, String> {
    let mut dst = vec![stale; src.len()];
    match direction {
        Direction::Forward => filter.forward(ctx, src, &mut dst),
        Direction::Backward => filter.backward(ctx, src, &mut dst),
    }
    .map_err(|e| e.to_string())?;
    Ok(dst)
}

fn same(expected: &[u8], found: &[u8], what: &str) -> Result<(), String> {
    match expected.iter().zip(found).position(|(a, b)| a != b) {
        None => Ok(()),
        Some(at) => Err(format!("{what}: byte {at} is {:#04x}, expected {:#04x}", found[at], expected[at])),
    }
}
