use sea_orm::entity::prelude::*;

#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "queues")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub resource_group: String,
    #[sea_orm(primary_key, auto_increment = false)]
    pub name: String,
    pub parent: Option<String>,
    pub priority: i32,
    #[sea_orm(column_type = "Text")]
    pub weight: String,
    pub mode: String,
    #[sea_orm(column_type = "Text")]
    pub quota: String,
    #[sea_orm(column_type = "Text")]
    pub limits: String,
    #[sea_orm(column_type = "Text")]
    pub guarantee: String,
    #[sea_orm(column_type = "Text")]
    pub over_quota_weight: String,
    pub children_over_quota_by: String,
    #[sea_orm(column_type = "Text")]
    pub min_share_ratio: String,
    pub reclaimable: bool,
    pub preempt_min_runtime: Option<i64>,
    pub reclaim_min_runtime: Option<i64>,
    pub created_at: i64,
    pub updated_at: i64,
}

impl ActiveModelBehavior for ActiveModel {}
