//! `fairshared usage`: shows usage records of a period, or their sums.

mod report;

use std::process::ExitCode;

use clap::Parser;

use super::client::open_client;
use super::command::CommandArgs;
use super::failure::{CommandFailure, CommandOutcome};
use super::list::EndpointList;
use super::output::OutputArgs;
use crate::config::Config;

/// Show the usage records of a period of at most 31 days, by kernel and time; with --by, what was used by projects, users
/// or months
#[derive(Parser)]
#[command(name = "usage")]
pub struct UsageArgs {
    /// The resource group; with --by there may be several, whose usage is summed
    #[arg(required = true)]
    groups: Vec<String>,
    /// The beginning: a day like 2026-01-13, or an instant like 2026-01-13T10:00:00Z
    #[arg(long, value_name = "WHEN", required_unless_present = "month", requires = "to")]
    from: Option<String>,
    /// The end: an instant, or a day, which is then included
    #[arg(long, value_name = "WHEN", requires = "from")]
    to: Option<String>,
    /// A month like 2026-10 instead; of the current one the days until today
    #[arg(long, value_name = "MONTH", conflicts_with_all = ["from", "to"], requires = "by")]
    month: Option<String>,
    /// A report instead of records, of whole days in UTC: a row for each of `resource_group`, domain, project, user,
    /// `charge_class`, and one of day, week and month, with commas between
    #[arg(long, value_name = "WHAT")]
    by: Option<String>,
    /// Only these slots, with commas between
    #[arg(long, requires = "by")]
    slots: Option<String>,
    /// Only what counted for this domain
    #[arg(long)]
    domain: Option<String>,
    /// Only what was recorded with this charge class; an empty one is that of usage without
    #[arg(long, requires = "by")]
    charge_class: Option<String>,
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

const COLUMNS: &[&str] = &["kernel_id", "period_start", "period_end", "charge_class", "resource_usage", "compacted"];

impl CommandArgs for UsageArgs {
    async fn run(self, config: Config) -> CommandOutcome {
        if self.by.is_some() {
            report::run(self, &config).await?;
            return Ok(ExitCode::SUCCESS);
        }
        let [group] = &self.groups[..] else {
            return Err(CommandFailure::Unusable("records are of one resource group; several go with --by".to_owned()));
        };
        let call = open_client(&config).await?.get(["resource-groups", group, "usage-records"]);
        let call = call.maybe("from", self.from).maybe("to", self.to);
        let call = call.maybe("user", self.user).maybe("project", self.project).maybe("domain", self.domain);
        EndpointList::of(call, self.limit).print(self.output.output, COLUMNS).await?;
        Ok(ExitCode::SUCCESS)
    }
}
