//! The n-dimensional layer against straightforward reference implementations that handle one index at a time.

mod array;
mod dtype;
mod meta;
mod partition;
mod plan;
mod resize;
mod selection;
mod tiling;
