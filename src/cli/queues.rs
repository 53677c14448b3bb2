//! `fairshared queues`: the configured queues.

use std::process::ExitCode;

use clap::Parser;

use super::client::Client;
use super::command::Command;
use super::failure::Outcome;
use super::list::List;
use super::output::OutputArgs;
use crate::config::Config;

/// Show the queues of a resource group
#[derive(Parser)]
#[command(name = "queues")]
pub struct Queues {
    /// The resource group
    group: String,
    #[command(flatten)]
    output: OutputArgs,
}

const COLUMNS: &[&str] =
    &["name", "parent", "priority", "quota", "limit", "over_quota_weight", "weight", "min_share_ratio", "reclaimable"];

impl Command for Queues {
    async fn run(self, config: Config) -> Outcome {
        let client = Client::of(&config).await?;
        let call = client.get(["resource-groups", &self.group, "queues"]);
        List::of(call, None).print(self.output.output, COLUMNS).await?;
        Ok(ExitCode::SUCCESS)
    }
}
