//! The target `edit`.
#![cfg_attr(fuzzing, no_main)]

oxiblosc_fuzz::program!("edit");
