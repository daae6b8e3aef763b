//! `libblosc2_pco.so`: the codec pco for C-Blosc2, and for programs that load it.
#![forbid(unsafe_code)]

use oxiblosc_pco as _;

oxiblosc_export::export_codec!("pco");
