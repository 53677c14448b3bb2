//! The fair share of a user in one project and group: its weight and the calculated values.

use sea_orm::entity::prelude::*;

#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "user_fair_shares")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub resource_group: String,
    #[sea_orm(primary_key, auto_increment = false)]
    pub user_uuid: Uuid,
    #[sea_orm(primary_key, auto_increment = false)]
    pub project_id: Uuid,
    pub weight: Option<i64>,
    #[sea_orm(column_type = "Text")]
    pub total_decayed_usage: String,
    pub normalized_usage: f64,
    pub fair_share_factor: f64,
    /// The run times of kernels that ended in the look-back window; `None`: no kernel did.
    #[sea_orm(column_type = "Text", nullable)]
    pub run_times: Option<String>,
    pub created_at: i64,
    pub updated_at: i64,
}

impl ActiveModelBehavior for ActiveModel {}
