//! `fairshared connectors`: lists and removes the connectors of other schedulers, and shows the shadow report of a group.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use serde_json::{Value, json};

use super::client::{ApiClient, open_client};
use super::command::CommandArgs;
use super::export::{check_days, parse_day};
use super::failure::{CommandFailure, CommandOutcome, eprint_line};
use super::list::EndpointList;
use super::output::{OutputArgs, OutputFormat, print, print_answer, print_list};
use crate::config::Config;
use crate::domain::time::Day;

/// List and remove connectors of other schedulers, and show how their order and ours agree
#[derive(Parser)]
#[command(name = "connectors")]
pub struct ConnectorsArgs {
    #[command(subcommand)]
    command: ConnectorsCommand,
}

#[derive(Subcommand)]
enum ConnectorsCommand {
    /// List connectors with their last rounds
    List(OutputArgs),
    /// Forget a connector that is gone; with the last one of a group goes its shadow report
    Remove {
        /// The cluster whose scheduler it has read
        cluster: String,
        /// The resource group, if several have a cluster of this name
        #[arg(long)]
        group: Option<String>,
        /// Why, for the audit log
        #[arg(long)]
        reason: Option<String>,
    },
    /// Show how the order of a group and that of the other scheduler agree
    Report {
        /// The resource group
        group: String,
        /// First day, like 2026-01-13
        #[arg(long, value_name = "DATE", value_parser = parse_day)]
        from: Option<Day>,
        /// Last day
        #[arg(long, value_name = "DATE", value_parser = parse_day)]
        to: Option<Day>,
        #[command(flatten)]
        output: OutputArgs,
    },
}

const LIST_COLUMNS: &[&str] = &[
    "cluster",
    "kind",
    "version",
    "mode",
    "resource_group",
    "last_round_at",
    "pending",
    "compared",
    "same_place",
    "kendall_tau",
    "written",
    "errors",
];
const PLACE_COLUMNS: &[&str] = &["place", "current_place", "workload_id", "user_name", "project_name"];
const DAY_COLUMNS: &[&str] = &["date", "rounds", "compared", "same_place", "kendall_tau"];
const OWNER_COLUMNS: &[&str] = &["date", "user_name", "project_name", "places_gained"];

impl CommandArgs for ConnectorsArgs {
    async fn run(self, config: Config) -> CommandOutcome {
        let client = open_client(&config).await?;
        match self.command {
            ConnectorsCommand::List(args) => list(&client, args.output).await?,
            ConnectorsCommand::Remove { cluster, group, reason } => {
                let call = client.delete(["connectors", &cluster]);
                call.maybe("resource_group", group).maybe("reason", reason).send().await?;
                eprint_line(&format!("connector of {cluster} removed"));
            }
            ConnectorsCommand::Report { group, from, to, output } => {
                check_days(from, to)?;
                let call = client.get(["resource-groups", &group, "shadow-report"]);
                let answer = call.maybe("from", from).maybe("to", to).send().await?;
                match output.output {
                    OutputFormat::Json => print_answer(answer).await?,
                    format => print_report(&answer.json().await?, format)?,
                }
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

async fn list(client: &ApiClient, format: OutputFormat) -> Result<(), CommandFailure> {
    let list = EndpointList::of(client.get(["connectors"]), None);
    if matches!(format, OutputFormat::Json | OutputFormat::Ndjson) {
        return list.print(format, &[]).await;
    }
    print_list(format, LIST_COLUMNS, list.rows().await?.iter().map(line))
}

/// A connector with the numbers of its last round beside it, and the codes of its errors.
fn line(connector: &Value) -> Value {
    let mut line = connector.clone();
    for key in ["pending", "compared", "same_place", "kendall_tau", "written"] {
        line[key] = connector["last"][key].clone();
    }
    let errors = connector["last"]["errors"].as_array().into_iter().flatten();
    line["errors"] = errors.filter_map(|error| error["code"].as_str()).collect::<Vec<_>>().join(", ").into();
    line
}

/// The last comparison, the days and the owners as tables, or in other forms the owners alone.
fn print_report(report: &Value, format: OutputFormat) -> Result<(), CommandFailure> {
    let rows = |list: &Value| list.as_array().cloned().unwrap_or_default();
    if format != OutputFormat::Table {
        return print_list(format, OWNER_COLUMNS, rows(&report["owners"]));
    }
    let (text, latest) = (|value: &Value| value.as_str().unwrap_or_default().to_owned(), &report["latest"]);
    print(&format!(
        "cluster {}, mode {}, compared at {}: {}",
        text(&report["cluster"]),
        text(&report["mode"]),
        text(&latest["taken_at"]),
        agreement_text(latest)
    ))?;
    for (columns, list) in
        [(PLACE_COLUMNS, &latest["ours"]), (DAY_COLUMNS, &report["days"]), (OWNER_COLUMNS, &report["owners"])]
    {
        print("")?;
        print_list(format, columns, rows(list))?;
    }
    if let Some(count) = report["owners_left_out"].as_u64().filter(|count| *count > 0) {
        print(&format!("{count} owners with fewer places are left out; name a shorter range to see them"))?;
    }
    Ok(())
}

/// The figures of an agreement in one line.
pub(super) fn agreement_text(agreement: &Value) -> String {
    let tau = match &agreement["kendall_tau"] {
        Value::Null => String::new(),
        tau => format!(", Kendall's tau {tau}"),
    };
    format!("{} workloads compared, {} in the same place{tau}", agreement["compared"], agreement["same_place"])
}

/// The owners of an agreement who gain and lose places, those who gain most first.
pub(super) fn owner_rows(agreement: &Value) -> Vec<Value> {
    let side = |list: &Value, sign: i64| {
        let owners = list.as_array().cloned().unwrap_or_default();
        owners.into_iter().map(move |owner| {
            let places = owner["places"].as_i64().unwrap_or_default();
            json!({
                "user_name": owner["user_name"], "project_name": owner["project_name"], "places_gained": sign * places,
            })
        })
    };
    let losers: Vec<Value> = side(&agreement["lose"], -1).collect();
    side(&agreement["gain"], 1).chain(losers.into_iter().rev()).collect()
}
