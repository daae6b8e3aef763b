//! Counts the instructions of fixed cases and compares them with recorded ones.
//!
//! Times say little on a machine that is busy with other things. The number of instructions is the same in every run,
//! so a regression shows on any machine. Each case runs under `valgrind --tool=callgrind` once and three times; half
//! of the difference is what one run costs, without start-up and preparation. Valgrind has no AVX-512, so the kernels
//! are those for AVX2.
//!
//! ```text
//! cargo run --release -p oxiblosc-bench --bin instructions [-- --update]
//! ```

use std::collections::BTreeMap;
use std::fmt::Write;
use std::process::{Command, ExitCode};

use clap::{Parser, Subcommand};
use oxiblosc_core::FilterId;
use oxiblosc_core::filter::BlockContext;
use oxiblosc_core::registry::Registry;

use oxiblosc_bench::peer::ours::Chunks;
use oxiblosc_bench::peer::{ChunkCodec, Slot};
use oxiblosc_bench::settings::{Codec, Filter, Settings};
use oxiblosc_bench::workload::{Source, Workload};
use oxiblosc_bench::{Error, Result};

/// Differences up to this are not reported: hash seeds and addresses move a few branches.
const TOLERANCE: f64 = 0.02;

/// Bytes of data in a case; Valgrind is some fifty times slower than the machine.
const BYTES: usize = 1 << 20;

const RECORD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/instructions.tsv");

#[derive(Debug, Parser)]
#[command(about = "Counts the instructions of fixed cases and compares them with recorded ones")]
struct Args {
    /// Record the counts instead of comparing them.
    #[arg(long)]
    update: bool,
    #[command(subcommand)]
    command: Option<Action>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Run one case this many times; this is what runs under Valgrind.
    #[command(hide = true)]
    Run { case: String, times: usize },
}

/// What a case does.
#[derive(Clone, Copy)]
enum Work {
    Forward(FilterId),
    Backward(FilterId),
    Encode(Codec, Filter, u8),
    Decode(Codec, u8),
    /// Reads this many single items of a chunk.
    Items(Codec, usize),
}

/// A case: its name, its data set, what it does.
type Case = (&'static str, &'static str, Work);

const CASES: [Case; 23] = [
    ("shuffle-f32", "noisy-f32", Work::Forward(FilterId::SHUFFLE)),
    ("unshuffle-f64", "smooth-f64", Work::Backward(FilterId::SHUFFLE)),
    ("bitshuffle-f32", "noisy-f32", Work::Forward(FilterId::BITSHUFFLE)),
    ("unbitshuffle-u16", "image-u16", Work::Backward(FilterId::BITSHUFFLE)),
    ("bytedelta-f64", "smooth-f64", Work::Forward(FilterId::BYTEDELTA)),
    ("unbytedelta-f64", "smooth-f64", Work::Backward(FilterId::BYTEDELTA)),
    ("encode-blosclz5-i64", "timestamps-i64", Work::Encode(Codec::BloscLz, Filter::Shuffle, 5)),
    ("decode-blosclz5-i64", "timestamps-i64", Work::Decode(Codec::BloscLz, 5)),
    ("encode-lz4-5-f64", "smooth-f64", Work::Encode(Codec::Lz4, Filter::Shuffle, 5)),
    ("decode-lz4-5-f64", "smooth-f64", Work::Decode(Codec::Lz4, 5)),
    ("encode-lz4hc5-f32", "disparity-f32", Work::Encode(Codec::Lz4Hc, Filter::Shuffle, 5)),
    ("encode-zlib1-i16", "fmri-i16", Work::Encode(Codec::Zlib, Filter::Shuffle, 1)),
    ("encode-zlib9-i16", "fmri-i16", Work::Encode(Codec::Zlib, Filter::Shuffle, 9)),
    ("encode-zlib5-i16", "fmri-i16", Work::Encode(Codec::Zlib, Filter::Shuffle, 5)),
    ("decode-zlib5-i16", "fmri-i16", Work::Decode(Codec::Zlib, 5)),
    ("encode-zstd1-u16", "image-u16", Work::Encode(Codec::Zstd, Filter::Shuffle, 1)),
    ("encode-zstd5-f64", "smooth-f64", Work::Encode(Codec::Zstd, Filter::Shuffle, 5)),
    ("decode-zstd1-u16", "image-u16", Work::Decode(Codec::Zstd, 1)),
    // Where nothing but zlib is small enough, and noise.
    ("encode-zlib9-bare-u16", "image-u16", Work::Encode(Codec::Zlib, Filter::None, 9)),
    ("encode-zlib9-bare-f64", "smooth-f64", Work::Encode(Codec::Zlib, Filter::None, 9)),
    ("encode-lz4hc5-bare-f64", "smooth-f64", Work::Encode(Codec::Lz4Hc, Filter::None, 5)),
    ("encode-zstd9-bare-f64", "smooth-f64", Work::Encode(Codec::Zstd, Filter::None, 9)),
    ("items-lz4-f32", "disparity-f32", Work::Items(Codec::Lz4, 64)),
];

