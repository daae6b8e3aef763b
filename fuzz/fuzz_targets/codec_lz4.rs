//! The target `codec_lz4`.
#![cfg_attr(fuzzing, no_main)]

oxiblosc_fuzz::program!("codec_lz4");
