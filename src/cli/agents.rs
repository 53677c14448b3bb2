//! `fairshared agents`: the nodes of a resource group.

use std::collections::BTreeMap;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use serde_json::json;

use super::client::{ApiClient, open_client};
use super::command::CommandArgs;
use super::failure::{CommandFailure, CommandOutcome, eprint_line};
use super::list::EndpointList;
use super::options::check_distinct;
use super::output::{OutputArgs, warn};
use crate::config::Config;
use crate::domain::placement_rules::Taint;

/// List, set and remove the agents of a resource group; together they are its capacity
#[derive(Parser)]
#[command(name = "agents")]
pub struct AgentsArgs {
    #[command(subcommand)]
    command: AgentsCommand,
}

#[derive(Subcommand)]
enum AgentsCommand {
    /// List the agents
    List {
        /// The resource group
        group: String,
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Create an agent, or replace it as a whole
    Set(SetArgs),
    /// Remove an agent
    Remove {
        /// The resource group
        group: String,
        /// The agent
        agent: String,
        /// Why, for the audit log
        #[arg(long)]
        reason: Option<String>,
    },
}

#[derive(Args)]
struct SetArgs {
    /// The resource group
    group: String,
    /// The agent
    agent: String,
    /// An amount that it offers, like cpu=64 or mem=512Gi; may be given several times
    #[arg(long = "slot", value_name = "NAME=AMOUNT", value_parser = pair, required = true)]
    slots: Vec<(String, String)>,
    /// A label, like rack=r7; may be given several times
    #[arg(long = "label", value_name = "NAME=TEXT", value_parser = pair)]
    labels: Vec<(String, String)>,
    /// A taint, like gpu=a100:NoSchedule or old:PreferNoSchedule; may be given several times
    #[arg(long = "taint", value_name = "NAME[=TEXT]:EFFECT", value_parser = taint)]
    taints: Vec<Taint>,
    /// It does not answer: it counts for no capacity
    #[arg(long)]
    down: bool,
    /// It takes no new work: it counts for no capacity
    #[arg(long)]
    unschedulable: bool,
    /// Why, for the audit log
    #[arg(long)]
    reason: Option<String>,
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or_else(|| format!("{text:?} is not NAME=VALUE"))?;
    Ok((name.to_owned(), value.to_owned()))
}

fn taint(text: &str) -> Result<Taint, String> {
    let form = || format!("{text:?} is not NAME=TEXT:EFFECT or NAME:EFFECT");
    let (mark, effect) = text.rsplit_once(':').ok_or_else(form)?;
    let (key, value) = mark.split_once('=').map_or((mark, None), |(key, value)| (key, Some(value.to_owned())));
    let effect = serde_json::from_value(effect.into())
        .map_err(|_| format!("{effect:?} is not NoSchedule, NoExecute or PreferNoSchedule"))?;
    Ok(Taint { key: key.to_owned(), value, effect })
}

impl CommandArgs for AgentsArgs {
    async fn run(self, config: Config) -> CommandOutcome {
        let client = open_client(&config).await?;
        match self.command {
            AgentsCommand::List { group, output } => {
                let columns =
                    &["agent_id", "available_slots", "alive", "schedulable", "labels", "taints", "updated_at"];
                let call = client.get(["resource-groups", &group, "agents"]);
                EndpointList::of(call, None).print(output.output, columns).await?;
            }
            AgentsCommand::Set(args) => set(args, &client).await?,
            AgentsCommand::Remove { group, agent, reason } => {
                let call = client.delete(["resource-groups", &group, "agents", &agent]);
                call.maybe("reason", reason).send().await?;
                eprint_line(&format!("agent {agent} removed"));
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

async fn set(args: SetArgs, client: &ApiClient) -> Result<(), CommandFailure> {
    let SetArgs { group, agent, slots, labels, taints, down, unschedulable, reason } = args;
    let once = |pairs| check_distinct(pairs).map(BTreeMap::from_iter).map_err(CommandFailure::Unusable);
    let (slots, labels) = (once(slots)?, once(labels)?);
    let body = json!({
        "available_slots": slots, "labels": labels, "taints": taints, "alive": !down, "schedulable": !unschedulable,
        "reason": reason,
    });
    let call = client.put(["resource-groups", &group, "agents", &agent]).json(&body)?;
    let answer = call.send().await.map_err(CommandFailure::without_places)?;
    let is_new = answer.is_new();
    warn(&answer.json().await?);
    let done = if is_new { "created" } else { "replaced" };
    eprint_line(&format!("agent {agent} {done}"));
    Ok(())
}
