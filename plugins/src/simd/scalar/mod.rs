//! Portable kernels: the fallback on every machine, and the reference of every vector kernel.

mod bitshuffle;
mod bytes;
mod shuffle;
mod words;

pub(super) use bitshuffle::{bitshuffle, bitunshuffle};
pub(super) use bytes::{add_running, sub_previous};
pub(super) use shuffle::{shuffle, unshuffle};
pub(super) use words::{mask, xor, xor_running};
