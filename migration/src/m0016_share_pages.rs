//! Fair shares of users, many on a page, because a row for each took a fifth of the time of a run in which all users used
//! something.
//!
//! All servers have to stop for this step, because it replaces a table that the version before writes.

use sea_orm::DbErr;
use sea_orm::prelude::Uuid;
use sea_orm::sea_query::{ColumnDef, TableCreateStatement};
use sea_orm_migration::async_trait::async_trait;
use sea_orm_migration::{MigrationTrait, SchemaManager, SchemaManagerConnection};
use serde::{Deserialize, Serialize};

use super::changes::{create, drop_table, execute, groups, query, run_on_postgres};
use super::columns::{big_integer, big_integer_null, double, integer, name, primary, table, text, text_null, uuid};

pub struct Migration;

/// The data that its reversal loses.
pub const LOSES: &str = "when the shares of users were stored first and last";

/// The first byte of a page.
const FORM: u8 = 1;
/// The most bytes of a page, unless a single share has more.
const PAGE_BYTES: usize = 3_900;
/// Rows of shares that are in memory at the same time.
const ROWS: usize = 10_000;
/// Pages that are in memory at the same time.
const PAGES: usize = 500;

/// A share on a page, in the format of `postcard`.
#[derive(Serialize, Deserialize)]
struct Share<'a> {
    user: [u8; 16],
    project: [u8; 16],
    /// In ten-thousandths; `None`: the group's `default_weight`.
    weight: Option<i64>,
    /// A slot map of usages, each day's multiplied by its decay.
    total_decayed_usage: &'a str,
    normalized_usage: f64,
    fair_share_factor: f64,
    /// The run times of kernels that ended in the look-back window; `None`: no kernel did.
    run_times: Option<&'a str>,
}

fn user_share_pages() -> TableCreateStatement {
    table("user_share_pages")
        .col(integer("group_key"))
        // From 0 on. The share of a user on a page is outdated if a page with a higher number has one.
        .col(integer("page"))
        // A byte for the form of the shares, then shares, one after the other.
        .col(ColumnDef::new("shares").blob().not_null())
        .primary_key(&mut primary(&["group_key", "page"]))
        .to_owned()
}

fn user_fair_shares() -> TableCreateStatement {
    table("user_fair_shares")
        .col(name("resource_group"))
        .col(uuid("user_uuid"))
        .col(uuid("project_id"))
        .col(big_integer_null("weight"))
        .col(text("total_decayed_usage"))
        .col(double("normalized_usage"))
        .col(double("fair_share_factor"))
        .col(text_null("run_times"))
        .col(big_integer("created_at"))
        .col(big_integer("updated_at"))
        .primary_key(&mut primary(&["resource_group", "user_uuid", "project_id"]))
        .to_owned()
}

#[async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let db = manager.get_connection();
        // Rows that a server of the version before still writes would be lost.
        run_on_postgres(db, &["LOCK TABLE user_fair_shares IN ACCESS EXCLUSIVE MODE"]).await?;
        create(db, user_share_pages()).await?;
        // A run rewrites a page in place, so there is free space for its next version, and PostgreSQL does not move it out
        // of the table for its length.
        let room = "ALTER TABLE user_share_pages SET (fillfactor = 45, toast_tuple_target = 4080)";
        run_on_postgres(db, &[room]).await?;
        for (key, name) in groups(db).await? {
            forward(db, key, &name).await?;
        }
        drop_table(db, "user_fair_shares").await
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let db = manager.get_connection();
        create(db, user_fair_shares()).await?;
        run_on_postgres(db, &["ALTER TABLE user_fair_shares SET (fillfactor = 45)"]).await?;
        for (key, name) in groups(db).await? {
            back(db, key, &name).await?;
        }
        drop_table(db, "user_share_pages").await
    }
}

