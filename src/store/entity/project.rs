//! A project with the domain that it is in now.

use sea_orm::entity::prelude::*;

#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "projects")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: Uuid,
    pub domain_name: String,
    pub domain_since: i64,
    pub domain_pinned: bool,
    pub name: Option<String>,
    pub display_name: Option<String>,
    pub created_at: i64,
    pub archived_at: Option<i64>,
    pub revision: i64,
}

impl ActiveModelBehavior for ActiveModel {}
