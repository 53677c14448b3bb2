//! A run of a job: its time, its counts and its outcome.

use sea_orm::entity::prelude::*;

#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "job_runs")]
pub struct Model {
    #[sea_orm(primary_key)]
    pub id: i64,
    pub job: String,
    pub resource_group: Option<String>,
    pub trigger: String,
    pub status: String,
    pub started_at: i64,
    pub ended_at: Option<i64>,
    #[sea_orm(column_type = "Text")]
    pub counts: String,
    #[sea_orm(column_type = "Text", nullable)]
    pub error: Option<String>,
    pub holder: Option<Uuid>,
}

impl ActiveModelBehavior for ActiveModel {}
