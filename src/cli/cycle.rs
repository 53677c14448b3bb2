//! `fairshared cycle`: a scheduling cycle over a snapshot in a file, without a server.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use serde_json::{Value, json};

use super::command::CommandArgs;
use super::failure::{CommandFailure, CommandOutcome};
use super::open::{input_name, read_input};
use super::output::{OutputArgs, OutputFormat, as_json, print_json, print_list, warn};
use crate::config::Config;
use crate::domain::cycle::CycleSimulation;
use crate::service::simulate::simulate;
use crate::service::{Clock, SystemClock};

/// Show what of a file would start now and where, what has to be evicted for it, and why the rest waits
#[derive(Parser)]
#[command(name = "cycle")]
pub struct CycleArgs {
    /// JSON as `POST /cycle/simulate` takes it; `-` for standard input
    file: PathBuf,
    #[command(flatten)]
    output: OutputArgs,
}

impl CommandArgs for CycleArgs {
    const IS_LOCAL: bool = true;

    async fn run(self, _: Config) -> CommandOutcome {
        let unusable = |error| CommandFailure::from(error).in_input(&input_name(&self.file));
        let answer = simulate::<CycleSimulation>(&read_input(&self.file)?, SystemClock.now()).map_err(unusable)?;
        match self.output.output {
            OutputFormat::Json => print_json(&answer)?,
            format => write_cycle(&as_json(&answer)?, format)?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

const COLUMNS: &[&str] = &[
    "kind",
    "workload_id",
    "queue",
    "position",
    "members",
    "agents",
    "action",
    "reason",
    "details",
    "blocked_by",
    "reserved_at",
];

/// Writes an answer as rows: first the starts, then the evictions, then what waits.
pub fn write_cycle(answer: &Value, format: OutputFormat) -> Result<(), CommandFailure> {
    warn(answer);
    let part = |key: &str, row: fn(&Value) -> Value| answer[key].as_array().into_iter().flatten().map(row);
    let rows = part("starts", start).chain(part("evictions", eviction)).chain(part("waiting", waiting));
    print_list(format, COLUMNS, rows)
}

/// The texts of a list, separated by spaces.
fn joined<'a>(texts: impl Iterator<Item = &'a Value>) -> String {
    texts.filter_map(Value::as_str).collect::<Vec<_>>().join(" ")
}

fn start(start: &Value) -> Value {
    let members = start["members"].as_array().map_or(&[][..], Vec::as_slice);
    let mut row = workload(if start["surplus"] == true { "surplus" } else { "start" }, start);
    row["members"] = json!(members.len());
    row["agents"] = json!(joined(members.iter().map(|member| &member["agent_id"])));
    row
}

fn eviction(eviction: &Value) -> Value {
    let mut row = workload("eviction", eviction);
    row["members"] = json!(eviction["kernel_ids"].as_array().map_or(0, Vec::len));
    row["reason"] = eviction["rule"].clone();
    row["details"] = json!(joined(eviction["kernel_ids"].as_array().into_iter().flatten()));
    row["blocked_by"] = eviction["for"].clone();
    row
}

fn waiting(waiting: &Value) -> Value {
    let mut row = workload("waiting", waiting);
    row["members"] = waiting["members"].clone();
    row["reason"] = waiting["reason"].clone();
    let details = waiting["details"].as_object().into_iter().flatten();
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let figures: Vec<String> = details.map(|(key, value)| format!("{key}={}", text(value))).collect();
    row["details"] = json!(figures.join(" "));
    row["blocked_by"] = json!(joined(waiting["blocked_by"].as_array().into_iter().flatten()));
    row["reserved_at"] = waiting["reserved_at"].clone();
    row
}

/// The row of a workload, with the keys that all kinds have.
fn workload(kind: &str, workload: &Value) -> Value {
    let mut row = json!({"kind": kind});
    for key in ["workload_id", "queue", "position", "action"] {
        row[key] = workload[key].clone();
    }
    row
}
