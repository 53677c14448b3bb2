//! `fairshared workloads`: what waits and what runs, by workload.

use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use serde_json::{Value, json};

use super::client::{ApiClient, JSON_MEDIA_TYPE, open_client};
use super::command::CommandArgs;
use super::failure::{CommandFailure, CommandOutcome};
use super::forecast_text::show_forecast;
use super::list::EndpointList;
use super::output::{OutputArgs, OutputFormat, print, print_list, print_object};
use crate::config::Config;
use crate::domain::reclaim::ReclaimRule;

/// List workloads: what waits, since when, and why; and show one
#[derive(Parser)]
#[command(name = "workloads")]
pub struct WorkloadsArgs {
    #[command(subcommand)]
    command: WorkloadsCommand,
}

#[derive(Subcommand)]
enum WorkloadsCommand {
    /// List workloads; by default those that wait, in the order in which they would start
    List(Box<ListArgs>),
    /// Show whether a workload would start now if it were different
    WhatIf(Box<WhatIfArgs>),
    /// Show one workload with its kernels
    Show {
        /// The resource group
        group: String,
        /// The workload, or one of its kernels
        id: String,
        /// With the changes with which it would start earlier, which takes several forecasts
        #[arg(long)]
        helps: bool,
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Show of how many waiting workloads the start is known, and how good the last forecasts were
    Forecasts {
        /// The resource group
        group: String,
        #[command(flatten)]
        output: OutputArgs,
    },
}

#[derive(Args)]
struct ListArgs {
    /// The resource group
    group: String,
    /// pending, starting, running or ended
    #[arg(long)]
    status: Option<String>,
    /// Only those of this user, by name or UUID
    #[arg(long)]
    user: Option<String>,
    /// Only those of this project, by name or UUID
    #[arg(long)]
    project: Option<String>,
    /// Only those of this domain
    #[arg(long)]
    domain: Option<String>,
    /// Only those that count for this queue
    #[arg(long)]
    queue: Option<String>,
    /// Only those that wait for this reason, like `too_large`
    #[arg(long)]
    reason: Option<String>,
    /// Only those that have waited for more than this
    #[arg(long, value_name = "SECONDS")]
    waiting_longer_than: Option<u64>,
    /// position, submitted or waiting
    #[arg(long)]
    order: Option<String>,
    /// Show the first rows only
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Args)]
struct WhatIfArgs {
    /// The resource group
    group: String,
    /// The workload, or one of its kernels
    id: String,
    /// Without all others that wait
    #[arg(long)]
    alone: bool,
    /// With this priority
    #[arg(long, allow_negative_numbers = true)]
    priority: Option<i32>,
    /// With this part of its slots, like 0.5
    #[arg(long, value_name = "PART")]
    slots_part: Option<String>,
    /// If it ran for this time at most
    #[arg(long, value_name = "SECONDS")]
    expected_seconds: Option<u32>,
    /// If it may be evicted, or may not
    #[arg(long, value_name = "true|false")]
    preemptible: Option<bool>,
    /// In this queue
    #[arg(long)]
    queue: Option<String>,
    #[command(flatten)]
    output: OutputArgs,
}

const TABLE: &[&str] = &[
    "position",
    "workload_id",
    "user",
    "project",
    "queue",
    "status",
    "members",
    "requested_slots",
    "waiting_since",
    "starts",
    "why",
];
const CSV: &[&str] = &[
    "position",
    "workload_id",
    "status",
    "user_uuid",
    "user",
    "project_id",
    "project",
    "domain_name",
    "queue",
    "priority",
    "members",
    "gang_min",
    "requested_slots",
    "held_slots",
    "submitted_at",
    "waiting_since",
    "p10",
    "p50",
    "p90",
    "not_known_yet",
    "reason",
    "details",
];

