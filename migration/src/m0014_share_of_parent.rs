//! What each day left of an entity's part of what its parent has.

use sea_orm::prelude::async_trait::async_trait;
use sea_orm::{DatabaseTransaction, DbErr};

use super::Change;
use super::changes::{add_column, drop_column};
use super::columns::double_null;

pub struct Migration;

/// What its reversal loses.
pub const LOSES: &str = "which part of what its parent has each entity was entitled to on past days";

#[async_trait]
impl Change for Migration {
    async fn up(&self, db: &DatabaseTransaction) -> Result<(), DbErr> {
        // A part of what the parent has, 0 to 1; NULL: an earlier version wrote the day.
        add_column(db, "share_days", double_null("entitled_share_of_parent")).await
    }

    async fn down(&self, db: &DatabaseTransaction) -> Result<(), DbErr> {
        drop_column(db, "share_days", "entitled_share_of_parent").await
    }
}
