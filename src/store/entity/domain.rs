//! A domain: the first tier of the hierarchy.

use sea_orm::entity::prelude::*;

#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "domains")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub name: String,
    pub display_name: Option<String>,
    pub created_at: i64,
    pub archived_at: Option<i64>,
    pub revision: i64,
}

impl ActiveModelBehavior for ActiveModel {}
