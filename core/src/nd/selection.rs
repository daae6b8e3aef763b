//! Selections of items of an array.

use std::ops::{Range, RangeFrom, RangeFull, RangeTo};
use std::str::FromStr;

use super::axis::{Axis, ListedIndex};
use super::{MAX_DIMS, NdError, Tiling};

/// A selection of items of an array, as in NumPy: one [`AxisSelection`] for each axis, or a list of coordinates.
///
/// Axes that are not mentioned are taken whole. Lists on several axes are orthogonal: they select every combination,
/// as `numpy.ix_` and Zarr's `oindex` do.
///
/// ```
/// use oxiblosc_core::nd::{AxisSelection, Selection};
///
/// let rows = Selection::axes([AxisSelection::from(10..20)]);
/// let corner = Selection::item(&[0, -1]);
/// let mixed = Selection::axes([AxisSelection::from(0..100).step(7), vec![5, 3, 3].into()]);
/// assert_eq!(mixed, "0:100:7, [5,3,3]".parse()?);
/// let places = Selection::points([[0, 0], [4, 2]]);
/// # Ok::<(), oxiblosc_core::nd::NdError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Selection(SelectionKind);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum SelectionKind {
    /// `head` for the first axes and `tail` for the last ones; those between are taken whole.
    Axes {
        head: Vec<AxisSelection>,
        tail: Vec<AxisSelection>,
    },
    Points(Points),
}

/// Coordinates, one point after the other.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
struct Points {
    indices: Vec<i64>,
    count: usize,
    /// Dimensions of the first point.
    ndim: Option<usize>,
    /// Dimensions of the first point that differs: then this is not a list of coordinates.
    ragged: Option<usize>,
}

/// A selection along one axis. Negative indices count from the end.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum AxisSelection {
    /// One index; the result does not have this axis. Must be inside the array.
    Item(i64),
    /// Python's `start:stop:step`. Bounds outside the array are clipped to it; an absent bound is the end that the step
    /// starts from or leads to.
    Slice {
        /// First index.
        start: Option<i64>,
        /// Where to stop; this index is not taken.
        stop: Option<i64>,
        /// From one index to the next; negative to go backwards, never 0.
        step: i64,
    },
    /// Any indices in any order, repeated ones included. Must be inside the array.
    List(Vec<i64>),
}

impl Selection {
    /// The whole array.
    pub fn all() -> Self {
        Self::axes::<AxisSelection>([])
    }

    /// One item; the result has no dimensions.
    pub fn item(index: &[i64]) -> Self {
        Self::axes(index.iter().copied())
    }

    /// One selection for each of the first axes; the others are taken whole.
    pub fn axes<A: Into<AxisSelection>>(axes: impl IntoIterator<Item = A>) -> Self {
        Self(SelectionKind::Axes { head: axes.into_iter().map(Into::into).collect(), tail: Vec::new() })
    }

    /// A box.
    pub fn window(window: &super::Window) -> Self {
        Self::axes(window.origin.iter().zip(&window.shape).map(|(&first, &len)| {
            let bound = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
            bound(first)..bound(first.saturating_add(len))
        }))
    }

    /// The items at the given coordinates, one index for each axis of the array; the result has one dimension.
    pub fn points<P: AsRef<[i64]>>(points: impl IntoIterator<Item = P>) -> Self {
        let mut list = Points::default();
        for point in points {
            let point = point.as_ref();
            if *list.ndim.get_or_insert(point.len()) != point.len() {
                list.ragged.get_or_insert(point.len());
            }
            list.indices.extend_from_slice(point);
            list.count += 1;
        }
        Self(SelectionKind::Points(list))
    }

    /// Adds selections for the last axes of the array, however many axes there are: `...` in NumPy. Points stay as
    /// they are.
    pub fn last<A: Into<AxisSelection>>(mut self, axes: impl IntoIterator<Item = A>) -> Self {
        if let SelectionKind::Axes { tail, .. } = &mut self.0 {
            tail.extend(axes.into_iter().map(Into::into));
        }
        self
    }

