//! The last forecasts of a group.

use sea_orm::entity::prelude::*;

#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "forecasts")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub group_key: i32,
    pub made_at: i64,
    #[sea_orm(column_type = "Text")]
    pub document: String,
}

impl ActiveModelBehavior for ActiveModel {}
