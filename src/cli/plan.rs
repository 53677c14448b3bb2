//! `fairshared plan`: plans the evictions for a workload now, in a live group.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

use super::client::{Client, JSON};
use super::command::Command;
use super::failure::Outcome;
use super::open::{input_name, read_input};
use super::output::{Format, OutputArgs, print_answer};
use super::reclaim;
use crate::config::Config;

/// Show who would give back for a workload in a resource group; nothing is executed, exits with 0 for any verdict
#[derive(Parser)]
#[command(name = "plan")]
pub struct Plan {
    /// The resource group
    group: String,
    /// JSON as `POST /resource-groups/{rg}/reclaim-plans` takes it; `-` for standard input
    file: PathBuf,
    #[command(flatten)]
    output: OutputArgs,
}

impl Command for Plan {
    async fn run(self, config: Config) -> Outcome {
        let body = read_input(&self.file)?;
        let client = Client::of(&config).await?;
        let call = client.post(["resource-groups", &self.group, "reclaim-plans"]).body(JSON, body);
        let answer = call.send().await.map_err(|failure| failure.in_input(&input_name(&self.file)))?;
        match self.output.output {
            Format::Json => print_answer(answer).await?,
            format => reclaim::show(&answer.json().await?, format)?,
        }
        Ok(ExitCode::SUCCESS)
    }
}
