//! The target `codec_zfp_precision`.
#![cfg_attr(fuzzing, no_main)]

oxiblosc_fuzz::program!("codec_zfp_precision");
