//! `libblosc2_oxixor.so`: a filter for C-Blosc2, and for programs that load it.
#![forbid(unsafe_code)]

mod xor;

use oxiblosc_core::FilterId;
use oxiblosc_core::filter::FilterTraits;
use oxiblosc_export::export_filter;

export_filter!(FilterId(232), "oxixor", FilterTraits::LOSSLESS.keeping_zeros(), || Box::new(xor::Xor));
