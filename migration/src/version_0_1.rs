//! Databases of version 0.1, whose schema was made by a series of steps. The last one of them has the tables and columns of
//! [`m0001_schema`](crate::m0001_schema), so that such a database is taken over as it is: no row is copied or rewritten.
//!
//! Only the order of columns differs, because later steps of the series added theirs at the end.

use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, DbErr, EntityTrait, QueryFilter};
use sea_orm_migration::seaql_migrations::{Column, Entity};

/// The names of the steps, in their order.
pub const STEPS: [&str; 27] = [
    "m0001_initial",
    "m0002_queues",
    "m0003_kernel_cursors",
    "m0004_bucket_order",
    "m0005_people",
    "m0006_kernels",
    "m0007_operations",
    "m0008_time_order",
    "m0009_expectations",
    "m0010_day_totals",
    "m0011_history",
    "m0012_configuration",
    "m0013_ui_sessions",
    "m0014_share_of_parent",
    "m0015_day_totals_room",
    "m0016_share_pages",
    "m0017_bucket_domains",
    "m0018_kernels_of_users",
    "m0019_earlier_kernels",
    "m0022_purged_days",
    "m0023_revision_tags",
    "m0024_share_rows",
    "m0025_reading_views",
    "m0026_day_totals_alone",
    "m0027_kernel_charge_class",
    "m0027_workloads",
    LAST_STEP,
];

const LAST_STEP: &str = "m0028_usage_charge_class";

/// The steps that a database with the steps `stored` lacks of the series. `None`: the database is not of version 0.1.
pub(crate) fn missing_steps(stored: &[String]) -> Option<Vec<String>> {
    let is_stored = |step: &str| stored.iter().any(|stored| stored == step);
    let missing = || STEPS.iter().filter(|step| !is_stored(step)).map(|step| (*step).to_owned()).collect();
    STEPS.iter().any(|step| is_stored(step)).then(missing)
}

/// Puts the one step `schema` in the place of the series.
pub(crate) async fn take_over(db: &impl ConnectionTrait, schema: &str) -> Result<(), DbErr> {
    tracing::info!("the database of version 0.1 is taken over as it is");
    Entity::delete_many().filter(Column::Version.ne(LAST_STEP)).exec(db).await?;
    let renamed = Entity::update_many().col_expr(Column::Version, Expr::value(schema));
    renamed.filter(Column::Version.eq(LAST_STEP)).exec(db).await.map(|_| ())
}