impl CommandArgs for WorkloadsArgs {
    async fn run(self, config: Config) -> CommandOutcome {
        let client = open_client(&config).await?;
        match self.command {
            WorkloadsCommand::List(args) => list(*args, &client).await?,
            WorkloadsCommand::WhatIf(args) => show_what_if(*args, &client).await?,
            WorkloadsCommand::Show { group, id, helps, output } => {
                let call = client.get(["resource-groups", &group, "workloads", &id]);
                let answer = call.maybe("helps", helps.then_some(true)).send().await?;
                print_object(answer, output.output).await?;
            }
            WorkloadsCommand::Forecasts { group, output } => {
                let answer = client.get(["resource-groups", &group, "forecasts"]).send().await?;
                print_object(answer, output.output).await?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

async fn list(args: ListArgs, client: &ApiClient) -> Result<(), CommandFailure> {
    let call = client.get(["resource-groups", &args.group, "workloads"]);
    let call = call.maybe("status", args.status).maybe("user", args.user).maybe("project", args.project);
    let call = call.maybe("domain_name", args.domain).maybe("queue", args.queue).maybe("reason", args.reason);
    let call = call.maybe("waiting_longer_than", args.waiting_longer_than).maybe("order", args.order);
    let list = EndpointList::of(call, args.limit);
    match args.output.output {
        OutputFormat::Table => print_list(OutputFormat::Table, TABLE, list.rows().await?.into_iter().map(table_row)),
        OutputFormat::Csv => print_list(OutputFormat::Csv, CSV, list.rows().await?.into_iter().map(csv_row)),
        format => list.print(format, CSV).await,
    }
}

async fn show_what_if(args: WhatIfArgs, client: &ApiClient) -> Result<(), CommandFailure> {
    let change = json!({
        "alone": args.alone, "priority": args.priority, "slots_part": args.slots_part,
        "expected_seconds": args.expected_seconds, "preemptible": args.preemptible, "queue": args.queue,
    });
    let call = client.post(["resource-groups", &args.group, "workloads", &args.id, "what-if"]);
    let answer = call.body(JSON_MEDIA_TYPE, change.to_string().into_bytes()).send().await?;
    match args.output.output {
        OutputFormat::Table => {
            let answer: Value = answer.json().await?;
            print(&outcome_text(&answer))
        }
        format => print_object(answer, format).await,
    }
}

/// The outcome for the workload in a sentence.
fn outcome_text(answer: &Value) -> String {
    let agents: Vec<&str> = answer["agents"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let places = if agents.is_empty() { String::new() } else { format!(" on {}", agents.join(", ")) };
    let evicted = answer["evicted_kernels"].as_u64().unwrap_or_default();
    let victims = if evicted > 0 { format!(", with {evicted} kernels evicted for it") } else { String::new() };
    match (answer["starts"] == true, why(&answer["waiting"])) {
        (true, rest) if rest.is_empty() => format!("It would start now{places}{victims}."),
        (true, rest) => format!("It would start now{places}{victims}. Further members would wait: {rest}."),
        (false, rest) => format!("It would wait: {rest}."),
    }
}

/// A row for people: the owner by name, the members as a fraction, and the reason with its numbers.
fn table_row(mut row: Value) -> Value {
    for (column, id) in [("user", "user_uuid"), ("project", "project_id")] {
        if row[column].is_null() {
            row[column] = row[id].clone();
        }
    }
    let members = format!("{} of {} run", row["members"]["running"], row["members"]["total"]);
    let why = match why(&row["waiting"]) {
        // The page says the same.
        nothing if nothing.is_empty() && !row["position"].is_null() => {
            "no reason is known: the last cycle would start it now, into free room or by evictions, or has not seen it yet"
                .to_owned()
        }
        known => known,
    };
    show_forecast(&mut row);
    row["members"] = members.into();
    row["why"] = why.into();
    row
}

/// The reason in words, with its numbers.
pub fn why(waiting: &Value) -> String {
    let details = &waiting["details"];
    let text = |key: &str| details[key].as_str().map_or_else(|| details[key].to_string(), str::to_owned);
    let Some(reason) = waiting["reason"].as_str() else { return String::new() };
    let asked = format!("asks for {} {}", text("asked"), text("slot"));
    let blocker = waiting["blocked_by"][0].as_str().unwrap_or("another workload");
    match (reason, details["scope"].as_str()) {
        ("too_large", Some("agent")) => format!("{asked}; an agent has {} at most", text("most")),
        ("too_large", Some("group")) => format!("{asked}; the group has {}", text("most")),
        ("too_large", Some("queue")) => format!("{asked}; the limit of queue {} is {}", text("queue"), text("most")),
        ("too_large", _) => {
            format!("needs {} members at a time; {} fit on all agents", text("asked"), text("most"))
        }
        ("predicates", _) if details["agents"] == 0 => "no agent of the group is known".to_owned(),
        ("predicates", _) => format!("none of {} agents admits it: {}", details["agents"], details["refused"]),
        ("no_room", _) => {
            format!("{asked}; at most {} are free on an agent, {} on all", text("most_free"), text("free"))
        }
        ("gang", _) if details.get("reported").is_some() => {
            format!("{} of {} members are reported that start together", details["reported"], details["minimum"])
        }
        ("gang", _) => format!("{} of {} members fit that start together", details["fit"], details["minimum"]),
        ("queue_limit", _) => {
            format!("queue {} holds {} of its limit of {} {}", text("queue"), text("held"), text("limit"), text("slot"))
        }
        ("queue_share", _) => {
            let (queue, share, held) = (text("queue"), slots_text(&details["share"]), slots_text(&details["held"]));
            format!("queue {queue} holds {held}, its share is {share}, and others are below theirs")
        }
        ("quota_non_preemptible", _) => {
            let (queue, held, quota, slot) = (text("queue"), text("held"), text("quota"), text("slot"));
            format!("may not be evicted; queue {queue} holds {held} of its quota of {quota} {slot} for such work")
        }
        ("behind", _) => format!("behind {blocker}, which does not fit"),
        ("reserved", _) => format!("would delay {blocker}, for which room is kept until {}", text("until")),
        ("reclaim_refused", _) => format!("deserves more, and {}", refusal_text(details)),
        ("depth", _) => "the cycle did not look that far".to_owned(),
        ("budget", _) => "the search for victims ended with its budget".to_owned(),
        _ => reason.to_owned(),
    }
}

/// The reason why no workload has to give anything back.
fn refusal_text(details: &Value) -> String {
    let text = |key: &str| details[key].as_str();
    let known = text("rule").and_then(|rule| ReclaimRule::choices().into_iter().find(|choice| choice.name == rule));
    let rule = known.map_or_else(String::new, |choice| format!(": {}", choice.summary.trim_end_matches('.')));
    let ratios = match (text("level"), text("slot"), text("victim_ratio"), text("reclaimer_ratio")) {
        (Some(level), Some(slot), Some(victim), Some(reclaimer)) => {
            format!(" (with {slot}, queue {level} has {victim} of its share, and the one that asks {reclaimer})")
        }
        _ => String::new(),
    };
    format!("nothing may be evicted for it{rule}{ratios}")
}

/// Amounts by slot, such as `4 cpu, 1 gpu`.
fn slots_text(slots: &Value) -> String {
    let amounts = slots.as_object().into_iter().flatten();
    let texts: Vec<String> =
        amounts.map(|(slot, amount)| format!("{} {slot}", amount.as_str().unwrap_or_default())).collect();
    if texts.is_empty() { "nothing".to_owned() } else { texts.join(", ") }
}

/// A row with the forecast, the reason and its numbers as columns.
fn csv_row(mut row: Value) -> Value {
    show_forecast(&mut row);
    row["reason"] = row["waiting"]["reason"].clone();
    row["details"] = row["waiting"]["details"].clone();
    row
}
