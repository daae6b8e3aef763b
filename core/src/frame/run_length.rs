//! One value for each chunk of a frame.

use std::collections::TryReserveError;
use std::ops::Range;

/// One value for each chunk of a frame, by chunk number.
///
/// A frame that was filled with zeros has an index of 40 bytes for up to 2^28 equal entries, and may have a few chunks
/// among them. Equal neighbours are kept as runs, so that such a frame takes memory and time in proportion to its
/// bytes. If most values differ, they are kept one by one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RunLengthVec<T> {
    /// Runs of equal values. Neighbouring runs may have equal values.
    Runs(Vec<ValueRun<T>>),
    /// The values themselves.
    Dense(Vec<T>),
}

/// The same value from the end of the previous run to `end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ValueRun<T> {
    end: u64,
    value: T,
}

/// Up to this many runs are always kept as runs ...
const FEW_RUNS: usize = 4096;
/// ... and more of them as long as a run has this many values on average: inserting into many runs moves the others.
const MEAN_RUN: u64 = 256;

impl<T: Copy + PartialEq> RunLengthVec<T> {
    pub(super) const EMPTY: Self = Self::Runs(Vec::new());

    /// The same value `count` times.
    pub(super) fn uniform(value: T, count: u64) -> Self {
        let mut column = Self::EMPTY;
        column.push_run(value, count);
        column
    }

    pub(super) fn len(&self) -> u64 {
        match self {
            Self::Runs(runs) => end_of(runs),
            Self::Dense(values) => values.len() as u64,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn get(&self, i: u64) -> Option<T> {
        match self {
            Self::Runs(runs) => runs.get(run_at(runs, i)).map(|run| run.value),
            Self::Dense(values) => values.get(usize::try_from(i).ok()?).copied(),
        }
    }

    /// The end of the run of equal values from `i` on, as far as it is known without looking at each value: at least `i
    /// + 1`. `i` if there is no such value.
    pub(super) fn run_end(&self, i: u64) -> u64 {
        match self {
            Self::Runs(runs) => runs.get(run_at(runs, i)).map_or(i, |run| run.end),
            Self::Dense(values) => i.saturating_add(u64::from(i < values.len() as u64)),
        }
    }

    /// The runs of equal values in order, with the numbers that have them.
    pub(super) fn runs(&self) -> impl Iterator<Item = (Range<u64>, T)> {
        let (runs, values): (&[ValueRun<T>], &[T]) = match self {
            Self::Runs(runs) => (runs, &[]),
            Self::Dense(values) => (&[], values),
        };
        let starts = std::iter::once(0).chain(runs.iter().map(|run| run.end));
        let runs = starts.zip(runs).map(|(start, run)| (start..run.end, run.value));
        runs.chain((0..).zip(values).map(|(i, value)| (i..i + 1, *value)))
    }

    /// Whether both have the same values, however they are kept.
    pub(super) fn has_values_of(&self, other: &Self) -> bool {
        let mut at = 0;
        while at < self.len() && self.get(at) == other.get(at) {
            at = self.run_end(at).min(other.run_end(at));
        }
        at == self.len() && at == other.len()
    }

    /// Every value.
    pub(super) fn iter(&self) -> impl Iterator<Item = T> {
        self.runs().flat_map(|(numbers, value)| numbers.map(move |_| value))
    }

    /// Whether there is room for `more` values.
    pub(super) fn has_room(&self, more: u64) -> bool {
        match self {
            Self::Runs(_) => true,
            Self::Dense(values) => (values.capacity() - values.len()) as u64 >= more,
        }
    }

    /// Makes room for `more` values if need be.
    pub(super) fn try_reserve(&mut self, more: u64) -> Result<(), TryReserveError> {
        match self {
            Self::Runs(_) => Ok(()),
            Self::Dense(values) => values.try_reserve_exact(usize::try_from(more).unwrap_or(usize::MAX)),
        }
    }

    pub(super) fn push(&mut self, value: T) {
        match self {
            Self::Dense(values) => values.push(value),
            Self::Runs(_) => self.push_run(value, 1),
        }
    }

    /// Adds `value` `count` times.
    pub(super) fn push_run(&mut self, value: T, count: u64) {
        if let Self::Dense(values) = self
            && count / MEAN_RUN > values.len() as u64
        {
            let mut runs = Vec::new();
            values.iter().for_each(|value| add_run(&mut runs, *value, 1));
            *self = Self::Runs(runs);
        }
        match self {
            // Lossless: bounded by what is in memory.
            Self::Dense(values) => values.resize(values.len() + count as usize, value),
            Self::Runs(runs) => {
                add_run(runs, value, count);
                self.merge_runs();
            }
        }
    }

    /// Inserts `value` before the one at `i`, or after the last one.
    pub(super) fn insert(&mut self, i: u64, value: T) {
        let i = i.min(self.len());
        match self {
            // Lossless: it is in memory.
            Self::Dense(values) => values.insert(i as usize, value),
            Self::Runs(runs) => {
                let at = run_at(runs, i);
                let behind = split(runs, at, i);
                runs[behind..].iter_mut().for_each(|run| run.end += 1);
                match behind.checked_sub(1).and_then(|before| runs.get_mut(before)).filter(|run| run.value == value) {
                    Some(run) => run.end += 1,
                    None => runs.insert(behind, ValueRun { end: i + 1, value }),
                }
                self.merge_runs();
            }
        }
    }

    /// Replaces the value at `i`, if there is one.
    pub(super) fn replace(&mut self, i: u64, value: T) {
        match self {
            Self::Dense(values) => {
                if let Some(old) = usize::try_from(i).ok().and_then(|i| values.get_mut(i)) {
                    *old = value;
                }
            }
            Self::Runs(runs) => {
                let at = run_at(runs, i);
                match runs.get(at) {
                    Some(run) if run.value != value => {}
                    _ => return,
                }
                let at = split(runs, at, i);
                if runs[at].end == i + 1 {
                    runs[at].value = value;
                } else {
                    runs.insert(at, ValueRun { end: i + 1, value });
                }
                self.merge_runs();
            }
        }
    }

    /// Removes the value at `i`, if there is one.
    pub(super) fn remove(&mut self, i: u64) -> Option<T> {
        match self {
            Self::Dense(values) => {
                let i = usize::try_from(i).ok().filter(|&i| i < values.len())?;
                Some(values.remove(i))
            }
            Self::Runs(runs) => {
                let at = run_at(runs, i);
                let value = runs.get(at)?.value;
                runs[at..].iter_mut().for_each(|run| run.end -= 1);
                let start = at.checked_sub(1).map_or(0, |before| runs[before].end);
                if runs[at].end == start {
                    runs.remove(at);
                }
                Some(value)
            }
        }
    }

    /// Keeps the values one by one if most differ, so that lookups need no search.
    pub(super) fn for_reading(mut self) -> Self {
        if let Self::Runs(runs) = &self
            && end_of(runs) / 4 < runs.len() as u64
        {
            self = Self::Dense(self.iter().collect());
        }
        self
    }

    /// Keeps the values one by one if runs do not pay.
    fn merge_runs(&mut self) {
        if let Self::Runs(runs) = self
            && runs.len() > FEW_RUNS
            && end_of(runs) / MEAN_RUN < runs.len() as u64
        {
            *self = Self::Dense(self.iter().collect());
        }
    }
}

impl<T: Copy + PartialEq> FromIterator<T> for RunLengthVec<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let mut column = Self::EMPTY;
        values.into_iter().for_each(|value| column.push(value));
        column
    }
}

