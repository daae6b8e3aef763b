//! The target `transport`.
#![cfg_attr(fuzzing, no_main)]

oxiblosc_fuzz::program!("transport");
