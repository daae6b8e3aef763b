//! Kernels and their dispatch.
