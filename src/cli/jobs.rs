//! `fairshared jobs`: lists the jobs of the server, and runs one by hand.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use serde_json::{Map, Value, json};

use super::client::{ApiClient, no_json, open_client};
use super::command::CommandArgs;
use super::failure::{CommandFailure, CommandOutcome, EXIT_FAULT_FOUND, eprint_line};
use super::list::EndpointList;
use super::output::{OutputArgs, OutputFormat, print, print_bytes, print_list};
use crate::config::Config;
use crate::jobs;

/// List scheduled jobs, or run one now
#[derive(Parser)]
#[command(name = "jobs")]
pub struct JobsArgs {
    #[command(subcommand)]
    command: JobsCommand,
}

#[derive(Subcommand)]
enum JobsCommand {
    /// List the jobs, their schedules and their last runs
    List(OutputArgs),
    /// Run a job now and wait for its end
    Run {
        #[arg(help = help_on_names())]
        name: String,
        /// The resource group; all when absent
        #[arg(long)]
        group: Option<String>,
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Say that the clock is right, so that jobs go on that hold because it was doubted
    TrustClock {
        /// Why, for the audit log
        #[arg(long)]
        reason: Option<String>,
    },
}

/// The help on job names, one job a line.
fn help_on_names() -> String {
    let lines = jobs::described_jobs().into_iter().map(|(name, description)| format!("\n  {name:<10} {description}"));
    format!("One of{}", lines.collect::<String>())
}

impl CommandArgs for JobsArgs {
    async fn run(self, config: Config) -> CommandOutcome {
        let client = open_client(&config).await?;
        match self.command {
            JobsCommand::List(args) => list(&client, args.output).await?,
            JobsCommand::Run { name, group, output } => return run(&client, &name, group, output.output).await,
            JobsCommand::TrustClock { reason } => trust_clock(&client, reason).await?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

async fn list(client: &ApiClient, format: OutputFormat) -> Result<(), CommandFailure> {
    let list = EndpointList::of(client.get(["jobs"]), None);
    if matches!(format, OutputFormat::Json | OutputFormat::Ndjson) {
        return list.print(format, &[]).await;
    }
    let columns = &["name", "schedule", "next_run_at", "resource_group", "status", "started_at", "did", "description"];
    print_list(format, columns, list.rows().await?.iter().flat_map(lines))
}

async fn run(client: &ApiClient, name: &str, group: Option<String>, format: OutputFormat) -> CommandOutcome {
    let bytes = client.post(["jobs", name, "run"]).json(&json!({"resource_group": group}))?.bytes().await?;
    let answer: Value = serde_json::from_slice(&bytes).map_err(|_| no_json())?;
    let mut failed = false;
    let runs = answer["items"].as_array().into_iter().flatten();
    for run in runs.clone() {
        if let Some(error) = run["error"].as_str() {
            failed = true;
            let text = |key: &str| run[key].as_str().unwrap_or_default();
            let of = run["resource_group"].as_str().map_or_else(String::new, |group| format!(" of {group}"));
            eprint_line(&format!("error: the job {}{of} failed: {error}", text("job")));
        }
    }
    if format == OutputFormat::Json {
        print_bytes(&bytes)?;
    } else {
        let columns = &["id", "job", "resource_group", "status", "started_at", "ended_at", "counts"];
        print_list(format, columns, runs)?;
    }
    Ok(if failed { ExitCode::from(EXIT_FAULT_FOUND) } else { ExitCode::SUCCESS })
}

async fn trust_clock(client: &ApiClient, reason: Option<String>) -> Result<(), CommandFailure> {
    let trusted: Value = client.post(["jobs", "trust-clock"]).maybe("reason", reason).send().await?.json().await?;
    if let Some(reference) = trusted["reference"].as_str() {
        eprint_line(&format!("the server expected {reference}; now its jobs go by the clock"));
    }
    print(&format!("the clock is trusted: {}", trusted["trusted_at"].as_str().unwrap_or_default()))
}

/// The counts of a run, without zeros, with the day up to which data was removed: `kernels 12 (before 2026-01-05)`.
fn shown_counts(counts: &Map<String, Value>) -> String {
    let counted = counts.iter().filter_map(|(kind, count)| Some((kind, count.as_u64().filter(|count| *count > 0)?)));
    let parts = counted.map(|(kind, count)| match counts.get(&format!("{kind}_before")).and_then(Value::as_str) {
        Some(before) => format!("{kind} {count} (before {before})"),
        None => format!("{kind} {count}"),
    });
    parts.collect::<Vec<_>>().join(", ")
}

/// A line for each group that the job ran in, or one for a job that never ran.
fn lines(job: &Value) -> Vec<Value> {
    let line = |run: &Value| {
        json!({
            "name": job["name"], "description": job["description"], "schedule": job["schedule"],
            "next_run_at": job["next_run_at"], "resource_group": run["resource_group"], "status": run["status"], "started_at": run["started_at"], "did": run["counts"].as_object().map(shown_counts),
        })
    };
    match job["last_runs"].as_array().map(Vec::as_slice) {
        None | Some([]) => vec![line(&Value::Null)],
        Some(runs) => runs.iter().map(line).collect(),
    }
}
