//! Frames: what the writer writes opens again, and what is damaged does not.

mod early;
mod editor;
mod malformed;
mod mutation;
mod sparse;
mod support;
mod writer;
