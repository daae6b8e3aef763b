//! The `oxiblosc` command, as a library.
//!
//! A program that links plugins has the command with these plugins in four lines. It reads what they have written,
//! writes with them, lists and tries them:
//!
//! ```no_run
//! # mod rle {}
//! use rle as _;
//!
//! fn main() -> std::process::ExitCode {
//!     oxiblosc_cli::main()
//! }
//! ```
// Which feature an item takes, on docs.rs.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

mod abort_on_drop;
mod append;
mod args;
mod bench;
mod cat;
mod chunk_headers;
mod commit;
mod compact;
mod compress;
mod content;
mod copy;
mod detect;
mod diff;
mod error;
mod generate;
mod info;
mod inherited;
mod input;
mod interrupt;
mod item_range;
mod libraries;
mod needs;
mod npy;
mod output;
mod part;
mod plugins;
mod progress;
mod raw;
mod recompress;
mod recover;
mod remote;
mod rollback;
mod select;
#[cfg(feature = "serve")]
mod serve;
mod stdout;
mod svg;
mod terminal;
mod transport;
mod tune;
mod units;
mod verify;
mod writer;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;
use oxiblosc::blocking;
use serde_json::json;

use args::{Cli, Command};
use error::CliError;

/// Runs the command with the arguments of the program and returns its exit status: 0 if all went well, 2 for bad usage,
/// 141 if the reader of standard output has closed it, 1 for other errors, or what `oxiblosc help` says of a subcommand.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(reply) => return print(&reply),
    };
    progress::set_mode(cli.progress);
    if !cli.command.only_looks() {
        interrupt::watch();
    }
    let done = run(&cli);
    // Aborted writes are removed in the background, so wait for that before exiting.
    blocking::settle();
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&error),
    }
}

/// Prints the help or version that was asked for, or what is wrong with the arguments.
fn print(reply: &clap::Error) -> ExitCode {
    match reply.print().and_then(|()| io::stdout().flush()) {
        Err(error) if !reply.use_stderr() => fail(&CliError::stdout(error)),
        // Lossless: 0 or 2.
        _ => ExitCode::from(reply.exit_code() as u8),
    }
}

/// Says why the command failed, and returns its exit status.
fn fail(error: &CliError) -> ExitCode {
    progress::stop();
    let message = error.message();
    match error.status() {
        _ if error.is_silent() => {}
        status if progress::is_json() => {
            progress::event(&json!({ "event": "error", "status": status, "message": message }));
        }
        _ => eprintln!("oxiblosc: {message}"),
    }
    ExitCode::from(error.status())
}

fn run(cli: &Cli) -> Result<(), CliError> {
    let registry = &libraries::registry(&cli.plugins)?;
    match &cli.command {
        Command::Compress(args) => compress::run(args, registry),
        Command::Commit(args) => commit::run(args, registry),
        Command::Cat(args) => cat::run(args, registry),
        Command::Info(args) => info::run(args, registry),
        Command::Verify(args) => verify::run(args, registry),
        Command::Append(args) => append::run(args, registry),
        Command::Copy(args) => copy::run(args, registry),
        Command::Diff(args) => diff::run(args, registry),
        Command::Recompress(args) => recompress::run(args, registry),
        Command::Compact(args) => compact::run(args, registry),
        Command::Recover(args) => recover::run(args, registry),
        Command::Seal(args) => recover::seal(args, registry),
        #[cfg(feature = "serve")]
        Command::Serve(args) => serve::run(args, registry),
        Command::Plugins(args) => plugins::run(args, registry),
        Command::Bench(args) => bench::run(args, registry),
        Command::Tune(args) => tune::run(args, registry),
        Command::Completions(args) => generate::completions(args),
        Command::Man(args) => generate::man(args),
    }
}
