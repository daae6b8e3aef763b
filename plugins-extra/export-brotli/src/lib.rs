//! `libblosc2_brotli.so`: the codec brotli for C-Blosc2, and for programs that load it.
#![forbid(unsafe_code)]

use oxiblosc_brotli as _;

oxiblosc_export::export_codec!("brotli");
