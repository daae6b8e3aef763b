//! Frames: what the writer writes opens again, and what is damaged does not.

mod support;
mod writer;
