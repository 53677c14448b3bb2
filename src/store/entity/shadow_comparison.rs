//! The last comparison of a group's order with that of another scheduler.

use sea_orm::entity::prelude::*;

#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "shadow_comparisons")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub group_key: i32,
    pub cluster: String,
    pub mode: String,
    pub taken_at: i64,
    pub compared: i64,
    pub same_place: i64,
    pub kendall_tau: Option<f64>,
    #[sea_orm(column_type = "Text")]
    pub first_places: String,
}

impl ActiveModelBehavior for ActiveModel {}
