//! Frames: what the writer writes opens again, and what is damaged does not.

mod editor;
mod sparse;
mod support;
mod writer;
