//! The target `recover_sparse`.
#![cfg_attr(fuzzing, no_main)]

oxiblosc_fuzz::program!("recover_sparse");
