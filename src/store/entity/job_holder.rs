//! A process that runs jobs: its name, its start and its last heartbeat.

use sea_orm::entity::prelude::*;

#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "job_holders")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: Uuid,
    pub label: String,
    pub started_at: i64,
    pub beat_at: Option<i64>,
    pub session_name: Option<String>,
}

impl ActiveModelBehavior for ActiveModel {}
