//! The day before which the buckets and day totals of a group were purged, and the time since which the capacity of a day
//! was observed.

use sea_orm::DbErr;
use sea_orm_migration::async_trait::async_trait;
use sea_orm_migration::{MigrationTrait, SchemaManager};

use super::changes::{add_column, drop_column};
use super::columns::{big_integer_null, integer_null};

pub struct Migration;

/// The data that its reversal loses.
pub const LOSES: &str = "before which day the buckets and day totals of each group were purged, and since when capacities were observed on each day";

#[async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let db = manager.get_connection();
        // The first day whose buckets and day totals were not purged. NULL: none were, as far as is known; the next purge
        // that removes some sets it.
        add_column(db, "resource_groups", integer_null("totals_from_day")).await?;
        // The first time on the day at which the capacity was observed. NULL: it was not observed, or before this column
        // existed.
        add_column(db, "capacity_days", big_integer_null("observed_from")).await
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let db = manager.get_connection();
        drop_column(db, "capacity_days", "observed_from").await?;
        drop_column(db, "resource_groups", "totals_from_day").await
    }
}
