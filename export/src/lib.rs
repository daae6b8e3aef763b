//! Filters and codecs as shared libraries: one crate, and every Blosc2 can use it.
//!
//! ```
//! use oxiblosc_core::CodecId;
//! use oxiblosc_core::codec::{Codec, CodecContext, CodecError, CodecTraits};
//! use oxiblosc_export::export_codec;
//!
//! /// Keeps blocks that are two bytes in turn.
//! #[derive(Clone)]
//! struct Turns;
//!
//! impl Codec for Turns {
//!     fn compress(&mut self, _: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<Option<usize>, CodecError> {
//!         let turns = src.len() > 2 && dst.len() >= 2 && src.iter().skip(2).eq(src.iter().take(src.len() - 2));
//!         Ok(turns.then(|| dst[..2].copy_from_slice(&src[..2])).map(|()| 2))
//!     }
//!
//!     fn decompress(&mut self, _: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<usize, CodecError> {
//!         dst.iter_mut().zip(src.iter().take(2).cycle()).for_each(|(d, s)| *d = *s);
//!         Ok(if src.len() == 2 { dst.len() } else { 0 })
//!     }
//! }
//!
//! export_codec!(CodecId(230), "turns", CodecTraits::PLAIN, || Box::new(Turns));
//! ```
//!
//! With this in its manifest the crate becomes `libblosc2_turns.so` (`.dylib` on macOS, `blosc2_turns.dll` on Windows):
//!
//! ```toml
//! [lib]
//! name = "blosc2_turns"
//! crate-type = ["cdylib"]
//! ```
//!
//! A crate that registers its plugin with [`register_codec!`](oxiblosc_core::register_codec) already stays as it is.
//! The library is then a crate of its own, with two lines: `use that_crate as _;` and `export_codec!("turns");`.
//!
//! # In programs with oxiblosc
//!
//! [`load`] opens the library, and [`Plugin::register`] adds the plugin to a [`Registry`](oxiblosc_core::Registry):
//!
//! ```no_run
//! # use oxiblosc_core::Registry;
//! let mut registry = Registry::linked()?.clone();
//! oxiblosc_export::load("libblosc2_turns.so")?.register(&mut registry)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! `oxiblosc --plugin libblosc2_turns.so` does so for one command, and the environment variable `OXIBLOSC_PLUGINS`,
//! with libraries separated as in `PATH`, for all. Program and library may be built by different compilers, with
//! different versions of the other crates: what counts is [`INTERFACE_VERSION`], which must be the same.
//!
//! # In C-Blosc2
//!
//! C-Blosc2 from 3.0 on loads the library when it first meets the codec, in every language that is built on it. It
//! looks for `libblosc2_turns.so` where the system looks for libraries, and then asks `python`, on the path, for a
//! package `blosc2_turns` with a function `print_libpath`, which prints the path without a line break:
//!
//! ```python
//! def print_libpath():
//!     print(os.path.join(os.path.dirname(__file__), "libblosc2_turns.so"), end="")
//! ```
//!
//! The program registers id and name, and that is all: `blosc2.register_codec("turns", 230)` in Python, or
//! `blosc2.register_filter(230, filter_name="invert")`. If the format of the codec has another version than 1, it also
//! passes that. The names may not contain `-`.
//!
//! Every thread of C-Blosc2 has an instance of the plugin. Errors and panics become error codes, which are exceptions
//! in Python; with `BLOSC_TRACE=1` in the environment the errors are printed. That panics are caught takes a library
//! that is built with `panic = "unwind"`, as is usual.
//!
//! C-Blosc2 tells a plugin less than oxiblosc does:
//!
//! | | in C-Blosc2 |
//! |---|---|
//! | meta, type size, level, last filter, version | as in oxiblosc |
//! | item size | as in oxiblosc; `None` for items of 1 byte outside a super-chunk |
//! | array | the shapes of a super-chunk that holds an array; `None` outside one |
//! | block, offset | 0 and `None`: a positional plugin fails |
//! | reference | `None`: a filter that needs it fails |
//! | stream, streams | 0 of 1, also where a block is split |
//! | last, short block | always `false` |
//! | dictionary | `None`: C-Blosc2 has dictionaries for its own codecs alone |
//! | parameters | those in the metalayer [`METALAYER`](oxiblosc_core::plugin_params::PluginParams::METALAYER) of the super-chunk; none outside one |
//! | range of a stream | whole streams alone |
//!
//! Frames that oxiblosc has written with [parameters](oxiblosc_core::plugin_params) have the metalayer, so that C-Blosc2
//! reads them. To write with parameters there, make the super-chunk with the metalayer, in Python for instance with
//! `meta={"oxiblosc_plugins": {"codec": [230, {"level": "8"}]}}`. A filter in several slots must have the same
//! parameters in all of them.
//!
//! With [`load`] parameters and [ranges](oxiblosc_core::codec::Codec::decompress_range) pass as if the plugin were linked.
//!
//! What a plugin stores must not depend on what C-Blosc2 does not say, or else its data is read in one of the two
//! alone. C-Blosc2 also knows nothing of [`keeps_zeros`](oxiblosc_core::filter::FilterTraits::keeps_zeros) and the
//! other traits.
// Which feature an item takes, on docs.rs.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![warn(unsafe_op_in_unsafe_fn)]

mod blosc2;
mod buffer;
mod idle;
mod interface;
mod load;
mod macros;
mod named;
mod provide;
mod remote;

pub use interface::VERSION as INTERFACE_VERSION;
pub use load::{LoadError, Plugin, load};

/// What the macros of this crate need; not part of the public interface.
#[doc(hidden)]
pub mod private {
    pub use oxiblosc_core::{register_codec, register_filter};

    pub use crate::blosc2::Info;
    pub use crate::blosc2::codec::{decode, encode};
    pub use crate::blosc2::filter::{backward, forward};
    pub use crate::blosc2::layout::{CParams, DParams};
    pub use crate::interface::Interface;
    pub use crate::named::{Named, is_c_name};
}
