//! Async sinks and streams of Blosc2 frames.