fn end_of<T>(runs: &[ValueRun<T>]) -> u64 {
    runs.last().map_or(0, |run| run.end)
}

/// The run that has the value at `i`; the number of runs if there is none.
fn run_at<T>(runs: &[ValueRun<T>], i: u64) -> usize {
    match runs {
        // A single run, or the end of many, takes no search.
        [.., last] if i >= last.end => runs.len(),
        [_] => 0,
        _ => runs.partition_point(|run| run.end <= i),
    }
}

fn add_run<T: PartialEq>(runs: &mut Vec<ValueRun<T>>, value: T, count: u64) {
    let end = end_of(runs) + count;
    match runs.last_mut() {
        _ if count == 0 => {}
        Some(last) if last.value == value => last.end = end,
        _ => runs.push(ValueRun { end, value }),
    }
}

/// Splits run `at`, which has the value at `i`, unless it begins there. Returns the run that begins at `i`.
fn split<T: Copy>(runs: &mut Vec<ValueRun<T>>, at: usize, i: u64) -> usize {
    let start = at.checked_sub(1).map_or(0, |before| runs[before].end);
    match runs.get(at) {
        Some(&ValueRun { value, .. }) if start < i => {
            runs.insert(at, ValueRun { end: i, value });
            at + 1
        }
        _ => at,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same steps on a column and on a plain list.
    #[test]
    fn a_column_is_a_list() {
        let mut seed = 7u64;
        let mut next = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        for few in [1, 2, 1000] {
            let (mut column, mut list) = (RunLengthVec::EMPTY, Vec::new());
            for _ in 0..3000 {
                let (i, value) = (next(list.len() as u64 + 1), next(few));
                let at = i as usize;
                match next(5) {
                    0 => {
                        let count = next(9);
                        column.push_run(value, count);
                        list.resize(list.len() + count as usize, value);
                    }
                    1 => {
                        column.insert(i, value);
                        list.insert(at, value);
                    }
                    2 => {
                        column.replace(i, value);
                        if let Some(old) = list.get_mut(at) {
                            *old = value;
                        }
                    }
                    3 => {
                        let expected = (at < list.len()).then(|| list.remove(at));
                        assert_eq!(column.remove(i), expected);
                    }
                    _ => {
                        column.push(value);
                        list.push(value);
                    }
                }
                assert_eq!(column.len(), list.len() as u64);
            }
            assert_eq!(column.iter().collect::<Vec<_>>(), list);
            let dense = RunLengthVec::Dense(list.clone());
            assert!(column.has_values_of(&dense) && dense.has_values_of(&column));
            column.push(few);
            assert!(!column.has_values_of(&dense) && !dense.has_values_of(&column));
            column.remove(list.len() as u64);
            for (i, value) in list.iter().enumerate() {
                assert_eq!(column.get(i as u64), Some(*value));
                let end = column.run_end(i as u64) as usize;
                assert!(end > i && list[i..end].iter().all(|other| other == value));
            }
            assert_eq!((column.get(list.len() as u64), column.run_end(list.len() as u64)), (None, list.len() as u64));
        }
    }

    #[test]
    fn many_equal_values_take_no_room_and_different_ones_become_a_list() {
        let mut column = RunLengthVec::uniform(1u64, 1 << 40);
        column.push(2);
        column.insert(1 << 39, 3);
        column.replace(5, 4);
        assert_eq!(column.runs().count(), 6);
        assert_eq!(column.len(), (1 << 40) + 2);
        assert_eq!([column.get(5), column.get(1 << 39), column.get(1 << 40)], [Some(4), Some(3), Some(1)]);
        let mut column: RunLengthVec<u64> = (0..5000).collect();
        assert!(matches!(column, RunLengthVec::Dense(_)));
        column.push_run(7, 1 << 40);
        assert!(matches!(column, RunLengthVec::Runs(_)));
        assert_eq!((column.get(4999), column.get(1 << 39)), (Some(4999), Some(7)));
    }
}
