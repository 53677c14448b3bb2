//! `fairshared division`: shows what every queue of a live group deserves, now and on past days.

use std::process::ExitCode;

use clap::Parser;
use serde_json::{Value, json};

use super::client::{ApiClient, open_client};
use super::command::CommandArgs;
use super::divide::explain;
use super::export::{check_days, parse_day};
use super::failure::{CommandFailure, CommandOutcome};
use super::list::EndpointList;
use super::output::{OutputArgs, OutputFormat, print_answer, print_list, warn};
use crate::config::Config;
use crate::domain::time::Day;

/// Show what every queue of a resource group deserves now, or deserved on the days before
#[derive(Parser)]
#[command(name = "division")]
pub struct DivisionArgs {
    /// The resource group
    group: String,
    /// Say why every queue gets what it gets
    #[arg(long, conflicts_with = "history")]
    explain: bool,
    /// The last division of each day instead, as the job `divide` keeps it
    #[arg(long)]
    history: bool,
    /// First day of the history, like 2026-01-13
    #[arg(long, value_name = "DATE", value_parser = parse_day, requires = "history")]
    from: Option<Day>,
    /// Last day of the history
    #[arg(long, value_name = "DATE", value_parser = parse_day, requires = "history")]
    to: Option<Day>,
    /// Only this queue of the history
    #[arg(long, value_name = "NAME", requires = "history")]
    queue: Option<String>,
    #[command(flatten)]
    output: OutputArgs,
}

const COLUMNS: &[&str] =
    &["queue", "parent", "slot", "quota", "request", "allocated", "fair_share", "state", "saturation_ratio"];
const HISTORY_COLUMNS: &[&str] = &["day", "queue", "algorithm", "quota", "request", "allocated", "fair_share"];

impl CommandArgs for DivisionArgs {
    async fn run(self, config: Config) -> CommandOutcome {
        check_days(self.from, self.to)?;
        let client = open_client(&config).await?;
        if self.history {
            self.show_history(&client).await?;
        } else {
            self.show(&client).await?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl DivisionArgs {
    async fn show(&self, client: &ApiClient) -> Result<(), CommandFailure> {
        let format = self.output.output;
        let call = client.get(["resource-groups", &self.group, "division"]).flag("explain", self.explain);
        let answer = call.send().await?;
        if format == OutputFormat::Json {
            return print_answer(answer).await;
        }
        let division: Value = answer.json().await?;
        warn(&division);
        print_list(format, COLUMNS, division["queues"].as_array().into_iter().flatten().flat_map(lines))?;
        explain(&division["trace"], format)
    }

    async fn show_history(&self, client: &ApiClient) -> Result<(), CommandFailure> {
        let call = client.get(["resource-groups", &self.group, "division", "history"]);
        let call = call.maybe("from", self.from).maybe("to", self.to).maybe("queue", self.queue.as_ref());
        EndpointList::of(call, None).print(self.output.output, HISTORY_COLUMNS).await
    }
}

/// One row for each slot of a queue.
fn lines(queue: &Value) -> impl Iterator<Item = Value> {
    queue["fair_share"].as_object().into_iter().flatten().map(move |(slot, fair_share)| {
        json!({
            "queue": queue["name"], "parent": queue["parent"], "slot": slot, "quota": queue["quota"][slot],
            "request": queue["request"][slot], "allocated": queue["allocated"][slot], "fair_share": fair_share,
            "state": queue["slot_states"][slot], "saturation_ratio": queue["saturation_ratio"][slot],
        })
    })
}
