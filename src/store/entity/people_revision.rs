//! The newest revision of any domain, project or user: one row.

use sea_orm::entity::prelude::*;

#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "people_revision")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: i32,
    pub revision: i64,
    pub tag: i32,
}

impl ActiveModelBehavior for ActiveModel {}
