//! The command `oxiblosc`, with the codec rle.

use rle as _;

fn main() -> std::process::ExitCode {
    oxiblosc_cli::main()
}
