//! The target `codec_zfp_rate`.
#![cfg_attr(fuzzing, no_main)]

oxiblosc_fuzz::program!("codec_zfp_rate");
