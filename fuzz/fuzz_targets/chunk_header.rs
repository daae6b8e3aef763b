//! The target `chunk_header`.
#![cfg_attr(fuzzing, no_main)]

oxiblosc_fuzz::program!("chunk_header");
