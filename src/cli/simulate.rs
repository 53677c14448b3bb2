//! `fairshared simulate`: shows the effects of changes of weights, options, capacity and people in a live group.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

use super::client::{JSON_MEDIA_TYPE, open_client};
use super::command::CommandArgs;
use super::failure::{CommandFailure, CommandOutcome};
use super::open::{input_name, read_input};
use super::output::OutputArgs;
use super::simulation_answer;
use crate::config::Config;

/// Show what changes would do in a resource group; nothing is changed unless the file says `"apply": true`
#[derive(Parser)]
#[command(name = "simulate")]
pub struct SimulateArgs {
    /// The resource group
    group: String,
    /// JSON as `POST /resource-groups/{rg}/fair-share-simulations` takes it; `-` for standard input
    file: PathBuf,
    #[command(flatten)]
    output: OutputArgs,
}

impl CommandArgs for SimulateArgs {
    async fn run(self, config: Config) -> CommandOutcome {
        let body = read_input(&self.file)?;
        let client = open_client(&config).await?;
        let call = client.post(["resource-groups", &self.group, "fair-share-simulations"]).body(JSON_MEDIA_TYPE, body);
        let answer =
            call.bytes().await.map_err(|failure| CommandFailure::from(failure).in_input(&input_name(&self.file)))?;
        simulation_answer::write_answer(&answer, self.output.output)?;
        Ok(ExitCode::SUCCESS)
    }
}
