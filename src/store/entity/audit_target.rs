//! A target of an audit entry: one row for each target of an entry about several.

use sea_orm::entity::prelude::*;

/// A target of an audit entry.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "audit_targets")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub target: String,
    #[sea_orm(primary_key, auto_increment = false)]
    pub resource_group: String,
    #[sea_orm(primary_key, auto_increment = false)]
    pub audit_id: i64,
}

impl ActiveModelBehavior for ActiveModel {}
