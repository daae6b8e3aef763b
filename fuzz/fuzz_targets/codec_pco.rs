//! The target `codec_pco`.
#![cfg_attr(fuzzing, no_main)]

oxiblosc_fuzz::program!("codec_pco");
