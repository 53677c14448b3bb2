//! `fairshared history`: shows the factors and ranks at the end of past days.

use std::process::ExitCode;

use clap::Parser;

use super::client::open_client;
use super::command::CommandArgs;
use super::export::{check_days, parse_day};
use super::failure::CommandOutcome;
use super::list::EndpointList;
use super::output::{OutputArgs, OutputFormat, known_percent, print_list};
use super::tier::tier;
use crate::config::Config;
use crate::domain::tier::Tier;
use crate::domain::time::Day;

/// Show the factors and ranks at the end of each day, by default of the last 31 days
#[derive(Parser)]
#[command(name = "history")]
pub struct HistoryArgs {
    /// The resource group
    group: String,
    /// The tier that is shown
    #[arg(long, value_parser = tier(), default_value = "user")]
    tier: Tier,
    /// Only this domain; of the other tiers the projects that are in it now
    #[arg(long, value_name = "NAME")]
    domain: Option<String>,
    /// Only this project, by name or UUID
    #[arg(long, value_name = "PROJECT")]
    project: Option<String>,
    /// Only this user, by name or UUID
    #[arg(long, value_name = "USER")]
    user: Option<String>,
    /// First day, like 2026-01-13
    #[arg(long, value_name = "DATE", value_parser = parse_day)]
    from: Option<Day>,
    /// Last day
    #[arg(long, value_name = "DATE", value_parser = parse_day)]
    to: Option<Day>,
    /// Only those whose name has this part, in any case
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,
    /// Every day from the first rank on, instead of by id
    #[arg(long)]
    by_rank: bool,
    #[command(flatten)]
    output: OutputArgs,
}

/// The columns that all tiers have.
macro_rules! columns {
    ($($name:literal),*) => {
        &[
            "day",
            $($name,)*
            "rank",
            "fair_share_factor",
            "effective_usage",
            "effective_weight",
            "entitled_share",
            "entitled_share_of_parent",
        ]
    };
}

impl CommandArgs for HistoryArgs {
    async fn run(self, config: Config) -> CommandOutcome {
        check_days(self.from, self.to)?;
        let client = open_client(&config).await?;
        let call = client.get(["resource-groups", &self.group, "fair-share-history"]);
        let call = call.maybe("tier", Some(self.tier.as_str())).maybe("domain", self.domain.as_ref());
        let call = call.maybe("project", self.project.as_ref()).maybe("user", self.user.as_ref());
        let call = call.maybe("from", self.from).maybe("to", self.to);
        let call = call.maybe("search", self.search.as_ref());
        let call = call.maybe("order", self.by_rank.then_some("rank"));
        let columns: &[&str] = match self.tier {
            Tier::Domain => columns!("domain_name"),
            Tier::Project => columns!("project_name", "project_id"),
            Tier::User => columns!("user_name", "user_uuid", "project_name", "project_id"),
        };
        let list = EndpointList::of(call, None);
        if self.output.output == OutputFormat::Table {
            let mut rows = list.rows().await?;
            for row in &mut rows {
                for share in ["entitled_share", "entitled_share_of_parent"] {
                    row[share] = known_percent(&row[share]);
                }
            }
            print_list(OutputFormat::Table, columns, rows)?;
        } else {
            list.print(self.output.output, columns).await?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
