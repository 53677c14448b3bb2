//! The first forecast of a workload, and its start.

use sea_orm::entity::prelude::*;

#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "forecast_outcomes")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub group_key: i32,
    #[sea_orm(primary_key, auto_increment = false)]
    pub workload_id: String,
    #[sea_orm(primary_key, auto_increment = false)]
    pub made_at: i64,
    pub user_uuid: Uuid,
    pub p10: i64,
    pub p50: i64,
    pub p90: i64,
    pub started_at: Option<i64>,
}

impl ActiveModelBehavior for ActiveModel {}
