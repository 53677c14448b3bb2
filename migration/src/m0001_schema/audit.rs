//! The audit log.

use sea_orm::sea_query::TableCreateStatement;

use super::Subject;
use crate::columns::{
    big_integer, big_integer_null, name, name_null, primary, serial, string_len, table, text_null, uuid_null,
};

pub fn subject() -> Subject {
    let additions = vec![
        "CREATE INDEX ix_audit_log_at ON audit_log (at)",
        "CREATE INDEX ix_audit_log_target ON audit_log (resource_group, target, at)",
        "CREATE UNIQUE INDEX ux_audit_log_tally ON audit_log (tally_of)",
    ];
    Subject { tables: vec![audit_log(), audit_targets()], additions }
}

/// One entry for each change; deliveries of kernels are counted, one entry for each key, group and minute.
fn audit_log() -> TableCreateStatement {
    table("audit_log")
        .col(serial("id"))
        .col(big_integer("at"))
        // The label of the key, or `cli`, or the name of a job.
        .col(string_len("actor", 255))
        // NULL: the change needed no key, because the command line or a job made it.
        .col(uuid_null("key_id"))
        .col(string_len("request_id", 128))
        // The action, such as `weights.put`.
        .col(string_len("action", 64))
        // NULL: the change was not of a single group.
        .col(name_null("resource_group"))
        // The target of the change: a name or a UUID.
        .col(string_len("target", 255))
        // The values before and after, as JSON; NULL: there was no value before, or there is none after.
        .col(text_null("before"))
        .col(text_null("after"))
        // The reason that the request gave; NULL: it gave none.
        .col(text_null("reason"))
        // The counted action, the group, the minute since 1970 and the key; NULL: an entry about one change, which counts
        // nothing.
        .col(text_null("tally_of"))
        // The number of accepted rows; NULL: the entry counts nothing.
        .col(big_integer_null("accepted"))
        // The number of refused rows; NULL: the entry counts nothing.
        .col(big_integer_null("rejected"))
        .to_owned()
}

/// The targets by which entries are found: one row for each weight, option and project that an entry has changed, because an
/// entry may have changed thousands.
fn audit_targets() -> TableCreateStatement {
    table("audit_targets")
        // The target of the change, such as `domain:research` or `option:half_life_days`.
        .col(string_len("target", 255))
        .col(name("resource_group"))
        // The entry in `audit_log`.
        .col(big_integer("audit_id"))
        .primary_key(&mut primary(&["target", "resource_group", "audit_id"]))
        .to_owned()
}
