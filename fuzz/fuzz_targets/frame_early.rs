//! The target `frame_early`.
#![cfg_attr(fuzzing, no_main)]

oxiblosc_fuzz::program!("frame_early");
