//! Calls of a filter, of which nothing is believed.

use oxiblosc_core::filter::{Filter, FilterError};

use super::super::case::Case;
use super::super::input::{Kind, Misaligned};
use super::super::promise::{Broken, Promise, Verdict, same};
use super::super::watch::Watch;
use super::FilterRun;

/// Which way a filter is applied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Direction {
    Forward,
    Backward,
}

impl Direction {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::Backward => "backward",
        }
    }

    pub(super) fn apply(
        self,
        filter: &mut dyn Filter,
        case: &Case,
        src: &[u8],
        dst: &mut [u8],
    ) -> Result<(), FilterError> {
        let ctx = case.block(src.len());
        match self {
            Self::Forward => filter.forward(&ctx, src, dst),
            Self::Backward => filter.backward(&ctx, src, dst),
        }
    }
}

/// How a buffer is prepared: what is in it, and where it and the source begin.
#[derive(Clone, Copy)]
pub(super) struct Buffers {
    pub(super) stale: u8,
    pub(super) src_offset: usize,
    pub(super) dst_offset: usize,
}

impl Buffers {
    pub(super) fn holding(stale: u8) -> Self {
        Self { stale, src_offset: 0, dst_offset: 0 }
    }
}

/// Applies a filter to a valid block.
pub(super) fn apply(
    watch: &Watch,
    filter: &mut dyn Filter,
    direction: Direction,
    case: &Case,
    src: &[u8],
    buffers: Buffers,
) -> Result<Vec<u8>, Broken> {
    watch.expect_bytes(src.len());
    let source = Misaligned::copy(src, buffers.src_offset);
    let mut dst = Misaligned::filled(buffers.stale, src.len(), buffers.dst_offset);
    let name = direction.name();
    match watch.call(|| direction.apply(filter, case, source.as_ref(), dst.as_mut())) {
        Ok(Ok(())) => Ok(dst.as_ref().to_vec()),
        Err(panic) => Err(Broken::new(Promise::Accepts, format!("{name} panicked: {panic}"))),
        Ok(Err(error @ FilterError::Geometry { .. })) if case.geometry.is_none() => {
            Err(Broken::new(Promise::Array, format!("not declared, but {name} fails: {error}")))
        }
        Ok(Err(error)) => Err(Broken::new(Promise::Accepts, format!("{name} failed: {error}"))),
    }
}

impl FilterRun {
    pub(super) fn watch(&self) -> &Watch {
        &self.session.watch
    }

    pub(super) fn instance(&self) -> Box<dyn Filter> {
        self.entry.instance()
    }

    /// Applies a new instance.
    pub(super) fn fresh(&self, direction: Direction, case: &Case, src: &[u8]) -> Result<Vec<u8>, Broken> {
        apply(self.watch(), &mut *self.instance(), direction, case, src, Buffers::holding(0xff))
    }

    /// Gives every block but the first its reference, if the filter asks for one.
    pub(super) fn with_reference(&self, mut case: Case, len: usize, number: usize) -> Case {
        if self.entry.info().traits.needs_reference && !number.is_multiple_of(3) {
            case.block = number;
            case.offset = Some(number * len);
            // The first block is as long as this one or longer.
            let reference = Kind::Mixed.fill(len + number % 2 * 13, case.typesize, self.session.settings.seed ^ 0xfef);
            case.reference = Some(reference.into());
        }
        case
    }

    /// Compares a used instance with new ones, and buffers with each other.
    fn alike(&self, worn: &mut dyn Filter, direction: Direction, case: &Case, src: &[u8]) -> Result<Vec<u8>, Broken> {
        let run =
            |filter: &mut dyn Filter, stale| apply(self.watch(), filter, direction, case, src, Buffers::holding(stale));
        let fresh = run(&mut *self.instance(), 0xff)?;
        let used = run(worn, 0x00).map_err(|broken| {
            let detail = format!("a used instance fails where a new one does not: {}", broken.detail);
            Broken::new(Promise::Calls, detail)
        })?;
        if used != fresh {
            // Which byte of the buffer was there before? Two values tell a byte that is left from one that is wrong.
            let left = [0x00, 0x00].map(|stale| run(&mut *self.instance(), stale).ok());
            let what = format!("{}, a second time", direction.name());
            let written = left[0] != Some(fresh.clone()) && left[0] == left[1];
            same(if written { Promise::Written } else { Promise::Calls }, &fresh, &used, &what)?;
        }
        Ok(fresh)
    }

    /// Filters a block and restores it, on a used instance and on new ones.
    pub(super) fn round_trip(&self, worn: &mut dyn Filter, case: &Case, src: &[u8]) -> Verdict {
        let stored = self.alike(worn, Direction::Forward, case, src)?;
        let restored = self.alike(worn, Direction::Backward, case, &stored)?;
        self.compare(case, src, &restored)?;
        if self.entry.info().traits.lossy {
            let again = self.fresh(Direction::Forward, case, &restored)?;
            let twice = self.fresh(Direction::Backward, case, &again)?;
            self.settled(case, &restored, &twice)?;
        }
        Ok(())
    }

    /// A second loss is none; with a bound, which means and other rounded values need, it is within that.
    fn settled(&self, case: &Case, once: &[u8], twice: &[u8]) -> Verdict {
        let settings = &self.session.settings;
        if settings.max_error.is_none() && settings.tolerance.is_none() {
            return same(Promise::Loss, once, twice, "what is restored, filtered and restored again");
        }
        let again = |what| Broken::new(Promise::Loss, format!("what is restored, filtered and restored again: {what}"));
        settings.tolerates(&case.block(once.len()), once, twice).map_err(again)
    }

    /// The same once, on new instances: for long inputs.
    pub(super) fn quick_trip(&self, case: &Case, src: &[u8]) -> Result<(Vec<u8>, Vec<u8>), Broken> {
        let stored = self.fresh(Direction::Forward, case, src)?;
        let restored = self.fresh(Direction::Backward, case, &stored)?;
        self.compare(case, src, &restored)?;
        Ok((stored, restored))
    }

    fn compare(&self, case: &Case, src: &[u8], restored: &[u8]) -> Verdict {
        if !self.entry.info().traits.lossy {
            return same(Promise::Restores, src, restored, "what comes back");
        }
        let ctx = case.block(src.len());
        self.session.settings.tolerates(&ctx, src, restored).map_err(|what| Broken::new(Promise::Tolerance, what))
    }
}
