//! `fairshared log`: who changed what, when and why.

use std::process::ExitCode;

use clap::Parser;

use super::client::Client;
use super::command::Command;
use super::failure::Outcome;
use super::list::List;
use super::output::{Format, OutputArgs};
use crate::config::Config;

/// Show the audit log, newest first
#[derive(Parser)]
#[command(name = "log")]
pub struct Log {
    /// Only changes of this resource group
    #[arg(long, value_name = "NAME")]
    group: Option<String>,
    /// Only changes of this kind, like `weights.put`
    #[arg(long)]
    action: Option<String>,
    /// How many changes
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..))]
    limit: u64,
    #[command(flatten)]
    output: OutputArgs,
}

const TABLE: &[&str] = &["at", "actor", "action", "resource_group", "target", "reason"];
const CSV: &[&str] =
    &["id", "at", "actor", "key_id", "request_id", "action", "resource_group", "target", "before", "after", "reason"];

impl Command for Log {
    async fn run(self, config: Config) -> Outcome {
        let call = Client::of(&config).await?.get(["audit-log"]);
        let call = call.maybe("resource_group", self.group).maybe("action", self.action);
        let columns = if self.output.output == Format::Table { TABLE } else { CSV };
        List::of(call, Some(self.limit)).print(self.output.output, columns).await?;
        Ok(ExitCode::SUCCESS)
    }
}
