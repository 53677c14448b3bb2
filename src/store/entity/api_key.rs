//! A key: its hash, its role and its reach.

use sea_orm::entity::prelude::*;

#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "api_keys")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: Uuid,
    pub key_hash: String,
    pub role: String,
    pub label: String,
    pub user_uuid: Option<Uuid>,
    pub created_at: i64,
    pub expires_at: Option<i64>,
    pub revoked_at: Option<i64>,
    pub last_used_at: Option<i64>,
    pub resource_groups: Option<String>,
}

impl ActiveModelBehavior for ActiveModel {}
