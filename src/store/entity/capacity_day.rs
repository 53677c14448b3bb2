//! The capacity of a group on one day, with its source.

use sea_orm::entity::prelude::*;

#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "capacity_days")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub resource_group: String,
    #[sea_orm(primary_key, auto_increment = false)]
    pub day: i32,
    pub source: String,
    #[sea_orm(column_type = "Text")]
    pub integral: String,
    pub observed_micros: i64,
    pub observed_from: Option<i64>,
    #[sea_orm(column_type = "Text")]
    pub capacity: String,
}

impl ActiveModelBehavior for ActiveModel {}
