//! Unique names of people, projects that stay in their domain, archived people, and keys that are limited to groups.

use sea_orm::sea_query::ColumnDef;
use sea_orm::{ConnectionTrait, DbErr};
use sea_orm_migration::async_trait::async_trait;
use sea_orm_migration::{MigrationTrait, SchemaManager};

use super::changes::{add_column, create, drop_column, drop_index, drop_table, run};
use super::columns::{big_integer, big_integer_null, boolean, index, integer, string_len_null, table, text_null};

pub struct Migration;

/// The data that its reversal loses.
pub const LOSES: &str = "names of users and projects, display names of domains, which projects stay in their domain, who is archived; and keys that are limited to resource groups reach all of them";

/// Tables whose rows are read again when they change.
const PEOPLE: [&str; 3] = ["domains", "projects", "users"];

#[async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let db = manager.get_connection();
        for (table, column) in columns() {
            add_column(db, table, column).await?;
        }
        for table in ["projects", "users"] {
            db.execute(index(&["name"]).name(format!("ux_{table}_name")).table(table).unique()).await?;
        }
        for table in PEOPLE {
            db.execute(index(&["revision"]).name(format!("ix_{table}_revision")).table(table)).await?;
        }
        let latest = table("people_revision")
            // Always 1, because there is one row. A writer that changes a person holds its lock until the end of the
            // transaction.
            .col(integer("id").primary_key())
            // The newest revision of any row in domains, projects or users.
            .col(big_integer("revision"))
            .to_owned();
        create(db, latest).await?;
        run(db, &["INSERT INTO people_revision (id, revision) VALUES (1, 0)"]).await
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let db = manager.get_connection();
        drop_table(db, "people_revision").await?;
        for table in PEOPLE {
            drop_index(db, table, &format!("ix_{table}_revision")).await?;
        }
        for table in ["projects", "users"] {
            drop_index(db, table, &format!("ux_{table}_name")).await?;
        }
        for (table, column) in columns().into_iter().rev() {
            drop_column(db, table, &column.get_column_name()).await?;
        }
        Ok(())
    }
}

fn columns() -> Vec<(&'static str, ColumnDef)> {
    // The name that reports may give in place of the UUID, unique in its table; NULL: only the name from which the rule of
    // names makes this UUID.
    let name = || string_len_null("name", 255);
    // The time at which an admin archived the row, in microseconds since 1970; NULL: it is not archived.
    let archived_at = || big_integer_null("archived_at");
    // The value of people_revision at the last change of the row.
    let revision = || big_integer("revision").default(0).take();
    vec![
        // The name that is shown in addition; NULL: only the name is shown.
        ("domains", string_len_null("display_name", 255)),
        ("domains", archived_at()),
        ("domains", revision()),
        ("projects", name()),
        // True if an admin set the domain: reports that name another one do not move the project.
        ("projects", boolean("domain_pinned").default(false).take()),
        ("projects", archived_at()),
        ("projects", revision()),
        ("users", name()),
        ("users", archived_at()),
        ("users", revision()),
        // The names of the resource groups that a key is limited to, as a JSON array; NULL: all groups.
        ("api_keys", text_null("resource_groups")),
    ]
}
