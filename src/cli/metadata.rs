//! `fairshared metadata`: every option of a group with its values, default and unit.

use std::process::ExitCode;

use clap::Parser;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::client::{no_json, open_client};
use super::command::CommandArgs;
use super::failure::CommandOutcome;
use super::output::{OutputArgs, OutputFormat, print_bytes, print_list};
use crate::config::Config;

/// Show every option of a group with its values, default and unit; as json also schedulers, plug-ins, jobs and roles
#[derive(Parser)]
#[command(name = "metadata")]
pub struct MetadataArgs {
    #[command(flatten)]
    output: OutputArgs,
}

/// The parts of the answer that the table shows.
#[derive(Deserialize)]
struct Facts {
    schedulers: Vec<Name>,
    default_scheduler: String,
    options: Vec<OptionFacts>,
    division_options: Vec<OptionFacts>,
    reclaim_options: Vec<OptionFacts>,
}

#[derive(Deserialize)]
struct Name {
    name: String,
}

#[derive(Deserialize)]
struct OptionFacts {
    key: String,
    #[serde(rename = "type")]
    kind: String,
    minimum: Option<String>,
    maximum: Option<String>,
    default: Value,
    unset: Option<String>,
    unit: Option<String>,
    summary: String,
    choices: Vec<Name>,
}

#[derive(Serialize)]
struct Row {
    option: String,
    values: String,
    default: String,
    unit: Option<String>,
    summary: String,
}

const COLUMNS: &[&str] = &["option", "values", "default", "unit", "summary"];

impl CommandArgs for MetadataArgs {
    async fn run(self, config: Config) -> CommandOutcome {
        let bytes = open_client(&config).await?.get(["metadata"]).bytes().await?;
        if self.output.output == OutputFormat::Json {
            print_bytes(&bytes)?;
        } else {
            let facts: Facts = serde_json::from_slice(&bytes).map_err(|_| no_json())?;
            print_list(self.output.output, COLUMNS, rows(facts))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// The scheduler, the options of a group, and those inside its option `division`.
fn rows(facts: Facts) -> Vec<Row> {
    let scheduler = Row {
        option: "scheduler".to_owned(),
        values: listed(&facts.schedulers),
        default: facts.default_scheduler,
        unit: None,
        summary: "The order of pending workloads.".to_owned(),
    };
    let inside = facts.division_options.into_iter().chain(facts.reclaim_options);
    let inside = inside.map(|option| OptionFacts { key: format!("division.options.{}", option.key), ..option });
    std::iter::once(scheduler).chain(facts.options.into_iter().chain(inside).map(row)).collect()
}

fn row(option: OptionFacts) -> Row {
    let values = match (&option.minimum, &option.maximum) {
        (Some(minimum), Some(maximum)) => format!("{minimum} to {maximum}"),
        _ if option.choices.is_empty() => option.kind.clone(),
        _ => listed(&option.choices),
    };
    let default = match option.default {
        Value::Null => option.unset.unwrap_or_default(),
        Value::String(text) => text,
        Value::Object(_) => String::new(),
        other => other.to_string(),
    };
    Row { option: option.key, values, default, unit: option.unit, summary: option.summary }
}

fn listed(names: &[Name]) -> String {
    names.iter().map(|Name { name }| name.as_str()).collect::<Vec<_>>().join(", ")
}
