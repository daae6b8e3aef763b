//! Copies of n-dimensional boxes between two buffers.
//!
//! A copy is a nest of loops, one for each axis, around a run of contiguous bytes. Loops that the two buffers have in
//! common are joined before anything is copied, so that copying a box that is contiguous in both is one `memcpy`, and
//! a box whose rows are contiguous is one for each row.

use super::MAX_DIMS;
use super::axis::ListedIndex;

/// One loop of a copy: how many steps, and by how many bytes each moves in the two buffers.
#[derive(Debug, Clone, Copy)]
pub(super) enum Loop<'a> {
    /// Steps of equal width; they may go backwards.
    Even { count: usize, src: isize, dst: isize },
    /// Steps to the picks of a list, which has at least one.
    Listed { picks: &'a [ListedIndex], tile_stride: isize, buffer_stride: isize, into_tile: bool },
}

impl Loop<'_> {
    fn count(&self) -> usize {
        match self {
            Loop::Even { count, .. } => *count,
            Loop::Listed { picks, .. } => picks.len(),
        }
    }

    /// By how much the two offsets change from step `from` to step `to`.
    fn travel(&self, from: usize, to: usize) -> (isize, isize) {
        match *self {
            Loop::Even { src, dst, .. } => {
                let steps = (to as isize) - (from as isize);
                (src * steps, dst * steps)
            }
            Loop::Listed { picks, tile_stride, buffer_stride, into_tile } => {
                let (from, to) = (picks[from], picks[to]);
                // Differences of offsets into one buffer fit, however large the indices are.
                let tile = (to.index.wrapping_sub(from.index) as isize) * tile_stride;
                let buffer = (to.position.wrapping_sub(from.position) as isize) * buffer_stride;
                if into_tile { (buffer, tile) } else { (tile, buffer) }
            }
        }
    }
}

/// A nest of loops ready to run, outermost first.
#[derive(Debug)]
pub(super) struct LoopNest<'a> {
    loops: [Loop<'a>; MAX_DIMS],
    depth: usize,
    run: usize,
    src: usize,
    dst: usize,
}

impl<'a> LoopNest<'a> {
    /// A copy of `run` bytes from `src` to `dst`, to which [`surround`](Self::surround) then adds loops.
    pub(super) fn new(run: usize, src: usize, dst: usize) -> Self {
        Self { loops: [Loop::Even { count: 0, src: 0, dst: 0 }; MAX_DIMS], depth: 0, run, src, dst }
    }

    /// Adds another loop around the nest: at most [`MAX_DIMS`] of them, from the innermost axis outwards.
    ///
    /// Loops are kept innermost first until they run. A loop that continues the run, or the loop inside it, in both
    /// buffers is joined with it: this is what makes long runs of short rows.
    pub(super) fn surround(&mut self, around: Loop<'a>) {
        if around.count() == 1 {
            return;
        }
        if let Loop::Even { count, src, dst } = around {
            if self.depth == 0 {
                if src == self.run as isize && dst == src {
                    self.run *= count;
                    return;
                }
            } else if let Loop::Even { count: inner, src: inner_src, dst: inner_dst } = &mut self.loops[self.depth - 1]
                && src == *inner_src * *inner as isize
                && dst == *inner_dst * *inner as isize
            {
                *inner *= count;
                return;
            }
        }
        self.loops[self.depth] = around;
        self.depth += 1;
    }

    /// Where in `dst` the copy lands and how long it is, when it is a single run.
    pub(super) fn single_run(&self) -> Option<(usize, usize)> {
        (self.depth == 0).then_some((self.dst, self.run))
    }

