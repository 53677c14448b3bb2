//! `fairshared plan`: plans the evictions for a workload now, in a live group.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

use super::client::{JSON_MEDIA_TYPE, open_client};
use super::command::CommandArgs;
use super::failure::{CommandFailure, CommandOutcome};
use super::open::{input_name, read_input};
use super::output::{OutputArgs, OutputFormat, print_answer};
use super::reclaim;
use crate::config::Config;

/// Show who would give back for a workload in a resource group; nothing is executed, exits with 0 for any verdict
#[derive(Parser)]
#[command(name = "plan")]
pub struct PlanArgs {
    /// The resource group
    group: String,
    /// JSON as `POST /resource-groups/{rg}/reclaim-plans` takes it; `-` for standard input
    file: PathBuf,
    #[command(flatten)]
    output: OutputArgs,
}

impl CommandArgs for PlanArgs {
    async fn run(self, config: Config) -> CommandOutcome {
        let body = read_input(&self.file)?;
        let client = open_client(&config).await?;
        let call = client.post(["resource-groups", &self.group, "reclaim-plans"]).body(JSON_MEDIA_TYPE, body);
        let answer =
            call.send().await.map_err(|failure| CommandFailure::from(failure).in_input(&input_name(&self.file)))?;
        match self.output.output {
            OutputFormat::Json => print_answer(answer).await?,
            format => reclaim::write_plan(&answer.json().await?, format)?,
        }
        Ok(ExitCode::SUCCESS)
    }
}
