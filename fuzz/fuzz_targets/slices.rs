//! The target `slices`.
#![cfg_attr(fuzzing, no_main)]

oxiblosc_fuzz::program!("slices");
