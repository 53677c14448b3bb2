//! `fairshared rank`: who comes first.

use std::process::ExitCode;

use clap::Args;
use serde_json::{Map, Value, json};

use super::failure::Outcome;
use super::open::{caller, service};
use super::output::{Format, OutputArgs, fit, print_list, warn_of_options};
use crate::config::Config;
use crate::domain::decimal::f64_text;
use crate::domain::hierarchy::Share;
use crate::rest::fair_share_status::view::UserStatus;
use crate::service::PublishedGroup;

#[derive(Args)]
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

pub async fn run(args: RankArgs, config: &Config) -> Outcome {
    let service = service(config).await?;
    let group = service.group(&caller(), &args.group)?;
    warn_of_options(&group);
    let limit = usize::try_from(args.limit.unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
    if args.output.output == Format::Table {
        return table(&args, &group, limit);
    }
    let format = args.output.output;
    if args.domains {
        let rows = group.domains.iter().filter(|d| !d.hidden).take(limit);
        let columns = &["rank", "domain_name", "fair_share_factor", "effective_usage", "effective_weight"];
        print_list(format, columns, rows.map(|d| row(json!({"domain_name": d.domain_name}), &d.share)))?;
    } else if args.projects {
        let columns = &[
            "domain_name",
            "rank",
            "project_name",
            "project_id",
            "fair_share_factor",
            "effective_usage",
            "effective_weight",
        ];
        let rows = group.projects.iter().filter(|p| !p.hidden).take(limit).map(|p| {
            let names = json!({
                "project_id": p.project_id, "project_name": p.project_name, "domain_name": p.domain_name,
            });
            row(names, &p.share)
        });
        print_list(format, columns, rows)?;
    } else {
        let columns = &[
            "rank",
            "user_name",
            "user_uuid",
            "project_id",
            "domain_name",
            "fair_share_factor",
            "effective_usage",
            "effective_weight",
        ];
        print_list(format, columns, service.ranking(&caller(), &group).take(limit).map(UserStatus::from))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Who, and the figures that decide their rank.
fn row(who: Value, share: &Share) -> Map<String, Value> {
    let mut row = if let Value::Object(row) = who { row } else { Map::new() };
    row.insert("rank".to_owned(), json!(share.rank));
    row.insert("fair_share_factor".to_owned(), json!(f64_text(share.fair_share_factor)));
    row.insert("effective_usage".to_owned(), json!(f64_text(share.history.normalized_usage)));
    row.insert("effective_weight".to_owned(), json!(share.effective_weight));
    row
}

/// Columns that the names of a table may take together, so that a line fits into 80.
const ROOM: usize = 34;

/// The ranking for a person: names where there are some, short figures, lines of at most 80 columns.
fn table(args: &RankArgs, group: &PublishedGroup, limit: usize) -> Outcome {
    if args.domains {
        let rows =
            group.domains.iter().filter(|row| !row.hidden).take(limit).map(|d| ([d.domain_name.to_string()], &d.share));
        print_table(&["rank", "domain", "factor", "usage", "weight"], ["domain"], rows.collect())?;
    } else if args.projects {
        let rows = group.projects.iter().filter(|row| !row.hidden).take(limit).map(|p| {
            let project = p.project_name.as_deref().map_or_else(|| p.project_id.to_string(), str::to_owned);
            ([p.domain_name.to_string(), project], &p.share)
        });
        let columns = &["domain", "rank", "project", "factor", "usage", "weight"];
        print_table(columns, ["domain", "project"], rows.collect())?;
    } else {
        let rows = group.users.iter().filter(|row| !row.hidden).take(limit).map(|u| {
            let project = group.project(u.member.project).and_then(|p| p.project_name.as_deref());
            let project = project.map_or_else(|| u.member.project.to_string(), str::to_owned);
            let user = u.user_name.as_deref().map_or_else(|| u.member.user.to_string(), str::to_owned);
            ([user, project, u.domain_name.to_string()], &u.share)
        });
        let columns = &["rank", "user", "project", "domain", "factor", "usage", "weight"];
        print_table(columns, ["user", "project", "domain"], rows.collect())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn print_table<const N: usize>(
    columns: &'static [&'static str],
    kinds: [&'static str; N],
    mut rows: Vec<([String; N], &Share)>,
) -> Result<(), super::failure::Failure> {
    fit(rows.iter_mut().map(|(names, _)| names), ROOM);
    let line = |(names, share): ([String; N], &Share)| {
        let mut line: Map<String, Value> =
            kinds.into_iter().zip(names).map(|(kind, name)| (kind.to_owned(), json!(name))).collect();
        line.insert("rank".to_owned(), json!(share.rank));
        line.insert("factor".to_owned(), json!(format!("{:.6}", share.fair_share_factor)));
        line.insert("usage".to_owned(), json!(format!("{:.6}", share.history.normalized_usage)));
        line.insert("weight".to_owned(), json!(share.effective_weight));
        line
    };
    print_list(Format::Table, columns, rows.into_iter().map(line))
}