    /// Resolves the selection against the shape of an array.
    pub(super) fn resolve(&self, tiling: &Tiling) -> Result<Resolved, NdError> {
        match &self.0 {
            SelectionKind::Axes { head, tail } => resolve_axes(head, tail, tiling.shape()),
            SelectionKind::Points(points) => {
                let ndim = tiling.ndim();
                if let Some(found) = points.ragged.or(points.ndim).filter(|&found| found != ndim) {
                    return Err(NdError::Rank { what: "a point", expected: ndim, found });
                }
                let mut indices = Vec::with_capacity(points.indices.len());
                for (i, &index) in points.indices.iter().enumerate() {
                    // Not reached for arrays of no dimensions, whose points have no indices.
                    indices.push(resolve_index(index, tiling.shape()[i % ndim], i % ndim)?);
                }
                Ok(Resolved::Points { indices, count: points.count })
            }
        }
    }
}

/// A selection resolved against the shape of an array.
pub(super) enum Resolved {
    /// The combinations of the members of each axis; `shape` leaves out the axes of single items.
    Axes { axes: Vec<Axis>, shape: Vec<u64> },
    /// As many indices for each point as there are dimensions.
    Points { indices: Vec<u64>, count: usize },
}

fn resolve_axes(head: &[AxisSelection], tail: &[AxisSelection], lens: &[u64]) -> Result<Resolved, NdError> {
    let given = head.len() + tail.len();
    if given > lens.len() {
        return Err(NdError::Rank { what: "the selection", expected: lens.len(), found: given });
    }
    let between = std::iter::repeat_n(&AxisSelection::ALL, lens.len() - given);
    let mut axes = Vec::with_capacity(lens.len());
    let mut shape = Vec::with_capacity(lens.len());
    for (axis, (selection, &len)) in head.iter().chain(between).chain(tail).zip(lens).enumerate() {
        let resolved = selection.resolve(len, axis)?;
        if !matches!(selection, AxisSelection::Item(_)) {
            shape.push(resolved.count());
        }
        axes.push(resolved);
    }
    Ok(Resolved::Axes { axes, shape })
}

/// Resolves an index that may count from the end.
fn resolve_index(index: i64, len: u64, axis: usize) -> Result<u64, NdError> {
    let resolved = if index < 0 { len.checked_sub(index.unsigned_abs()) } else { Some(index as u64) };
    resolved.filter(|&i| i < len).ok_or(NdError::OutOfBounds { axis, index, len })
}

impl AxisSelection {
    /// The whole axis.
    pub const ALL: Self = Self::Slice { start: None, stop: None, step: 1 };

    /// The same slice with another step. Items and lists stay as they are.
    pub fn step(self, step: i64) -> Self {
        match self {
            Self::Slice { start, stop, .. } => Self::Slice { start, stop, step },
            other => other,
        }
    }

    fn resolve(&self, len: u64, axis: usize) -> Result<Axis, NdError> {
        Ok(match self {
            Self::Item(index) => {
                let first = resolve_index(*index, len, axis)?;
                Axis::Even { first, step: 1, count: 1, position: 0, descending: false }
            }
            Self::Slice { start, stop, step } => resolve_slice(*start, *stop, *step, len, axis)?,
            Self::List(indices) => {
                let mut picks = Vec::with_capacity(indices.len());
                for (position, &index) in indices.iter().enumerate() {
                    picks.push(ListedIndex { index: resolve_index(index, len, axis)?, position: position as u64 });
                }
                // Positions are unique and order equal indices, so that the last one wins a write.
                picks.sort_unstable();
                Axis::List(picks.into())
            }
        })
    }
}

/// The rules of Python's `slice.indices`.
fn resolve_slice(start: Option<i64>, stop: Option<i64>, step: i64, len: u64, axis: usize) -> Result<Axis, NdError> {
    if step == 0 {
        return Err(NdError::ZeroStep { axis });
    }
    // Lengths fit an i64 (checked by the tiling); i128 leaves room for sums of any two bounds.
    let len = i128::from(len);
    let (least, most) = if step > 0 { (0, len) } else { (-1, len - 1) };
    let bound = |bound: Option<i64>, absent: i128| match bound.map(i128::from) {
        None => absent,
        Some(n) if n < 0 => (n + len).max(least),
        Some(n) => n.min(most),
    };
    let (start, stop) =
        if step > 0 { (bound(start, least), bound(stop, most)) } else { (bound(start, most), bound(stop, least)) };
    let distance = if step > 0 { stop - start } else { start - stop };
    let width = i128::from(step.unsigned_abs());
    let count = if distance > 0 { (distance - 1) / width + 1 } else { 0 };
    let first = match count {
        0 => 0,
        _ if step > 0 => start,
        _ => start - (count - 1) * width,
    };
    // All three are at most `len`, except a step that is never taken.
    let step_width = if count > 1 { width as u64 } else { 1 };
    Ok(Axis::Even { first: first as u64, step: step_width, count: count as u64, position: 0, descending: step < 0 })
}

