//! How long kernels are said to run, for progressive sequences.

use sea_orm::prelude::async_trait::async_trait;
use sea_orm::{DatabaseTransaction, DbErr};

use super::Change;
use super::changes::{add_column, drop_column};
use super::columns::integer_null;

pub struct Migration;

/// What its reversal loses.
pub const LOSES: &str = "how long kernels were said to run";

#[async_trait]
impl Change for Migration {
    async fn up(&self, db: &DatabaseTransaction) -> Result<(), DbErr> {
        // Seconds from the kernel's start; NULL: nobody said.
        add_column(db, "kernels", integer_null("expected_seconds")).await
    }

    async fn down(&self, db: &DatabaseTransaction) -> Result<(), DbErr> {
        drop_column(db, "kernels", "expected_seconds").await
    }
}
