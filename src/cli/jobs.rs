//! `fairshared jobs`: what the server does on a schedule, by hand.

use std::process::ExitCode;
use std::sync::Arc;

use clap::Subcommand;
use serde_json::{Value, json};

use super::failure::{FAILED, Outcome, eprint_line};
use super::open::{caller, service};
use super::output::{Format, OutputArgs, print, print_json, print_list};
use crate::config::Config;
use crate::jobs::{self, JobSettings, Runner};
use crate::rest::jobs::view::{JobRunView, JobRuns, JobView};
use crate::service::jobs::JobControl;

#[derive(Subcommand)]
pub enum JobsCommand {
    /// List the jobs and their last runs
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

/// The jobs there are, one a line.
fn help_on_names() -> String {
    let lines = jobs::described().into_iter().map(|(name, description)| format!("\n  {name:<10} {description}"));
    format!("One of{}", lines.collect::<String>())
}

/// What the jobs take from the configuration.
pub fn settings(config: &Config) -> JobSettings {
    JobSettings { keep_buckets_days: config.keep_buckets_days, keep_audit_days: config.keep_audit_days }
}

pub async fn run(command: JobsCommand, config: &Config) -> Outcome {
    let service = service(config).await?;
    let runner = Runner::new(Arc::clone(&service), settings(config));
    match command {
        JobsCommand::List(args) => {
            let runs = service.last_job_runs(&caller()).await?;
            let mut list: Vec<JobView> = runner.jobs().into_iter().map(|job| JobView::new(job, &runs)).collect();
            list.sort_by_key(|job| job.name);
            if args.output == Format::Json {
                print_list(args.output, &[], list)?;
            } else {
                let columns = &["name", "resource_group", "status", "started_at", "description"];
                print_list(args.output, columns, list.iter().flat_map(lines))?;
            }
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
            let items: Vec<JobRunView> = runs.into_iter().map(JobRunView::from).collect();
            if output.output == Format::Json {
                print_json(&JobRuns { items })?;
            } else {
                let columns = &["id", "job", "resource_group", "status", "started_at", "ended_at", "counts"];
                print_list(output.output, columns, items)?;
            }
            Ok(if failed { ExitCode::from(FAILED) } else { ExitCode::SUCCESS })
        }
        JobsCommand::TrustClock { reason } => {
            let trusted = service.trust_clock(&caller(), reason).await?;
            if let Some(doubt) = trusted.doubt {
                eprint_line(&format!("it should have been {}; now jobs go by the clock", doubt.reference));
            }
            print(&format!("the clock is trusted: {}", trusted.trusted_at))?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// A line for each group that the job ran in, or one for a job that never ran.
fn lines(job: &JobView) -> Vec<Value> {
    let line = |run: Option<&JobRunView>| {
        json!({
            "name": job.name, "description": job.description, "resource_group": run.map(|r| &r.resource_group),
            "status": run.map(|r| &r.status), "started_at": run.map(|r| r.started_at),
        })
    };
    if job.last_runs.is_empty() { vec![line(None)] } else { job.last_runs.iter().map(|r| line(Some(r))).collect() }
}