impl From<i64> for AxisSelection {
    fn from(index: i64) -> Self {
        Self::Item(index)
    }
}

impl From<Range<i64>> for AxisSelection {
    fn from(range: Range<i64>) -> Self {
        Self::Slice { start: Some(range.start), stop: Some(range.end), step: 1 }
    }
}

impl From<RangeFrom<i64>> for AxisSelection {
    fn from(range: RangeFrom<i64>) -> Self {
        Self::Slice { start: Some(range.start), stop: None, step: 1 }
    }
}

impl From<RangeTo<i64>> for AxisSelection {
    fn from(range: RangeTo<i64>) -> Self {
        Self::Slice { start: None, stop: Some(range.end), step: 1 }
    }
}

impl From<RangeFull> for AxisSelection {
    fn from(_: RangeFull) -> Self {
        Self::ALL
    }
}

impl From<Vec<i64>> for AxisSelection {
    fn from(indices: Vec<i64>) -> Self {
        Self::List(indices)
    }
}

/// Parses what Python has between the brackets: `3`, `2:10`, `::-1`, `[4,1,1]` and `...`, with commas between the axes.
impl FromStr for Selection {
    type Err = NdError;

    fn from_str(text: &str) -> Result<Self, NdError> {
        let (mut head, mut tail, mut ellipsis) = (Vec::new(), Vec::new(), false);
        if text.trim().is_empty() {
            return Ok(Self::all());
        }
        for part in split_axes(text)? {
            let part = part.trim();
            if part == "..." {
                if ellipsis {
                    return Err(syntax(text, "`...` may be used only once"));
                }
                ellipsis = true;
                continue;
            }
            let axis = part.parse()?;
            if ellipsis {
                tail.push(axis)
            } else {
                head.push(axis)
            }
            if head.len() + tail.len() > MAX_DIMS {
                return Err(NdError::TooManyDims { limit: MAX_DIMS, found: head.len() + tail.len() });
            }
        }
        Ok(Self(SelectionKind::Axes { head, tail }))
    }
}

/// Splits at the commas that are outside of brackets.
fn split_axes(text: &str) -> Result<Vec<&str>, NdError> {
    let (mut parts, mut start, mut inside) = (Vec::new(), 0, false);
    for (at, c) in text.char_indices() {
        match c {
            '[' if inside => return Err(syntax(text, "a list inside a list")),
            '[' => inside = true,
            ']' if !inside => return Err(syntax(text, "`]` without `[`")),
            ']' => inside = false,
            ',' if !inside => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    if inside {
        return Err(syntax(text, "`[` without `]`"));
    }
    // A comma may close the list, as in Python's `a[1,]`.
    if parts.is_empty() || !text[start..].trim().is_empty() {
        parts.push(&text[start..]);
    }
    Ok(parts)
}

impl FromStr for AxisSelection {
    type Err = NdError;

    fn from_str(text: &str) -> Result<Self, NdError> {
        let text = text.trim();
        let number = |part: &str| {
            let part = part.trim();
            part.parse::<i64>().map_err(|_| syntax(part, "expected an integer of 64 bits"))
        };
        if let Some(list) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            if list.trim().is_empty() {
                return Ok(Self::List(Vec::new()));
            }
            return Ok(Self::List(list.split(',').map(number).collect::<Result<_, _>>()?));
        }
        if !text.contains(':') {
            return Ok(Self::Item(number(text)?));
        }
        let optional = |part: Option<&str>| part.filter(|p| !p.trim().is_empty()).map(number).transpose();
        let mut parts = text.split(':');
        let (start, stop) = (optional(parts.next())?, optional(parts.next())?);
        let step = optional(parts.next())?.unwrap_or(1);
        if parts.next().is_some() {
            return Err(syntax(text, "a slice has at most start, stop and step"));
        }
        Ok(Self::Slice { start, stop, step })
    }
}

fn syntax(text: &str, reason: &'static str) -> NdError {
    NdError::Syntax { text: text.to_owned(), reason }
}
