//! Models of frames and arrays that are edited: the same random changes made to both, and a comparison of every byte.
//!
//! An editor promises that after a commit the frame has its old content with the changes applied, and that a refused
//! change changes nothing. [`FrameModel`] and [`ArrayModel`] are built from a frame, make random changes to both, and
//! compare the model with what a reader finds, wherever the frame is stored.
//!
//! ```
//! use oxiblosc_conformance::data::Random;
//! use oxiblosc_conformance::edits::FrameModel;
//! use oxiblosc_streaming::blocking::{FrameEditor, FrameReader, FrameWriter};
//! use oxiblosc_streaming::WriteOptions;
//! # use oxiblosc as _;
//!
//! let mut writer = FrameWriter::in_memory(WriteOptions::default().chunk_size(1000))?;
//! std::io::Write::write_all(&mut writer, &[7; 2500])?;
//! writer.finish()?;
//! let frame = writer.into_bytes();
//!
//! let mut model = FrameModel::of(&FrameReader::from_bytes(frame.clone())?)?;
//! let mut editor = FrameEditor::from_bytes(frame)?;
//! let mut random = Random::new(1);
//! for _ in 0..5 {
//!     let change = model.change(&mut editor, &mut random);
//!     assert!(change.refused.is_none(), "{change:?}");
//! }
//! editor.commit()?;
//! model.compare(&FrameReader::from_bytes(editor.frame_bytes()?)?).unwrap();
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod array;
mod frame;
mod padding;

pub use array::ArrayModel;
pub use frame::{Change, FrameModel};
pub use padding::with_padded_header;
