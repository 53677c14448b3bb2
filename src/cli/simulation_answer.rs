//! The answer of a simulation for people: the owners that move, with ranks and factors before and after, and the
//! fairness.

use bytes::Bytes;
use serde_json::{Value, json};

use super::client::{ApiClient, no_json};
use super::failure::{CommandFailure, eprint_line};
use super::output::{OutputFormat, known_percent, percent_text, print_bytes, print_list, warn};

const COLUMNS: [&str; 11] = [
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
/// The columns of shares: those in percent for tables, and the exact ones.
const SHARE_COLUMNS: [(&str, &str); 4] = [
    ("entitled_before", "entitled_share_before"),
    ("entitled_after", "entitled_share_after"),
    ("of_parent_before", "entitled_share_of_parent_before"),
    ("of_parent_after", "entitled_share_of_parent_after"),
];
const FAIRNESS_COLUMNS: &[&str] =
    &["tier", "window_days", "misallocated_before", "misallocated_after", "jains_index_before", "jains_index_after"];
const ORDER_COLUMNS: &[&str] = &["position_before", "position_after", "workload_id"];

/// Requests the effects of `changes` in the group.
pub async fn request_effects(client: &ApiClient, group: &str, changes: &Value) -> Result<Bytes, CommandFailure> {
    Ok(client.post(["resource-groups", group, "fair-share-simulations"]).json(changes)?.bytes().await?)
}

/// Writes an answer unchanged, or as rows of all tiers, and on standard error a sentence about it.
pub fn write_answer(answer: &[u8], format: OutputFormat) -> Result<(), CommandFailure> {
    if format == OutputFormat::Json {
        return print_bytes(answer);
    }
    let answer: Value = serde_json::from_slice(answer).map_err(|_| no_json())?;
    warn(&answer);
    let rows = [("domain", "domains"), ("project", "projects"), ("user", "users")]
        .into_iter()
        .flat_map(|(tier, key)| answer[key]["items"].as_array().into_iter().flatten().map(move |item| row(tier, item)));
    if format == OutputFormat::Table {
        print_list(format, &columns(SHARE_COLUMNS.map(|(in_percent, _)| in_percent)), rows.map(in_percent))?;
        print_list(format, FAIRNESS_COLUMNS, answer["fairness"].as_array().into_iter().flatten().map(fairness))?;
        if let Some(order) = answer["workloads"]["items"].as_array() {
            print_list(format, ORDER_COLUMNS, order)?;
        }
    } else {
        print_list(format, &columns(SHARE_COLUMNS.map(|(_, exact)| exact)), rows)?;
    }
    write_summary(&answer);
    Ok(())
}

fn columns(shares: [&'static str; 4]) -> Vec<&'static str> {
    COLUMNS.into_iter().chain(shares).collect()
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
        "entitled_share_before": before["entitled_share"], "entitled_share_after": after["entitled_share"],
        "entitled_share_of_parent_before": before["entitled_share_of_parent"],
        "entitled_share_of_parent_after": after["entitled_share_of_parent"],
    })
}

/// A row for people, with shares in percent. A new or removed owner has only one side.
fn in_percent(mut row: Value) -> Value {
    for (column, key) in SHARE_COLUMNS {
        row[column] = known_percent(&row[key]);
    }
    row
}

/// The fairness of one tier in a window, with the weights before and after.
fn fairness(change: &Value) -> Value {
    json!({
        "tier": change["tier"], "window_days": change["window_days"],
        "misallocated_before": percent_text(&change["misallocated_share_before"]),
        "misallocated_after": percent_text(&change["misallocated_share_after"]),
        "jains_index_before": change["jains_index_before"], "jains_index_after": change["jains_index_after"],
    })
}

/// Writes to standard error how many owners change, and if the changes were applied.
fn write_summary(answer: &Value) {
    let of = |key: &str| answer["users"][key].as_u64().unwrap_or_default();
    let (changed, risen, fallen) = (of("changed"), of("risen"), of("fallen"));
    eprint_line(&format!("users: {changed} changed, {risen} rise, {fallen} fall"));
    let (pending, moved) = (&answer["pending"]["count"], &answer["pending"]["moved"]);
    if pending.as_u64().is_some_and(|count| count > 0) {
        let [before, after] = ["starts_before", "starts_after"].map(|key| answer["pending"][key].as_u64());
        let starts =
            before.zip(after).map(|(before, after)| format!("; a cycle would start {after} now, and {before} before"));
        eprint_line(&format!(
            "pending workloads: {pending} in order, {moved} change place{}",
            starts.unwrap_or_default()
        ));
    }
    let applied = &answer["applied"];
    match applied["audit_id"].as_i64() {
        Some(id) => eprint_line(&format!("applied; `fairshared log undo {id}` takes it back")),
        None if applied.is_object() => eprint_line("applied; all was so already"),
        None => {}
    }
}
