//! N-dimensional arrays (b2nd) on top of a frame.

mod geometry;

pub use geometry::Geometry;
