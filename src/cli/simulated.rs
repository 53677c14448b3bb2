//! What a simulation answers, for people: who moves, with ranks and factors before and after.

use bytes::Bytes;
use serde_json::{Value, json};

use super::client::{Client, no_json};
use super::failure::{Failure, eprint_line};
use super::output::{Format, print_bytes, print_list, warn};

const COLUMNS: &[&str] = &[
    "tier",
    "name",
    "project",
    "rank_before",
    "rank_after",
    "factor_before",
    "factor_after",
    "usage_before",
    "usage_after",
    "weight_before",
    "weight_after",
];
const ORDER: &[&str] = &["position_before", "position_after", "workload_id"];

/// Asks what `changes` would do in the group.
pub async fn ask(client: &Client, group: &str, changes: &Value) -> Result<Bytes, Failure> {
    client.post(["resource-groups", group, "fair-share-simulations"]).json(changes)?.bytes().await
}

/// Writes an answer: as it came, or as rows of all tiers, and on standard error a sentence about it.
pub fn show(answer: &[u8], format: Format) -> Result<(), Failure> {
    if format == Format::Json {
        return print_bytes(answer);
    }
    let answer: Value = serde_json::from_slice(answer).map_err(|_| no_json())?;
    warn(&answer);
    let rows = [("domain", "domains"), ("project", "projects"), ("user", "users")]
        .into_iter()
        .flat_map(|(tier, key)| answer[key]["items"].as_array().into_iter().flatten().map(move |item| row(tier, item)));
    print_list(format, COLUMNS, rows)?;
    if format == Format::Table
        && let Some(order) = answer["workloads"]["items"].as_array()
    {
        print_list(format, ORDER, order)?;
    }
    say(&answer);
    Ok(())
}

fn row(tier: &str, item: &Value) -> Value {
    let first = |keys: &[&str]| keys.iter().map(|key| &item[*key]).find(|value| value.is_string()).cloned();
    let name = match tier {
        "domain" => first(&["domain_name"]),
        "project" => first(&["project_name", "project_id"]),
        _ => first(&["user_name", "user_uuid"]),
    };
    let project = (tier == "user").then(|| first(&["project_name", "project_id"])).flatten();
    let (before, after) = (&item["before"], &item["after"]);
    json!({
        "tier": tier, "name": name, "project": project, "rank_before": before["rank"], "rank_after": after["rank"],
        "factor_before": before["fair_share_factor"], "factor_after": after["fair_share_factor"],
        "usage_before": before["effective_usage"], "usage_after": after["effective_usage"],
        "weight_before": before["weight"], "weight_after": after["weight"],
    })
}

/// Says on standard error how many it concerns, and whether it was done.
fn say(answer: &Value) {
    let of = |key: &str| answer["users"][key].as_u64().unwrap_or_default();
    let (changed, risen, fallen) = (of("changed"), of("risen"), of("fallen"));
    eprint_line(&format!("users: {changed} changed, {risen} rise, {fallen} fall"));
    let applied = &answer["applied"];
    match applied["audit_id"].as_i64() {
        Some(id) => eprint_line(&format!("applied; `fairshared log undo {id}` takes it back")),
        None if applied.is_object() => eprint_line("applied; all was so already"),
        None => {}
    }
}
