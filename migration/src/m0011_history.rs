//! The fairness of each day, and the factors and ranks at its end.

use sea_orm::sea_query::TableCreateStatement;
use sea_orm::{ConnectionTrait, DbBackend, DbErr};
use sea_orm_migration::async_trait::async_trait;
use sea_orm_migration::{MigrationTrait, SchemaManager};

use super::changes::{create, drop_table};
use super::columns::{big_integer, double, integer, name, primary, string_len, table, text, uuid};

pub struct Migration;

/// The data that its reversal loses.
pub const LOSES: &str = "the history of fairness, factors and ranks";

/// One row for each group, day and tier.
fn fairness_days() -> TableCreateStatement {
    table("fairness_days")
        .col(name("resource_group"))
        .col(integer("day"))
        // `domain`, `project` or `user`.
        .col(string_len("tier", 16))
        // The misallocated part of the day's usage, 0 to 1.
        .col(double("misallocated_share"))
        // Jain's index of the ratios of usage to entitled usage, 0 to 1.
        .col(double("jains_index"))
        // The number of active owners in the tier.
        .col(integer("active"))
        .col(big_integer("calculated_at"))
        .primary_key(&mut primary(&["resource_group", "day", "tier"]))
        .to_owned()
}

/// The share of each domain, project and user after the last run of a day. The day comes first in the key, so that the rows
/// of a day are written next to each other.
fn share_days(backend: DbBackend) -> TableCreateStatement {
    let mut days = table("share_days");
    days.col(integer("group_key"))
        .col(integer("day"))
        // 0: a domain; 1: a project; 2: a user in a project.
        .col(integer("tier"))
        // All zeros if the tier has none.
        .col(uuid("user_uuid"))
        .col(uuid("project_id"))
        // The name of a domain; empty for projects and users.
        .col(name("domain_name"))
        .col(integer("rank"))
        .col(double("fair_share_factor"))
        // Decayed usage as a part of the window's capacity.
        .col(double("normalized_usage"))
        // An exact decimal without a unit.
        .col(text("effective_weight"))
        // A part of the whole group, 0 to 1.
        .col(double("entitled_share"))
        .primary_key(&mut primary(&["group_key", "day", "tier", "user_uuid", "project_id", "domain_name"]));
    if backend == DbBackend::Sqlite {
        days.extra("WITHOUT ROWID");
    }
    days
}

#[async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let db = manager.get_connection();
        create(db, fairness_days()).await?;
        create(db, share_days(db.get_database_backend())).await
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let db = manager.get_connection();
        drop_table(db, "share_days").await?;
        drop_table(db, "fairness_days").await
    }
}
