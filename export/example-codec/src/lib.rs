//! `libblosc2_oxirle.so`: a codec for C-Blosc2, and for programs that load it.
#![forbid(unsafe_code)]

mod rle;

use oxiblosc_core::CodecId;
use oxiblosc_export::export_codec;

export_codec!(CodecId(231), "oxirle", rle::TRAITS, || Box::new(rle::Rle::default()));
