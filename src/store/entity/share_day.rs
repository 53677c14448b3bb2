//! The factor and rank of a domain, project or user after the last run of a day.

use sea_orm::entity::prelude::*;

#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "share_days")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub group_key: i32,
    #[sea_orm(primary_key, auto_increment = false)]
    pub day: i32,
    #[sea_orm(primary_key, auto_increment = false)]
    pub tier: i32,
    #[sea_orm(primary_key, auto_increment = false)]
    pub user_uuid: Uuid,
    #[sea_orm(primary_key, auto_increment = false)]
    pub project_id: Uuid,
    #[sea_orm(primary_key, auto_increment = false)]
    pub domain_name: String,
    pub rank: i32,
    pub fair_share_factor: f64,
    pub normalized_usage: f64,
    pub effective_weight: String,
    pub entitled_share: f64,
    pub entitled_share_of_parent: Option<f64>,
}

impl ActiveModelBehavior for ActiveModel {}
