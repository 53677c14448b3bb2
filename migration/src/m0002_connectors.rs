//! Connectors of other schedulers, and the shadow reports that their rounds leave.

use sea_orm::sea_query::{Table, TableCreateStatement};
use sea_orm::{ConnectionTrait, DbBackend, DbErr};
use sea_orm_migration::async_trait::async_trait;
use sea_orm_migration::{MigrationTrait, SchemaManager};

use crate::columns::{
    big_integer, double, double_null, in_its_key, integer, name, primary, string_len, table, text, uuid, uuid_null,
};

pub struct Migration;

/// The data that its reversal loses.
pub const LOSES: &str = "the connectors and the shadow reports of all resource groups";

#[async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let db = manager.get_connection();
        for table in &tables(db.get_database_backend()) {
            db.execute(table).await?;
        }
        Ok(())
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let db = manager.get_connection();
        for created in &tables(db.get_database_backend()) {
            let name = created.get_table_name().cloned();
            let name = name.ok_or_else(|| DbErr::Migration("a table has no name".to_owned()))?;
            db.execute(Table::drop().table(name)).await?;
        }
        Ok(())
    }
}

fn tables(backend: DbBackend) -> [TableCreateStatement; 4] {
    [connectors(), shadow_comparisons(), shadow_days(backend), shadow_owner_days(backend)]
}

/// The last round of each connector. A cluster and a resource group together name one.
fn connectors() -> TableCreateStatement {
    table("connectors")
        .col(name("resource_group"))
        .col(name("cluster"))
        // `slurm`, `htcondor` or `kueue`.
        .col(string_len("kind", 16))
        // The version of the connector.
        .col(string_len("version", 64))
        // `shadow`, `factor` or `order`.
        .col(string_len("mode", 16))
        .col(big_integer("last_round_at"))
        // The report of the last round: a JSON object.
        .col(text("last_round"))
        // The last comparison of orders that was added to the shadow report; NULL: none was.
        .col(uuid_null("comparison_id"))
        .primary_key(&mut primary(&["resource_group", "cluster"]))
        .to_owned()
}

/// The last comparison of orders of each group.
fn shadow_comparisons() -> TableCreateStatement {
    table("shadow_comparisons")
        .col(integer("group_key").primary_key().take())
        .col(name("cluster"))
        .col(string_len("mode", 16))
        .col(big_integer("taken_at"))
        // The number of workloads of both orders, and of those with the same place in both.
        .col(big_integer("compared"))
        .col(big_integer("same_place"))
        // -1 to 1; NULL: fewer than two workloads were compared.
        .col(double_null("kendall_tau"))
        // The first places: a JSON array.
        .col(text("first_places"))
        .to_owned()
}

/// The rounds of each day, by group.
fn shadow_days(backend: DbBackend) -> TableCreateStatement {
    let days = table("shadow_days")
        .col(integer("group_key"))
        .col(integer("day"))
        // The number of rounds with a comparison.
        .col(big_integer("rounds"))
        // The sums over the rounds.
        .col(big_integer("compared"))
        .col(big_integer("same_place"))
        .col(double("tau_sum"))
        // The number of rounds that have a tau.
        .col(big_integer("tau_rounds"))
        .primary_key(&mut primary(&["group_key", "day"]))
        .to_owned();
    in_its_key(days, backend)
}

/// The places that each owner gained in the rounds of a day.
fn shadow_owner_days(backend: DbBackend) -> TableCreateStatement {
    let days = table("shadow_owner_days")
        .col(integer("group_key"))
        .col(integer("day"))
        .col(uuid("user_uuid"))
        .col(uuid("project_id"))
        // The names at the last round, for owners that no report has named yet.
        .col(string_len("user_name", 255))
        .col(string_len("project_name", 255))
        // The sum over the rounds; below 0 for a loss.
        .col(big_integer("places_gained"))
        .primary_key(&mut primary(&["group_key", "day", "user_uuid", "project_id"]))
        .to_owned();
    in_its_key(days, backend)
}
