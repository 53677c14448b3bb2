//! `fairshared groups`: resource groups.

use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use serde_json::{Map, Value, json};

use super::client::{ApiClient, ClientFailure, EndpointRefusal, open_client};
use super::command::CommandArgs;
use super::failure::{CommandFailure, CommandOutcome, eprint_line};
use super::list::EndpointList;
use super::nouns::with_noun;
use super::options::pair;
use super::output::{OutputArgs, print_object};
use crate::config::Config;

/// List, show, create and remove resource groups
#[derive(Parser)]
#[command(name = "groups")]
pub struct GroupsArgs {
    #[command(subcommand)]
    command: GroupsCommand,
}

#[derive(Subcommand)]
enum GroupsCommand {
    /// List the resource groups
    List(OutputArgs),
    /// Show one resource group
    Show {
        /// The resource group
        name: String,
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Create a resource group
    Create(CreateArgs),
    /// Remove a resource group with its agents, kernels, records, buckets and weights
    Remove(RemoveArgs),
}

#[derive(Args)]
struct CreateArgs {
    /// The new resource group
    name: String,
    /// How it orders workloads; `fairshare` when absent
    #[arg(long)]
    scheduler: Option<String>,
    /// An option, as `options set` takes it; may be given several times
    #[arg(long = "option", value_name = "KEY=VALUE", value_parser = pair)]
    options: Vec<(String, Value)>,
    /// Why, for the audit log
    #[arg(long)]
    reason: Option<String>,
}

#[derive(Args)]
struct RemoveArgs {
    /// The resource group
    name: String,
    /// The name once more: needed where the group has kernels or history
    #[arg(long, value_name = "NAME")]
    confirm: Option<String>,
    /// Remove it although kernels run in it
    #[arg(long)]
    force: bool,
    /// Why, for the audit log
    #[arg(long)]
    reason: Option<String>,
}

impl CommandArgs for GroupsArgs {
    async fn run(self, config: Config) -> CommandOutcome {
        let client = open_client(&config).await?;
        match self.command {
            GroupsCommand::List(args) => {
                let columns = &["name", "scheduler", "capacity", "calculated_at"];
                EndpointList::of(client.get(["resource-groups"]), None).print(args.output, columns).await?;
            }
            GroupsCommand::Show { name, output } => {
                print_object(client.get(["resource-groups", &name]).send().await?, output.output).await?;
            }
            GroupsCommand::Create(args) => create(args, &client).await?,
            GroupsCommand::Remove(args) => remove(args, &client).await?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

async fn create(args: CreateArgs, client: &ApiClient) -> Result<(), CommandFailure> {
    let CreateArgs { name, scheduler, options, reason } = args;
    let path = ["resource-groups", name.as_str()];
    match client.get(path).send().await {
        Err(ClientFailure::Refused(refusal)) if refusal.code() == "unknown_resource_group" => {}
        Ok(_) => {
            let there = format!("the resource group {name:?} is there already; `options set` changes its options");
            return Err(CommandFailure::Failed(there));
        }
        Err(failure) => return Err(failure.into()),
    }
    let mut body = Map::new();
    if !options.is_empty() {
        body.insert("scheduler_opts".to_owned(), Value::Object(options.into_iter().collect()));
    }
    let given = [("scheduler", scheduler), ("reason", reason)];
    body.extend(given.into_iter().filter_map(|(key, value)| Some((key.to_owned(), json!(value?)))));
    client.put(path).json(&body)?.send().await.map_err(CommandFailure::without_places)?;
    eprint_line(&format!("resource group {name} created"));
    Ok(())
}

async fn remove(args: RemoveArgs, client: &ApiClient) -> Result<(), CommandFailure> {
    let RemoveArgs { name, confirm, force, reason } = args;
    let call = client.delete(["resource-groups", &name]).maybe("confirm", confirm).flag("force", force);
    match call.maybe("reason", reason).send().await {
        Ok(_) => eprint_line(&format!("resource group {name} removed")),
        Err(ClientFailure::Refused(refusal)) => return Err(not_removed(&name, refusal)),
        Err(failure) => return Err(failure.into()),
    }
    Ok(())
}

/// The failure of a group that was not removed, with the flag that would remove it.
fn not_removed(name: &str, refusal: Box<EndpointRefusal>) -> CommandFailure {
    let count = |kind| refusal.count(kind);
    match refusal.code() {
        "confirmation_needed" => CommandFailure::Failed(format!(
            "the resource group {name:?} has {}, {} of them running, {}, {}, {} and {}; to remove all of them, repeat with \
             --confirm {name}",
            with_noun(count("kernels"), "kernel", "kernels"),
            count("running_kernels"),
            with_noun(count("usage_records"), "usage record", "usage records"),
            with_noun(count("usage_buckets"), "usage bucket", "usage buckets"),
            with_noun(count("day_totals"), "day total", "day totals"),
            with_noun(count("usage_histories"), "usage history", "usage histories")
        )),
        "kernels_running" => CommandFailure::Failed(format!(
            "{} kernels run in the resource group {name:?}; let them end, or repeat with --force",
            count("running_kernels")
        )),
        _ => CommandFailure::Refused(refusal),
    }
}
