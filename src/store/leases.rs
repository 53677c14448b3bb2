//! Leases, which keep two processes from running one job of one group at once. A lease lasts as long as its holder lives.

use sea_orm::ActiveValue::Set;
use sea_orm::sea_query::{Expr, OnConflict};
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter, QuerySelect};
use uuid::Uuid;

use super::Result;
use super::entity::job_lease::{ActiveModel, Column, Entity};
use crate::domain::time::Timestamp;

/// A lease as it was taken. Its holder may write as long as no other process has taken the lease since.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseFence {
    /// JOB/GROUP.
    pub lease: String,
    pub holder: Uuid,
    pub number: i64,
}

/// A lease as stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredLease {
    /// `None`: the lease is free.
    pub holder: Option<Uuid>,
    pub number: i64,
    pub taken_at: Timestamp,
}

#[tracing::instrument(name = "db.leases.find", level = "debug", skip_all, err(level = "debug"))]
pub async fn find(db: &impl ConnectionTrait, name: &str) -> Result<Option<StoredLease>> {
    let row = Entity::find_by_id(name.to_owned()).one(db).await?;
    Ok(row.map(|row| StoredLease {
        holder: row.holder,
        number: row.fence,
        taken_at: Timestamp::from_micros(row.taken_at),
    }))
}

/// Takes the lease in its state `seen`. `None`: another process was faster.
#[tracing::instrument(name = "db.leases.take", level = "debug", skip_all, err(level = "debug"))]
pub async fn take_lease(
    db: &impl ConnectionTrait,
    name: &str,
    holder: Uuid,
    seen: Option<StoredLease>,
    now: Timestamp,
) -> Result<Option<LeaseFence>> {
    let number = seen.map_or(1, |lease| lease.number + 1);
    let taken = if let Some(seen) = seen {
        let done = Entity::update_many()
            .col_expr(Column::Holder, Expr::value(holder))
            .col_expr(Column::Fence, Expr::value(number))
            .col_expr(Column::TakenAt, Expr::value(now.micros()))
            .filter(Column::Name.eq(name))
            .filter(Column::Fence.eq(seen.number))
            .exec(db)
            .await?;
        done.rows_affected
    } else {
        let row = ActiveModel {
            name: Set(name.to_owned()),
            holder: Set(Some(holder)),
            fence: Set(number),
            taken_at: Set(now.micros()),
        };
        let mut keep = OnConflict::column(Column::Name);
        keep.do_nothing();
        Entity::insert(row).on_conflict(keep).exec_without_returning(db).await?
    };
    Ok((taken > 0).then(|| LeaseFence { lease: name.to_owned(), holder, number }))
}

/// Frees the lease, unless another process has taken it since.
#[tracing::instrument(name = "db.leases.release", level = "debug", skip_all, err(level = "debug"))]
pub async fn release(db: &impl ConnectionTrait, fence: &LeaseFence) -> Result<()> {
    Entity::update_many()
        .col_expr(Column::Holder, Expr::value(Option::<Uuid>::None))
        .filter(Column::Name.eq(&fence.lease))
        .filter(Column::Fence.eq(fence.number))
        .exec(db)
        .await?;
    Ok(())
}

/// True if the lease was not taken since. Until the transaction ends no process can take it.
#[tracing::instrument(name = "db.leases.holds", level = "debug", skip_all, err(level = "debug"))]
pub async fn is_held(db: &impl ConnectionTrait, fence: &LeaseFence) -> Result<bool> {
    let held = Entity::find_by_id(fence.lease.clone()).filter(Column::Fence.eq(fence.number)).lock_exclusive();
    Ok(held.one(db).await?.is_some())
}
