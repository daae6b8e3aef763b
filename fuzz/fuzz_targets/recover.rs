//! The target `recover`.
#![cfg_attr(fuzzing, no_main)]

oxiblosc_fuzz::program!("recover");
