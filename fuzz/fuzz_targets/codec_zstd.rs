//! The target `codec_zstd`.
#![cfg_attr(fuzzing, no_main)]

oxiblosc_fuzz::program!("codec_zstd");
