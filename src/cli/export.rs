//! `fairshared export`: the API's documents, and usage history as rows.

use std::io;
use std::process::ExitCode;

use clap::{Args, Parser, ValueEnum};

use super::client::open_client;
use super::command::CommandArgs;
use super::failure::{CommandFailure, CommandOutcome};
use super::list::EndpointList;
use super::output::{OutputArgs, print};
use crate::config::Config;
use crate::domain::time::Day;
use crate::graphql;
use crate::rest;

/// Write schemas and usage buckets
#[derive(Parser)]
#[command(name = "export")]
pub enum ExportArgs {
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
    /// The tier of the buckets
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

/// Refuses a period that ends before it begins.
pub(super) fn check_days(from: Option<Day>, to: Option<Day>) -> Result<(), CommandFailure> {
    match from.zip(to) {
        Some((from, to)) if from > to => Err(CommandFailure::Unusable(format!("--from {from} lies after --to {to}"))),
        _ => Ok(()),
    }
}

impl CommandArgs for ExportArgs {
    async fn run(self, config: Config) -> CommandOutcome {
        match self {
            Self::Schema => print(graphql::sdl().trim_end())?,
            Self::Openapi => print(&rest::openapi().to_pretty_json().map_err(io::Error::from)?)?,
            Self::Buckets(args) => buckets(args, &config).await?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

async fn buckets(args: BucketsArgs, config: &Config) -> Result<(), CommandFailure> {
    check_days(args.from, args.to)?;
    let client = open_client(config).await?;
    let (tier, columns) = match args.tier {
        TierName::Domains => ("domains", DOMAIN_COLUMNS),
        TierName::Projects => ("projects", PROJECT_COLUMNS),
        TierName::Users => ("users", USER_COLUMNS),
    };
    let call = client.get(["resource-groups", &args.group, "usage-buckets", tier]);
    EndpointList::of(call.maybe("from", args.from).maybe("to", args.to), None).print(args.output.output, columns).await
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
