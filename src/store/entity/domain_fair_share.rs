//! The fair share of a domain in one group: its weight and the calculated values.

use sea_orm::entity::prelude::*;

#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "domain_fair_shares")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub resource_group: String,
    #[sea_orm(primary_key, auto_increment = false)]
    pub domain_name: String,
    pub weight: Option<i64>,
    #[sea_orm(column_type = "Text")]
    pub total_decayed_usage: String,
    pub normalized_usage: f64,
    pub fair_share_factor: f64,
    pub created_at: i64,
    pub updated_at: i64,
}

impl ActiveModelBehavior for ActiveModel {}
