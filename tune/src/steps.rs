//! How far a search is, and whether it is to go on.

use std::cell::Cell;
use std::ops::ControlFlow;

use crate::error::TuneError;

/// How far a search is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct TuneProgress {
    /// Combinations that have been tried, or left out for lack of time.
    pub done: usize,
    /// Combinations that are known to be tried by now. It grows when the sizes of blocks and chunks come.
    pub total: usize,
}

/// What a caller sees of a search, and how it stops it.
pub(crate) struct Steps<'a> {
    done: Cell<usize>,
    total: Cell<usize>,
    watch: &'a dyn Fn(TuneProgress) -> ControlFlow<()>,
}

/// The caller has stopped the search.
#[derive(Debug)]
pub(crate) struct Stopped;

impl From<Stopped> for TuneError {
    fn from(Stopped: Stopped) -> Self {
        Self::Stopped
    }
}

impl<'a> Steps<'a> {
    pub(crate) fn new(watch: &'a dyn Fn(TuneProgress) -> ControlFlow<()>) -> Self {
        Self { done: Cell::new(0), total: Cell::new(0), watch }
    }

    /// More combinations are to be tried.
    pub(crate) fn plan(&self, count: usize) {
        self.total.set(self.total.get() + count);
    }

    /// One of them is done.
    pub(crate) fn step(&self) -> Result<(), Stopped> {
        self.done.set(self.done.get() + 1);
        self.check()
    }

    /// Called between any two pieces of work that may take long.
    pub(crate) fn check(&self) -> Result<(), Stopped> {
        match (self.watch)(TuneProgress { done: self.done.get(), total: self.total.get() }) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Stopped),
        }
    }
}
