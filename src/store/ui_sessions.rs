//! Sessions of the web pages. Only the sha256 of a session's id is stored.

use sea_orm::ActiveValue::Set;
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter, QueryOrder, QuerySelect};
use uuid::Uuid;

use super::Result;
use super::entity::ui_session::{ActiveModel, Column, Entity, Model};
use crate::domain::time::Timestamp;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UiSession {
    pub key: Uuid,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
}

impl From<&Model> for UiSession {
    fn from(row: &Model) -> Self {
        Self {
            key: row.key_id,
            created_at: Timestamp::from_micros(row.created_at),
            expires_at: Timestamp::from_micros(row.expires_at),
        }
    }
}

#[tracing::instrument(name = "db.ui_sessions.insert", level = "debug", skip_all, err(level = "debug"))]
pub async fn insert(db: &impl ConnectionTrait, session_hash: String, session: UiSession) -> Result<()> {
    let row = ActiveModel {
        session_hash: Set(session_hash),
        key_id: Set(session.key),
        created_at: Set(session.created_at.micros()),
        expires_at: Set(session.expires_at.micros()),
    };
    Entity::insert(row).exec_without_returning(db).await?;
    Ok(())
}

#[tracing::instrument(name = "db.ui_sessions.find", level = "debug", skip_all, err(level = "debug"))]
pub async fn find(db: &impl ConnectionTrait, session_hash: &str) -> Result<Option<UiSession>> {
    Ok(Entity::find_by_id(session_hash.to_owned()).one(db).await?.as_ref().map(UiSession::from))
}

/// Every session with its hash.
#[tracing::instrument(name = "db.ui_sessions.hashed", level = "debug", skip_all, err(level = "debug"))]
pub async fn sessions_by_hash(db: &impl ConnectionTrait) -> Result<Vec<(String, UiSession)>> {
    let rows = Entity::find().all(db).await?;
    Ok(rows.into_iter().map(|row| (row.session_hash.clone(), UiSession::from(&row))).collect())
}

#[tracing::instrument(name = "db.ui_sessions.delete", level = "debug", skip_all, err(level = "debug"))]
pub async fn delete(db: &impl ConnectionTrait, session_hash: &str) -> Result<()> {
    Entity::delete_by_id(session_hash.to_owned()).exec(db).await?;
    Ok(())
}

/// Removes expired sessions, and all but the `keep` newest ones of a key.
#[tracing::instrument(name = "db.ui_sessions.tidy", level = "debug", skip_all, err(level = "debug"))]
pub async fn tidy(db: &impl ConnectionTrait, key: Uuid, keep: u64, now: Timestamp) -> Result<()> {
    Entity::delete_many().filter(Column::ExpiresAt.lte(now.micros())).exec(db).await?;
    let of_key = Entity::find().filter(Column::KeyId.eq(key)).order_by_desc(Column::CreatedAt);
    let first_old = of_key.order_by_asc(Column::SessionHash).offset(keep).limit(1).one(db).await?;
    let Some(old) = first_old else { return Ok(()) };
    let older = Column::CreatedAt.lte(old.created_at);
    Entity::delete_many().filter(Column::KeyId.eq(key)).filter(older).exec(db).await?;
    Ok(())
}
