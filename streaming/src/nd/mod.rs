//! N-dimensional arrays (b2nd): frames whose chunks and blocks are boxes of an array.
//!
//! | to | use |
//! |---|---|
//! | read slices, single items, orthogonal selections, coordinates | [`NdArray`] |
//! | write an array, or rows as they come | [`ArrayOptions`], [`NdSink`] |
//! | write slices, resize, append along an axis | [`NdEditor`] |
//! | use Rust's own types | [`Element`], [`NdArray::read_as`], [`NdSink::write_items`], [`items`], [`values`] |
//! | use the `ndarray` crate (feature `ndarray`) | `NdBuffer::to_ndarray`, `ArrayOptions::write_ndarray`, `items_of` |
//! | do without async | [`blocking::NdArray`](crate::blocking::NdArray), [`blocking::NdWriter`](crate::blocking::NdWriter) |

mod array;
mod buffer;
mod decode;
mod editor;
mod element;
mod error;
mod fetch;
mod groups;
mod job;
#[cfg(feature = "ndarray")]
mod ndarray;
mod options;
mod read;
mod read_into;
mod sink;

pub use array::NdArray;
pub use buffer::NdBuffer;
pub use editor::NdEditor;
pub(crate) use element::swapped;
pub use element::{Element, items, values};
pub use error::ArrayError;
#[cfg(feature = "ndarray")]
pub use ndarray::items_of;
pub use options::ArrayOptions;
pub use oxiblosc_core::nd::{AxisSelection, Partition, Selection};
pub use sink::{ArraySummary, NdSink};
