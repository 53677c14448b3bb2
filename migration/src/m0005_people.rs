//! Names of people that are unique in the server, projects that stay in their domain, who is archived, and keys that are
//! limited to groups.

use sea_orm_migration::prelude::*;
use sea_orm_migration::schema::{big_integer, big_integer_null, boolean, integer, string_len_null, text_null};

pub struct Migration;

/// What its reversal loses.
pub const LOSES: &str = "names of users and projects, display names of domains, which projects stay in their domain, who is archived; and keys that are limited to resource groups reach all of them";

impl MigrationName for Migration {
    fn name(&self) -> &'static str {
        "m0005_people"
    }
}

/// Tables whose rows are read again when they change.
const PEOPLE: [&str; 3] = ["domains", "projects", "users"];

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    fn use_transaction(&self) -> Option<bool> {
        Some(true)
    }

    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        for (table, column) in columns() {
            manager.alter_table(Table::alter().table(table).add_column(column).to_owned()).await?;
        }
        for table in ["projects", "users"] {
            let unique = Index::create().name(format!("ux_{table}_name")).table(table).col("name").unique().to_owned();
            manager.create_index(unique).await?;
        }
        for table in PEOPLE {
            let changes = Index::create().name(format!("ix_{table}_revision")).table(table).col("revision").to_owned();
            manager.create_index(changes).await?;
        }
        let latest = Table::create()
            .table("people_revision")
            // Always 1: there is one row, and who changes a person holds its lock until the end of the transaction.
            .col(integer("id").primary_key())
            // The newest revision that a row of domains, projects or users has.
            .col(big_integer("revision"))
            .to_owned();
        manager.create_table(latest).await?;
        manager.get_connection().execute_unprepared("INSERT INTO people_revision (id, revision) VALUES (1, 0)").await?;
        Ok(())
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        manager.drop_table(Table::drop().table("people_revision").to_owned()).await?;
        for table in PEOPLE {
            manager.drop_index(Index::drop().name(format!("ix_{table}_revision")).table(table).to_owned()).await?;
        }
        for table in ["projects", "users"] {
            manager.drop_index(Index::drop().name(format!("ux_{table}_name")).table(table).to_owned()).await?;
        }
        for (table, column) in columns().into_iter().rev() {
            let name = column.get_column_name();
            manager.alter_table(Table::alter().table(table).drop_column(name).to_owned()).await?;
        }
        Ok(())
    }
}

fn columns() -> Vec<(&'static str, ColumnDef)> {
    // The name by which reports may tell a user or project, unique in its table; null: only the rule of names.
    let name = || string_len_null("name", 255);
    // When an admin archived the row, in microseconds since 1970; null: it is shown.
    let archived_at = || big_integer_null("archived_at");
    // The value of people_revision when the row was changed last.
    let revision = || big_integer("revision").default(0).to_owned();
    vec![
        // What is shown beside the name; null: only the name.
        ("domains", string_len_null("display_name", 255)),
        ("domains", archived_at()),
        ("domains", revision()),
        ("projects", name()),
        // Whether an admin set the domain: reports that name another do not move the project.
        ("projects", boolean("domain_pinned").default(false).to_owned()),
        ("projects", archived_at()),
        ("projects", revision()),
        ("users", name()),
        ("users", archived_at()),
        ("users", revision()),
        // The names of the resource groups that a key is limited to, as a JSON array; null: all groups.
        ("api_keys", text_null("resource_groups")),
    ]
}
