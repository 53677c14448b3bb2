//! `fairshared completions`: what the shell completes.

use std::io::Write;
use std::process::ExitCode;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::Cli;
use super::failure::Outcome;
use super::output::stdout;

#[derive(Args)]
pub struct CompletionsArgs {
    /// The shell that will read the script
    shell: Shell,
}

pub fn run(args: &CompletionsArgs) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "fairshared", &mut script);
    let mut out = stdout();
    out.write_all(&script)?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
