//! API keys. Only the sha256 of a key is stored.

use std::sync::Arc;

use sea_orm::ActiveValue::Set;
use sea_orm::sea_query::{CaseStatement, Expr};
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter, QueryOrder, QuerySelect};
use uuid::Uuid;

use super::entity::api_key::{ActiveModel, Column, Entity, Model};
use super::{Result, StoreError, decode};
use crate::domain::ids::UserId;
use crate::domain::time::Timestamp;

/// Uses of keys that one statement stores.
const STATEMENT_USES: usize = 500;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredKey {
    pub id: Uuid,
    pub role: String,
    /// Shared, because each request of the key's holder carries it.
    pub label: Arc<str>,
    pub user: Option<UserId>,
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
    pub last_used_at: Option<Timestamp>,
    /// The only resource groups within the key's reach; `None`: all.
    pub groups: Option<Arc<[String]>>,
}

impl TryFrom<Model> for StoredKey {
    type Error = StoreError;
    fn try_from(row: Model) -> Result<Self> {
        let time = |micros: Option<i64>| micros.map(Timestamp::from_micros);
        Ok(Self {
            groups: row.resource_groups.as_deref().map(decode::json::<Vec<String>>).transpose()?.map(Arc::from),
            id: row.id,
            role: row.role,
            label: row.label.into(),
            user: row.user_uuid.map(UserId),
            created_at: Timestamp::from_micros(row.created_at),
            expires_at: time(row.expires_at),
            revoked_at: time(row.revoked_at),
            last_used_at: time(row.last_used_at),
        })
    }
}

#[tracing::instrument(name = "db.keys.insert", level = "debug", skip_all, err(level = "debug"))]
pub async fn insert(db: &impl ConnectionTrait, key: &StoredKey, key_hash: String) -> Result<()> {
    let row = ActiveModel {
        id: Set(key.id),
        key_hash: Set(key_hash),
        role: Set(key.role.clone()),
        label: Set(key.label.to_string()),
        user_uuid: Set(key.user.map(|u| u.0)),
        created_at: Set(key.created_at.micros()),
        expires_at: Set(key.expires_at.map(Timestamp::micros)),
        revoked_at: Set(None),
        last_used_at: Set(None),
        resource_groups: Set(key.groups.as_ref().map(|groups| serde_json::json!(groups[..]).to_string())),
    };
    Entity::insert(row).exec_without_returning(db).await?;
    Ok(())
}

#[tracing::instrument(name = "db.keys.find_by_hash", level = "debug", skip_all, err(level = "debug"))]
pub async fn find_by_hash(db: &impl ConnectionTrait, key_hash: &str) -> Result<Option<StoredKey>> {
    Entity::find().filter(Column::KeyHash.eq(key_hash)).one(db).await?.map(StoredKey::try_from).transpose()
}

/// Every key with its hash.
#[tracing::instrument(name = "db.keys.hashed", level = "debug", skip_all, err(level = "debug"))]
pub async fn keys_by_hash(db: &impl ConnectionTrait) -> Result<Vec<(String, StoredKey)>> {
    let rows = Entity::find().all(db).await?;
    rows.into_iter().map(|row| Ok((row.key_hash.clone(), StoredKey::try_from(row)?))).collect()
}

#[tracing::instrument(name = "db.keys.list", level = "debug", skip_all, err(level = "debug"))]
pub async fn list(db: &impl ConnectionTrait) -> Result<Vec<StoredKey>> {
    let rows = Entity::find().order_by_asc(Column::CreatedAt).order_by_asc(Column::Id).all(db).await?;
    rows.into_iter().map(StoredKey::try_from).collect()
}

/// The keys of a role that are not revoked, locked until the transaction ends. If two clients revoke one key each, the
/// second one waits and sees which keys the first one has left. SQLite has one writer at a time and ignores the lock.
#[tracing::instrument(name = "db.keys.lock_unrevoked", level = "debug", skip_all, err(level = "debug"))]
pub async fn lock_unrevoked(db: &impl ConnectionTrait, role: &str) -> Result<Vec<StoredKey>> {
    let unrevoked = Entity::find().filter(Column::Role.eq(role)).filter(Column::RevokedAt.is_null());
    let rows = unrevoked.order_by_asc(Column::Id).lock_exclusive().all(db).await?;
    rows.into_iter().map(StoredKey::try_from).collect()
}

/// Returns whether a key was revoked by this call.
#[tracing::instrument(name = "db.keys.revoke", level = "debug", skip_all, err(level = "debug"))]
pub async fn revoke(db: &impl ConnectionTrait, id: Uuid, now: Timestamp) -> Result<bool> {
    let done = Entity::update_many()
        .col_expr(Column::RevokedAt, Expr::value(now.micros()))
        .filter(Column::Id.eq(id))
        .filter(Column::RevokedAt.is_null())
        .exec(db)
        .await?;
    Ok(done.rows_affected > 0)
}

/// Stores the last uses of keys, in few statements.
#[tracing::instrument(name = "db.keys.touch", level = "debug", skip_all, err(level = "debug"))]
pub async fn store_uses(db: &impl ConnectionTrait, uses: &[(Uuid, Timestamp)]) -> Result<()> {
    for part in uses.chunks(STATEMENT_USES) {
        let mut at = CaseStatement::new();
        for (id, used) in part {
            at = at.case(Column::Id.eq(*id), Expr::value(used.micros()));
        }
        Entity::update_many()
            .col_expr(Column::LastUsedAt, at.finally(Expr::col(Column::LastUsedAt)).into())
            .filter(Column::Id.is_in(part.iter().map(|(id, _)| *id)))
            .exec(db)
            .await?;
    }
    Ok(())
}
