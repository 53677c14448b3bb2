//! `fairshared rank`: shows the ranking.

use std::process::ExitCode;

use clap::Parser;
use serde_json::{Value, json};

use super::client::open_client;
use super::command::CommandArgs;
use super::failure::CommandOutcome;
use super::list::EndpointList;
use super::output::{
    OutputArgs, OutputFormat, fit, parse_figure, percent_text, print_answer, print_list, terminal_width, warn,
};
use crate::config::Config;

/// Show the ranking of a resource group
///
/// ENTITLED is the share of the group that the weights entitle to among those that are active, and PARENT the same of the
/// parent: of a project its domain, of a user the project.
#[derive(Parser)]
#[command(name = "rank")]
pub struct RankArgs {
    /// The resource group
    group: String,
    /// Rank domains instead of users
    #[arg(long, conflicts_with = "projects")]
    domains: bool,
    /// Rank projects, each in its domain, instead of users
    #[arg(long)]
    projects: bool,
    /// Show the first rows only
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
    #[command(flatten)]
    output: OutputArgs,
}

/// The columns of a tier.
struct TierColumns {
    path: &'static [&'static str],
    csv: &'static [&'static str],
    table: &'static [&'static str],
    /// The columns of tables; each shows the first of these keys that is present in a row.
    names: &'static [(&'static str, &'static [&'static str])],
}

const USER_COLUMNS: TierColumns = TierColumns {
    path: &["fair-share-status"],
    csv: &[
        "rank",
        "user_name",
        "user_uuid",
        "project_name",
        "project_id",
        "domain_name",
        "fair_share_factor",
        "effective_usage",
        "effective_weight",
        "nominal_share",
        "nominal_share_of_parent",
        "entitled_share",
        "entitled_share_of_parent",
    ],
    table: &["rank", "user", "project", "domain", "factor", "usage", "weight", "entitled", "parent"],
    names: &[
        ("user", &["user_name", "user_uuid"]),
        ("project", &["project_name", "project_id"]),
        ("domain", &["domain_name"]),
    ],
};

const PROJECT_COLUMNS: TierColumns = TierColumns {
    path: &["fair-share-status", "projects"],
    csv: &[
        "domain_name",
        "rank",
        "project_name",
        "project_id",
        "fair_share_factor",
        "effective_usage",
        "effective_weight",
        "nominal_share",
        "nominal_share_of_parent",
        "entitled_share",
        "entitled_share_of_parent",
    ],
    table: &["domain", "rank", "project", "factor", "usage", "weight", "entitled", "parent"],
    names: &[("domain", &["domain_name"]), ("project", &["project_name", "project_id"])],
};

const DOMAIN_COLUMNS: TierColumns = TierColumns {
    path: &["fair-share-status", "domains"],
    csv: &[
        "rank",
        "domain_name",
        "fair_share_factor",
        "effective_usage",
        "effective_weight",
        "nominal_share",
        "nominal_share_of_parent",
        "entitled_share",
        "entitled_share_of_parent",
    ],
    table: &["rank", "domain", "factor", "usage", "weight", "entitled"],
    names: &[("domain", &["domain_name"])],
};

impl CommandArgs for RankArgs {
    async fn run(self, config: Config) -> CommandOutcome {
        let client = open_client(&config).await?;
        let group = ["resource-groups", self.group.as_str()];
        warn(&client.get(group).send().await?.json().await?);
        let (tier, is_whole) = match (self.domains, self.projects) {
            (true, _) => (DOMAIN_COLUMNS, false),
            (_, true) => (PROJECT_COLUMNS, false),
            _ => (USER_COLUMNS, self.limit.is_none()),
        };
        let call = client.get(group.into_iter().chain(tier.path.iter().copied()));
        if is_whole && self.output.output == OutputFormat::Json {
            print_answer(call.send().await?).await?;
            return Ok(ExitCode::SUCCESS);
        }
        let list = if is_whole { EndpointList::whole(call) } else { EndpointList::of(call, self.limit) };
        if self.output.output == OutputFormat::Table {
            let lines = lines(&tier, &list.rows().await?, terminal_width());
            print_list(OutputFormat::Table, tier.table, lines)?;
        } else {
            list.print(self.output.output, tier.csv).await?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// The least width of a column of names. In a terminal that has no room for it, names stay whole, and rows become records.
const LEAST_NAME: usize = 6;

/// The ranking for people: names instead of ids where there are some, and short numbers. Names are shortened only if a
/// line would be wider than the terminal.
fn lines(tier: &TierColumns, rows: &[Value], terminal_width: Option<usize>) -> Vec<Value> {
    let mut lines: Vec<Value> = rows.iter().map(figures).collect();
    let shown =
        |row: &Value, keys: &[&str]| keys.iter().find_map(|key| row[key].as_str()).unwrap_or_default().to_owned();
    let mut names: Vec<Vec<String>> =
        rows.iter().map(|row| tier.names.iter().map(|(_, keys)| shown(row, keys)).collect()).collect();
    let room = terminal_width.map(|width| room(tier, &lines, width));
    if let Some(room) = room.filter(|room| *room >= LEAST_NAME * tier.names.len()) {
        fit(&mut names, room);
    }
    for (line, names) in lines.iter_mut().zip(names) {
        for ((column, _), name) in tier.names.iter().zip(names) {
            line[column] = Value::from(name);
        }
    }
    lines
}

fn figures(row: &Value) -> Value {
    let short = |key: &str| format!("{:.6}", parse_figure(&row[key]));
    json!({
        "rank": row["rank"].to_string(), "factor": short("fair_share_factor"), "usage": short("effective_usage"),
        "weight": short("effective_weight").trim_end_matches('0').trim_end_matches('.'),
        "entitled": percent_text(&row["entitled_share"]), "parent": percent_text(&row["entitled_share_of_parent"]),
    })
}

/// The width that a line leaves for names. Columns are separated by two spaces.
fn room(tier: &TierColumns, lines: &[Value], line_width: usize) -> usize {
    let cell = |line: &Value, column: &str| line[column].as_str().map_or(0, str::len);
    let width = |column: &&str| lines.iter().map(|line| cell(line, column)).max().unwrap_or(0).max(column.len());
    let is_figure = |column: &&&str| tier.names.iter().all(|(name, _)| name != *column);
    let figures: usize = tier.table.iter().filter(is_figure).map(width).sum();
    (line_width + 1).saturating_sub(figures + 2 * tier.table.len())
}
