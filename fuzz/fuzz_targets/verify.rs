//! The target `verify`.
#![cfg_attr(fuzzing, no_main)]

oxiblosc_fuzz::program!("verify");
