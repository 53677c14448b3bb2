//! A time in which the service ran: its start and its last heartbeat.

use sea_orm::entity::prelude::*;

#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "service_runs")]
pub struct Model {
    #[sea_orm(primary_key)]
    pub id: i64,
    pub started_at: i64,
    pub last_heartbeat_at: i64,
}

impl ActiveModelBehavior for ActiveModel {}
