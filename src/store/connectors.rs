//! Connectors of other schedulers, each with the report of its last round.

use sea_orm::ActiveValue::Set;
use sea_orm::sea_query::OnConflict;
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, PaginatorTrait, QueryFilter};
use uuid::Uuid;

use super::entity::connector::{ActiveModel, Column, Entity, Model};
use super::{Result, StoreError};
use crate::domain::connectors::{ConnectorKind, ConnectorMode};
use crate::domain::time::Timestamp;

/// The last round of a connector. A cluster and a resource group together name one connector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredConnector {
    pub cluster: String,
    pub resource_group: String,
    pub kind: ConnectorKind,
    /// The version of the connector.
    pub version: String,
    pub mode: ConnectorMode,
    pub last_round_at: Timestamp,
    /// The report of the round: a JSON object.
    pub last_round: String,
    /// The last comparison that was added to the shadow report of the group.
    pub comparison: Option<Uuid>,
}

impl TryFrom<Model> for StoredConnector {
    type Error = StoreError;
    fn try_from(row: Model) -> Result<Self> {
        let Model { cluster, resource_group, kind, version, mode, last_round_at, last_round, comparison_id } = row;
        Ok(Self {
            kind: kind.parse().map_err(|()| StoreError::Damaged(format!("the kind {kind} of a connector")))?,
            mode: parse_mode(&mode)?,
            cluster,
            resource_group,
            version,
            last_round_at: Timestamp::from_micros(last_round_at),
            last_round,
            comparison: comparison_id,
        })
    }
}

/// The mode that a column holds.
pub(super) fn parse_mode(text: &str) -> Result<ConnectorMode> {
    text.parse().map_err(|()| StoreError::Damaged(format!("the mode {text} of a connector")))
}

/// The connectors of `groups`; `None` stands for all groups.
#[tracing::instrument(name = "db.connectors.list", level = "debug", skip_all, err(level = "debug"))]
pub async fn list(db: &impl ConnectionTrait, groups: Option<&[String]>) -> Result<Vec<StoredConnector>> {
    let mut found = Entity::find();
    if let Some(groups) = groups {
        found = found.filter(Column::ResourceGroup.is_in(groups));
    }
    found.all(db).await?.into_iter().map(StoredConnector::try_from).collect()
}

#[tracing::instrument(name = "db.connectors.find", level = "debug", skip_all, err(level = "debug"))]
pub async fn find(db: &impl ConnectionTrait, group: &str, cluster: &str) -> Result<Option<StoredConnector>> {
    let found = Entity::find_by_id((group.to_owned(), cluster.to_owned())).one(db).await?;
    found.map(StoredConnector::try_from).transpose()
}

/// The number of connectors of a group.
#[tracing::instrument(name = "db.connectors.count", level = "debug", skip_all, fields(group), err(level = "debug"))]
pub async fn count(db: &impl ConnectionTrait, group: &str) -> Result<u64> {
    Ok(Entity::find().filter(Column::ResourceGroup.eq(group)).count(db).await?)
}

/// Inserts a connector, or replaces its last round.
#[tracing::instrument(name = "db.connectors.save", level = "debug", skip_all, err(level = "debug"))]
pub async fn save(db: &impl ConnectionTrait, connector: StoredConnector) -> Result<()> {
    let row = ActiveModel {
        cluster: Set(connector.cluster),
        resource_group: Set(connector.resource_group),
        kind: Set(connector.kind.as_str().to_owned()),
        version: Set(connector.version),
        mode: Set(connector.mode.as_str().to_owned()),
        last_round_at: Set(connector.last_round_at.micros()),
        last_round: Set(connector.last_round),
        comparison_id: Set(connector.comparison),
    };
    let mut replace = OnConflict::columns([Column::ResourceGroup, Column::Cluster]);
    replace.update_columns([
        Column::Kind,
        Column::Version,
        Column::Mode,
        Column::LastRoundAt,
        Column::LastRound,
        Column::ComparisonId,
    ]);
    Entity::insert(row).on_conflict(replace).exec_without_returning(db).await?;
    Ok(())
}

/// Removes a connector.
#[tracing::instrument(name = "db.connectors.remove", level = "debug", skip_all, fields(group), err(level = "debug"))]
pub async fn remove(db: &impl ConnectionTrait, group: &str, cluster: &str) -> Result<()> {
    Entity::delete_by_id((group.to_owned(), cluster.to_owned())).exec(db).await?;
    Ok(())
}

/// Removes the connectors of a group whose last round came before `before`. Returns their number.
#[tracing::instrument(name = "db.connectors.purge", level = "debug", skip_all, fields(group), err(level = "debug"))]
pub async fn purge(db: &impl ConnectionTrait, group: &str, before: Timestamp) -> Result<u64> {
    let old = Entity::delete_many().filter(Column::ResourceGroup.eq(group));
    Ok(old.filter(Column::LastRoundAt.lt(before.micros())).exec(db).await?.rows_affected)
}
