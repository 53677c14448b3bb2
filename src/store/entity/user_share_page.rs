//! Fair shares of users, many on a page: their weights and what was calculated.

use sea_orm::entity::prelude::*;

#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "user_share_pages")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub group_key: i32,
    /// From 0 on. What a page says of a user is outdated by pages with higher numbers.
    #[sea_orm(primary_key, auto_increment = false)]
    pub page: i32,
    #[sea_orm(column_type = "Blob")]
    pub shares: Vec<u8>,
}

impl ActiveModelBehavior for ActiveModel {}
