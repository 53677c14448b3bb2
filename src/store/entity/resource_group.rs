//! A resource group: its options, its revisions, and the progress of its accounting.

use sea_orm::entity::prelude::*;

#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "resource_groups")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub name: String,
    /// The id of the group in other tables.
    pub group_key: i32,
    /// The number of the last kernel.
    pub kernels_made: i64,
    /// The number of the last row of `slice_kinds`.
    pub kinds_made: i32,
    pub scheduler: String,
    #[sea_orm(column_type = "Text")]
    pub scheduler_opts: String,
    pub shares_revision: i64,
    pub shares_tag: i32,
    pub kernels_revision: i64,
    pub kernels_tag: i32,
    pub queues_revision: i64,
    pub queues_tag: i32,
    pub config_revision: i64,
    pub config_tag: i32,
    pub capacity_observed_at: Option<i64>,
    pub recorded_until: Option<i64>,
    pub snapshot_at: Option<i64>,
    pub reported_at: Option<i64>,
    pub records_from_day: Option<i32>,
    pub totals_from_day: Option<i32>,
    pub compacted_before: Option<i32>,
    pub kernels_from: Option<i64>,
    pub earlier_until: Option<i64>,
    pub backfilled_at: Option<i64>,
    pub run_times_made: bool,
    pub day_totals_made: bool,
    pub calculated_at: Option<i64>,
    #[sea_orm(column_type = "Text", nullable)]
    pub calculated_with: Option<String>,
    pub created_at: i64,
    pub updated_at: i64,
}

impl ActiveModelBehavior for ActiveModel {}
