//! `fairshared whoami`: shows the key and its rights.

use std::process::ExitCode;

use clap::Parser;

use super::client::Client;
use super::command::Command;
use super::failure::Outcome;
use super::output::{OutputArgs, print_object};
use crate::config::Config;

/// Show what the key is and may do
#[derive(Parser)]
#[command(name = "whoami")]
pub struct WhoAmI {
    #[command(flatten)]
    output: OutputArgs,
}

impl Command for WhoAmI {
    async fn run(self, config: Config) -> Outcome {
        let answer = Client::of(&config).await?.get(["whoami"]).send().await?;
        print_object(answer, self.output.output).await?;
        Ok(ExitCode::SUCCESS)
    }
}
