//! A session of the web pages, with the key that signed in.

use sea_orm::entity::prelude::*;

#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "ui_sessions")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub session_hash: String,
    pub key_id: Uuid,
    pub created_at: i64,
    pub expires_at: i64,
}

impl ActiveModelBehavior for ActiveModel {}
