//! A user, who may be in any number of projects.

use sea_orm::entity::prelude::*;

#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "users")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: Uuid,
    pub name: Option<String>,
    pub display_name: Option<String>,
    pub created_at: i64,
    pub archived_at: Option<i64>,
    pub revision: i64,
}

impl ActiveModelBehavior for ActiveModel {}