/// Puts the shares of a group's users on pages, in the order of users and projects.
async fn forward(db: &SchemaManagerConnection<'_>, group: i32, name: &str) -> Result<(), DbErr> {
    let (mut page, mut number, mut after) = (vec![FORM], 0, (Uuid::nil(), Uuid::nil()));
    let mut is_first = true;
    loop {
        let further = if is_first { ">=" } else { ">" };
        is_first = false;
        let sql = format!(
            "SELECT user_uuid, project_id, weight, total_decayed_usage, normalized_usage, fair_share_factor, run_times \
             FROM user_fair_shares WHERE resource_group = $1 AND (user_uuid, project_id) {further} ($2, $3) \
             ORDER BY user_uuid, project_id LIMIT {ROWS}"
        );
        let rows = query(db, &sql, [name.into(), after.0.into(), after.1.into()]).await?;
        for row in &rows {
            after = (row.try_get("", "user_uuid")?, row.try_get("", "project_id")?);
            let (usage, times): (String, Option<String>) =
                (row.try_get("", "total_decayed_usage")?, row.try_get("", "run_times")?);
            let share = Share {
                user: after.0.into_bytes(),
                project: after.1.into_bytes(),
                weight: row.try_get("", "weight")?,
                total_decayed_usage: &usage,
                normalized_usage: row.try_get("", "normalized_usage")?,
                fair_share_factor: row.try_get("", "fair_share_factor")?,
                run_times: times.as_deref(),
            };
            let end = page.len();
            page = postcard::to_extend(&share, page).map_err(|error| DbErr::Custom(error.to_string()))?;
            if page.len() > PAGE_BYTES && end > 1 {
                let next = [&[FORM], &page[end..]].concat();
                page.truncate(end);
                store(db, group, &mut number, page).await?;
                page = next;
            }
        }
        if rows.len() < ROWS {
            break;
        }
    }
    if page.len() > 1 {
        store(db, group, &mut number, page).await?;
    }
    Ok(())
}

async fn store(db: &SchemaManagerConnection<'_>, group: i32, number: &mut i32, page: Vec<u8>) -> Result<(), DbErr> {
    let sql = "INSERT INTO user_share_pages (group_key, page, shares) VALUES ($1, $2, $3)";
    execute(db, sql, [group.into(), (*number).into(), page.into()]).await?;
    *number += 1;
    Ok(())
}

/// Writes a row for each share on a group's pages.
async fn back(db: &SchemaManagerConnection<'_>, group: i32, name: &str) -> Result<(), DbErr> {
    let mut next = 0;
    loop {
        let sql = format!(
            "SELECT page, shares FROM user_share_pages WHERE group_key = $1 AND page >= $2 ORDER BY page LIMIT {PAGES}"
        );
        let pages = query(db, &sql, [group.into(), next.into()]).await?;
        for row in &pages {
            let number: i32 = row.try_get("", "page")?;
            let damaged = |what: &str| DbErr::Custom(format!("page {number} of the shares of group {name}: {what}"));
            let page: Vec<u8> = row.try_get("", "shares")?;
            let Some((&FORM, mut rest)) = page.split_first() else { return Err(damaged("unknown form")) };
            while !rest.is_empty() {
                let (share, after) =
                    postcard::take_from_bytes::<Share>(rest).map_err(|error| damaged(&error.to_string()))?;
                give_row(db, name, &share).await?;
                rest = after;
            }
            next = number + 1;
        }
        if pages.len() < PAGES {
            return Ok(());
        }
    }
}

async fn give_row(db: &SchemaManagerConnection<'_>, group: &str, share: &Share<'_>) -> Result<(), DbErr> {
    let sql = "INSERT INTO user_fair_shares (resource_group, user_uuid, project_id, weight, total_decayed_usage, \
               normalized_usage, fair_share_factor, run_times, created_at, updated_at) \
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0, 0) \
               ON CONFLICT (resource_group, user_uuid, project_id) DO UPDATE SET weight = excluded.weight, \
               total_decayed_usage = excluded.total_decayed_usage, normalized_usage = excluded.normalized_usage, \
               fair_share_factor = excluded.fair_share_factor, run_times = excluded.run_times";
    let values = [
        group.into(),
        Uuid::from_bytes(share.user).into(),
        Uuid::from_bytes(share.project).into(),
        share.weight.into(),
        share.total_decayed_usage.into(),
        share.normalized_usage.into(),
        share.fair_share_factor.into(),
        share.run_times.map(str::to_owned).into(),
    ];
    execute(db, sql, values).await
}
