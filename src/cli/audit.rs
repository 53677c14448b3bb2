//! `fairshared audit`: proves that no usage is lost or counted twice (FAIR_SHARE §5).

use std::process::ExitCode;

use clap::Parser;
use serde_json::Value;

use super::client::{ApiClient, open_client};
use super::command::CommandArgs;
use super::failure::{CommandFailure, CommandOutcome, EXIT_FAULT_FOUND, eprint_line};
use super::list::EndpointList;
use super::output::{OutputArgs, print_list};
use crate::config::Config;

/// Prove that usage is conserved; exits with 1 at the first row that differs
#[derive(Parser)]
#[command(name = "audit")]
pub struct AuditArgs {
    /// Resource groups; all when none is named
    groups: Vec<String>,
    #[command(flatten)]
    output: OutputArgs,
}

impl CommandArgs for AuditArgs {
    async fn run(self, config: Config) -> CommandOutcome {
        let client = open_client(&config).await?;
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
        Ok(if differs { ExitCode::from(EXIT_FAULT_FOUND) } else { ExitCode::SUCCESS })
    }
}

impl AuditArgs {
    /// The groups to audit. All of them must exist.
    async fn groups(&self, client: &ApiClient) -> Result<Vec<String>, CommandFailure> {
        if self.groups.is_empty() {
            let rows = EndpointList::of(client.get(["resource-groups"]), None).rows().await?;
            return Ok(rows.iter().filter_map(|row| row["name"].as_str().map(str::to_owned)).collect());
        }
        for group in &self.groups {
            client.get(["resource-groups", group]).send().await?;
        }
        Ok(self.groups.clone())
    }
}
