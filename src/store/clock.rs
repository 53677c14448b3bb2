//! The stored state of the clock checks: one row.

use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, DbBackend, EntityTrait, QueryFilter, Statement};
use uuid::Uuid;

use super::Result;
use super::entity::service_clock::{Column, Entity};
use super::revision::TaggedRevision;
use crate::domain::time::Timestamp;
use crate::process::random;

/// The first clock reading that must be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrongReading {
    pub wall: Timestamp,
    /// The time that the clock should have shown.
    pub reference: Timestamp,
    /// The process that noticed the wrong reading.
    pub by: Option<Uuid>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClockRecord {
    /// Changed whenever an admin confirms that the clock is right.
    pub revision: TaggedRevision,
    /// The time that the clock showed at the confirmation.
    pub trusted_at: Option<Timestamp>,
    pub held: Option<WrongReading>,
}

/// The time by the clock of the database's own machine; `None`: the database is a file of this machine.
#[tracing::instrument(name = "db.clock.database_now", level = "debug", skip_all, err(level = "debug"))]
pub async fn database_now(db: &impl ConnectionTrait) -> Result<Option<Timestamp>> {
    if db.get_database_backend() != DbBackend::Postgres {
        return Ok(None);
    }
    let sql = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS micros";
    let row = db.query_one_raw(Statement::from_string(DbBackend::Postgres, sql)).await?;
    Ok(row.map(|row| row.try_get("", "micros")).transpose()?.map(Timestamp::from_micros))
}

#[tracing::instrument(name = "db.clock.read", level = "debug", skip_all, err(level = "debug"))]
pub async fn read(db: &impl ConnectionTrait) -> Result<ClockRecord> {
    let Some(row) = Entity::find().one(db).await? else { return Ok(ClockRecord::default()) };
    let held = row.held_wall_at.zip(row.held_reference_at).map(|(wall, reference)| WrongReading {
        wall: Timestamp::from_micros(wall),
        reference: Timestamp::from_micros(reference),
        by: row.held_by,
    });
    let revision = TaggedRevision::stored(row.revision, row.tag);
    Ok(ClockRecord { revision, trusted_at: row.trusted_at.map(Timestamp::from_micros), held })
}

/// Stores the first wrong reading; later ones are ignored.
#[tracing::instrument(name = "db.clock.hold", level = "debug", skip_all, err(level = "debug"))]
pub async fn store_wrong_reading(db: &impl ConnectionTrait, held: WrongReading) -> Result<()> {
    set_held(Some(held)).filter(Column::HeldWallAt.is_null()).exec(db).await?;
    Ok(())
}

/// Removes the stored reading.
#[tracing::instrument(name = "db.clock.release", level = "debug", skip_all, err(level = "debug"))]
pub async fn release(db: &impl ConnectionTrait) -> Result<()> {
    set_held(None).exec(db).await?;
    Ok(())
}

/// Notes that an admin confirms the clock at `wall`. Returns the new revision.
#[tracing::instrument(name = "db.clock.trust", level = "debug", skip_all, err(level = "debug"))]
pub async fn store_trust(db: &impl ConnectionTrait, wall: Timestamp) -> Result<TaggedRevision> {
    set_held(None)
        .col_expr(Column::Revision, Expr::cust("revision + 1"))
        .col_expr(Column::Tag, Expr::value(random::tag()))
        .col_expr(Column::TrustedAt, Expr::value(wall.micros()))
        .exec(db)
        .await?;
    Ok(read(db).await?.revision)
}

fn set_held(held: Option<WrongReading>) -> sea_orm::UpdateMany<Entity> {
    Entity::update_many()
        .col_expr(Column::HeldWallAt, Expr::value(held.map(|h| h.wall.micros())))
        .col_expr(Column::HeldReferenceAt, Expr::value(held.map(|h| h.reference.micros())))
        .col_expr(Column::HeldBy, Expr::value(held.and_then(|h| h.by)))
}
