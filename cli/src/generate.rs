//! `oxiblosc completions` and `oxiblosc man`.

use std::fs;
use std::io::{self, Write};

use clap::CommandFactory;

use crate::args::{Cli, CompletionsArgs, ManArgs};
use crate::error::CliError;

/// The name under which shells find the command.
const NAME: &str = "oxiblosc";

/// Prints completions for a shell.
pub(crate) fn completions(args: &CompletionsArgs) -> Result<(), CliError> {
    // Generated in memory, since the generator does not expect a reader that goes away.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), NAME, &mut script);
    let mut out = io::stdout().lock();
    out.write_all(&script).and_then(|()| out.flush()).map_err(CliError::stdout)
}

/// Writes a man page for the command and one for each subcommand.
pub(crate) fn man(args: &ManArgs) -> Result<(), CliError> {
    let name = args.directory.display().to_string();
    fs::create_dir_all(&args.directory).map_err(CliError::io(&name))?;
    // `help` repeats what the others say.
    let command = Cli::command().disable_help_subcommand(true);
    clap_mangen::generate_to(command, &args.directory).map_err(CliError::io(name))
}
