//! `fairshared usage --by`: a report, with a column for the hours of each slot.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::UsageArgs;
use crate::cli::client::{EndpointCall, open_client};
use crate::cli::failure::CommandFailure;
use crate::cli::list::EndpointList;
use crate::cli::output::{OutputFormat, percent_text, print_list};
use crate::config::Config;
use crate::domain::time::Day;
use crate::domain::usage_report::ReportPeriod;
use crate::service::{Clock, SystemClock};

/// The columns that may precede the hours of slots, in this order.
const NAME_COLUMNS: [&str; 11] = [
    "resource_group",
    "first_day",
    "last_day",
    "domain_name",
    "project_name",
    "project_id",
    "user_name",
    "user_uuid",
    "charge_class",
    "used_share",
    "entitled_share",
];
/// The words that a report may be grouped by, and the columns that show them.
const GROUPING_COLUMNS: [(&str, &str); 4] =
    [("domain", "domain_name"), ("project", "project_name"), ("user", "user_name"), ("charge_class", "charge_class")];
const DAY_COLUMNS: [&str; 2] = ["first_day", "last_day"];
const SHARE_COLUMNS: [&str; 2] = ["used_share", "entitled_share"];
/// Ids, and the names that replace them in tables.
const NAMED_COLUMNS: [(&str, &str); 2] = [("project_id", "project_name"), ("user_uuid", "user_name")];

pub async fn run(usage: UsageArgs, config: &Config) -> Result<(), CommandFailure> {
    let format = usage.output.output;
    let (limit, by) = (usage.limit, usage.by.clone().unwrap_or_default());
    let call = call(usage, config).await?;
    let list = if limit.is_none() { EndpointList::whole(call) } else { EndpointList::of(call, limit) };
    if matches!(format, OutputFormat::Json | OutputFormat::Ndjson) {
        return list.print(format, &[]).await;
    }
    let (mut rows, totals) = list.rows_and_totals().await?;
    let slots: BTreeSet<String> =
        rows.iter().filter_map(|row| row["slot_hours"].as_object()).flat_map(|hours| hours.keys().cloned()).collect();
    let hours: Vec<(String, String)> = slots.iter().map(|slot| (slot_heading(slot), slot.clone())).collect();
    // Tables have no room for these columns, and for some days no capacity is known.
    let has_part = |slot: &String| rows.iter().any(|row| row["capacity_share"].get(slot).is_some());
    let parts: Vec<(String, String)> = match format {
        OutputFormat::Table => Vec::new(),
        _ => slots.into_iter().filter(has_part).map(|slot| (format!("{slot}_capacity_share"), slot)).collect(),
    };
    for row in &mut rows {
        for (heading, slot) in &parts {
            row[heading] = row["capacity_share"].get(slot).cloned().unwrap_or_default();
        }
        for (heading, slot) in &hours {
            row[heading] = row["slot_hours"].get(slot).cloned().unwrap_or_else(|| json!("0"));
        }
        if format == OutputFormat::Table {
            shorten(row, &hours);
        }
    }
    // The heading of a report without rows.
    let of_tier = by
        .split(',')
        .filter_map(|by| GROUPING_COLUMNS.iter().find(|(known, _)| *known == by))
        .map(|(_, column)| *column);
    let of_tier: Vec<&str> = of_tier.collect();
    let is_always_there = |name: &str| DAY_COLUMNS.contains(&name) || (rows.is_empty() && of_tier.contains(&name));
    let has_any = |name: &str| rows.iter().any(|row| row.get(name).is_some());
    let mut columns: Vec<&str> =
        NAME_COLUMNS.into_iter().filter(|name| is_always_there(name) || has_any(name)).collect();
    columns.extend(hours.iter().chain(&parts).map(|(heading, _)| heading.as_str()));
    if format == OutputFormat::Table && !rows.is_empty() {
        rows.push(total_row(&totals, columns[0], &hours));
    }
    print_list(format, &columns, rows)
}

/// The last row of a table: the usage of all rows of the report, including those that a limit leaves out.
fn total_row(totals: &Value, first_column: &str, hours: &[(String, String)]) -> Value {
    let mut row = json!({first_column: "total"});
    for (heading, slot) in hours {
        row[heading] = totals["slot_hours"].get(slot).cloned().unwrap_or_else(|| json!("0"));
    }
    shorten(&mut row, hours);
    row
}

/// Converts a row for people: names instead of ids, shares in percent, short numbers.
fn shorten(row: &mut Value, hours: &[(String, String)]) {
    for share in SHARE_COLUMNS {
        if row.get(share).is_some_and(Value::is_string) {
            row[share] = Value::from(percent_text(&row[share]));
        }
    }
    for figure in hours.iter().map(|(heading, _)| heading.as_str()) {
        if let Some(exact) = row.get(figure).and_then(Value::as_str).and_then(|text| text.parse::<f64>().ok()) {
            row[figure] = Value::from(format!("{exact:.3}"));
        }
    }
    for (id, name) in NAMED_COLUMNS {
        let Some(shown) = row.as_object_mut().and_then(|row| row.remove(id)) else { continue };
        if row.get(name).is_none() {
            row[name] = shown;
        }
    }
}

/// The heading of the hours of a slot.
fn slot_heading(slot: &str) -> String {
    if slot == "mem" { "mem_gib_hours".to_owned() } else { format!("{slot}_hours") }
}

async fn call(usage: UsageArgs, config: &Config) -> Result<EndpointCall, CommandFailure> {
    let (from, to) = match usage.month {
        Some(month) => {
            let (first, last) = days_of(&month)?;
            (Some(first.to_string()), Some(last.to_string()))
        }
        None => (usage.from, usage.to),
    };
    let client = open_client(config).await?;
    let call = match &usage.groups[..] {
        [group] => client.get(["resource-groups", group, "usage-report"]),
        groups => groups.iter().fold(client.get(["usage-report"]), |call, group| call.with("group", group)),
    };
    let call = call.maybe("from", from).maybe("to", to).maybe("by", usage.by).maybe("slots", usage.slots);
    let call = call.maybe("charge_class", usage.charge_class);
    Ok(call.maybe("domain", usage.domain).maybe("user", usage.user).maybe("project", usage.project))
}

/// The days of a month, up to today.
fn days_of(month: &str) -> Result<(Day, Day), CommandFailure> {
    let unusable = || CommandFailure::Unusable(format!("{month:?} is not a month like 2026-10"));
    let first: Day = format!("{month}-01").parse().map_err(|_| unusable())?;
    let last = ReportPeriod::Month.last(first);
    let today = SystemClock.now().day();
    // The server refuses days in the future.
    Ok((first, if first <= today { last.min(today) } else { last }))
}
