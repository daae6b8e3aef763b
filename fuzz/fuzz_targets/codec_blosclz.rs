//! The target `codec_blosclz`.
#![cfg_attr(fuzzing, no_main)]

oxiblosc_fuzz::program!("codec_blosclz");
