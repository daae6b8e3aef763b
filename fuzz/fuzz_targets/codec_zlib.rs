//! The target `codec_zlib`.
#![cfg_attr(fuzzing, no_main)]

oxiblosc_fuzz::program!("codec_zlib");
