//! A usage record: the usage of one kernel in one slice, or in several that were compacted.

use sea_orm::entity::prelude::*;

#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "usage_slices")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub group_key: i32,
    #[sea_orm(primary_key, auto_increment = false)]
    pub period_end: i64,
    #[sea_orm(primary_key, auto_increment = false)]
    pub kernel_key: i64,
    pub period_start: i64,
    pub kind: i32,
    /// The number of compacted slices.
    pub slices: i32,
}

impl ActiveModelBehavior for ActiveModel {}
