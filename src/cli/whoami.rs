//! `fairshared whoami`: shows the key and its rights.

use std::process::ExitCode;

use clap::Parser;

use super::client::open_client;
use super::command::CommandArgs;
use super::failure::CommandOutcome;
use super::output::{OutputArgs, print_object};
use crate::config::Config;

/// Show what the key is and may do
#[derive(Parser)]
#[command(name = "whoami")]
pub struct WhoAmIArgs {
    #[command(flatten)]
    output: OutputArgs,
}

impl CommandArgs for WhoAmIArgs {
    async fn run(self, config: Config) -> CommandOutcome {
        let answer = open_client(&config).await?.get(["whoami"]).send().await?;
        print_object(answer, self.output.output).await?;
        Ok(ExitCode::SUCCESS)
    }
}
