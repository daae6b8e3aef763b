//! Many chunks in one file: contiguous and sparse frames, of every age.
//!
//! Source: contiguous frame format document, early frame format document.
