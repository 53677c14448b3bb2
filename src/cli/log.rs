//! `fairshared log`: shows the audit log.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use serde_json::{Value, json};

use super::client::{ApiClient, open_client};
use super::command::CommandArgs;
use super::failure::{CommandFailure, CommandOutcome, eprint_line};
use super::list::EndpointList;
use super::output::{OutputArgs, OutputFormat, print_list, warn};
use crate::config::Config;

/// Show the audit log, newest first, or undo a change
#[derive(Parser)]
#[command(name = "log", args_conflicts_with_subcommands = true)]
pub struct LogArgs {
    #[command(subcommand)]
    command: Option<LogCommand>,
    /// Only changes of this resource group
    #[arg(long, value_name = "NAME")]
    group: Option<String>,
    /// Only changes of this kind, like `weights.put`
    #[arg(long)]
    action: Option<String>,
    /// Only changes by this one: the label of a key, or `cli:` and a user of the system
    #[arg(long)]
    actor: Option<String>,
    /// Only changes of this: domain:research, project:vision, user:alice, user:alice/vision, option:order, queue:vision, or the target of an entry
    #[arg(long)]
    target: Option<String>,
    /// The beginning: a day like 2026-01-13, or an instant like 2026-01-13T10:00:00Z
    #[arg(long, value_name = "WHEN")]
    from: Option<String>,
    /// The end: an instant, or a day, which is then included
    #[arg(long, value_name = "WHEN")]
    to: Option<String>,
    /// How many changes
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..))]
    limit: u64,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Subcommand)]
enum LogCommand {
    /// Make what a change has set of weights, options, queues and domains as it was before, unless a later
    /// change concerns the same
    Undo {
        /// The entry, as `log` shows it
        id: i64,
        /// Why, for the audit log
        #[arg(long)]
        reason: Option<String>,
    },
}

const TABLE_COLUMNS: &[&str] = &["id", "at", "actor", "action", "resource_group", "target", "reason"];
const CSV_COLUMNS: &[&str] =
    &["id", "at", "actor", "key_id", "request_id", "action", "resource_group", "target", "before", "after", "reason"];

impl CommandArgs for LogArgs {
    async fn run(self, config: Config) -> CommandOutcome {
        let client = open_client(&config).await?;
        if let Some(LogCommand::Undo { id, reason }) = self.command {
            return undo(&client, id, reason).await;
        }
        let call = client.get(["audit-log"]);
        let call = call.maybe("resource_group", self.group).maybe("action", self.action).maybe("actor", self.actor);
        let call = call.maybe("target", self.target).maybe("from", self.from).maybe("to", self.to);
        let list = EndpointList::of(call, Some(self.limit));
        if self.output.output == OutputFormat::Table {
            print_list(OutputFormat::Table, TABLE_COLUMNS, list.rows().await?.into_iter().map(with_target_name))?;
        } else {
            list.print(self.output.output, CSV_COLUMNS).await?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// An entry, with the name of the user or project whose id is its target.
fn with_target_name(mut entry: Value) -> Value {
    let name = entry["target"].as_str().and_then(|target| entry["names"].get(target)).cloned();
    if let Some(name) = name {
        entry["target"] = name;
    }
    entry
}

async fn undo(client: &ApiClient, id: i64, reason: Option<String>) -> CommandOutcome {
    let call = client.post(["audit-log", &id.to_string(), "undo"]).json(&json!({"reason": reason}))?;
    let answer: Value = call.send().await.map_err(CommandFailure::without_places)?.json().await?;
    eprint_line(&format!("change {id} is undone; that is the change {}", answer["audit_id"]));
    warn(&answer);
    Ok(ExitCode::SUCCESS)
}
