//! `fairshared replay`: shows what policies would have made of the jobs of a real history.

mod html;
mod offers;
mod policy;
mod report;
mod show;
mod trace;

use std::path::PathBuf;
use std::process::ExitCode;

use chrono_tz::Tz;
use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args, Parser, ValueEnum};

use self::offers::OfferArgs;
use self::report::{ReplayReport, ReplaySetup};
use super::command::CommandArgs;
use super::failure::{CommandFailure, CommandOutcome, eprint_line};
use super::import::{FORMATS, MemoryUnit};
use super::output::OutputArgs;
use crate::config::Config;
use crate::domain::replay::schedulers::{self, SCHEDULERS};
use crate::domain::replay::simulation::RuntimeEstimates;

/// Show what policies would have made of the jobs of a real history; needs no server and no database
///
/// The jobs arrive as they did, with their real sizes and durations. A scheduler starts them in the order of each policy, and runs
/// happen at every slice interval, all on a simulated clock. Waits, shares and utilisation are shown beside those of the real history.
#[derive(Parser)]
#[command(name = "replay")]
pub struct ReplayArgs {
    #[command(flatten)]
    trace: TraceArgs,
    #[command(flatten)]
    offers: OfferArgs,
    /// A policy: what `options get` prints, and the keys domains, projects and users of `weights get`; once for each policy
    #[arg(long = "policy", value_name = "FILE", required = true)]
    policies: Vec<PathBuf>,
    /// The way in which the scheduler uses the order
    #[arg(long, default_value = SCHEDULERS[0].name(),
        value_parser = PossibleValuesParser::new(SCHEDULERS.iter().map(|s| PossibleValue::new(s.name()).help(s.about()))))]
    scheduler: String,
    /// The estimate of a job's run time
    #[arg(long, value_enum, default_value_t = EstimatesArg::Given)]
    estimates: EstimatesArg,
    /// Forecast the start of every Nth job that waits, and show how good the forecasts were; a forecast knows only what came before it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    forecasts: Option<u32>,
    /// Write a report with plots into this file, which needs no other
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
}

/// Where the jobs come from.
#[derive(Args)]
struct TraceArgs {
    /// Files of jobs that `import` reads, gzip or plain
    #[arg(required = true, value_name = "TRACE")]
    traces: Vec<PathBuf>,
    /// The format of the files; by default their names show it
    #[arg(long, value_name = "FORMAT", value_parser = PossibleValuesParser::new(FORMATS.iter().map(|f| PossibleValue::new(f.name).help(f.about))))]
    format: Option<String>,
    /// Replay the jobs of this resource group, on its capacities. If no job is of it, all jobs are replayed as those of one group with
    /// this name, on the capacities that the file has of it, else of the groups that the jobs name, else of all
    #[arg(long, value_name = "NAME")]
    group: Option<String>,
    /// The time zone of times without an offset, by IANA's name, like Europe/Berlin. UTC by default
    #[arg(long, value_name = "ZONE")]
    timezone: Option<Tz>,
    /// The unit of the memory fields of an SWF file
    #[arg(long, value_name = "UNIT", default_value = MemoryUnit::ALL[0].0,
        value_parser = PossibleValuesParser::new(MemoryUnit::ALL.map(|(name, _)| name)))]
    swf_memory: String,
    /// CSV of `project,domain`: the domain of each project (account)
    #[arg(long, value_name = "FILE")]
    domain_map: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum EstimatesArg {
    /// The time limit of each job; where there is none, what is learned from the jobs that ended
    Given,
    /// How long each job really runs
    Perfect,
}

impl From<EstimatesArg> for RuntimeEstimates {
    fn from(estimates: EstimatesArg) -> Self {
        match estimates {
            EstimatesArg::Given => Self::Given,
            EstimatesArg::Perfect => Self::Perfect,
        }
    }
}

impl CommandArgs for ReplayArgs {
    const IS_LOCAL: bool = true;

    async fn run(self, _: Config) -> CommandOutcome {
        let format = self.output.output;
        let html = self.html.clone();
        // A replay may take a minute. Nothing else runs meanwhile.
        let report = tokio::task::spawn_blocking(move || self.replay()).await;
        let report = report.map_err(|error| CommandFailure::Failed(format!("the replay broke off: {error}")))??;
        for note in &report.notes {
            eprint_line(&format!("note: {note}"));
        }
        if let Some(file) = html {
            let page = html::page(&report)?;
            std::fs::write(&file, page)
                .map_err(|e| CommandFailure::Failed(format!("cannot write {}: {e}", file.display())))?;
        }
        show::write_report(&report, format)?;
        Ok(ExitCode::SUCCESS)
    }
}

impl ReplayArgs {
    fn replay(&self) -> Result<ReplayReport, CommandFailure> {
        let drafts = self.policies.iter().map(|file| policy::read(file)).collect::<Result<Vec<_>, _>>()?;
        let mut trace = trace::read(&self.trace)?;
        let offers = offers::capacity_offers(&self.offers, &self.trace, &mut trace)?;
        let history = trace.history(offers)?;
        let policies = policy::resolve(drafts, &history, &mut trace.notes)?;
        let scheduler = schedulers::by_name(&self.scheduler);
        let scheduler =
            scheduler.ok_or_else(|| CommandFailure::Unusable(format!("there is no scheduler {}", self.scheduler)))?;
        let setup = ReplaySetup { scheduler, estimates: self.estimates.into(), forecasts: self.forecasts };
        Ok(ReplayReport::new(&history, &policies, &setup, trace.notes))
    }
}
