//! N-dimensional arrays (b2nd): frames whose chunks and blocks are boxes of an array.
//!
//! | to | use |
//! |---|---|
//! | read slices, single items, orthogonal selections, coordinates | [`NdArray`] |
//! | write an array, or rows as they come | [`ArrayOptions`], [`NdSink`] |
//! | write slices, resize, append along an axis | [`NdEditor`] |
//! | do without async | [`blocking::NdArray`](crate::blocking::NdArray), [`blocking::NdWriter`](crate::blocking::NdWriter) |

mod array;
mod buffer;
mod decode;
mod editor;
mod error;
mod fetch;
mod groups;
mod job;
mod options;
mod read;
mod sink;
mod tiler;

pub use array::NdArray;
pub use buffer::NdBuffer;
pub use editor::NdEditor;
pub use error::ArrayError;
pub use options::ArrayOptions;
pub use oxiblosc_core::nd::{AxisSelection, Partition, Selection};
pub use sink::{ArraySummary, NdSink};
pub(crate) use tiler::{Tile, Tiler};
