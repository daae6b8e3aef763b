//! The `oxiblosc` program, for tests that start it.

use std::process::ExitCode;

fn main() -> ExitCode {
    oxiblosc_cli::main()
}
