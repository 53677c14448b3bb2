//! `fairshared weights`: sets single weights, and all weights of a group from a file.

mod file;
mod yaml;

use std::path::PathBuf;
use std::process::ExitCode;

use bytes::Bytes;
use clap::{Args, Parser, Subcommand, ValueEnum};
use serde_json::{Value, json};

use super::ask::{confirm, is_terminal};
use super::client::{ApiClient, no_json, open_client};
use super::command::CommandArgs;
use super::failure::{CommandFailure, CommandOutcome, EXIT_FAULT_FOUND, eprint_line};
use super::list::EndpointList;
use super::open::{input_name, read_input};
use super::output::{OutputFormat, percent_text, print, print_answer, print_bytes, print_list, warn};
use super::simulation_answer;
use super::tier::tier;
use crate::config::Config;
use crate::domain::tier::Tier;
use crate::domain::weight::Weight;
use crate::rest::configuration::view::{GroupConfiguration, UserEntry, WeightText};

/// Read and write fair-share weights, one by one or as a file
#[derive(Parser)]
#[command(name = "weights")]
pub struct WeightsArgs {
    #[command(subcommand)]
    command: WeightsCommand,
}

#[derive(Subcommand)]
enum WeightsCommand {
    /// Print every weight that is set, as a file that `apply` takes
    Get {
        /// The resource group
        group: String,
        /// yaml is the file; the others are rows, json as the REST API answers
        #[arg(short, long, value_enum, default_value_t = GetFormat::Yaml)]
        output: GetFormat,
    },
    /// Set or unset one weight; ranks change at once
    Set(SetArgs),
    /// Set the weights and write the queues that a file names, in one transaction: all of it or nothing
    Apply {
        #[command(flatten)]
        file: FileArgs,
        /// Show what would change, and change nothing
        #[arg(long)]
        dry_run: bool,
        /// Do not ask before `--prune` takes something away; nothing is asked where the standard input is no terminal
        #[arg(long)]
        yes: bool,
        /// Why, for the audit log
        #[arg(long)]
        reason: Option<String>,
    },
    /// Show what `apply` would change; exits with 1 when that is anything
    Diff {
        #[command(flatten)]
        file: FileArgs,
        /// Show whose ranks and factors the weights of the file would change, instead of the weights
        #[arg(long)]
        ranks: bool,
    },
}

#[derive(Args)]
struct SetArgs {
    /// The resource group
    group: String,
    #[arg(value_parser = tier())]
    tier: Tier,
    /// The domain's name, or the project's or user's UUID or name
    name: String,
    /// A number above 0 with at most 4 decimals, or `unset` for the group's `default_weight`
    weight: String,
    /// The project in which a user's weight counts; all of the user's projects when absent
    #[arg(long)]
    project: Option<String>,
    /// Why, for the audit log
    #[arg(long)]
    reason: Option<String>,
}

