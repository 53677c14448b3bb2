//! The fairness of one tier of a group on one day.

use sea_orm::entity::prelude::*;

#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "fairness_days")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub resource_group: String,
    #[sea_orm(primary_key, auto_increment = false)]
    pub day: i32,
    #[sea_orm(primary_key, auto_increment = false)]
    pub tier: String,
    pub misallocated_share: f64,
    pub jains_index: f64,
    pub active: i32,
    pub calculated_at: i64,
}

impl ActiveModelBehavior for ActiveModel {}
