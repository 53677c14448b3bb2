//! An entry of the audit log: who changed what, when and why.

use sea_orm::entity::prelude::*;

#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "audit_log")]
pub struct Model {
    #[sea_orm(primary_key)]
    pub id: i64,
    pub at: i64,
    pub actor: String,
    pub key_id: Option<Uuid>,
    pub request_id: String,
    pub action: String,
    pub resource_group: Option<String>,
    pub target: String,
    #[sea_orm(column_type = "Text", nullable)]
    pub before: Option<String>,
    #[sea_orm(column_type = "Text", nullable)]
    pub after: Option<String>,
    #[sea_orm(column_type = "Text", nullable)]
    pub reason: Option<String>,
    /// What is counted, by whom and in which minute; only for entries that count.
    pub tally_of: Option<String>,
    pub accepted: Option<i64>,
    pub rejected: Option<i64>,
}

impl ActiveModelBehavior for ActiveModel {}