    /// Copies. Both buffers must hold everything the loops reach.
    ///
    /// A `memcpy` whose length is known to the compiler is a load and a store; one that is not is a call. Runs are
    /// mostly items of the usual sizes.
    pub(super) fn copy(&self, src: &[u8], dst: &mut [u8]) {
        match self.run {
            1 => self.copy_runs(FixedRun::<1>, src, dst),
            2 => self.copy_runs(FixedRun::<2>, src, dst),
            3 => self.copy_runs(FixedRun::<3>, src, dst),
            4 => self.copy_runs(FixedRun::<4>, src, dst),
            6 => self.copy_runs(FixedRun::<6>, src, dst),
            8 => self.copy_runs(FixedRun::<8>, src, dst),
            12 => self.copy_runs(FixedRun::<12>, src, dst),
            16 => self.copy_runs(FixedRun::<16>, src, dst),
            24 => self.copy_runs(FixedRun::<24>, src, dst),
            32 => self.copy_runs(FixedRun::<32>, src, dst),
            64 => self.copy_runs(FixedRun::<64>, src, dst),
            run => self.copy_runs(AnyRun(run), src, dst),
        }
    }

    /// Writes `item` over everything in `dst` that [`copy`](Self::copy) would write; runs must be whole numbers of it.
    pub(super) fn fill(&self, item: &[u8], dst: &mut [u8]) {
        self.copy_runs(FillRun(self.run, item), &[], dst);
    }

    /// Steps through the loops like an odometer, with the innermost as a plain loop.
    fn copy_runs<R: CopyRun>(&self, run: R, src: &[u8], dst: &mut [u8]) {
        let Some((inner, outer)) = self.loops[..self.depth].split_first() else {
            return run.copy(src, self.src, dst, self.dst);
        };
        let mut wheels = [0_usize; MAX_DIMS];
        let (mut s, mut d) = (self.src, self.dst);
        loop {
            match *inner {
                Loop::Even { count, src: src_step, dst: dst_step } => {
                    let (mut s, mut d) = (s, d);
                    for _ in 0..count {
                        run.copy(src, s, dst, d);
                        advance(&mut s, &mut d, (src_step, dst_step));
                    }
                }
                Loop::Listed { picks, .. } => {
                    let (mut s, mut d) = (s, d);
                    run.copy(src, s, dst, d);
                    for i in 1..picks.len() {
                        advance(&mut s, &mut d, inner.travel(i - 1, i));
                        run.copy(src, s, dst, d);
                    }
                }
            }
            // Advance the innermost loop that is not at its end, and reset those inside it.
            let mut turned = false;
            for (around, at) in outer.iter().zip(&mut wheels) {
                if *at + 1 < around.count() {
                    advance(&mut s, &mut d, around.travel(*at, *at + 1));
                    *at += 1;
                    turned = true;
                    break;
                }
                advance(&mut s, &mut d, around.travel(*at, 0));
                *at = 0;
            }
            if !turned {
                return;
            }
        }
    }
}

#[inline(always)]
fn advance(s: &mut usize, d: &mut usize, (src, dst): (isize, isize)) {
    *s = s.wrapping_add_signed(src);
    *d = d.wrapping_add_signed(dst);
}

/// A run of contiguous bytes, of a length that the compiler may know.
trait CopyRun: Copy {
    fn len(self) -> usize;

    #[inline(always)]
    fn copy(self, src: &[u8], s: usize, dst: &mut [u8], d: usize) {
        dst[d..d + self.len()].copy_from_slice(&src[s..s + self.len()]);
    }
}

#[derive(Clone, Copy)]
struct FixedRun<const N: usize>;

impl<const N: usize> CopyRun for FixedRun<N> {
    #[inline(always)]
    fn len(self) -> usize {
        N
    }
}

#[derive(Clone, Copy)]
struct AnyRun(usize);

impl CopyRun for AnyRun {
    #[inline(always)]
    fn len(self) -> usize {
        self.0
    }
}

/// A run of one repeated item.
#[derive(Clone, Copy)]
struct FillRun<'i>(usize, &'i [u8]);

impl CopyRun for FillRun<'_> {
    fn len(self) -> usize {
        self.0
    }

    fn copy(self, _: &[u8], _: usize, dst: &mut [u8], d: usize) {
        dst[d..d + self.0]
            .chunks_mut(self.1.len().max(1))
            .for_each(|place| place.copy_from_slice(&self.1[..place.len()]));
    }
}
