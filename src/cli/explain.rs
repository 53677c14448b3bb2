//! `fairshared explain`: explains the place of a user, a project or a domain (FAIR_SHARE §12).

use std::process::ExitCode;

use clap::Parser;
use serde_json::{Value, json};

use super::client::{ApiClient, open_client};
use super::command::CommandArgs;
use super::failure::{CommandFailure, CommandOutcome};
use super::import::amounts::MEM;
use super::output::{OutputArgs, OutputFormat, parse_figure, percent_text, print, print_answer, print_list};
use super::workloads::why;
use crate::config::Config;

/// Say why a user, a project or a domain stands where it stands, and what would change that
#[derive(Parser)]
#[command(name = "explain")]
pub struct ExplainArgs {
    /// The user, by name or UUID; with a key of the role `user`, only its own user
    user: Option<String>,
    /// The user's project, by name or UUID, instead of the one that ranks best; without a user, the project itself
    #[arg(long)]
    project: Option<String>,
    /// The domain
    #[arg(long, conflicts_with_all = ["user", "project"])]
    domain: Option<String>,
    /// The resource group; it may be left out where there is only one
    #[arg(long)]
    group: Option<String>,
    /// Why this workload waits: one of the last sequences, or a reported one, by its id or that of one of its kernels
    #[arg(long, value_name = "ID")]
    workload: Option<String>,
    /// Show the weight that leads to this place
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    place: Option<u32>,
    #[command(flatten)]
    output: OutputArgs,
}

