//! The result of one day's last division for one queue.

use sea_orm::entity::prelude::*;

#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "division_days")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub resource_group: String,
    #[sea_orm(primary_key, auto_increment = false)]
    pub day: i32,
    #[sea_orm(primary_key, auto_increment = false)]
    pub queue: String,
    pub algorithm: String,
    #[sea_orm(column_type = "Text")]
    pub fair_share: String,
    #[sea_orm(column_type = "Text")]
    pub allocated: String,
    #[sea_orm(column_type = "Text")]
    pub request: String,
    #[sea_orm(column_type = "Text")]
    pub quota: String,
    #[sea_orm(column_type = "Text", nullable)]
    pub usage_ratio: Option<String>,
    #[sea_orm(column_type = "Text", nullable)]
    pub demand_ratio: Option<String>,
    #[sea_orm(column_type = "Text", nullable)]
    pub fair_share_ratio: Option<String>,
    #[sea_orm(column_type = "Text", nullable)]
    pub guaranteed_ratio: Option<String>,
    pub calculated_at: i64,
}

impl ActiveModelBehavior for ActiveModel {}
