//! What is between the brackets of an index.

use numpy::{PyArrayMethods, PyReadonlyArray1, PyUntypedArrayMethods};
use oxiblosc::nd::{AxisSelection, Selection};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt, PySlice, PyTuple};

/// An index of integers, slices and an ellipsis.
pub(crate) struct BasicIndex {
    pub(crate) selection: Selection,
    /// Integers alone: the result is an item and not an array.
    pub(crate) is_item: bool,
}

impl BasicIndex {
    /// `None` when there is anything else in the key, which is left to Python.
    ///
    /// # Errors
    /// `IndexError` with the texts of NumPy.
    pub(crate) fn parse(key: &Bound<'_, PyAny>, shape: &[u64]) -> PyResult<Option<Self>> {
        match key.cast::<PyTuple>() {
            Ok(keys) => Self::of_parts(&keys.iter().collect::<Vec<_>>(), shape),
            Err(_) => Self::of_parts(std::slice::from_ref(key), shape),
        }
    }

    fn of_parts(parts: &[Bound<'_, PyAny>], shape: &[u64]) -> PyResult<Option<Self>> {
        // Before anything is refused: other parts may stand for several axes, or for none.
        if !parts.iter().all(is_basic) {
            return Ok(None);
        }
        let ellipsis = parts.iter().position(|part| part.is(part.py().Ellipsis()));
        if parts.iter().filter(|part| part.is(part.py().Ellipsis())).count() > 1 {
            return Err(PyIndexError::new_err("an index can only have a single ellipsis ('...')"));
        }
        let given = parts.len() - usize::from(ellipsis.is_some());
        let mut axes = Vec::with_capacity(shape.len());
        let mut all_items = ellipsis.is_none() && given == shape.len();
        for (i, part) in parts.iter().enumerate() {
            if Some(i) == ellipsis {
                axes.extend(std::iter::repeat_n(AxisSelection::ALL, shape.len().saturating_sub(given)));
                continue;
            }
            let axis = axes.len();
            let len = shape.get(axis).copied();
            if let Ok(slice) = part.cast::<PySlice>() {
                let indices = slice.indices(len.unwrap_or(0) as isize)?;
                axes.push(even(indices.start, indices.step, indices.slicelength as isize));
                all_items = false;
            } else {
                axes.push(AxisSelection::Item(item(part, axis, len)?));
            }
        }
        if given > shape.len() {
            return Err(PyIndexError::new_err(format!(
                "too many indices for array: array is {}-dimensional, but {given} were indexed",
                shape.len()
            )));
        }
        Ok(Some(Self { selection: Selection::axes(axes), is_item: all_items }))
    }
}

fn is_basic(part: &Bound<'_, PyAny>) -> bool {
    part.is_instance_of::<PySlice>()
        || part.is(part.py().Ellipsis())
        || part.is_instance_of::<PyInt>() && !part.is_instance_of::<PyBool>()
}

/// An integer that is inside the axis. Whether there is such an axis is checked later.
fn item(part: &Bound<'_, PyAny>, axis: usize, len: Option<u64>) -> PyResult<i64> {
    let index = part.extract::<i64>().ok();
    let Some(len) = len else { return Ok(0) };
    let inside = index.filter(|&i| if i < 0 { i.unsigned_abs() <= len } else { (i as u64) < len });
    inside
        .ok_or_else(|| PyIndexError::new_err(format!("index {part} is out of bounds for axis {axis} with size {len}")))
}

/// A slice whose bounds are resolved already.
fn even(start: isize, step: isize, count: isize) -> AxisSelection {
    if count <= 0 {
        return AxisSelection::from(0..0);
    }
    let (start, step, count) = (start as i64, step as i64, count as i64);
    // Past the last member; below 0 would count from the end.
    let stop = start.saturating_add((count - 1).saturating_mul(step)).saturating_add(step.signum());
    AxisSelection::Slice { start: Some(start), stop: (stop >= 0).then_some(stop), step }
}

/// One part of an orthogonal selection, as the Python side makes it: an integer, `(start, step, count)`, or an array of
/// indices, none of which is negative.
#[derive(FromPyObject)]
pub(crate) enum AxisPart<'py> {
    Item(i64),
    Even(isize, isize, isize),
    List(PyReadonlyArray1<'py, i64>),
}

pub(crate) fn orthogonal(parts: Vec<AxisPart<'_>>) -> Selection {
    Selection::axes(parts.into_iter().map(|part| match part {
        AxisPart::Item(index) => AxisSelection::Item(index),
        AxisPart::Even(start, step, count) => even(start, step, count),
        AxisPart::List(indices) => AxisSelection::List(indices.as_array().to_vec()),
    }))
}

/// Coordinates: one point after the other, each with an index for each axis.
pub(crate) fn points(coordinates: &PyReadonlyArray1<'_, i64>, ndim: usize) -> Selection {
    let coordinates = match coordinates.is_contiguous() {
        true => coordinates.as_slice().map(<[i64]>::to_vec).unwrap_or_default(),
        false => coordinates.to_vec().unwrap_or_default(),
    };
    Selection::points(coordinates.chunks_exact(ndim.max(1)))
}
