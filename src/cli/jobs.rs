//! `fairshared jobs`: what the server does on a schedule, by hand.

use std::process::ExitCode;
use std::sync::Arc;

use clap::Subcommand;
use serde_json::{Value, json};

use super::failure::{FAILED, Outcome, eprint_line};
use super::open::{caller, service};
use super::output::{OutputArgs, print_list};
use crate::config::Config;
use crate::jobs::{JobSettings, Runner};
use crate::service::jobs::{JobControl, JobRun};

#[derive(Subcommand)]
pub enum JobsCommand {
    /// List the jobs and their last runs
    List(OutputArgs),
    /// Run a job now and wait for its end
    Run {
        /// aggregate, rebuild or purge
        name: String,
        /// The resource group; all when absent
        #[arg(long)]
        group: Option<String>,
        #[command(flatten)]
        output: OutputArgs,
    },
}

/// What the jobs take from the configuration.
pub fn settings(config: &Config) -> JobSettings {
    JobSettings { keep_buckets_days: config.keep_buckets_days }
}

pub async fn run(command: JobsCommand, config: &Config) -> Outcome {
    let service = service(config).await?;
    let runner = Runner::new(Arc::clone(&service), settings(config));
    match command {
        JobsCommand::List(args) => {
            let last = service.last_job_runs(&caller()).await?;
            let rows = runner.jobs().into_iter().flat_map(|(name, description)| {
                let runs: Vec<_> = last.iter().filter(|r| r.job == name).collect();
                let row = move |run: Option<&JobRun>| {
                    json!({
                        "name": name, "description": description,
                        "resource_group": run.map(|r| &r.resource_group), "status": run.map(|r| &r.status),
                        "started_at": run.map(|r| r.started_at),
                    })
                };
                if runs.is_empty() { vec![row(None)] } else { runs.into_iter().map(|r| row(Some(r))).collect() }
            });
            print_list(args.output, &["name", "resource_group", "status", "started_at", "description"], rows)?;
            Ok(ExitCode::SUCCESS)
        }
        JobsCommand::Run { name, group, output } => {
            let runs = service.run_job(&caller(), runner, name, group).await?;
            for run in runs.iter().filter(|r| r.error.is_some()) {
                let (group, error) = (run.resource_group.as_deref(), run.error.as_deref());
                eprint_line(&format!(
                    "error: {} of {}: {}",
                    run.job,
                    group.unwrap_or_default(),
                    error.unwrap_or_default()
                ));
            }
            let failed = runs.iter().any(|r| r.error.is_some());
            let columns = &["id", "job", "resource_group", "status", "started_at", "ended_at", "counts"];
            print_list(output.output, columns, runs.iter().map(view))?;
            Ok(if failed { ExitCode::from(FAILED) } else { ExitCode::SUCCESS })
        }
    }
}

fn view(run: &JobRun) -> Value {
    json!({
        "id": run.id, "job": run.job, "resource_group": run.resource_group, "trigger": run.trigger,
        "status": run.status, "started_at": run.started_at, "ended_at": run.ended_at, "counts": run.counts,
        "error": run.error,
    })
}
