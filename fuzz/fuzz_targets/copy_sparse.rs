//! The target `copy_sparse`.
#![cfg_attr(fuzzing, no_main)]

oxiblosc_fuzz::program!("copy_sparse");
