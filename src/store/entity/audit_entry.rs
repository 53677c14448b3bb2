//! An entry of the audit log: the author, the time, the target and the reason of a change.

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
    /// The counted action, the key and the minute; only in entries that count.
    pub tally_of: Option<String>,
    pub accepted: Option<i64>,
    pub rejected: Option<i64>,
}

impl ActiveModelBehavior for ActiveModel {}