impl CommandArgs for ExplainArgs {
    async fn run(self, config: Config) -> CommandOutcome {
        let client = open_client(&config).await?;
        let group = match self.group {
            Some(group) => group,
            None => only_group(&client).await?,
        };
        let call = client.get(["resource-groups", group.as_str(), "explain"]);
        let call = call.maybe("user", self.user).maybe("project", self.project).maybe("domain", self.domain);
        let answer = call.maybe("workload", self.workload).maybe("place", self.place).send().await?;
        match self.output.output {
            OutputFormat::Json => print_answer(answer).await?,
            OutputFormat::Ndjson => print(&answer.json::<Value>().await?.to_string())?,
            OutputFormat::Csv => {
                let explained: Value = answer.json().await?;
                print_list(OutputFormat::Csv, BUCKETS, explained["buckets"].as_array().into_iter().flatten())?;
            }
            OutputFormat::Table => page(&answer.json().await?)?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// The only group, if there is just one.
async fn only_group(client: &ApiClient) -> Result<String, CommandFailure> {
    let groups: Value = client.get(["resource-groups"]).send().await?.json().await?;
    let names: Vec<&str> =
        groups["items"].as_array().into_iter().flatten().filter_map(|g| g["name"].as_str()).collect();
    match names[..] {
        [only] => Ok(only.to_owned()),
        [] => Err(CommandFailure::Unusable("there is no resource group".to_owned())),
        _ => {
            Err(CommandFailure::Unusable(format!("name one of the resource groups with --group: {}", names.join(", "))))
        }
    }
}

const BUCKETS: &[&str] =
    &["period_start", "period_end", "resource_usage", "decay_weight", "normalized_usage", "contribution", "part"];

/// The columns of `sshare -l`.
const LEVELS: &[&str] =
    &["account", "shares", "norm_shares", "raw_usage", "norm_usage", "effectv_usage", "fairshare", "levelfs"];

/// The figures of an account or a user, with as many decimals as `sshare` has.
fn level(row: &Value) -> Value {
    let six_decimals =
        |key: &str| row[key].as_str().and_then(|text| text.parse::<f64>().ok()).map(|value| format!("{value:.6}"));
    let raw_usage = row["raw_usage"].as_str().and_then(|text| text.split('.').next());
    json!({
        "account": row["name"],
        "shares": row["raw_shares"],
        "norm_shares": six_decimals("normalized_shares"),
        "raw_usage": raw_usage,
        "norm_usage": six_decimals("normalized_usage"),
        "effectv_usage": six_decimals("effective_usage"),
        "fairshare": six_decimals("fair_share"),
        "levelfs": six_decimals("level_fair_share").unwrap_or_else(|| "inf".to_owned()),
    })
}

/// Writes the explanation for people.
fn page(explained: &Value) -> Result<(), CommandFailure> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let name = |keys: [&str; 2]| keys.iter().find_map(|key| explained[*key].as_str());
    let user = name(["user_name", "user_uuid"]).map(|user| format!("{user} in "));
    let project = name(["project_name", "project_id"]).map(|project| format!("{project}, "));
    let who = [user.unwrap_or_default(), project.unwrap_or_default(), text(&explained["domain_name"])].concat();
    print(&format!("{who} ({})\n", text(&explained["resource_group"])))?;
    print(&text(&explained["summary"]))?;
    if let Some(workload) = explained.get("workload") {
        print(&waiting_line(workload))?;
    }
    print(&format!("\nfactor = {}\n", text(&explained["formula"]["text"])))?;
    let levels = explained["tree_levels"].as_array();
    if let Some(levels) = levels {
        print_list(OutputFormat::Table, LEVELS, levels.iter().map(level))?;
        print("")?;
    }
    let weights = explained["weights"].as_array().into_iter().flatten().map(weight);
    let columns = &["tier", "weight", "entitled", "of_parent", "source", "set_by", "set_at", "reason"];
    print_list(OutputFormat::Table, columns, weights)?;
    let rules = &explained["rules"];
    print(&format!(
        "\nusage: {} decay, half-life {} days, look-back {} days, as of {}\n",
        text(&rules["decay"]),
        rules["half_life_days"],
        rules["lookback_days"],
        text(&rules["today"])
    ))?;
    let buckets = explained["buckets"].as_array().into_iter().flatten().map(bucket);
    print_list(OutputFormat::Table, &["from", "to", "usage", "decay", "contribution", "part"], buckets)?;
    for (what, key) in [("not recorded yet", "unrecorded"), ("still expected", "committed")] {
        print(&format!(
            "{what}: {} ({} of the window)",
            slots(&explained[key]["resource_usage"]),
            text(&explained[key]["normalized_usage"])
        ))?;
    }
    print("")?;
    for (what, key) in [("above", "above"), ("below", "below")] {
        if let Some(other) = explained[key].as_object() {
            let first = |keys: [&str; 2]| keys.iter().find_map(|key| other.get("who")?[*key].as_str());
            let (user, project) = (first(["user_name", "user_uuid"]), first(["project_name", "project_id"]));
            let who = match (user, project) {
                (Some(user), Some(project)) => format!("{user} in {project}"),
                (None, Some(project)) => project.to_owned(),
                (_, None) => first(["domain_name", "domain_name"]).unwrap_or("another").to_owned(),
            };
            print(&format!("next {what}: {who}; {}", text(&other["because"])))?;
        }
    }
    if levels.is_some() {
        let text = "which weight or usage would lead to another place is not computed: the scheduler compares the whole tree, so \
                    that one change moves others; `fairshared simulate` shows what a change would do";
        return print(&format!("\n{text}"));
    }
    write_ahead(explained)
}

/// The position of a workload, and why it has it; and why it waits, or can never start.
fn waiting_line(workload: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let id = text(&workload["workload_id"]);
    let has_position = !workload["position"].is_null();
    let waits = workload.get("waiting").map(|waiting| {
        let is_never = waiting["reason"] == "too_large" || waiting["reason"] == "predicates" && !has_position;
        let subject = if is_never { "It can never start as it is" } else { "It waits" };
        format!("{subject}: {}.", why(waiting))
    });
    if !has_position {
        return format!("{id} has no position. {}", waits.unwrap_or_default());
    }
    let [position, of, ahead, owners] = ["position", "of", "ahead", "owners_ahead"].map(|key| &workload[key]);
    let because = text(&workload["reason"]["because"]);
    let line = format!("{id} is {position} of {of}: {ahead} ahead, of {owners} owners. {because}");
    match waits {
        Some(waits) => format!("{line} {waits}"),
        None => line,
    }
}

/// Writes what would change the place.
fn write_ahead(explained: &Value) -> Result<(), CommandFailure> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let dates = explained["if_nothing_is_run"]["dates"].as_array().map(Vec::as_slice).unwrap_or_default();
    print(&format!("\nif nothing is run (all changes until {}):\n", text(&explained["if_nothing_is_run"]["until"])))?;
    let line =
        |then: &Value| json!({"date": then["date"], "place": then["place"], "factor": then["fair_share_factor"]});
    print_list(OutputFormat::Table, &["date", "place", "factor"], dates.iter().map(line))?;
    print("")?;
    for weight in explained["weights_for_places"].as_array().into_iter().flatten() {
        match (weight["weight"].as_str(), &weight["place"]) {
            (Some(weight), place) => print(&format!("the own weight {weight} would lead to place {place}"))?,
            (None, _) => print(&format!("no own weight would lead to place {}", weight["wanted"]))?,
        }
    }
    if let Some(costs) = explained["costs"].as_object() {
        let any: Vec<String> = costs["any_of"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(slot, seconds)| slot_hours(slot, seconds))
            .collect();
        print(&format!("{} today would lead to place {}", any.join(" or "), costs["place"]))?;
    }
    Ok(())
}

/// A row of a weight, with its entitled shares of the group and of the parent.
fn weight(row: &Value) -> Value {
    let mut line = row.clone();
    line["entitled"] = percent_text(&row["entitled_share"]).into();
    line["of_parent"] = percent_text(&row["entitled_share_of_parent"]).into();
    line
}

/// Usage as hours of each slot.
fn slots(usage: &Value) -> String {
    let usage = usage.as_object().into_iter().flatten();
    let all: Vec<String> = usage.map(|(slot, seconds)| slot_hours(slot, seconds)).collect();
    if all.is_empty() { "nothing".to_owned() } else { all.join(", ") }
}

const SECONDS_PER_HOUR: f64 = 3_600.0;
const BYTES_PER_GIB: f64 = 1_073_741_824.0;

/// The slot-seconds of one slot as hours; memory as GiB-hours.
fn slot_hours(slot: &str, seconds: &Value) -> String {
    let hours = parse_figure(seconds) / SECONDS_PER_HOUR;
    if slot == MEM {
        format!("{:.2} GiB-hours of mem", hours / BYTES_PER_GIB)
    } else {
        format!("{hours:.2} hours of {slot}")
    }
}

/// A row of a bucket, with shortened numbers.
fn bucket(row: &Value) -> Value {
    let figure = |key: &str| row[key].as_str().and_then(|text| text.parse::<f64>().ok()).unwrap_or_default();
    json!({
        "from": row["period_start"], "to": row["period_end"], "usage": slots(&row["resource_usage"]),
        "decay": format!("{:.4}", figure("decay_weight")), "contribution": format!("{:.9}", figure("contribution")),
        "part": format!("{:.1} %", figure("part") * 100.0),
    })
}
