//! The target `codec_brotli`.
#![cfg_attr(fuzzing, no_main)]

oxiblosc_fuzz::program!("codec_brotli");
