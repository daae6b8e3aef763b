//! The target `stream`.
#![cfg_attr(fuzzing, no_main)]

oxiblosc_fuzz::program!("stream");
