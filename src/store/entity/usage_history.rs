//! A history of usage that was imported from elsewhere; its rows are day totals.

use sea_orm::entity::prelude::*;

#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "usage_histories")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub group_key: i32,
    #[sea_orm(primary_key, auto_increment = false)]
    pub source: i32,
    pub name: String,
    /// True once all its rows are stored.
    pub complete: bool,
    pub created_at: i64,
}

impl ActiveModelBehavior for ActiveModel {}
