//! Every way into a frame and out of it, at real sizes: whatever goes in comes out, byte for byte, whatever is not
//! ready, fails or is dropped on the way.
//!
//! Cases are drawn by a generator until every value of every dimension has met every value of every other one (see
//! [`case`] for the dimensions). A case that fails prints one line, which runs it alone:
//!
//! ```text
//! OXIBLOSC_WAYS_CASE='way=spool-file mode=offloaded ...' cargo test -p oxiblosc-conformance --test ways one_case
//! ```
//!
//! | variable | what it does |
//! |---|---|
//! | `OXIBLOSC_WAYS_SECONDS=3600` | goes on with other cases, up to 256 MiB each, until the time is over (`for_long`) |
//! | `OXIBLOSC_WAYS_SEED=7` | draws other cases |
//! | `OXIBLOSC_WAYS_LARGE=1` | 64 MiB and 1 GiB through every way in every mode (`large`) |
//! | `OXIBLOSC_FIGURES=DIRECTORY` | writes what was done to files there |

mod append;
mod array;
mod case;
mod check;
#[path = "../interop/environment.rs"]
mod environment;
#[path = "../reliability/figures.rs"]
mod figures;
mod intake;
mod pairs;
mod payload;
mod place;
mod python;
mod run;
#[path = "../targets/store.rs"]
mod store;
mod suite;
#[path = "../interop/worker.rs"]
mod worker;

use std::time::{Duration, Instant};

use case::{Case, Chunk, Data, Extras, Fault, Mode, Size, Threads, Way};
use pairs::Pairs;
use suite::Suite;

/// The sizes of cases in a long run.
const MORE_SIZES: &[Size] = &[
    Size::Empty,
    Size::One,
    Size::ChunkLess,
    Size::Chunk,
    Size::ChunkMore,
    Size::Several,
    Size::GatherLess,
    Size::Gather,
    Size::GatherMore,
    Size::Mib20,
    Size::Mib64,
    Size::Mib256,
];
/// The sizes of cases in an ordinary run: up to 20 MiB.
const SIZES: &[Size] = MORE_SIZES.split_at(10).0;

#[test]
fn all_pairs() {
    let mut pairs = Pairs::new(SIZES, seed());
    Suite::run("all-pairs", 2, || pairs.next());
}

/// Pairs are not enough where it matters most: every way in every mode with what nothing makes smaller.
#[test]
fn twenty_mib_through_every_way_in_every_mode() {
    let mut pairs = Pairs::new(&[Size::Mib20], seed().wrapping_add(2));
    let ways = Way::ALL.iter().flat_map(|&way| Mode::ALL.iter().map(move |&mode| (way, mode)));
    let cases = ways.zip(std::iter::from_fn(|| pairs.next())).map(|((way, mode), drawn)| Case {
        way,
        mode,
        data: Data::Noise,
        fault: if drawn.fault == Fault::Always { Fault::None } else { drawn.fault },
        ..drawn
    });
    let mut cases = cases.collect::<Vec<_>>().into_iter();
    Suite::run("20-mib", 2, || cases.next());
}

/// In the default mode, with the default options but for the chunk size, which is not the same for all ways.
#[test]
fn sixty_four_mib_through_every_way() {
    let chunks = [Chunk::Large, Chunk::Mib, Chunk::Mib4, Chunk::Kib64];
    let cases = Way::ALL.iter().enumerate().map(|(i, &way)| {
        let mut case = Case::usual(way, Mode::Offloaded, Size::Mib64);
        case.chunk = chunks[i % chunks.len()];
        case
    });
    let mut cases = cases.collect::<Vec<_>>().into_iter();
    Suite::run("64-mib", 2, || cases.next());
}

/// The case in the environment.
#[test]
fn one_case() {
    if let Ok(line) = std::env::var("OXIBLOSC_WAYS_CASE") {
        let case = line.parse().unwrap_or_else(|error| panic!("{line:?}: {error}"));
        let mut cases = std::iter::once(case);
        Suite::run("one-case", 1, || cases.next());
    }
}

/// Round after round of all pairs, each with another seed, until the time is over.
#[test]
fn for_long() {
    let Ok(seconds) = std::env::var("OXIBLOSC_WAYS_SECONDS") else { return };
    let seconds = seconds.parse().expect("OXIBLOSC_WAYS_SECONDS is a number");
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut pairs = Pairs::new(MORE_SIZES, seed().wrapping_add(1));
    Suite::run("for-long", 2, || {
        if Instant::now() > end {
            return None;
        }
        pairs.next().or_else(|| {
            pairs.begin();
            pairs.next()
        })
    });
}

/// 64 MiB and 1 GiB through every way in every mode; one at a time, for a gigabyte is held where memory is the place.
#[test]
fn large() {
    if std::env::var_os("OXIBLOSC_WAYS_LARGE").is_none() {
        return;
    }
    for (name, size) in [("large-64-mib", Size::Mib64), ("large-1-gib", Size::Gib)] {
        let cases = Way::ALL.iter().flat_map(|&way| Mode::ALL.iter().map(move |&mode| Case::usual(way, mode, size)));
        let mut cases = cases.collect::<Vec<_>>().into_iter();
        Suite::run(name, 1, || cases.next());
    }
}

/// What once went wrong, and cases beside it.
#[test]
fn known() {
    let mut cases = Vec::new();
    for way in [Way::SpoolFile, Way::File, Way::FileInPlace] {
        for chunk in [Chunk::Kib64, Chunk::Large, Chunk::Mib4] {
            for (fault, extras) in [(Fault::None, Extras::Plain), (Fault::Once, Extras::Checked)] {
                for threads in [Threads::Default, Threads::Inline] {
                    let mut case = Case::usual(way, Mode::Offloaded, Size::Mib20);
                    (case.chunk, case.fault, case.extras, case.threads) = (chunk, fault, extras, threads);
                    cases.push(case);
                }
            }
        }
    }
    let mut cases = cases.into_iter();
    Suite::run("known", 2, || cases.next());
}

fn seed() -> u64 {
    std::env::var("OXIBLOSC_WAYS_SEED").map_or(0, |seed| seed.parse().expect("OXIBLOSC_WAYS_SEED is a number"))
}
