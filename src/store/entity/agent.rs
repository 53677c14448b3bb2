//! An agent of a resource group, with the slots that it offers.

use sea_orm::entity::prelude::*;

#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "agents")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub resource_group: String,
    #[sea_orm(primary_key, auto_increment = false)]
    pub agent_id: String,
    #[sea_orm(column_type = "Text")]
    pub available_slots: String,
    pub alive: bool,
    pub schedulable: bool,
    #[sea_orm(column_type = "Text")]
    pub labels: String,
    #[sea_orm(column_type = "Text")]
    pub taints: String,
    pub updated_at: i64,
}

impl ActiveModelBehavior for ActiveModel {}
