//! The target `copy`.
#![cfg_attr(fuzzing, no_main)]

oxiblosc_fuzz::program!("copy");
