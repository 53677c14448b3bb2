//! Tags of revisions, by which servers notice that the database was taken back to an earlier state, because another write
//! then gets a number that they have seen before.

use sea_orm::{ConnectionTrait, DbBackend, DbErr};
use sea_orm_migration::async_trait::async_trait;
use sea_orm_migration::{MigrationTrait, SchemaManager};

use super::changes::{add_column, create, drop_column, drop_table, run};
use super::columns::{big_integer, integer, string_len_null, table};

pub struct Migration;

/// The data that its reversal loses.
pub const LOSES: &str =
    "the tags of revisions, by which servers notice that the database was taken back to an earlier state";

/// Columns with the tag of a revision, by table: a random number that each write sets together with the number of the revision.
/// Rows of an earlier version have 0 until they are written.
const TAGS: [(&str, &str); 6] = [
    ("resource_groups", "shares_tag"),
    ("resource_groups", "kernels_tag"),
    ("resource_groups", "queues_tag"),
    ("resource_groups", "config_tag"),
    ("people_revision", "tag"),
    ("service_clock", "tag"),
];

#[async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let db = manager.get_connection();
        let random = match db.get_database_backend() {
            DbBackend::Postgres => "floor(random() * 2147483647)::integer",
            _ => "abs(random() % 2147483647)",
        };
        for (table, column) in TAGS {
            add_column(db, table, integer(column).default(0).take()).await?;
            run(db, &[&format!("UPDATE {table} SET {column} = {random}")]).await?;
        }
        let tags = table("people_revision_tags")
            // A recent value of people_revision.
            .col(big_integer("revision").primary_key())
            // The tag of that revision.
            .col(integer("tag"))
            .to_owned();
        create(db, tags).await?;
        run(db, &["INSERT INTO people_revision_tags (revision, tag) SELECT revision, tag FROM people_revision"])
            .await?;
        // The beginning of the names under which PostgreSQL shows the sessions of the process. NULL: unknown.
        add_column(db, "job_holders", string_len_null("session_name", 64)).await
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let db = manager.get_connection();
        drop_column(db, "job_holders", "session_name").await?;
        drop_table(db, "people_revision_tags").await?;
        for (table, column) in TAGS.into_iter().rev() {
            drop_column(db, table, column).await?;
        }
        Ok(())
    }
}
