//! A usage bucket of a domain in one group.

use sea_orm::entity::prelude::*;

#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "domain_usage_buckets")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub resource_group: String,
    #[sea_orm(primary_key, auto_increment = false)]
    pub domain_name: String,
    #[sea_orm(primary_key, auto_increment = false)]
    pub period_start: i32,
    pub period_end: i32,
    pub decay_unit_days: i32,
    #[sea_orm(column_type = "Text")]
    pub resource_usage: String,
    pub records: i64,
    #[sea_orm(column_type = "Text")]
    pub capacity_snapshot: String,
    pub created_at: i64,
    pub updated_at: i64,
}

impl ActiveModelBehavior for ActiveModel {}
