//! The usage of one user in one project on one day, by the domain that it counted for and by charge class.

use sea_orm::entity::prelude::*;

#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "day_totals")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub group_key: i32,
    #[sea_orm(primary_key, auto_increment = false)]
    pub day: i32,
    #[sea_orm(primary_key, auto_increment = false)]
    pub user_uuid: Uuid,
    #[sea_orm(primary_key, auto_increment = false)]
    pub project_id: Uuid,
    #[sea_orm(primary_key, auto_increment = false)]
    pub domain_name: String,
    /// Empty: none.
    #[sea_orm(primary_key, auto_increment = false)]
    pub charge_class: String,
    /// 0: recorded by runs; otherwise the number of the history.
    #[sea_orm(primary_key, auto_increment = false)]
    pub source: i32,
    #[sea_orm(column_type = "Text")]
    pub resource_usage: String,
    pub records: i64,
}

impl ActiveModelBehavior for ActiveModel {}
