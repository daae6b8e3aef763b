//! The target `frame_sparse`.
#![cfg_attr(fuzzing, no_main)]

oxiblosc_fuzz::program!("frame_sparse");
