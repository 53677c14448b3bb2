//! The agents of kernels that run on several.
//!
//! A server of an older version neither reads nor writes the column. It shows such a kernel without an agent, and a report of a
//! single agent that it takes leaves the list in place, so that `agent_id` goes before `agent_ids`.

use sea_orm::sea_query::{Table, TableAlterStatement};
use sea_orm::{ConnectionTrait, DbErr};
use sea_orm_migration::async_trait::async_trait;
use sea_orm_migration::{MigrationTrait, SchemaManager};

use crate::columns::text_null;

pub struct Migration;

/// The data that its reversal loses.
pub const LOSES: &str = "the agents of kernels that run on several";

#[async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        // A JSON array of names in the order of the report; NULL: the kernel runs on the agent in `agent_id`, or none is reported.
        let added = kernels().add_column(text_null("agent_ids")).take();
        manager.get_connection().execute(&added).await?;
        Ok(())
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let dropped = kernels().drop_column("agent_ids").take();
        manager.get_connection().execute(&dropped).await?;
        Ok(())
    }
}

fn kernels() -> TableAlterStatement {
    Table::alter().table("kernels").take()
}
