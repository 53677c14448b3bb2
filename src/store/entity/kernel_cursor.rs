//! The cursor of one kernel: the time until which its usage is recorded.

use sea_orm::entity::prelude::*;

#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "kernel_cursors")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub kernel_key: i64,
    pub recorded_until: Option<i64>,
    pub in_step: bool,
    /// The changes of status from which the records were made; `None`: the known ones.
    #[sea_orm(column_type = "Text", nullable)]
    pub applied_changes: Option<String>,
    pub seen_at: Option<i64>,
}

impl ActiveModelBehavior for ActiveModel {}
