//! `fairshared sequence`: orders pending workloads (FAIR_SHARE §9).

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use super::client::{JSON_MEDIA_TYPE, open_client};
use super::command::CommandArgs;
use super::connectors::{agreement_text, owner_rows};
use super::failure::{CommandFailure, CommandOutcome};
use super::forecast_text::{FORECAST_COLUMNS, show_forecast};
use super::open::{input_name, read_input};
use super::output::{OutputArgs, OutputFormat, known_percent, print, print_bytes, print_list, warn, warn_of};
use crate::config::Config;

/// The columns of shares: those in percent for tables, and the exact ones.
const SHARE_COLUMNS: [(&str, &str); 2] = [("entitled", "entitled_share"), ("parent", "entitled_share_of_parent")];
const EXPLANATION_COLUMNS: [&str; 3] = ["ahead", "owners_ahead", "because"];
/// The columns of owners who gain or lose places.
const OWNER_COLUMNS: &[&str] = &["user_name", "project_name", "places_gained"];
const PLAIN_COLUMNS: &[&str] = &["position", "workload_id", "fair_share_factor", "rank"];
const CHARGE_COLUMNS: &[&str] = &["position", "workload_id", "fair_share_factor", "rank", "charge", "factor_after"];

/// Order pending workloads
#[derive(Parser)]
#[command(name = "sequence")]
pub struct SequenceArgs {
    /// The resource group
    group: String,
    /// JSON as the REST API takes it, `{"workloads": […]}`; `-` for standard input. Left out: the reported workloads that wait
    file: Option<PathBuf>,
    /// Say of each how many are ahead, of how many owners, and why
    #[arg(long)]
    explain: bool,
    /// Say of each when it starts, as the newest forecast of the group says
    #[arg(long)]
    forecast: bool,
    /// The ids of the workloads in the order that is in force now: a JSON array, or one id a line; `-` for standard input. Says how
    /// both orders agree
    #[arg(long, value_name = "FILE")]
    current_order: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
}

impl CommandArgs for SequenceArgs {
    async fn run(self, config: Config) -> CommandOutcome {
        if self.file.is_some() && self.file == self.current_order && self.file.as_deref() == Some(Path::new("-")) {
            let said = "the workloads and the current order cannot both come from standard input";
            return Err(CommandFailure::Unusable(said.to_owned()));
        }
        let mut body = self.file.as_deref().map_or_else(|| Ok(b"{}".to_vec()), read_input)?;
        let name = self.file.as_deref().map(input_name).unwrap_or_default();
        if self.explain {
            body = with_value(body, "explain", &true)?;
        }
        if self.forecast {
            body = with_value(body, "forecast", &true)?;
        }
        if let Some(file) = self.current_order.as_deref() {
            body = with_value(body, "current_order", &read_order(file)?)?;
        }
        let client = open_client(&config).await?;
        let call = client.post(["resource-groups", &self.group, "sequence"]).body(JSON_MEDIA_TYPE, body);
        let answer = call.send().await.map_err(|failure| CommandFailure::from(failure).in_input(&name))?;
        match self.output.output {
            OutputFormat::Json => {
                let bytes = answer.bytes().await?;
                warn_of(&bytes);
                print_bytes(&bytes)?;
            }
            format => {
                let mut answer: Value = answer.json().await?;
                warn(&answer);
                let mut items = answer["items"].take();
                let has = |key: &str| items.get(0).is_some_and(|item| item.get(key).is_some());
                let mut columns = match (has("ahead"), has("charge")) {
                    (true, _) => explained_columns(format),
                    (false, true) => CHARGE_COLUMNS.to_vec(),
                    (false, false) => PLAIN_COLUMNS.to_vec(),
                };
                if self.forecast {
                    columns.extend(if format == OutputFormat::Table { &["starts"] } else { FORECAST_COLUMNS });
                }
                for item in items.as_array_mut().into_iter().flatten() {
                    let because = item["reason"]["because"].take();
                    item["because"] = because;
                    show_forecast(item);
                    for (column, key) in SHARE_COLUMNS {
                        item[column] = known_percent(&item[key]);
                    }
                }
                print_list(format, &columns, items.as_array().into_iter().flatten())?;
                let agreement = &answer["agreement"];
                if agreement.is_object() && format == OutputFormat::Table {
                    print(&format!("\n{}\n", agreement_text(agreement)))?;
                    print_list(format, OWNER_COLUMNS, owner_rows(agreement))?;
                }
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn explained_columns(format: OutputFormat) -> Vec<&'static str> {
    let shares =
        SHARE_COLUMNS.map(|(in_percent, exact)| if format == OutputFormat::Table { in_percent } else { exact });
    PLAIN_COLUMNS.iter().copied().chain(shares).chain(EXPLANATION_COLUMNS).collect()
}

/// The request with a value of its own for `key`. A body that is not an object is sent unchanged, and refused.
fn with_value(body: Vec<u8>, key: &str, value: &impl Serialize) -> Result<Vec<u8>, CommandFailure> {
    let Ok(mut request) = serde_json::from_slice::<BTreeMap<String, Box<RawValue>>>(&body) else { return Ok(body) };
    request.insert(key.to_owned(), to_raw_value(value).map_err(io::Error::from)?);
    Ok(serde_json::to_vec(&request).unwrap_or(body))
}

/// The ids of a file: a JSON array of texts, otherwise the lines that are not empty.
fn read_order(file: &Path) -> Result<Vec<String>, CommandFailure> {
    let text = String::from_utf8(read_input(file)?);
    let text = text.map_err(|_| CommandFailure::Unusable(format!("{} is not UTF-8 text", input_name(file))))?;
    if text.trim_start().starts_with('[') {
        let read = serde_json::from_str(&text);
        return read.map_err(|error| {
            CommandFailure::Unusable(format!("{} is not a JSON array of ids: {error}", input_name(file)))
        });
    }
    Ok(text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect())
}
