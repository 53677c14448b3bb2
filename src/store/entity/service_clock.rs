//! The stored state of the clock checks: one row.

use sea_orm::entity::prelude::*;

#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "service_clock")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: i32,
    pub revision: i64,
    pub tag: i32,
    pub trusted_at: Option<i64>,
    pub held_wall_at: Option<i64>,
    pub held_reference_at: Option<i64>,
    pub held_by: Option<Uuid>,
}

impl ActiveModelBehavior for ActiveModel {}
