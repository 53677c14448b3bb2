//! `fairshared fairness`: compares usage with entitled shares, and shows the fairness of each day.

use std::process::ExitCode;

use clap::Parser;
use serde_json::{Value, json};

use super::client::{ApiClient, open_client};
use super::command::CommandArgs;
use super::export::{check_days, parse_day};
use super::failure::{CommandFailure, CommandOutcome};
use super::list::EndpointList;
use super::output::{OutputArgs, OutputFormat, parse_figure, percent_text, print, print_answer, print_list};
use super::tier::tier;
use crate::config::Config;
use crate::domain::tier::Tier;
use crate::domain::time::Day;

/// Show what everyone used in a window beside what weights entitle them to
#[derive(Parser)]
#[command(name = "fairness")]
pub struct FairnessArgs {
    /// The resource group
    group: String,
    /// now (what runs now), 1h, 1d, 7d or 28d, or a first and a last day like 2026-01-01..2026-01-31
    #[arg(long, default_value = "7d", conflicts_with = "history")]
    window: String,
    /// The tier that is shown; of the history, only this one [default: domain]
    #[arg(long, value_parser = tier())]
    tier: Option<Tier>,
    /// How fair each day was instead, as the job `divide` keeps it
    #[arg(long)]
    history: bool,
    /// First day of the history, like 2026-01-13
    #[arg(long, value_name = "DATE", value_parser = parse_day, requires = "history")]
    from: Option<Day>,
    /// Last day of the history
    #[arg(long, value_name = "DATE", value_parser = parse_day, requires = "history")]
    to: Option<Day>,
    #[command(flatten)]
    output: OutputArgs,
}

const CSV_COLUMNS: &[&str] = &[
    "domain_name",
    "project_name",
    "project_id",
    "user_name",
    "user_uuid",
    "used_share",
    "used_share_of_parent",
    "entitled_share",
    "entitled_share_of_parent",
    "ratio",
    "error",
    "demand_limited",
];
const HISTORY_COLUMNS: &[&str] = &["day", "tier", "misallocated_share", "jains_index", "active"];

impl CommandArgs for FairnessArgs {
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

impl FairnessArgs {
    async fn show(&self, client: &ApiClient) -> Result<(), CommandFailure> {
        let tier = self.tier.unwrap_or(Tier::Domain);
        let call = client.get(["resource-groups", &self.group, "fairness"]);
        let call = call.maybe("window", Some(&self.window)).maybe("tier", Some(tier.as_str()));
        let answer = call.send().await?;
        if self.output.output == OutputFormat::Json {
            return print_answer(answer).await;
        }
        let report: Value = answer.json().await?;
        let rows = report["items"].as_array().into_iter().flatten();
        if self.output.output != OutputFormat::Table {
            return print_list(self.output.output, CSV_COLUMNS, rows);
        }
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        print(&format!(
            "{} to {}: {} in the wrong hands, Jain's index {}, {} active",
            text(&report["window"]["from"]),
            text(&report["window"]["to"]),
            percent_text(&report["misallocated_share"]),
            text(&report["jains_index"]),
            report["active"]
        ))?;
        print_list(OutputFormat::Table, columns(tier), rows.map(line))
    }

    async fn show_history(&self, client: &ApiClient) -> Result<(), CommandFailure> {
        let call = client.get(["resource-groups", &self.group, "fairness", "history"]);
        let call = call.maybe("from", self.from).maybe("to", self.to).maybe("tier", self.tier.map(Tier::as_str));
        EndpointList::of(call, None).print(self.output.output, HISTORY_COLUMNS).await
    }
}

fn columns(tier: Tier) -> &'static [&'static str] {
    match tier {
        Tier::Domain => &["domain", "used", "entitled", "ratio", "error", "asked_for_less"],
        Tier::Project => &["project", "domain", "used", "entitled", "ratio", "error", "asked_for_less"],
        Tier::User => &["user", "project", "domain", "used", "entitled", "ratio", "error", "asked_for_less"],
    }
}

/// A row for people: names instead of ids where there are some, and shares in percent of the group.
fn line(row: &Value) -> Value {
    let named = |name: &str, id: &str| [&row[name], &row[id]].into_iter().find(|value| !value.is_null()).cloned();
    json!({
        "user": named("user_name", "user_uuid"), "project": named("project_name", "project_id"),
        "domain": row["domain_name"], "used": percent_text(&row["used_share"]), "entitled": percent_text(&row["entitled_share"]),
        "ratio": format!("{:.3}", parse_figure(&row["ratio"])), "error": percent_text(&row["error"]),
        "asked_for_less": if row["demand_limited"] == true { "yes" } else { "" },
    })
}
