//! The last round of a connector.

use sea_orm::entity::prelude::*;

#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "connectors")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub resource_group: String,
    #[sea_orm(primary_key, auto_increment = false)]
    pub cluster: String,
    pub kind: String,
    pub version: String,
    pub mode: String,
    pub last_round_at: i64,
    #[sea_orm(column_type = "Text")]
    pub last_round: String,
    pub comparison_id: Option<Uuid>,
}

impl ActiveModelBehavior for ActiveModel {}
