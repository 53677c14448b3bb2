//! A view: the day totals that follow from buckets, because the bucket is of one day and the project counted for one domain
//! on it.

use sea_orm::entity::prelude::*;

#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "bucket_totals")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub group_key: i32,
    #[sea_orm(primary_key, auto_increment = false)]
    pub day: i32,
    #[sea_orm(primary_key, auto_increment = false)]
    pub user_uuid: Uuid,
    #[sea_orm(primary_key, auto_increment = false)]
    pub project_id: Uuid,
    pub domain_name: String,
    #[sea_orm(column_type = "Text")]
    pub resource_usage: String,
    pub records: i64,
}

impl ActiveModelBehavior for ActiveModel {}
