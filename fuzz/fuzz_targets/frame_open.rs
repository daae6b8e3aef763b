//! The target `frame_open`.
#![cfg_attr(fuzzing, no_main)]

oxiblosc_fuzz::program!("frame_open");
