//! The queues of a group, and its division on each day.

use sea_orm::sea_query::TableCreateStatement;

use super::Subject;
use crate::columns::{
    big_integer, big_integer_null, boolean, integer, name, name_null, primary, string_len, table, text, text_null,
};

pub fn subject() -> Subject {
    Subject { tables: vec![queues(), division_days()], additions: Vec::new() }
}

/// Queues as configured. Their allocation and request follow from the kernels.
fn queues() -> TableCreateStatement {
    table("queues")
        .col(name("resource_group"))
        .col(name("name"))
        // NULL: it is a root.
        .col(name_null("parent"))
        // A larger number comes first.
        .col(integer("priority"))
        // An exact decimal without a unit.
        .col(text("weight"))
        // The mode by which the queue serves its children: `fair` or `fifo`.
        .col(string_len("mode", 16))
        // Slot maps of amounts, where `unlimited` may stand for an amount. A slot that a quota lacks has 0, one that a
        // limit lacks has no limit.
        .col(text("quota"))
        .col(text("limits"))
        .col(text("guarantee"))
        // JSON: one exact decimal for all slots, or a slot map of decimals.
        .col(text("over_quota_weight"))
        // `weight` or `quota`.
        .col(string_len("children_over_quota_by", 16))
        // A part of the whole group from 0 to 1, an exact decimal.
        .col(text("min_share_ratio"))
        // True if other queues may reclaim what it holds above its share.
        .col(boolean("reclaimable"))
        // The seconds after its start for which a workload is protected; NULL: those of the parent, or none.
        .col(big_integer_null("preempt_min_runtime"))
        .col(big_integer_null("reclaim_min_runtime"))
        // Set with the queue, and part of its order among its siblings.
        .col(big_integer("created_at"))
        .col(big_integer("updated_at"))
        .primary_key(&mut primary(&["resource_group", "name"]))
        .to_owned()
}

/// The last division of each day, one row for each queue.
fn division_days() -> TableCreateStatement {
    table("division_days")
        .col(name("resource_group"))
        .col(integer("day"))
        .col(name("queue"))
        .col(string_len("algorithm", 32))
        // The amounts that the queue deserved, held and asked for: slot maps.
        .col(text("fair_share"))
        .col(text("allocated"))
        .col(text("request"))
        // As in queues.
        .col(text("quota"))
        // Exact decimals, parts of the whole group; NULL: the algorithm was not `min_share`, the only one that has them.
        .col(text_null("usage_ratio"))
        .col(text_null("demand_ratio"))
        .col(text_null("fair_share_ratio"))
        .col(text_null("guaranteed_ratio"))
        .col(big_integer("calculated_at"))
        .primary_key(&mut primary(&["resource_group", "day", "queue"]))
        .to_owned()
}
