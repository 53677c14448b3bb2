//! `fairshared usage`: what was recorded of kernels in a period.

use std::process::ExitCode;

use clap::Parser;

use super::client::Client;
use super::command::Command;
use super::failure::Outcome;
use super::list::List;
use super::output::OutputArgs;
use crate::config::Config;

/// Show the usage records of a period of at most 31 days, by kernel and time
#[derive(Parser)]
#[command(name = "usage")]
pub struct Usage {
    /// The resource group
    group: String,
    /// The beginning: a day like 2026-01-13, or an instant like 2026-01-13T10:00:00Z
    #[arg(long, value_name = "WHEN")]
    from: String,
    /// The end: an instant, or a day, which is then included
    #[arg(long, value_name = "WHEN")]
    to: String,
    /// Only the kernels of this user, by name or UUID
    #[arg(long)]
    user: Option<String>,
    /// Only the kernels of this project, by name or UUID
    #[arg(long)]
    project: Option<String>,
    /// Show the first rows only
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
    #[command(flatten)]
    output: OutputArgs,
}

const COLUMNS: &[&str] = &["kernel_id", "period_start", "period_end", "resource_usage", "compacted"];

impl Command for Usage {
    async fn run(self, config: Config) -> Outcome {
        let call = Client::of(&config).await?.get(["resource-groups", &self.group, "usage-records"]);
        let call = call.with("from", self.from).with("to", self.to);
        let call = call.maybe("user", self.user).maybe("project", self.project);
        List::of(call, self.limit).print(self.output.output, COLUMNS).await?;
        Ok(ExitCode::SUCCESS)
    }
}
