//! The target `codec_lz4hc`.
#![cfg_attr(fuzzing, no_main)]

oxiblosc_fuzz::program!("codec_lz4hc");
