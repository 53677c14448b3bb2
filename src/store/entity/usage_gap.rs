//! A downtime that running kernels of a group spanned, and the treatment of their usage.

use sea_orm::entity::prelude::*;

#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "usage_gaps")]
pub struct Model {
    #[sea_orm(primary_key)]
    pub id: i64,
    pub resource_group: String,
    pub started_at: i64,
    pub ended_at: i64,
    pub handled_at: i64,
    pub policy: String,
    pub kernels: i64,
    #[sea_orm(column_type = "Text")]
    pub recorded_usage: String,
    #[sea_orm(column_type = "Text")]
    pub dropped_usage: String,
}

impl ActiveModelBehavior for ActiveModel {}
