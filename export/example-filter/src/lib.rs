//! `libblosc2_oxixor.so`: a filter for C-Blosc2, and for programs that load it.
#![forbid(unsafe_code)]

mod xor;

use oxiblosc_core::FilterId;
use oxiblosc_export::export_filter;

export_filter!(FilterId(232), "oxixor", xor::TRAITS, || Box::new(xor::Xor::default()));
