//! API keys, and sessions of the web pages.

use sea_orm::sea_query::TableCreateStatement;

use super::Subject;
use crate::columns::{big_integer, big_integer_null, string_len, table, text_null, uuid, uuid_null};

pub fn subject() -> Subject {
    // The sessions of one key, from the oldest on.
    let of_key = "CREATE INDEX ix_ui_sessions_key ON ui_sessions (key_id, created_at)";
    Subject { tables: vec![api_keys(), ui_sessions()], additions: vec![of_key] }
}

fn api_keys() -> TableCreateStatement {
    table("api_keys")
        .col(uuid("id").primary_key())
        // SHA-256 of the whole key in hexadecimal digits; the key itself is stored nowhere.
        .col(string_len("key_hash", 64).unique_key())
        .col(string_len("label", 255))
        // `admin`, `scheduler`, `viewer` or `user`.
        .col(string_len("role", 16))
        // The user whose rows a key with the role `user` may see; NULL: the key has another role.
        .col(uuid_null("user_uuid"))
        // The names of the resource groups that the key is limited to, as a JSON array; NULL: all groups.
        .col(text_null("resource_groups"))
        .col(big_integer("created_at"))
        // NULL: it does not expire.
        .col(big_integer_null("expires_at"))
        // NULL: it was not revoked.
        .col(big_integer_null("revoked_at"))
        // To about ten seconds; NULL: it was never used.
        .col(big_integer_null("last_used_at"))
        .to_owned()
}

/// One row for each browser that is signed in.
fn ui_sessions() -> TableCreateStatement {
    table("ui_sessions")
        // SHA-256 of the cookie, in hexadecimal digits.
        .col(string_len("session_hash", 64).primary_key())
        // The key that signed in. The session has the rights of the key.
        .col(uuid("key_id"))
        .col(big_integer("created_at"))
        // The end of the session.
        .col(big_integer("expires_at"))
        .to_owned()
}
