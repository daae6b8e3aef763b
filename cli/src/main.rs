//! The `oxiblosc` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    oxiblosc_cli::main()
}
