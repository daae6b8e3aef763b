//! Group `filter`: the filters alone, on one block that stays in the cache, as it does inside a pipeline.

use std::cell::RefCell;
use std::time::Duration;

use blosc2_pure_rs::constants::BLOSC2_VERSION_FORMAT as FORMAT;
use blosc2_pure_rs::filters as pure;
use oxiblosc_core::FilterId;
use oxiblosc_core::filter::{BlockContext, Filter};
use oxiblosc_core::registry::Registry;

use super::{Schedule, Session, Subject};
use crate::peer::c::ffi::ShuffleFn;
use crate::peer::c::{check, int};
use crate::peer::name;
use crate::race::Lane;
use crate::workload::{Role, Source, Workload};
use crate::{Error, Result};

/// The block that C-Blosc2's automatic choice comes to for many settings.
const BLOCK: usize = 256 << 10;
/// Blocks per round: one takes some ten microseconds, which is too short to be timed alone.
const REPEAT: usize = 32;
const RACE: Duration = Duration::from_millis(400);

/// A filter or its inverse.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Forward,
    Backward,
}

/// One direction of one filter.
struct Case {
    name: &'static str,
    id: FilterId,
    direction: Direction,
}

const CASES: [Case; 9] = {
    use Direction::{Backward, Forward};
    [
        Case { name: "shuffle", id: FilterId::SHUFFLE, direction: Forward },
        Case { name: "unshuffle", id: FilterId::SHUFFLE, direction: Backward },
        Case { name: "bitshuffle", id: FilterId::BITSHUFFLE, direction: Forward },
        Case { name: "unbitshuffle", id: FilterId::BITSHUFFLE, direction: Backward },
        Case { name: "delta", id: FilterId::DELTA, direction: Forward },
        Case { name: "undelta", id: FilterId::DELTA, direction: Backward },
        Case { name: "trunc_prec", id: FilterId::TRUNC_PREC, direction: Forward },
        Case { name: "bytedelta", id: FilterId::BYTEDELTA, direction: Forward },
        Case { name: "unbytedelta", id: FilterId::BYTEDELTA, direction: Backward },
    ]
};

/// Measures every filter at the type sizes it has kernels for, and at one odd size.
///
/// # Errors
/// When the data cannot be loaded or the registry lacks a filter.
pub fn run(session: &mut Session, time: Duration) -> Result<()> {
    eprintln!("filters");
    let workload = Source::named("noisy-f32").ok_or_else(|| Error::new("no such data set"))?.load(BLOCK)?;
    let registry = Registry::linked().map_err(Error::new)?;
    let mut cases = Vec::new();
    for case in &CASES {
        for typesize in [2, 4, 7, 8, 16] {
            let fits = match case.id {
                FilterId::TRUNC_PREC => matches!(typesize, 4 | 8),
                // The peers disagree about a tail that is no whole item.
                FilterId::BYTEDELTA => BLOCK.is_multiple_of(typesize),
                _ => true,
            };
            if fits {
                cases.push((case, typesize));
            }
        }
    }
    let mut schedule = Schedule::start(time, cases.len());
    for (case, typesize) in cases {
        let subject = Subject {
            group: "filter",
            role: Role::Tuned,
            workload: format!("type size {typesize}"),
            codec: "-",
            filter: case.name,
            level: 0,
            threads: 1,
        };
        let result = run_case(session, &subject, case, typesize, &workload, registry, &mut schedule);
        session.note(&subject, result);
    }
    Ok(())
}

