//! The target `codec_snappy`.
#![cfg_attr(fuzzing, no_main)]

oxiblosc_fuzz::program!("codec_snappy");
