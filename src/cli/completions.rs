//! `fairshared completions`: scripts for completion in shells.

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use clap_complete::Shell;

use super::command::CommandArgs;
use super::failure::CommandOutcome;
use super::output::stdout;
use crate::config::Config;

/// Print a completion script for a shell
#[derive(Parser)]
#[command(name = "completions")]
pub struct CompletionsArgs {
    /// The shell that will read the script
    shell: Shell,
}

impl CommandArgs for CompletionsArgs {
    const IS_LOCAL: bool = true;

    async fn run(self, _: Config) -> CommandOutcome {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut super::program(), "fairshared", &mut script);
        let mut out = stdout();
        out.write_all(&script)?;
        out.flush()?;
        Ok(ExitCode::SUCCESS)
    }
}