fn run_case(
    session: &mut Session,
    subject: &Subject,
    case: &Case,
    typesize: usize,
    workload: &Workload,
    registry: &Registry,
    schedule: &mut Schedule,
) -> Result<()> {
    let mut filter = registry.filter(case.id).map_err(Error::new)?.instance();
    let mut ctx = BlockContext::new(typesize);
    ctx.meta = match case.id {
        FilterId::BYTEDELTA => u8::try_from(typesize).map_err(Error::new)?,
        FilterId::TRUNC_PREC => 10,
        _ => 0,
    };
    // Later blocks are XORed with the first one, which is by far the most common case.
    let reference = workload.bytes.iter().rev().copied().collect::<Vec<_>>();
    if case.id == FilterId::DELTA {
        ctx.block = 1;
        ctx.offset = Some(BLOCK);
        ctx.reference = Some(&reference);
    }
    let src = workload.bytes.clone();
    let c_function: Option<ShuffleFn> = match case.name {
        "shuffle" => Some(session.c.api.blosc2_shuffle),
        "unshuffle" => Some(session.c.api.blosc2_unshuffle),
        "bitshuffle" => Some(session.c.api.blosc2_bitshuffle),
        "unbitshuffle" => Some(session.c.api.blosc2_bitunshuffle),
        _ => None,
    };
    let mut pure = Pure { id: case.id, direction: case.direction, ctx, scratch: src.clone() };

    let mut buffers = [(); 3].map(|()| vec![1; BLOCK]);
    let [to_ours, to_c, to_pure] = &mut buffers;
    let mut run_ours = |dst: &mut [u8]| apply(&mut *filter, case.direction, &ctx, &src, dst);
    let run_c = |function: ShuffleFn, dst: &mut [u8]| -> Result<()> {
        let (typesize, len) = (int(typesize)?, int(src.len())?);
        // SAFETY: both slices are `len` bytes long.
        let code = unsafe { function(typesize, len, src.as_ptr().cast(), dst.as_mut_ptr().cast()) };
        check("filter", code).map(drop)
    };
    run_ours(to_ours)?;
    pure.run(&src, to_pure);
    if to_ours != to_pure {
        return Err(Error::new("the result differs from that of blosc2-pure-rs"));
    }
    if let Some(function) = c_function {
        run_c(function, to_c)?;
        if to_ours != to_c {
            return Err(Error::new("the result differs from that of C-Blosc2"));
        }
    }

    // All write to the same memory: which physical pages a buffer consists of decides how well it fits into the cache next
    // to the source, and that differs by more than the kernels do.
    let dst = RefCell::new(vec![1; BLOCK]);
    let mut lanes = vec![Lane::new(name::OURS, |_| {
        let dst = &mut *dst.borrow_mut();
        (0..REPEAT).try_for_each(|_| run_ours(dst))
    })];
    if let Some(function) = c_function {
        let (dst, run_c) = (&dst, &run_c);
        lanes.push(Lane::new(name::C, move |_| {
            let dst = &mut *dst.borrow_mut();
            (0..REPEAT).try_for_each(|_| run_c(function, dst))
        }));
    }
    lanes.push(
        Lane::new(name::PURE, |_| {
            let dst = &mut *dst.borrow_mut();
            (0..REPEAT).for_each(|_| pure.run(&src, dst));
            Ok(())
        })
        .optional(),
    );
    lanes.push(Lane::new(name::COPY, |_| {
        let dst = &mut *dst.borrow_mut();
        for _ in 0..REPEAT {
            dst.copy_from_slice(std::hint::black_box(&src));
            std::hint::black_box(&mut *dst);
        }
        Ok(())
    }));
    session.measure(subject, REPEAT * BLOCK, schedule.next(RACE), &mut lanes, |_| 1.0)
}

fn apply(
    filter: &mut dyn Filter,
    direction: Direction,
    ctx: &BlockContext<'_>,
    src: &[u8],
    dst: &mut [u8],
) -> Result<()> {
    match direction {
        Direction::Forward => filter.forward(ctx, src, dst),
        Direction::Backward => filter.backward(ctx, src, dst),
    }
    .map_err(Error::new)
}

/// The same filter of blosc2-pure-rs.
struct Pure<'a> {
    id: FilterId,
    direction: Direction,
    ctx: BlockContext<'a>,
    scratch: Vec<u8>,
}

impl Pure<'_> {
    fn run(&mut self, src: &[u8], dst: &mut [u8]) {
        let typesize = self.ctx.typesize;
        match (self.id, self.direction) {
            (FilterId::SHUFFLE, Direction::Forward) => pure::shuffle(typesize, src, dst),
            (FilterId::SHUFFLE, Direction::Backward) => pure::unshuffle(typesize, src, dst),
            (FilterId::BITSHUFFLE, Direction::Forward) => {
                pure::bitshuffle_with_scratch(typesize, src, dst, Some(&mut self.scratch));
            }
            (FilterId::BITSHUFFLE, Direction::Backward) => {
                pure::bitunshuffle_with_scratch(typesize, src, dst, Some(&mut self.scratch));
            }
            _ => self.pipeline(src, dst),
        }
    }

    /// Filters that the crate offers as part of a pipeline only.
    fn pipeline(&mut self, src: &[u8], dst: &mut [u8]) {
        let (mut filters, mut metas) = ([0; 6], [0; 6]);
        (filters[5], metas[5]) = (self.id.0, self.ctx.meta);
        let (typesize, offset, reference) = (self.ctx.typesize, self.ctx.offset.unwrap_or(0), self.ctx.reference);
        match self.direction {
            Direction::Forward => {
                let buffer = &mut self.scratch;
                pure::apply_filter_pipeline_for_compression(
                    src, dst, buffer, &filters, &metas, typesize, offset, reference,
                );
            }
            Direction::Backward => {
                // The scratch buffer holds the input since it was made; nothing writes to it.
                let buffer = &mut self.scratch;
                let len = dst.len();
                pure::apply_filter_pipeline_for_decompression(
                    buffer, dst, len, &filters, &metas, FORMAT, typesize, offset, reference, 1,
                );
            }
        }
    }
}