fn main() -> ExitCode {
    let args = Args::parse();
    let result = match args.command {
        Some(Action::Run { case, times }) => run(&case, times).map(|()| true),
        None => count_all().and_then(|counts| if args.update { record(&counts) } else { compare(&counts) }),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(e) => {
            eprintln!("error: {e}");
            ExitCode::FAILURE
        }
    }
}

fn run(name: &str, times: usize) -> Result<()> {
    let case =
        CASES.iter().find(|case| case.0 == name).ok_or_else(|| Error::new(format!("no case is called {name}")))?;
    let source = Source::named(case.1).ok_or_else(|| Error::new(format!("no data set is called {}", case.1)))?;
    let Workload { typesize, bytes, .. } = source.load(BYTES)?;
    let mut dst = vec![0; BYTES];
    let chunks =
        |codec, filter, level| Chunks::new(&Settings { codec, filter, level, threads: 1, typesize, block_size: None });
    match case.2 {
        Work::Forward(id) | Work::Backward(id) => {
            let registry = Registry::linked().map_err(Error::new)?;
            let mut filter = registry.filter(id).map_err(Error::new)?.instance();
            let mut ctx = BlockContext::new(typesize);
            if id == FilterId::BYTEDELTA {
                ctx.meta = u8::try_from(typesize).map_err(Error::new)?;
            }
            for _ in 0..times {
                match case.2 {
                    Work::Forward(_) => filter.forward(&ctx, &bytes, &mut dst),
                    _ => filter.backward(&ctx, &bytes, &mut dst),
                }
                .map_err(Error::new)?;
            }
        }
        Work::Encode(codec, filter, level) => {
            let mut chunks = chunks(codec, filter, level)?;
            let mut chunk = Slot::touched(2 * BYTES);
            (0..times).try_for_each(|_| chunks.compress(&bytes, &mut chunk))?;
        }
        Work::Decode(codec, level) => {
            let mut chunks = chunks(codec, Filter::Shuffle, level)?;
            let mut chunk = Slot::default();
            chunks.compress(&bytes, &mut chunk)?;
            (0..times).try_for_each(|_| chunks.decompress(&chunk, &mut dst))?;
        }
        Work::Items(codec, reads) => {
            let mut chunks = chunks(codec, Filter::Shuffle, 5)?;
            let mut chunk = Slot::default();
            chunks.compress(&bytes, &mut chunk)?;
            for read in 0..times * reads {
                // A prime stride visits blocks in no particular order.
                let start = read * 7919 % (BYTES / typesize);
                chunks.items(&chunk, start, typesize, &mut dst[..typesize])?;
            }
        }
    }
    std::hint::black_box(&dst);
    Ok(())
}

type Counts = BTreeMap<String, u64>;

fn count_all() -> Result<Counts> {
    let counts = CASES.iter().map(|case| {
        let (once, thrice) = (count(case.0, 1)?, count(case.0, 3)?);
        Ok((case.0.to_owned(), thrice.saturating_sub(once) / 2))
    });
    counts.collect()
}

fn count(case: &str, times: usize) -> Result<u64> {
    let exe = std::env::current_exe().map_err(Error::new)?;
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(exe)
        .args(["run", case, &times.to_string()])
        .output()
        .map_err(|e| Error::new(format!("valgrind: {e}")))?;
    let text = String::from_utf8_lossy(&output.stderr);
    let collected = text.lines().find_map(|line| line.split_once("Collected :")?.1.trim().parse().ok());
    match collected {
        Some(count) if output.status.success() => Ok(count),
        _ => Err(Error::new(format!("{case}: {}\n{text}", output.status))),
    }
}

fn record(counts: &Counts) -> Result<bool> {
    let mut text = String::from(
        "# Instructions of one run of each case, release build, x86-64 with AVX2; written by\n\
         # `cargo run --release -p oxiblosc-bench --bin instructions -- --update`\n",
    );
    for (case, count) in counts {
        let _ = writeln!(text, "{case}\t{count}");
    }
    std::fs::write(RECORD, text).map_err(|e| Error::new(format!("{RECORD}: {e}")))?;
    Ok(true)
}

/// Prints both counts of every case. Returns false if one has grown.
fn compare(counts: &Counts) -> Result<bool> {
    let text = std::fs::read_to_string(RECORD).map_err(|e| Error::new(format!("{RECORD}: {e}")))?;
    let recorded: Counts = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once('\t').and_then(|(case, count)| Some((case.to_owned(), count.parse().ok()?))))
        .collect();
    let mut grown = false;
    for (case, &count) in counts {
        let Some(&before) = recorded.get(case) else {
            println!("{case:<22}{count:>14}  not on record");
            grown = true;
            continue;
        };
        let change = count as f64 / before as f64 - 1.0;
        let verdict = if change > TOLERANCE {
            "GROWN"
        } else if change < -TOLERANCE {
            "less: record it with --update"
        } else {
            ""
        };
        grown |= change > TOLERANCE;
        println!("{case:<22}{count:>14}{before:>14}{:>+8.1} %  {verdict}", change * 100.0);
    }
    Ok(!grown)
}
