//! Inputs for the fuzz targets, and a loop that needs neither libFuzzer nor instrumentation.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use oxiblosc_conformance::budget::{self, Heap, ResourceLimit};
use oxiblosc_conformance::data::Random;
use oxiblosc_fuzz::{Target, Watch, seed};

#[global_allocator]
static HEAP: Heap = budget::heap();

const USAGE: &str = "usage: oxiblosc-fuzz list | seed FOLDER | loop TARGET ROUNDS [SEED] | replay TARGET FILE...";

/// Longest inputs of the loop.
const MOST: usize = 64 << 10;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match arguments[..] {
        ["list"] => {
            Target::ALL.iter().for_each(|target| println!("{}", target.name));
            Ok(())
        }
        ["seed", folder] => seed_all(Path::new(folder)),
        ["loop", target, rounds] => rounds_of(target, rounds, "1"),
        ["loop", target, rounds, seed] => rounds_of(target, rounds, seed),
        ["replay", target, ref files @ ..] => replay(target, files),
        _ => Err(std::io::Error::other(USAGE)),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("{e}");
            ExitCode::FAILURE
        }
    }
}

/// A folder for each target.
fn seed_all(corpus: &Path) -> std::io::Result<()> {
    for target in Target::ALL {
        println!("{}: {} files", target.name, seed::write(target, &corpus.join(target.name))?);
    }
    Ok(())
}

fn replay(target: &str, files: &[&str]) -> std::io::Result<()> {
    let watch = Watch::new(&HEAP, target);
    for file in files {
        let input = std::fs::read(file)?;
        ResourceLimit::bytes(usize::MAX).time(Duration::from_secs(20)).run(&HEAP, file, || watch.run(&input));
        println!("{file}: nothing wrong");
    }
    Ok(())
}

/// Changes the seeds repeatedly, always in the same way.
fn rounds_of(target: &str, rounds: &str, number: &str) -> std::io::Result<()> {
    let parse = |text: &str| text.parse::<u64>().map_err(std::io::Error::other);
    let (rounds, number) = (parse(rounds)?, parse(number)?);
    let watch = Watch::new(&HEAP, target);
    let seeds = seed::of(watch.target());
    let mut random = Random::new(number);
    for round in 0..rounds {
        let (name, seed) = &seeds[random.below(seeds.len())];
        let mut input = seed.clone();
        for _ in 0..random.below(4) {
            input = watch.target().mutate(&input, MOST, &mut random);
        }
        // Kept until the next one is tried: whatever ends the program, this is what did it.
        let last = std::env::temp_dir().join(format!("oxiblosc-fuzz-{target}-{number}"));
        std::fs::write(&last, &input)?;
        let what = format!("round {round}, from {name}, in {}", last.display());
        ResourceLimit::bytes(usize::MAX).time(Duration::from_secs(20)).run(&HEAP, &what, || watch.run(&input));
        std::fs::remove_file(&last)?;
    }
    println!("{target}: {rounds} rounds, nothing wrong");
    Ok(())
}
