//! All targets in one program, which is built sooner than all of theirs: the variable `OXIBLOSC_FUZZ_TARGET` says which.
#![cfg_attr(fuzzing, no_main)]

oxiblosc_fuzz::program!(std::env::var("OXIBLOSC_FUZZ_TARGET").expect("OXIBLOSC_FUZZ_TARGET names a target"));
