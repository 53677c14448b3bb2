//! Resource groups, their nodes and their capacity.

use sea_orm::DbBackend;
use sea_orm::sea_query::TableCreateStatement;

use super::Subject;
use crate::columns::{
    big_integer, big_integer_null, boolean, integer, integer_null, name, primary, string_len, table, text, text_null,
};

/// The sequence of `group_key` on `PostgreSQL`.
pub const KEYS: &str = "resource_group_keys";

pub fn subject(backend: DbBackend) -> Subject {
    let mut additions = vec!["CREATE UNIQUE INDEX ux_resource_groups_key ON resource_groups (group_key)"];
    if backend == DbBackend::Postgres {
        additions.push("CREATE SEQUENCE resource_group_keys");
    }
    Subject { tables: vec![resource_groups(), agents(), capacity_days()], additions }
}

/// Resource groups: their options, their revisions, and the progress of their accounting.
///
/// Processes compare revisions to find out what to read again. Each has a tag: a random number that is set together with the
/// number. After the database was taken back to an earlier state, another write gets the same number with another tag.
fn resource_groups() -> TableCreateStatement {
    let mut groups = table("resource_groups");
    groups
        .col(name("name").primary_key())
        // The id of the group in other tables.
        .col(integer("group_key").default(0))
        // The name of the sequencer, such as `fairshare`.
        .col(string_len("scheduler", 32))
        // The options that an admin set, as a JSON object; an option that is missing has its default.
        .col(text("scheduler_opts"))
        .col(big_integer("created_at"))
        .col(big_integer("updated_at"));
    revisions(&mut groups);
    progress(&mut groups);
    groups
}

fn revisions(groups: &mut TableCreateStatement) {
    groups
        // Grows with every change of shares, options, capacities or names.
        .col(big_integer("shares_revision").default(0))
        .col(integer("shares_tag").default(0))
        // Grows with every write of the group. A writer changes it first, and so holds the row's lock until it commits.
        .col(big_integer("kernels_revision").default(0))
        .col(integer("kernels_tag").default(0))
        // Grows when the queues change.
        .col(big_integer("queues_revision").default(0))
        .col(integer("queues_tag").default(0))
        // Grows with every change of weights, options, agents, capacities, queues and people.
        .col(big_integer("config_revision").default(1))
        .col(integer("config_tag").default(0));
}

fn progress(groups: &mut TableCreateStatement) {
    groups
        // The number of kernels that the group ever had, which is the number of the last one.
        .col(big_integer("kernels_made").default(0))
        // The number of rows in slice_kinds that the group ever had, which is the number of the last one.
        .col(integer("kinds_made").default(0))
        // The time of the last reports, to a few minutes; NULL: there were none.
        .col(big_integer_null("reported_at"))
        // The time of the last snapshot of all running kernels; NULL: there was none.
        .col(big_integer_null("snapshot_at"))
        // The time until which the usage of every kernel on the group's cursor is recorded; NULL: there was no run yet.
        .col(big_integer_null("recorded_until"))
        // The time until which the capacity of the group's nodes was observed; NULL: it never was.
        .col(big_integer_null("capacity_observed_at"))
        // The time at which factors and ranks were last calculated; NULL: they never were.
        .col(big_integer_null("calculated_at"))
        // The options of that calculation, as a JSON object; NULL as above.
        .col(text_null("calculated_with"))
        // True if `run_times` has all kernels that have ended in the look-back window; otherwise the next run rebuilds it.
        .col(boolean("run_times_made").default(false))
        // True if `day_totals` has all recorded usage; otherwise the next run completes it.
        .col(boolean("day_totals_made").default(false))
        // The first day whose records were not compacted; NULL: none were.
        .col(integer_null("compacted_before"))
        // The first day whose usage records exist; NULL: none were purged.
        .col(integer_null("records_from_day"))
        // The first day whose buckets and day totals were not purged; NULL: none were, as far as is known. The next purge
        // that removes some sets it.
        .col(integer_null("totals_from_day"))
        // Kernels that ended before this time were removed; NULL: none were.
        .col(big_integer_null("kernels_from"))
        // No row of `earlier_kernels` has a later `counted_until`; NULL: the group has none.
        .col(big_integer_null("earlier_until"))
        // The time of the last reports of new kernels that ended before every look-back; NULL: there were none.
        .col(big_integer_null("backfilled_at"));
}

/// Nodes.
fn agents() -> TableCreateStatement {
    table("agents")
        .col(name("resource_group"))
        .col(name("agent_id"))
        // All slots of the node, used or not: a slot map of amounts.
        .col(text("available_slots"))
        // True if the node answers, and true if it accepts new kernels. Its slots count only while both are true.
        .col(boolean("alive"))
        .col(boolean("schedulable"))
        // A JSON object of texts.
        .col(text("labels"))
        // A JSON list of objects with `key`, `value` and `effect`.
        .col(text("taints").default("[]"))
        .col(big_integer("updated_at"))
        .primary_key(&mut primary(&["resource_group", "agent_id"]))
        .to_owned()
}

/// The capacity of a group on one day.
fn capacity_days() -> TableCreateStatement {
    table("capacity_days")
        .col(name("resource_group"))
        .col(integer("day"))
        // `observed`: the service watched the nodes; `given`: an import brought it; `nearest`: copied from the nearest
        // day that was observed or given.
        .col(string_len("source", 16))
        // The divisor of the day's usage: a slot map of amounts, the mean over the observed time.
        .col(text("capacity"))
        // Capacity times the time for which it was observed: a slot map of usages. Empty unless observed.
        .col(text("integral"))
        // The time for which it was observed, in microseconds.
        .col(big_integer("observed_micros"))
        // The first time on the day at which it was observed; NULL: it was not observed, or an early version wrote the row.
        .col(big_integer_null("observed_from"))
        .primary_key(&mut primary(&["resource_group", "day"]))
        .to_owned()
}
