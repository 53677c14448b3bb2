//! `fairshared reclaim`: plans the evictions for a pending workload in a file, without a server.

use std::iter;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use serde_json::{Value, json};

use super::command::CommandArgs;
use super::failure::{CommandFailure, CommandOutcome};
use super::open::{input_name, read_input};
use super::output::{OutputArgs, OutputFormat, as_json, print_json, print_list, warn};
use crate::config::Config;
use crate::domain::reclaim::ReclaimSimulation;
use crate::service::simulate::simulate;
use crate::service::{Clock, SystemClock};

/// Show who gives back for a pending workload of a file; exits with 0 for any verdict
#[derive(Parser)]
#[command(name = "reclaim")]
pub struct ReclaimArgs {
    /// JSON as `POST /reclaim/simulate` takes it; `-` for standard input
    file: PathBuf,
    #[command(flatten)]
    output: OutputArgs,
}

impl CommandArgs for ReclaimArgs {
    const IS_LOCAL: bool = true;

    async fn run(self, _: Config) -> CommandOutcome {
        let unusable = |error| CommandFailure::from(error).in_input(&input_name(&self.file));
        let plan = simulate::<ReclaimSimulation>(&read_input(&self.file)?, SystemClock.now()).map_err(unusable)?;
        match self.output.output {
            OutputFormat::Json => print_json(&plan)?,
            format => write_plan(&as_json(&plan)?, format)?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

const COLUMNS: &[&str] = &[
    "kind",
    "verdict",
    "workload_id",
    "kernels",
    "agent_id",
    "queue",
    "rule",
    "level",
    "slot",
    "reclaimer_ratio",
    "victim_ratio",
];

/// Writes a plan as rows: first the verdict, then the placement of members, the victims, and the refused candidates.
pub(super) fn write_plan(plan: &Value, format: OutputFormat) -> Result<(), CommandFailure> {
    warn(plan);
    let part = |key: &str, row: fn(&Value) -> Value| plan[key].as_array().into_iter().flatten().map(row);
    let verdict = json!({"kind": "verdict", "verdict": plan["verdict"]});
    let rows = part("placement", placed_member).chain(part("victims", victim)).chain(part("refusals", refusal));
    print_list(format, COLUMNS, iter::once(verdict).chain(rows))
}

fn placed_member(placed: &Value) -> Value {
    json!({"kind": "placement", "kernels": placed["member"], "agent_id": placed["agent_id"]})
}

fn victim(victim: &Value) -> Value {
    let kernels = victim["kernel_ids"].as_array().into_iter().flatten().filter_map(Value::as_str);
    row("victim", victim, &json!(kernels.collect::<Vec<_>>().join(" ")))
}

fn refusal(refusal: &Value) -> Value {
    row("refusal", refusal, &Value::Null)
}

/// The row of a workload, with the keys that the plan has for it.
fn row(kind: &str, workload: &Value, kernels: &Value) -> Value {
    let mut row = json!({"kind": kind, "kernels": kernels});
    for key in ["workload_id", "queue", "rule", "level", "slot", "reclaimer_ratio", "victim_ratio"] {
        row[key] = workload[key].clone();
    }
    row
}
