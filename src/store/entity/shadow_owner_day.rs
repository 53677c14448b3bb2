//! The places that an owner gained on one day.

use sea_orm::entity::prelude::*;

#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "shadow_owner_days")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub group_key: i32,
    #[sea_orm(primary_key, auto_increment = false)]
    pub day: i32,
    #[sea_orm(primary_key, auto_increment = false)]
    pub user_uuid: Uuid,
    #[sea_orm(primary_key, auto_increment = false)]
    pub project_id: Uuid,
    pub user_name: String,
    pub project_name: String,
    pub places_gained: i64,
}

impl ActiveModelBehavior for ActiveModel {}
