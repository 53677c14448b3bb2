//! Fair shares: weights and factors now, and what they were on past days.

use sea_orm::DbBackend;
use sea_orm::sea_query::{ColumnDef, TableCreateStatement};

use super::Subject;
use crate::columns::{
    big_integer, big_integer_null, double, double_null, in_its_key, integer, name, primary, rewritten, string_len,
    table, text, text_null, uuid,
};

pub fn subject(backend: DbBackend) -> Subject {
    let tables = vec![
        fair_shares("domain_fair_shares", vec![name("domain_name")], &["domain_name"], None, backend),
        fair_shares("project_fair_shares", vec![uuid("project_id")], &["project_id"], None, backend),
        user_fair_shares(backend),
        share_days(backend),
        fairness_days(),
    ];
    Subject { tables, additions: Vec::new() }
}

fn user_fair_shares(backend: DbBackend) -> TableCreateStatement {
    let member = vec![uuid("user_uuid"), uuid("project_id")];
    // The sums of `run_times` over the look-back window; NULL: no kernel has ended in it.
    let times = text_null("run_times");
    fair_shares("user_fair_shares", member, &["user_uuid", "project_id"], Some(times), backend)
}

/// Weight and factor of a domain, of a project, or of a user in a project.
fn fair_shares(
    table_name: &'static str,
    owner: Vec<ColumnDef>,
    owner_names: &[&'static str],
    further: Option<ColumnDef>,
    backend: DbBackend,
) -> TableCreateStatement {
    let mut shares = table(table_name);
    shares.col(name("resource_group"));
    for column in owner {
        shares.col(column);
    }
    shares
        // The weight in ten-thousandths; NULL: the group's `default_weight`.
        .col(big_integer_null("weight"))
        // A slot map of usages, each day's multiplied by its decay.
        .col(text("total_decayed_usage"))
        // Decayed usage as a part of the group's capacity in its look-back, from 0 on, without a unit.
        .col(double("normalized_usage"))
        // From 0 to 1; 1 for owners without usage.
        .col(double("fair_share_factor"));
    if let Some(column) = further {
        shares.col(column);
    }
    shares
        .col(big_integer("created_at"))
        .col(big_integer("updated_at"))
        .primary_key(&mut primary(&[&["resource_group"], owner_names].concat()));
    rewritten(shares, backend)
}

/// The share of each domain, project and user after the last run of a day. The day comes first in the key, so that the rows
/// of a day are written next to each other.
fn share_days(backend: DbBackend) -> TableCreateStatement {
    let days = table("share_days")
        .col(integer("group_key"))
        .col(integer("day"))
        // 0: a domain; 1: a project; 2: a user in a project.
        .col(integer("tier"))
        // All zeros if the tier has none.
        .col(uuid("user_uuid"))
        .col(uuid("project_id"))
        // The name of a domain; empty for projects and users.
        .col(name("domain_name"))
        .col(integer("rank"))
        .col(double("fair_share_factor"))
        // Decayed usage as a part of the window's capacity.
        .col(double("normalized_usage"))
        // An exact decimal without a unit.
        .col(text("effective_weight"))
        // A part of the whole group, 0 to 1.
        .col(double("entitled_share"))
        // A part of the parent's share, 0 to 1; NULL: an early version wrote the row.
        .col(double_null("entitled_share_of_parent"))
        .primary_key(&mut primary(&["group_key", "day", "tier", "user_uuid", "project_id", "domain_name"]))
        .to_owned();
    in_its_key(days, backend)
}

/// The fairness of each day: one row for each group, day and tier.
fn fairness_days() -> TableCreateStatement {
    table("fairness_days")
        .col(name("resource_group"))
        .col(integer("day"))
        // `domain`, `project` or `user`.
        .col(string_len("tier", 16))
        // The misallocated part of the day's usage, 0 to 1.
        .col(double("misallocated_share"))
        // Jain's index of the ratios of usage to entitled usage, 0 to 1.
        .col(double("jains_index"))
        // The number of active owners in the tier.
        .col(integer("active"))
        .col(big_integer("calculated_at"))
        .primary_key(&mut primary(&["resource_group", "day", "tier"]))
        .to_owned()
}
