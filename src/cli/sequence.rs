//! `fairshared sequence`: orders pending workloads (FAIR_SHARE §9).

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use serde_json::Value;
use serde_json::value::RawValue;

use super::client::{ApiClient, JSON_MEDIA_TYPE};
use super::command::CommandArgs;
use super::failure::CommandOutcome;
use super::open::{input_name, read_input};
use super::output::{OutputArgs, OutputFormat, known_percent, print_bytes, print_list, warn, warn_of};
use crate::config::Config;

/// The columns of shares: those in percent for tables, and the exact ones.
const SHARE_COLUMNS: [(&str, &str); 2] = [("entitled", "entitled_share"), ("parent", "entitled_share_of_parent")];
const EXPLANATION_COLUMNS: [&str; 3] = ["ahead", "owners_ahead", "because"];
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
    #[command(flatten)]
    output: OutputArgs,
}

impl CommandArgs for SequenceArgs {
    async fn run(self, config: Config) -> CommandOutcome {
        let mut body = self.file.as_deref().map_or_else(|| Ok(b"{}".to_vec()), read_input)?;
        let name = self.file.as_deref().map(input_name).unwrap_or_default();
        if self.explain {
            body = asking_why(body);
        }
        let client = ApiClient::of(&config).await?;
        let call = client.post(["resource-groups", &self.group, "sequence"]).body(JSON_MEDIA_TYPE, body);
        let answer = call.send().await.map_err(|failure| failure.in_input(&name))?;
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
                let columns = match (has("ahead"), has("charge")) {
                    (true, _) => &explained_columns(format),
                    (false, true) => CHARGE_COLUMNS,
                    (false, false) => PLAIN_COLUMNS,
                };
                for item in items.as_array_mut().into_iter().flatten() {
                    let because = item["reason"]["because"].take();
                    item["because"] = because;
                    for (column, key) in SHARE_COLUMNS {
                        item[column] = known_percent(&item[key]);
                    }
                }
                print_list(format, columns, items.as_array().into_iter().flatten())?;
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

/// The request with `explain` set. A body that is not an object is sent unchanged, and refused.
fn asking_why(body: Vec<u8>) -> Vec<u8> {
    let Ok(mut request) = serde_json::from_slice::<BTreeMap<String, Box<RawValue>>>(&body) else { return body };
    request.extend(RawValue::from_string("true".to_owned()).ok().map(|yes| ("explain".to_owned(), yes)));
    serde_json::to_vec(&request).unwrap_or(body)
}
