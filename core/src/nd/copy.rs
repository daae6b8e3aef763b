//! Copies of n-dimensional boxes between two buffers.
//!
//! A copy is a nest of loops, one for each axis, around a run of contiguous bytes. Loops that the two buffers have in
//! common are joined before anything is copied, so that copying a box that is contiguous in both is one `memcpy`, and
//! a box whose rows are contiguous is one for each row.

use super::MAX_DIMS;
use super::axis::Pick;

/// One loop of a copy: how many steps, and by how many bytes each moves in the two buffers.
#[derive(Debug, Clone, Copy)]
pub(super) enum Loop<'a> {
    /// Steps of equal width; they may go backwards.
    Even { count: usize, src: isize, dst: isize },
    /// Steps to the picks of a list, which has at least one.
    Listed { picks: &'a [Pick], tile_stride: isize, buffer_stride: isize, into_tile: bool },
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
                // Differences of offsets into one buffer: they fit however large the indices are.
                let tile = (to.index.wrapping_sub(from.index) as isize) * tile_stride;
                let buffer = (to.position.wrapping_sub(from.position) as isize) * buffer_stride;
                if into_tile { (buffer, tile) } else { (tile, buffer) }
            }
        }
    }
}

/// A nest of loops ready to run, outermost first.
#[derive(Debug)]
pub(super) struct Nest<'a> {
    loops: [Loop<'a>; MAX_DIMS],
    depth: usize,
    run: usize,
    src: usize,
    dst: usize,
}

impl<'a> Nest<'a> {
    /// A copy of `run` bytes from `src` to `dst`, around which [`surround`](Self::surround) then puts loops.
    pub(super) fn new(run: usize, src: usize, dst: usize) -> Self {
        Self { loops: [Loop::Even { count: 0, src: 0, dst: 0 }; MAX_DIMS], depth: 0, run, src, dst }
    }

    /// Puts another loop around the nest; at most [`MAX_DIMS`] of them, from the innermost axis outwards.
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
    pub(super) fn copy(&self, src: &[u8], dst: &mut [u8]) {
        let loops = &self.loops[..self.depth];
        let Some((inner, outer)) = loops.split_first() else {
            return copy_run(src, self.src, dst, self.dst, self.run);
        };
        let mut at = [0_usize; MAX_DIMS];
        let (mut s, mut d) = (self.src, self.dst);
        loop {
            match *inner {
                Loop::Even { count, src: src_step, dst: dst_step } => {
                    let steps = Steps { run: self.run, count, src: src_step, dst: dst_step };
                    steps.copy(src, s, dst, d);
                }
                Loop::Listed { picks, .. } => {
                    let (mut s, mut d) = (s, d);
                    copy_run(src, s, dst, d, self.run);
                    for i in 1..picks.len() {
                        advance(&mut s, &mut d, inner.travel(i - 1, i));
                        copy_run(src, s, dst, d, self.run);
                    }
                }
            }
            // The odometer: step the innermost of the outer loops that is not at its end, rewind those inside it.
            let mut turned = false;
            for (around, at) in outer.iter().zip(&mut at) {
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

fn advance(s: &mut usize, d: &mut usize, (src, dst): (isize, isize)) {
    *s = s.wrapping_add_signed(src);
    *d = d.wrapping_add_signed(dst);
}

#[inline(always)] // so that a run of constant length is copied without a call
fn copy_run(src: &[u8], s: usize, dst: &mut [u8], d: usize, run: usize) {
    dst[d..d + run].copy_from_slice(&src[s..s + run]);
}

/// The innermost loop, of even steps.
struct Steps {
    run: usize,
    count: usize,
    src: isize,
    dst: isize,
}

impl Steps {
    /// A `memcpy` whose length is known to the compiler is a load and a store; one that is not is a call. Runs are
    /// mostly items of the usual sizes.
    fn copy(&self, src: &[u8], s: usize, dst: &mut [u8], d: usize) {
        match self.run {
            1 => self.copy_fixed::<1>(src, s, dst, d),
            2 => self.copy_fixed::<2>(src, s, dst, d),
            3 => self.copy_fixed::<3>(src, s, dst, d),
            4 => self.copy_fixed::<4>(src, s, dst, d),
            8 => self.copy_fixed::<8>(src, s, dst, d),
            12 => self.copy_fixed::<12>(src, s, dst, d),
            16 => self.copy_fixed::<16>(src, s, dst, d),
            24 => self.copy_fixed::<24>(src, s, dst, d),
            32 => self.copy_fixed::<32>(src, s, dst, d),
            _ => self.copy_any(src, s, dst, d),
        }
    }

    fn copy_fixed<const N: usize>(&self, src: &[u8], s: usize, dst: &mut [u8], d: usize) {
        let (Ok(src_step), Ok(dst_step)) = (usize::try_from(self.src), usize::try_from(self.dst)) else {
            let (mut s, mut d) = (s, d);
            for _ in 0..self.count {
                copy_run(src, s, dst, d, N);
                advance(&mut s, &mut d, (self.src, self.dst));
            }
            return;
        };
        // Steps are never narrower than the run, or items would overlap; `max` spares the compiler the doubt.
        let (src_step, dst_step) = (src_step.max(N), dst_step.max(N));
        let src = &src[s..s + (self.count - 1) * src_step + N];
        let dst = &mut dst[d..d + (self.count - 1) * dst_step + N];
        if dst_step == N {
            for (to, from) in dst.as_chunks_mut::<N>().0.iter_mut().zip(src.chunks(src_step)) {
                to.copy_from_slice(&from[..N]);
            }
        } else if src_step == N {
            for (to, from) in dst.chunks_mut(dst_step).zip(src.as_chunks::<N>().0) {
                to[..N].copy_from_slice(from);
            }
        } else {
            for (to, from) in dst.chunks_mut(dst_step).zip(src.chunks(src_step)) {
                to[..N].copy_from_slice(&from[..N]);
            }
        }
    }

    fn copy_any(&self, src: &[u8], s: usize, dst: &mut [u8], d: usize) {
        let (mut s, mut d) = (s, d);
        for _ in 0..self.count {
            copy_run(src, s, dst, d, self.run);
            advance(&mut s, &mut d, (self.src, self.dst));
        }
    }
}
