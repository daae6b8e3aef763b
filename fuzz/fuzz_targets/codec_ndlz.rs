//! The target `codec_ndlz`.
#![cfg_attr(fuzzing, no_main)]

oxiblosc_fuzz::program!("codec_ndlz");
