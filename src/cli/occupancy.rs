//! `fairshared occupancy`: what running kernels hold, and what is free.

use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use serde_json::Value;

use super::client::open_client;
use super::command::CommandArgs;
use super::failure::CommandOutcome;
use super::output::{OutputArgs, OutputFormat, print, print_bytes, print_list};
use crate::config::Config;

/// Show what running kernels hold now, and what is free
#[derive(Parser)]
#[command(name = "occupancy")]
pub struct OccupancyArgs {
    /// The resource group
    group: String,
    /// The holders that the rows list
    #[arg(long, value_enum, default_value_t = By::User)]
    by: By,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum By {
    Domain,
    Project,
    User,
    Queue,
    Agent,
}

const COLUMNS: &[&str] = &["name", "held", "share", "running", "pending"];
const AGENT_COLUMNS: &[&str] = &["name", "held", "free", "share", "running", "schedulable"];

impl CommandArgs for OccupancyArgs {
    async fn run(self, config: Config) -> CommandOutcome {
        let client = open_client(&config).await?;
        let by = self.by.to_possible_value().map(|value| value.get_name().to_owned());
        let bytes = client.get(["resource-groups", &self.group, "occupancy"]).maybe("by", by).bytes().await?;
        if self.output.output == OutputFormat::Json {
            print_bytes(&bytes)?;
            return Ok(ExitCode::SUCCESS);
        }
        let answer: Value = serde_json::from_slice(&bytes).map_err(|_| super::client::no_json())?;
        let columns = if matches!(self.by, By::Agent) { AGENT_COLUMNS } else { COLUMNS };
        let rows = answer["items"].as_array().into_iter().flatten();
        print_list(self.output.output, columns, rows)?;
        if self.output.output == OutputFormat::Table {
            let of = |key: &str| answer[key].to_string();
            print(&format!("\nheld {}, free {}, of {}", of("held"), of("free"), of("capacity")))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
