//! The target `edit_sparse`.
#![cfg_attr(fuzzing, no_main)]

oxiblosc_fuzz::program!("edit_sparse");
