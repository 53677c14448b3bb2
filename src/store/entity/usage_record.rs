use sea_orm::entity::prelude::*;

#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "kernel_usage_records")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub kernel_id: Uuid,
    #[sea_orm(primary_key, auto_increment = false)]
    pub period_start: i64,
    pub period_end: i64,
    pub session_id: Uuid,
    pub user_uuid: Uuid,
    pub project_id: Uuid,
    pub domain_name: String,
    pub resource_group: String,
    #[sea_orm(column_type = "Text")]
    pub resource_usage: String,
}

impl ActiveModelBehavior for ActiveModel {}
