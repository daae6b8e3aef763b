//! The target `frame`.
#![cfg_attr(fuzzing, no_main)]

oxiblosc_fuzz::program!("frame");
