//! `oxiblosc-bench`: see `README.md` beside this crate.

use std::hash::{BuildHasher, RandomState};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;

use oxiblosc_bench::group::{self, Session};
use oxiblosc_bench::matrix::{Form, Only, Part};
use oxiblosc_bench::peer::c::{CBlosc2, ffi};
use oxiblosc_bench::race::Clock;
use oxiblosc_bench::report::machine::{Machine, Run};
use oxiblosc_bench::report::{GROUPS, Report, levels, page, plot, table};
use oxiblosc_bench::workload::{self, Role, Source, Workload};
use oxiblosc_bench::{Error, Result, fetched, linear};

/// Times oxiblosc against C-Blosc2 3.3.5, blosc2-pure-rs 0.2.4 and a memory copy, all interleaved in one run.
#[derive(Debug, Parser)]
#[command(version)]
struct Args {
    /// Measure a cross section in less than two minutes instead of everything in less than twenty.
    #[arg(long)]
    short: bool,
    /// Measure held and generated sets alone, at more levels.
    #[arg(long, conflicts_with = "short")]
    unseen: bool,
    /// Repeat the run of this seed: the same generated sets, the same settings.
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    /// Measure only sets of these roles.
    #[arg(long, value_name = "ROLE", value_delimiter = ',')]
    role: Vec<Role>,
    /// Write the report as JSON to this file.
    #[arg(long, value_name = "OUT")]
    json: Option<PathBuf>,
    /// Write an SVG plot per group into this directory.
    #[arg(long, value_name = "DIR")]
    svg: Option<PathBuf>,
    /// Write the plots of the book into this directory: speed ratios by codec and level.
    #[arg(long, value_name = "DIR")]
    plots: Option<PathBuf>,
    /// Measure nothing: write the tables of this report between the markers of the pages named by --into, and with
    /// --svg and --plots its plots.
    #[arg(long, value_name = "JSON", conflicts_with_all = ["short", "unseen", "json", "only", "data"])]
    report: Option<PathBuf>,
    /// A page for --report.
    #[arg(long, value_name = "PAGE", requires = "report")]
    into: Vec<PathBuf>,
    /// Measure processor time instead of wall-clock time, for machines that are busy.
    #[arg(long)]
    cpu_time: bool,
    /// Instead of all that, check that time and memory grow no faster than frames from 1 MiB to 8 GiB.
    #[arg(long, conflicts_with_all = ["short", "json", "svg", "only", "data"])]
    linear: bool,
    /// Measure only these groups: compress (with decompress and items), filter, access (with changes), stream, threads, limits,
    /// commands.
    #[arg(long, value_name = "GROUP", value_delimiter = ',', value_parser = GROUPS)]
    only: Vec<String>,
    /// Measure only these data sets.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    data: Vec<String>,
    #[command(flatten)]
    settings: Only,
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(failures) => {
            eprintln!("{failures} measurements failed, see above");
            ExitCode::FAILURE
        }
        Err(e) => {
            eprintln!("error: {e}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> Result<usize> {
    if args.linear {
        return linear::run().map(|out_of_line| usize::from(out_of_line > 0));
    }
    if let Some(json) = &args.report {
        return page::write(json, &args.into, args.svg.as_deref(), args.plots.as_deref()).map(|()| 0);
    }
    let begin = Instant::now();
    let form = match (args.short, args.unseen) {
        (true, _) => Form::Short,
        (_, true) => Form::Unseen,
        _ => Form::Full,
    };
    let clock = if args.cpu_time { Clock::Cpu } else { Clock::Wall };
    let seed = args.seed.unwrap_or_else(fresh_seed);
    eprintln!("seed {seed}");
    let c = CBlosc2::load()?;
    let sources = sources(args, form, seed)?;
    let mut session =
        Session { c, form, only: args.settings.clone(), clock, seed, report: Report::default(), failures: Vec::new() };
    let is_old = |source: &&Source| workload::OLD.iter().any(|old| old.name == source.name);
    let (old, sets): (Vec<_>, Vec<_>) = sources.iter().partition(is_old);
    let old: Vec<Source> = old.into_iter().cloned().collect();
    for &part in form.parts() {
        let wanted = |group: &str| args.only.is_empty() || args.only.iter().any(|name| name == group);
        if !part.groups().iter().any(|group| wanted(group)) {
            continue;
        }
        let time = form.time(part);
        match part {
            Part::Filters => group::filter::run(&mut session, time)?,
            Part::Chunks => group::chunk::run(&mut session, &old, time)?,
            Part::Sets => {
                let loaded = load(&mut session, &sets)?;
                group::set::run(&mut session, &loaded, time)?;
            }
            Part::Accesses => group::access::run(&mut session, time)?,
            Part::Streams => group::stream::run(&mut session, &old, time)?,
            Part::Threads => group::thread::run(&mut session, time)?,
            Part::Limits => group::limit::run(&mut session, time)?,
            Part::Commands => group::command::run(&mut session, time)?,
        }
    }
    session.report.run = Run {
        machine: Machine::here(),
        form: form.name().into(),
        clock: if args.cpu_time { "cpu" } else { "wall" }.into(),
        seed,
        versions: vec![
            concat!("oxiblosc ", env!("CARGO_PKG_VERSION")).into(),
            format!("C-Blosc2 {}", ffi::VERSION),
            "blosc2-pure-rs 0.2.4".into(),
        ],
    };
    session.report.finish();
    print!("{}", table::render(&session.report));
    if let Some(path) = &args.json {
        let json = serde_json::to_string_pretty(&session.report).map_err(Error::new)?;
        std::fs::write(path, json).map_err(|e| Error::new(format!("{}: {e}", path.display())))?;
    }
    if let Some(dir) = &args.svg {
        plot::write_all(&session.report, dir)?;
    }
    if let Some(dir) = &args.plots {
        levels::write_all(&session.report, dir)?;
    }
    eprintln!("{:.0} s", begin.elapsed().as_secs_f64());
    Ok(session.failures.len())
}

/// A seed that no earlier run had.
fn fresh_seed() -> u64 {
    // Short enough to be typed. The standard library seeds its hashers from the system.
    BuildHasher::hash_one(&RandomState::new(), 0u8) >> 32
}

/// What of the sets is measured.
fn sources(args: &Args, form: Form, seed: u64) -> Result<Vec<Source>> {
    let all = || {
        let packaged = workload::packaged();
        workload::OLD.iter().cloned().chain(packaged).chain(workload::from_seed(seed, form.generated_sets()))
    };
    for name in &args.data {
        if !all().any(|source| source.name == name) {
            return Err(Error::new(format!("no data set is called {name}")));
        }
    }
    let wanted = |source: &Source| {
        if args.data.is_empty() {
            (args.role.is_empty() || args.role.contains(&source.role))
                && (!source.is_packaged() || form.includes_set(source) || !args.role.is_empty())
        } else {
            args.data.iter().any(|name| name == source.name)
        }
    };
    Ok(all().filter(wanted).collect())
}

/// Loads the sets. Without a network there are fewer of them, which is an error only where `CI` is set.
fn load(session: &mut Session, sources: &[&Source]) -> Result<Vec<(Source, Workload)>> {
    let packaged: Vec<&str> = sources.iter().filter(|source| source.is_packaged()).map(|source| source.name).collect();
    let mut failed = fetched::fetch(&packaged).err().map(|e| e.to_string());
    let mut loaded = Vec::new();
    for &source in sources {
        match source.load(workload::BYTES) {
            Ok(workload) => loaded.push((source.clone(), workload)),
            Err(e) => failed = Some(format!("{}: {e}", source.name)),
        }
    }
    if let Some(message) = failed {
        eprintln!("{message}");
        if std::env::var_os("CI").is_some_and(|value| !value.is_empty()) {
            session.failures.push(message);
        }
    }
    Ok(loaded)
}
