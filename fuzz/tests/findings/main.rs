//! Every file that ever showed a defect, through every way into the library, with a limit on memory and time. One named
//! test per file, way and limits.
//!
//! What must hold is in the crate of the fuzz targets, which found most of the files.

mod entry;
mod finding;

use std::fs;
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::Mutex;
use std::time::Duration;

use entry::Entry;
use finding::{Finding, Kind};
use libtest_mimic::{Arguments, Failed, Trial};
use oxiblosc as _;
use oxiblosc_conformance::budget::{self, Heap, ResourceLimit};
use oxiblosc_conformance::data::Random;
use oxiblosc_fuzz::{Setup, Target, seed};

#[global_allocator]
static HEAP: Heap = budget::heap();

/// Names the one case that this process is for.
const CASE: &str = "OXIBLOSC_FINDING";
/// Set to run every case in a separate process, to find out which ones fail when some abort the program.
const APART: &str = "OXIBLOSC_FINDINGS_APART";

/// Processor time for one case.
const TIME: Duration = Duration::from_secs(10);

/// Names how many inputs are made for each fuzz target, and where the random numbers start.
const ROUNDS: &str = "OXIBLOSC_FINDINGS_ROUNDS";
const SEED: &str = "OXIBLOSC_FINDINGS_SEED";
/// Inputs made for each fuzz target unless [`ROUNDS`] says otherwise.
const FEW_ROUNDS: u64 = 50;

/// What was said by the last panic, also by one that was caught.
static PANIC: Mutex<Option<String>> = Mutex::new(None);

fn main() -> ExitCode {
    let mut cases = Vec::new();
    let setups = [("small limits", Setup::small()), ("default limits", Setup::default_limits())];
    for finding in Finding::all() {
        let entries = match finding.kind() {
            Kind::Contiguous(_) | Kind::Sparse(_) => Entry::FRAME,
            Kind::Chunk(_) => Entry::CHUNK,
            Kind::Packed(_) => Entry::PACKED,
        };
        for entry in entries {
            for (limits, setup) in &setups {
                let name = format!("{}::{}::{limits}", finding.name, entry.name);
                let bytes = match *limits {
                    "small limits" => setup.bytes(finding.bytes.len()),
                    _ => entry.bytes + finding.asked(entry),
                };
                cases.push(Case { name, finding: finding.clone(), entry: *entry, setup: setup.clone(), bytes });
            }
        }
    }
    panic::set_hook(Box::new(|panic| {
        *PANIC.lock().unwrap_or_else(|e| e.into_inner()) = Some(panic.to_string());
    }));
    if let Ok(name) = std::env::var(CASE) {
        let case = cases.into_iter().find(|case| case.name == name).expect("there is such a case");
        return match case.run() {
            Ok(()) => ExitCode::SUCCESS,
            Err(failed) => {
                eprintln!("{}", failed.message().unwrap_or_default());
                ExitCode::FAILURE
            }
        };
    }
    let apart = std::env::var_os(APART).is_some();
    let rounds = Target::ALL.iter().map(|target| {
        let name = format!("a few rounds of {}", target.name);
        Trial::test(name, || rounds(target))
    });
    let mut trials: Vec<_> = rounds.collect();
    trials.extend(cases.into_iter().map(|case| {
        let name = case.name.clone();
        Trial::test(name, move || if apart { case.run_apart() } else { case.run() })
    }));
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// A few rounds of the loop of the fuzz targets. Inputs that fail are kept, and the loop goes on to find others.
fn rounds(target: &'static Target) -> Result<(), Failed> {
    let (rounds, number) = (number(ROUNDS, FEW_ROUNDS)?, number(SEED, 1)?);
    let (seeds, mut random) = (seed::of(target), Random::new(number));
    let mut failures = Vec::new();
    for round in 0..rounds {
        let (name, input) = &seeds[random.below(seeds.len())];
        let input = target.mutate(input, 1 << 16, &mut random);
        let setup = Setup::small();
        let what = format!("{}, seed {number}, round {round}, from {name}", target.name);
        // Written before it is tried: what takes too much ends the process.
        let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{number}-{round}", target.name));
        fs::write(&kept, &input)?;
        match supervised(&what, setup.bytes(input.len()), || target.run(&input, &setup)) {
            Ok(()) => fs::remove_file(&kept)?,
            Err(failed) => failures.push(format!("{}\nin {}", failed.message().unwrap_or_default(), kept.display())),
        }
    }
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n\n").into()) }
}

/// The number in an environment variable.
fn number(variable: &str, default: u64) -> Result<u64, Failed> {
    match std::env::var(variable) {
        Ok(text) => text.parse().map_err(|e| format!("{variable}={text}: {e}").into()),
        Err(_) => Ok(default),
    }
}

/// Runs `work` within its budget; what it panics of, and what panics in it and is caught, is a failure.
fn supervised(what: &str, bytes: usize, work: impl FnOnce()) -> Result<(), Failed> {
    let caught = panic::catch_unwind(AssertUnwindSafe(|| {
        ResourceLimit::bytes(bytes).time(TIME).run(&HEAP, what, || {
            take_panic();
            let result = panic::catch_unwind(AssertUnwindSafe(work));
            // The library catches the panics of plugins; there should be none.
            take_panic().or_else(|| result.is_err().then(|| "a panic without a word".to_owned()))
        })
    }));
    match caught {
        Ok((None, _)) => Ok(()),
        Ok((Some(panic), spent)) => Err(format!("{what}: {panic}\nafter {spent}").into()),
        Err(_) => Err(take_panic().unwrap_or_default().into()),
    }
}

struct Case {
    name: String,
    finding: Finding,
    entry: Entry,
    setup: Setup,
    bytes: usize,
}

impl Case {
    fn run(&self) -> Result<(), Failed> {
        let kind = self.finding.kind();
        supervised(&self.name, self.bytes, || (self.entry.run)(&kind, &self.setup))
    }

    /// In a separate process, which may abort.
    fn run_apart(&self) -> Result<(), Failed> {
        let output = Command::new(std::env::current_exe()?).env(CASE, &self.name).output()?;
        match output.status.success() {
            true => Ok(()),
            false => Err(format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr)).into()),
        }
    }
}

fn take_panic() -> Option<String> {
    PANIC.lock().unwrap_or_else(|e| e.into_inner()).take()
}
