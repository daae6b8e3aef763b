//! Frames: what the writer writes opens again, and what is damaged does not.

mod early;
mod editor;
mod malformed;
mod mutation;
mod odd_headers;
mod sparse;
mod support;
mod writer;
mod zeros;
