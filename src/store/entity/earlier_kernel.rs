//! A kernel that ended long before it was reported, with the history in which its usage counts.

use sea_orm::entity::prelude::*;

#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "earlier_kernels")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub group_key: i32,
    #[sea_orm(primary_key, auto_increment = false)]
    pub kernel_id: Uuid,
    pub source: i32,
    pub counted_until: i64,
}

impl ActiveModelBehavior for ActiveModel {}