#[derive(Args)]
struct FileArgs {
    /// The resource group; the file's `resource_group` when absent
    group: Option<String>,
    /// YAML or JSON with the keys domains, projects, users and queues; `-` for standard input
    #[arg(short = 'f', long = "file")]
    file: PathBuf,
    /// Unset every weight that the file does not name, and remove every queue if it has the key queues
    #[arg(long)]
    prune: bool,
    /// Form of the changes
    #[arg(short, long, value_enum, default_value_t = OutputFormat::Table)]
    output: OutputFormat,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum GetFormat {
    Yaml,
    Table,
    Json,
    Csv,
}

impl CommandArgs for WeightsArgs {
    async fn run(self, config: Config) -> CommandOutcome {
        match self.command {
            WeightsCommand::Get { group, output } => get(&group, output, &open_client(&config).await?).await?,
            WeightsCommand::Set(args) => set(args, &config).await?,
            WeightsCommand::Apply { file, dry_run, yes, reason } => {
                apply(&WeightsFile::read(file, &config).await?, dry_run, yes, reason).await?;
            }
            WeightsCommand::Diff { file, ranks: false } => return diff(&WeightsFile::read(file, &config).await?).await,
            WeightsCommand::Diff { file, ranks: true } => {
                return show_ranks(&WeightsFile::read(file, &config).await?).await;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

async fn get(group: &str, output: GetFormat, client: &ApiClient) -> Result<(), CommandFailure> {
    let path = |last| ["resource-groups", group, last];
    let weights = || client.get(path("fair-share-weights"));
    match output {
        GetFormat::Yaml => {
            let document: GroupConfiguration = client.get(path("configuration")).send().await?.json().await?;
            print(file::to_yaml(&document)?.trim_end())
        }
        GetFormat::Json => print_answer(weights().send().await?).await,
        GetFormat::Table => {
            let rows = EndpointList::whole(weights()).rows().await?;
            let named = rows.iter().map(|row| {
                let shown = |name: &str, id: &str| row.get(name).or_else(|| row.get(id)).cloned().unwrap_or_default();
                json!({
                    "target_type": row["target_type"], "target": shown("target_name", "target_id"),
                    "project": shown("project_name", "project_id"), "weight": row["weight"],
                    "entitled": percent_text(&row["entitled_share"]), "of_parent": percent_text(&row["entitled_share_of_parent"]),
                })
            });
            let columns = &["target_type", "target", "project", "weight", "entitled", "of_parent"];
            print_list(OutputFormat::Table, columns, named)
        }
        GetFormat::Csv => {
            let columns = &[
                "target_type",
                "target_id",
                "project_id",
                "weight",
                "target_name",
                "project_name",
                "entitled_share",
                "entitled_share_of_parent",
            ];
            EndpointList::whole(weights()).print(OutputFormat::Csv, columns).await
        }
    }
}

async fn set(args: SetArgs, config: &Config) -> Result<(), CommandFailure> {
    let weight = match args.weight.as_str() {
        "unset" => None,
        text => Some(
            Weight::parse(text).map_err(|e| CommandFailure::Unusable(format!("the weight {text:?} {e}")))?.to_string(),
        ),
    };
    if args.project.is_some() && args.tier != Tier::User {
        return Err(CommandFailure::Unusable("--project belongs to the weight of a user".to_owned()));
    }
    let weight = WeightText::written(weight);
    let mut document = GroupConfiguration::default();
    match args.tier {
        Tier::Domain => document.domains.0.push((args.name, weight)),
        Tier::Project => document.projects.0.push((args.name, weight)),
        Tier::User => document.users.push(UserEntry { user: args.name, project: args.project, weight }),
    }
    let client = open_client(config).await?;
    let call = client.put(["resource-groups", &args.group, "configuration"]).maybe("reason", args.reason);
    let answer = call.json(&document)?.send().await.map_err(CommandFailure::without_places)?;
    write_count(&answer.json().await?, "");
    Ok(())
}

/// A file of weights, and its group.
struct WeightsFile {
    args: FileArgs,
    group: String,
    document: GroupConfiguration,
    client: ApiClient,
}

impl WeightsFile {
    async fn read(args: FileArgs, config: &Config) -> Result<Self, CommandFailure> {
        let name = input_name(&args.file);
        let document = file::read(&read_input(&args.file)?, &name)?;
        // A failed program may write an empty file, which must not unset everything.
        if document.is_none() && args.prune {
            return Err(CommandFailure::Unusable(format!(
                "{name} is empty; with --prune, a file without weights is {{}}"
            )));
        }
        let document = document.unwrap_or_default();
        let group = match (&args.group, &document.resource_group) {
            (Some(group), Some(other)) if group != other => Err(CommandFailure::Unusable(format!(
                "{name}: /resource_group: the file is for the resource group {other:?}, not for {group:?}"
            ))),
            (Some(group), _) | (None, Some(group)) => Ok(group.clone()),
            (None, None) => Err(CommandFailure::Unusable(
                "name the resource group, here or in the file as resource_group".to_owned(),
            )),
        }?;
        Ok(Self { args, group, document, client: open_client(config).await? })
    }

    /// The changes that the file makes, or would make.
    async fn send(&self, dry_run: bool, reason: Option<&str>) -> Result<Bytes, CommandFailure> {
        let call = self.client.put(["resource-groups", &self.group, "configuration"]);
        let call = call.flag("prune", self.args.prune).flag("dry_run", dry_run).maybe("reason", reason);
        let sent = call.json(&self.document)?.bytes().await;
        sent.map_err(|failure| CommandFailure::from(failure).in_input(&input_name(&self.args.file)))
    }

    /// Writes the changes that the file makes, or would make, in the requested format.
    async fn show(&self, dry_run: bool, reason: Option<&str>) -> Result<Value, CommandFailure> {
        let bytes = self.send(dry_run, reason).await?;
        let changed = read(&bytes)?;
        if self.args.output == OutputFormat::Json {
            print_bytes(&bytes)?;
        } else {
            let columns = &["target_type", "target", "project", "key", "from", "to"];
            print_list(self.args.output, columns, items(&changed))?;
        }
        Ok(changed)
    }
}

fn read(bytes: &[u8]) -> Result<Value, CommandFailure> {
    Ok(serde_json::from_slice(bytes).map_err(|_| no_json())?)
}

fn items(changed: &Value) -> impl Iterator<Item = &Value> {
    changed["items"].as_array().into_iter().flatten()
}

async fn apply(plan: &WeightsFile, dry_run: bool, yes: bool, reason: Option<String>) -> Result<(), CommandFailure> {
    if plan.args.prune && !dry_run {
        let changed = read(&plan.send(true, None).await?)?;
        let lost: Vec<String> = items(&changed).filter_map(prune_loss).collect();
        for line in &lost {
            eprint_line(line);
        }
        if !lost.is_empty() && !yes && is_terminal() {
            confirm("Go on?")?;
        }
    }
    write_count(&plan.show(dry_run, reason.as_deref()).await?, if dry_run { "would be " } else { "" });
    Ok(())
}

async fn diff(plan: &WeightsFile) -> CommandOutcome {
    let changed = plan.show(true, None).await?;
    warn(&changed);
    let differs = items(&changed).next().is_some();
    Ok(if differs { ExitCode::from(EXIT_FAULT_FOUND) } else { ExitCode::SUCCESS })
}

/// Shows the effects of the weights in the file on ranks and factors.
async fn show_ranks(plan: &WeightsFile) -> CommandOutcome {
    let changed = read(&plan.send(true, None).await?)?;
    let weights = items(&changed).filter(|item| item["key"] == "weight").map(|item| {
        let mut weight =
            json!({"target_type": item["target_type"], "target_id": item["target_id"], "weight": item["to"]});
        if item["project_id"].is_string() {
            weight["project_id"] = item["project_id"].clone();
        }
        weight
    });
    let changes = json!({"weights": weights.collect::<Vec<_>>()});
    let differs = changes["weights"].as_array().is_some_and(|weights| !weights.is_empty());
    simulation_answer::write_answer(
        &simulation_answer::request_effects(&plan.client, &plan.group, &changes).await?,
        plan.args.output,
    )?;
    Ok(if differs { ExitCode::from(EXIT_FAULT_FOUND) } else { ExitCode::SUCCESS })
}

/// Writes the number of changes to standard error. `verb` precedes every participle.
fn write_count(changed: &Value, verb: &str) {
    warn(changed);
    let count = |of: &Value, key: &str| of[key].as_u64().unwrap_or_default();
    let [set, unset, unchanged] = ["set", "unset", "unchanged"].map(|key| count(changed, key));
    eprint_line(&format!("{set} {verb}set, {unset} {verb}unset, {unchanged} unchanged"));
    let queues = &changed["queues"];
    if queues.is_object() {
        let [created, replaced, removed] = ["created", "changed", "deleted"].map(|key| count(queues, key));
        eprint_line(&format!("queues: {created} {verb}created, {replaced} {verb}changed, {removed} {verb}removed"));
    }
}

/// The loss that comes with a change by `--prune`.
fn prune_loss(change: &Value) -> Option<String> {
    if !change["to"].is_null() {
        return None;
    }
    let text = |key: &str| change[key].as_str().unwrap_or_default();
    let (target, from) = (text("target"), text("from"));
    match text("target_type") {
        "queue" if text("key") == "queue" => Some(format!("removes the queue {target}")),
        "queue" => None,
        "user" => Some(format!("unsets the weight {from} of the user {target} in the project {}", text("project"))),
        tier => Some(format!("unsets the weight {from} of the {tier} {target}")),
    }
}
