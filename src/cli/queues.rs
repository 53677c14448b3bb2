//! `fairshared queues`: the configured queues.

use std::process::ExitCode;

use clap::Parser;

use super::client::open_client;
use super::command::CommandArgs;
use super::failure::CommandOutcome;
use super::list::EndpointList;
use super::output::OutputArgs;
use crate::config::Config;

/// Show the queues of a resource group
#[derive(Parser)]
#[command(name = "queues")]
pub struct QueuesArgs {
    /// The resource group
    group: String,
    #[command(flatten)]
    output: OutputArgs,
}

const COLUMNS: &[&str] =
    &["name", "parent", "priority", "quota", "limit", "over_quota_weight", "weight", "min_share_ratio", "reclaimable"];

impl CommandArgs for QueuesArgs {
    async fn run(self, config: Config) -> CommandOutcome {
        let client = open_client(&config).await?;
        let call = client.get(["resource-groups", &self.group, "queues"]);
        EndpointList::of(call, None).print(self.output.output, COLUMNS).await?;
        Ok(ExitCode::SUCCESS)
    }
}
