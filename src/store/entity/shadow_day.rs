//! The rounds of one day in which the orders of a group were compared.

use sea_orm::entity::prelude::*;

#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "shadow_days")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub group_key: i32,
    #[sea_orm(primary_key, auto_increment = false)]
    pub day: i32,
    pub rounds: i64,
    pub compared: i64,
    pub same_place: i64,
    pub tau_sum: f64,
    pub tau_rounds: i64,
}

impl ActiveModelBehavior for ActiveModel {}
