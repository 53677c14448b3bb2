//! Sessions of the web pages.

use sea_orm::DbErr;
use sea_orm::sea_query::TableCreateStatement;
use sea_orm_migration::async_trait::async_trait;
use sea_orm_migration::{MigrationTrait, SchemaManager};

use super::changes::{create, drop_table, run};
use super::columns::{big_integer, string_len, table, uuid};

pub struct Migration;

/// The data that its reversal loses.
pub const LOSES: &str = "who is signed in to the web pages; people sign in again";

/// One row for each browser that is signed in.
fn ui_sessions() -> TableCreateStatement {
    table("ui_sessions")
        // The sha256 of the cookie, in hexadecimal digits.
        .col(string_len("session_hash", 64).primary_key())
        // The key that signed in. The session has the rights of the key.
        .col(uuid("key_id"))
        // Microseconds since 1970.
        .col(big_integer("created_at"))
        // The end of the session, in microseconds since 1970.
        .col(big_integer("expires_at"))
        .to_owned()
}

#[async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let db = manager.get_connection();
        create(db, ui_sessions()).await?;
        // The sessions of one key, from the oldest on.
        run(db, &["CREATE INDEX ix_ui_sessions_key ON ui_sessions (key_id, created_at)"]).await
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let db = manager.get_connection();
        drop_table(db, "ui_sessions").await
    }
}
