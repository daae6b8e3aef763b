//! Fuzz targets, and the checks that they share with the tests of the repository.
//!
//! A target takes any bytes and panics when something is wrong: not only when the library panics, but also when two ways
//! to read the same bytes differ, when a frame that was committed does not open, when memory or time are out of
//! proportion. The same functions are run by libFuzzer, by a deterministic loop, and by the tests that replay what was
//! found.
//!
//! | file | what is in it |
//! |---|---|
//! | `target` | the list of targets |
//! | `reading`, `slicing`, `streaming`, `verifying`, `recovering`, `editing`, `array_editing`, `copying` | what must hold of frames |
//! | `chunk`, `codec`, `metalayers`, `transport` | what must hold of the rest |
//! | `mutate` | changes after which lengths and totals are right again |
//! | `seed`, `own` | the first inputs: vectors, and frames that are written for it |
//! | `bound` | limits, and what follows from them |
#![forbid(unsafe_code)]

mod array;
mod array_editing;
mod bound;
mod chunk;
mod codec;
mod copying;
mod editing;
mod metalayers;
pub mod mutate;
mod own;
mod place;
mod reading;
mod recovering;
mod script;
pub mod seed;
mod slicing;
mod streaming;
mod target;
mod transport;
mod verifying;
mod watch;

pub use bound::Setup;
pub use place::{Place, bundle, directory, files};
pub use script::{SCRIPTS, Script};
pub use target::{Seeds, Target};
pub use watch::Watch;

/// The checks one by one, for callers that have frames of their own.
pub mod check {
    pub use crate::array_editing::check as edit_array;
    pub use crate::chunk::check as chunk;
    pub use crate::copying::check as copy;
    pub use crate::editing::check as edit;
    pub use crate::reading::{Content, check_bytes, check_head, check_items, check_whole, numbers, open};
    pub use crate::recovering::check_seal as seal;
    pub use crate::target::{recover, slices, stream, verify};
    pub use crate::transport::check as transport;
}

/// The program of a target: for libFuzzer when it is built for that, and else one that replays the files it is given.
#[macro_export]
macro_rules! program {
    ($name:expr) => {
        #[global_allocator]
        static HEAP: oxiblosc_conformance::budget::Heap = oxiblosc_conformance::budget::heap();

        #[cfg(fuzzing)]
        fn watch() -> &'static $crate::Watch {
            static WATCH: std::sync::OnceLock<$crate::Watch> = std::sync::OnceLock::new();
            WATCH.get_or_init(|| $crate::Watch::new(&HEAP, &$name))
        }

        #[cfg(fuzzing)]
        libfuzzer_sys::fuzz_target!(
            init: {
                if let Some(folder) = std::env::var_os($crate::seed::FOLDER) {
                    $crate::seed::write(watch().target(), folder.as_ref()).expect("the seeds can be written");
                }
            },
            |input: &[u8]| watch().run(input)
        );

        #[cfg(fuzzing)]
        libfuzzer_sys::fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
            // Half of the changes are libFuzzer's own, which learns from comparisons.
            if seed % 2 == 0 {
                return libfuzzer_sys::fuzzer_mutate(data, size, max_size);
            }
            watch().mutate(data, size, max_size, seed)
        });

        #[cfg(not(fuzzing))]
        fn main() -> std::io::Result<()> {
            let watch = $crate::Watch::new(&HEAP, &$name);
            for file in std::env::args_os().skip(1) {
                watch.run(&std::fs::read(&file)?);
                println!("{}: nothing wrong", file.display());
            }
            Ok(())
        }
    };
}
