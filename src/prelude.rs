//! What most programs use, for `use oxiblosc::prelude::*`.
//!
//! It has the types of options, sinks, readers and arrays, and the traits whose methods are called on them. What plugin
//! authors implement is not here, nor are errors. The twins without async keep their path, since they have the same
//! names: `blocking::FrameReader`.
//!
//! ```
//! use oxiblosc::prelude::*;
//!
//! let params = EncodeParams { codec: CodecId::ZSTD, typesize: 4, ..EncodeParams::default() };
//! let mut writer = blocking::FrameWriter::in_memory(WriteOptions::new(params))?;
//! writer.write_items(&[1.5f32, 2.5, 3.5])?;
//! writer.finish()?;
//! let reader = blocking::FrameReader::from_bytes(writer.into_bytes())?;
//! assert_eq!(reader.items_as::<f32>(1..3)?, [2.5, 3.5]);
//!
//! let mut writer = blocking::NdWriter::in_memory(ArrayOptions::of::<f64>([100, 3]))?;
//! writer.write_items(&[0.25; 300])?;
//! writer.finish()?;
//! let array = blocking::NdArray::from_bytes(writer.into_bytes())?;
//! assert_eq!(array.read_as::<f64>(&"99, :2".parse()?)?, [0.25; 2]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub use oxiblosc_core::chunk::{EncodeParams, SplitMode};
pub use oxiblosc_core::pipeline::FilterSlots;
pub use oxiblosc_core::{CodecId, FilterId, Inline, Limits, Registry};
pub use oxiblosc_streaming::nd::{ArrayOptions, Element, NdArray, NdEditor, NdSink, Selection};
pub use oxiblosc_streaming::source::RangeSource;
pub use oxiblosc_streaming::target::Target;
pub use oxiblosc_streaming::{
    Budget, Drive, ErrorKind, FrameReader, FrameSink, FrameStream, Pool, Progress, ReadOptions, Summary, WriteOptions,
    blocking,
};
