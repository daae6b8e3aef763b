//! The target `metalayers`.
#![cfg_attr(fuzzing, no_main)]

oxiblosc_fuzz::program!("metalayers");
