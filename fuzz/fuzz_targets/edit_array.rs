//! The target `edit_array`.
#![cfg_attr(fuzzing, no_main)]

oxiblosc_fuzz::program!("edit_array");
