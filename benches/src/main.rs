//! `oxiblosc-bench`: see `README.md` beside this crate.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;

use oxiblosc_bench::group::{self, Session};
use oxiblosc_bench::matrix::{Form, Only};
use oxiblosc_bench::peer::c::CBlosc2;
use oxiblosc_bench::race::Clock;
use oxiblosc_bench::report::{GROUPS, Report, plot, table};
use oxiblosc_bench::workload::{self, Source};
use oxiblosc_bench::{Error, Result, linear};

/// Times oxiblosc against C-Blosc2 3.3.5, blosc2-pure-rs 0.2.4 and a memory copy, all interleaved in one run.
#[derive(Debug, Parser)]
#[command(version)]
struct Args {
    /// Measure a cross section in less than two minutes instead of everything in less than twenty.
    #[arg(long)]
    short: bool,
    /// Write the report as JSON to this file.
    #[arg(long, value_name = "OUT")]
    json: Option<PathBuf>,
    /// Write an SVG plot per group into this directory.
    #[arg(long, value_name = "DIR")]
    svg: Option<PathBuf>,
    /// Measure processor time instead of wall-clock time, for machines that are busy.
    #[arg(long)]
    cpu_time: bool,
    /// Instead of all that, check that time and memory grow no faster than frames from 1 MiB to 8 GiB.
    #[arg(long, conflicts_with_all = ["short", "json", "svg", "only", "data"])]
    linear: bool,
    /// Measure only these groups: compress (with decompress), filter, access, stream.
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
    let begin = Instant::now();
    let form = if args.short { Form::Short } else { Form::Full };
    let clock = if args.cpu_time { Clock::Cpu } else { Clock::Wall };
    let sources = sources(&args.data)?;
    let mut session = Session {
        c: CBlosc2::load()?,
        form,
        only: args.settings.clone(),
        clock,
        report: Report::default(),
        failures: Vec::new(),
    };
    let wanted = |group: &str| args.only.is_empty() || args.only.iter().any(|name| name == group);
    let [chunks, filters, accesses, streams] = form.time();
    if wanted("filter") {
        group::filter::run(&mut session, filters)?;
    }
    if wanted("compress") || wanted("decompress") {
        group::chunk::run(&mut session, &sources, chunks)?;
    }
    if wanted("access") {
        group::access::run(&mut session, accesses)?;
    }
    if wanted("stream") {
        group::stream::run(&mut session, &sources, streams)?;
    }
    session.report.finish();
    print!("{}", table::render(&session.report));
    if let Some(path) = &args.json {
        let json = serde_json::to_string_pretty(&session.report).map_err(Error::new)?;
        std::fs::write(path, json).map_err(|e| Error::new(format!("{}: {e}", path.display())))?;
    }
    if let Some(dir) = &args.svg {
        plot::write_all(&session.report, dir)?;
    }
    eprintln!("{:.0} s", begin.elapsed().as_secs_f64());
    Ok(session.failures.len())
}

fn sources(names: &[String]) -> Result<Vec<Source>> {
    if names.is_empty() {
        return Ok(workload::ALL.to_vec());
    }
    let named = |name: &String| Source::named(name).ok_or_else(|| Error::new(format!("no data set is called {name}")));
    names.iter().map(named).collect()
}
