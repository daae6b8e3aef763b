//! The target `chunk`.
#![cfg_attr(fuzzing, no_main)]

oxiblosc_fuzz::program!("chunk");
