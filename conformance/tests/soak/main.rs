//! Load: for a while, everything at once, against a model.
//!
//! - sinks into all targets and readers out of them, with what goes wrong below them (the cases of the suite `ways`);
//! - frames with a long history of edits, compared after each commit with plain bytes in memory, while readers opened
//!   before go on reading what they have opened;
//! - processes that are killed while they write, append, edit and compact;
//! - hundreds of sinks and readers on two threads.
//!
//! Ten seconds by default; `OXIBLOSC_SOAK_SECONDS=3600` is an hour. With `OXIBLOSC_FIGURES=DIRECTORY` what was done goes to
//! a file there.

#[allow(dead_code, reason = "the suite `ways` uses more of it")]
#[path = "../ways/append.rs"]
mod append;
#[path = "../ways/array.rs"]
mod array;
#[allow(dead_code, reason = "the suite `ways` uses more of it")]
#[path = "../ways/case.rs"]
mod case;
#[path = "../ways/check.rs"]
mod check;
#[path = "../reliability/figures.rs"]
mod figures;
mod history;
#[path = "../ways/intake.rs"]
mod intake;
mod kills;
mod many;
#[path = "../ways/payload.rs"]
mod payload;
#[allow(dead_code, reason = "the suite `ways` uses more of it")]
#[path = "../ways/place.rs"]
mod place;
#[path = "../ways/run.rs"]
mod run;
#[path = "../targets/store.rs"]
mod store;
mod tally;

use std::thread;
use std::time::{Duration, Instant};

use oxiblosc_conformance::data::Random;

use case::{Case, Chunk, Data, Door, Drops, Encode, Extras, Fault, Item, Mode, Piece, Size, Threads, Way};
use tally::{Tally, most_memory};

/// Most memory that the process may ever have had. Memory is a target here, of frames of 20 MiB, of which each worker has
/// one or two, and the model of a history is held twice; beside that a sink or a reader holds what its options say.
const MOST_MEMORY: u64 = 1500 << 20;

#[test]
fn soak() {
    let seconds = std::env::var("OXIBLOSC_SOAK_SECONDS").map_or(10, |seconds| seconds.parse().expect("a number"));
    let seed = std::env::var("OXIBLOSC_SOAK_SEED").map_or(0, |seed| seed.parse().expect("a number"));
    let (tally, start) = (Tally::default(), Instant::now());
    let end = start + Duration::from_secs(seconds);
    thread::scope(|scope| {
        let tally = &tally;
        for worker in 0..2 {
            scope.spawn(move || {
                let mut random = Random::new(seed ^ worker);
                while Instant::now() < end {
                    sink_and_reader(&mut random, tally);
                }
            });
        }
        scope.spawn(move || {
            let mut random = Random::new(seed ^ 100);
            while Instant::now() < end {
                history::run(random.next_u64() % 1_000_000, end, tally);
            }
        });
        scope.spawn(move || kills::run(seed ^ 200, end, tally));
        scope.spawn(move || many::run(end, tally));
    });
    let figures = tally.figures(start.elapsed());
    println!("{figures}");
    tally.write(seconds);
    assert_eq!(tally.lost(), 0, "bytes that were acknowledged are lost");
    assert!(tally.has_done_everything(), "{figures}");
    if let Some(bytes) = most_memory() {
        assert!(bytes < MOST_MEMORY, "the process has had {bytes} bytes, expected less than {MOST_MEMORY}");
    }
}

/// Not a test in itself: what runs in the processes that are killed.
#[test]
fn child() {
    kills::child();
}

/// A case of the suite `ways`, with a value drawn for each dimension.
fn sink_and_reader(random: &mut Random, tally: &Tally) {
    fn draw<T: Copy>(random: &mut Random, values: &[T]) -> T {
        values[random.below(values.len())]
    }
    let sizes = match random.below(12) {
        0 => &[Size::Mib20][..],
        1..4 => &[Size::Several],
        _ => {
            &[Size::Empty, Size::One, Size::ChunkLess, Size::Chunk, Size::ChunkMore, Size::GatherLess, Size::GatherMore]
        }
    };
    let case = Case {
        way: draw(random, Way::ALL),
        mode: draw(random, Mode::ALL),
        size: draw(random, sizes),
        piece: draw(random, &[Piece::Odd, Piece::Kib64, Piece::Mib, Piece::Whole]),
        threads: draw(random, Threads::ALL),
        chunk: draw(random, Chunk::ALL),
        item: draw(random, Item::ALL),
        data: draw(random, Data::ALL),
        fault: draw(random, Fault::ALL),
        drops: draw(random, Drops::ALL),
        door: draw(random, Door::ALL),
        encode: draw(random, Encode::ALL),
        extras: draw(random, Extras::ALL),
        seed: random.next_u64() % 1_000_000,
    };
    match run::run(&case) {
        Ok(errors) => tally.sink(run::payload(&case).len(), errors),
        Err(error) => panic!("{error}\n  OXIBLOSC_WAYS_CASE='{case}' (of the suite `ways`)"),
    }
}
