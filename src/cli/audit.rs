//! `fairshared audit`: proves that no usage is lost or counted twice (FAIR_SHARE §5).

use std::process::ExitCode;

use clap::Parser;
use serde_json::Value;

use super::client::Client;
use super::command::Command;
use super::failure::{FAILED, Failure, Outcome, eprint_line};
use super::list::List;
use super::output::{OutputArgs, print_list};
use crate::config::Config;

/// Prove that usage is conserved; exits with 1 at the first row that differs
#[derive(Parser)]
#[command(name = "audit")]
pub struct Audit {
    /// Resource groups; all when none is named
    groups: Vec<String>,
    #[command(flatten)]
    output: OutputArgs,
}

impl Command for Audit {
    async fn run(self, config: Config) -> Outcome {
        let client = Client::of(&config).await?;
        let groups = self.groups(&client).await?;
        let mut rows = Vec::new();
        let mut differs = false;
        for group in groups {
            let mut row: Value = client.get(["resource-groups", &group, "audit"]).send().await?.json().await?;
            if let Some(row) = row["difference"].as_object() {
                differs = true;
                let text = |key: &str| row.get(key).and_then(Value::as_str).unwrap_or_default();
                eprint_line(&format!("{group}: {} differs: {}", text("row"), text("detail")));
            }
            row["resource_group"] = Value::from(group);
            rows.push(row);
        }
        print_list(self.output.output, &["resource_group", "ok", "buckets", "records_from"], rows)?;
        Ok(if differs { ExitCode::from(FAILED) } else { ExitCode::SUCCESS })
    }
}

impl Audit {
    /// The groups to audit. All of them must exist.
    async fn groups(&self, client: &Client) -> Result<Vec<String>, Failure> {
        if self.groups.is_empty() {
            let rows = List::of(client.get(["resource-groups"]), None).rows().await?;
            return Ok(rows.iter().filter_map(|row| row["name"].as_str().map(str::to_owned)).collect());
        }
        for group in &self.groups {
            client.get(["resource-groups", group]).send().await?;
        }
        Ok(self.groups.clone())
    }
}
