//! The lease of one job in one group: its holder and its fence.

use sea_orm::entity::prelude::*;

#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "job_leases")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub name: String,
    pub holder: Option<Uuid>,
    pub fence: i64,
    pub taken_at: i64,
}

impl ActiveModelBehavior for ActiveModel {}
