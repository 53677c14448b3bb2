//! Before which day the buckets and day totals of a group were purged, and since when the capacity of a day was observed.

use sea_orm::DbErr;
use sea_orm_migration::async_trait::async_trait;
use sea_orm_migration::{MigrationTrait, SchemaManager};

use super::changes::{add_column, drop_column};
use super::columns::{big_integer_null, integer_null};

pub struct Migration;

/// The knowledge that a reversal of this migration loses.
pub const LOSES: &str = "before which day the buckets and day totals of each group were purged, and since when capacities were observed on each day";

#[async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let db = manager.get_connection();
        // A day: buckets and day totals of earlier days were purged. NULL: none was, as far as is known; the next purge that
        // removes some says so.
        add_column(db, "resource_groups", integer_null("totals_from_day")).await?;
        // An instant: the first on the day at which the capacity was observed. NULL: it was not observed, or before this column
        // was there.
        add_column(db, "capacity_days", big_integer_null("observed_from")).await
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let db = manager.get_connection();
        drop_column(db, "capacity_days", "observed_from").await?;
        drop_column(db, "resource_groups", "totals_from_day").await
    }
}
