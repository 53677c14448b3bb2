//! `fairshared export`: the API's documents, and usage history as rows.

use std::process::ExitCode;

use clap::{Args, Subcommand, ValueEnum};

use super::failure::{Failure, Outcome};
use super::open::{caller, service};
use super::output::{OutputArgs, print, print_json, print_pages};
use crate::config::Config;
use crate::domain::filter::{Compare, DayMatch, Filter};
use crate::domain::time::Day;
use crate::graphql;
use crate::rest;
use crate::rest::usage_buckets::view::UsageBucket;
use crate::service::buckets::{BucketCondition, BucketField, BucketList, Tier};

#[derive(Subcommand)]
pub enum ExportCommand {
    /// The GraphQL schema
    Schema,
    /// The OpenAPI document of the REST API
    Openapi,
    /// Usage buckets of a resource group, oldest first
    Buckets(BucketsArgs),
}

#[derive(Args)]
pub struct BucketsArgs {
    /// The resource group
    group: String,
    /// Whose buckets
    #[arg(long, value_enum, default_value_t = TierName::Users)]
    tier: TierName,
    /// First day, like 2026-01-13: buckets that end on it or later
    #[arg(long, value_name = "DATE", value_parser = parse_day)]
    from: Option<Day>,
    /// Last day: buckets that start on it or earlier
    #[arg(long, value_name = "DATE", value_parser = parse_day)]
    to: Option<Day>,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum TierName {
    Domains,
    Projects,
    Users,
}

pub(super) fn parse_day(text: &str) -> Result<Day, String> {
    text.parse().map_err(|e| format!("{text:?} {e}"))
}

pub async fn run(command: ExportCommand, config: &Config) -> Outcome {
    match command {
        ExportCommand::Schema => print(graphql::sdl().trim_end())?,
        ExportCommand::Openapi => print_json(&rest::openapi())?,
        ExportCommand::Buckets(args) => buckets(args, config).await?,
    }
    Ok(ExitCode::SUCCESS)
}

async fn buckets(args: BucketsArgs, config: &Config) -> Result<(), Failure> {
    if let (Some(from), Some(to)) = (args.from, args.to)
        && from > to
    {
        return Err(Failure::Unusable(format!("--from {from} lies after --to {to}")));
    }
    let service = service(config).await?;
    let (tier, columns) = match args.tier {
        TierName::Domains => (Tier::Domain, DOMAIN_COLUMNS),
        TierName::Projects => (Tier::Project, PROJECT_COLUMNS),
        TierName::Users => (Tier::User, USER_COLUMNS),
    };
    let starts =
        |day: Option<Day>, compare| day.map(|day| Filter::Is(BucketCondition::PeriodStart(DayMatch { day, compare })));
    let bounds = [starts(args.from, Compare::GreaterOrEqual), starts(args.to, Compare::LessOrEqual)];
    let filter = Filter::All(bounds.into_iter().flatten().collect());
    let page = async |window| {
        let list =
            BucketList { tier, filter: filter.clone(), field: BucketField::PeriodStart, descending: false, window };
        service.usage_buckets(&caller(), &args.group, list).await
    };
    print_pages(args.output.output, columns, page, |row| UsageBucket::new(row, &service.people())).await
}

const DOMAIN_COLUMNS: &[&str] = &["period_start", "period_end", "domain_name", "resource_usage", "capacity_snapshot"];
const PROJECT_COLUMNS: &[&str] =
    &["period_start", "period_end", "project_id", "project_name", "domain_name", "resource_usage", "capacity_snapshot"];
const USER_COLUMNS: &[&str] = &[
    "period_start",
    "period_end",
    "user_uuid",
    "user_name",
    "project_id",
    "project_name",
    "domain_name",
    "resource_usage",
    "capacity_snapshot",
];
