//! The `oxiblosc` command.

mod args;
mod cat;
mod compress;
mod detect;
mod error;
mod info;
mod input;
mod npy;
mod output;
mod plain;
mod plugins;
mod progress;
mod select;
mod units;
mod verify;

use std::process::ExitCode;

use clap::Parser;
use oxiblosc::core::Registry;
use oxiblosc::streaming::Pool;

use args::{Cli, Command};
use error::CliError;

fn main() -> ExitCode {
    // Bad usage ends here, with status 2.
    let cli = Cli::parse();
    match run(&cli.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            if !matches!(error, CliError::BrokenPipe) {
                eprintln!("oxiblosc: {}", error::one_line(&error));
            }
            ExitCode::from(error.status())
        }
    }
}

fn run(command: &Command) -> Result<(), CliError> {
    let registry = Registry::linked().map_err(CliError::data("the plugins linked into this program"))?;
    match command {
        Command::Compress(args) => compress::run(args, registry),
        Command::Cat(args) => cat::run(args, registry),
        Command::Info(args) => info::run(args, registry),
        Command::Verify(args) => verify::run(args, registry),
        Command::Plugins(args) => plugins::run(args, registry),
    }
}

/// A pool of so many threads, or of one for each processor.
fn pool(threads: Option<u16>) -> Pool {
    threads.map_or_else(Pool::per_processor, |threads| Pool::new(threads.into()))
}
