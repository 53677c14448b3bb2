//! Forecasts of when waiting workloads start, and what became of them.

use sea_orm::sea_query::{Table, TableCreateStatement};
use sea_orm::{ConnectionTrait, DbErr};
use sea_orm_migration::async_trait::async_trait;
use sea_orm_migration::{MigrationTrait, SchemaManager};

use crate::columns::{big_integer, big_integer_null, integer, name, primary, table, text, uuid};

pub struct Migration;

/// The data that its reversal loses.
pub const LOSES: &str = "the forecasts of all resource groups, and how good they were";

#[async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let db = manager.get_connection();
        for table in &[forecasts(), forecast_outcomes()] {
            db.execute(table).await?;
        }
        let by_start = "CREATE INDEX ix_forecast_outcomes_start ON forecast_outcomes (group_key, started_at)";
        db.execute_unprepared(by_start).await?;
        Ok(())
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let db = manager.get_connection();
        for name in ["forecast_outcomes", "forecasts"] {
            db.execute(Table::drop().table(name)).await?;
        }
        Ok(())
    }
}

/// The last forecasts of each group, which all servers show.
fn forecasts() -> TableCreateStatement {
    table("forecasts")
        .col(integer("group_key").primary_key().take())
        .col(big_integer("made_at"))
        // The forecast of each workload, and how good forecasts were: a JSON object.
        .col(text("document"))
        .to_owned()
}

/// The first forecast of each workload, and its start.
fn forecast_outcomes() -> TableCreateStatement {
    table("forecast_outcomes")
        .col(integer("group_key"))
        .col(name("workload_id"))
        .col(big_integer("made_at"))
        .col(uuid("user_uuid"))
        // The times before which it starts in 10, 50 and 90 of 100 draws.
        .col(big_integer("p10"))
        .col(big_integer("p50"))
        .col(big_integer("p90"))
        // NULL: it waits.
        .col(big_integer_null("started_at"))
        .primary_key(&mut primary(&["group_key", "workload_id", "made_at"]))
        .to_owned()
}
