//! The codecs and filters of Blosc2, registered in the same way as third-party ones.
//!
//! Linking this crate is all it takes: every codec and filter registers itself, and
//! [`Registry::linked`](oxiblosc_core::Registry::linked) finds them. A crate that is never named in the program is not
//! linked, however; call [`link`] (the facade crate `oxiblosc` does) if nothing else of it is used.
//!
//! ```
//! use oxiblosc_core::codec::CodecContext;
//! use oxiblosc_core::filter::BlockContext;
//! use oxiblosc_core::{CodecId, Registry};
//!
//! oxiblosc_plugins::link();
//! let mut lz4 = Registry::linked()?.codec(CodecId::LZ4)?.instance();
//!
//! let ctx = CodecContext::new(BlockContext::new(1), 9);
//! let data = b"the cat sat on the mat, the cat sat on the mat, the cat sat on the mat";
//! let mut packed = [0; 70];
//! let len = lz4.compress(&ctx, data, &mut packed)?.expect("the text repeats itself");
//! assert!(len < data.len());
//!
//! let mut back = [0; 70];
//! lz4.decompress(&ctx, &packed[..len], &mut back)?;
//! assert_eq!(&back, data);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
// Which feature an item takes, on docs.rs.
#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod codecs;
pub mod filters;
#[cfg(all(test, unix))]
mod guard_pages;
pub mod simd;

/// Makes the linker keep this crate, and with it the registrations of its codecs and filters. Does nothing else.
pub const fn link() {}
