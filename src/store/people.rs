//! Domains, projects, users and memberships. They come into being by being named.

use std::collections::HashMap;

use sea_orm::ActiveValue::Set;
use sea_orm::sea_query::{Expr, OnConflict};
use sea_orm::{ColumnTrait, ConnectionTrait, DbBackend, EntityTrait, QueryFilter, QuerySelect};
use uuid::Uuid;

use super::entity::{domain, membership, project, user};
use super::{Result, bulk};
use crate::domain::ids::{Member, ProjectId, UserId};
use crate::domain::time::Timestamp;

/// A project with the domain it is in now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    pub id: ProjectId,
    pub domain_name: String,
    /// The newest start that named the domain.
    pub domain_since: Timestamp,
    pub display_name: Option<String>,
}

pub async fn domains(db: &impl ConnectionTrait) -> Result<Vec<String>> {
    Ok(domain::Entity::find().select_only().column(domain::Column::Name).into_tuple().all(db).await?)
}

pub async fn projects(db: &impl ConnectionTrait) -> Result<Vec<Project>> {
    let rows = project::Entity::find().all(db).await?;
    Ok(rows.into_iter().map(Project::from).collect())
}

pub async fn find_projects(
    db: &impl ConnectionTrait,
    ids: impl IntoIterator<Item = ProjectId>,
) -> Result<Vec<Project>> {
    let ids: Vec<Uuid> = ids.into_iter().map(|p| p.0).collect();
    let mut found = Vec::new();
    for part in ids.chunks(30_000) {
        let rows = project::Entity::find().filter(project::Column::Id.is_in(part.iter().copied())).all(db).await?;
        found.extend(rows.into_iter().map(Project::from));
    }
    Ok(found)
}

impl From<project::Model> for Project {
    fn from(row: project::Model) -> Self {
        Self {
            id: ProjectId(row.id),
            domain_name: row.domain_name,
            domain_since: Timestamp::from_micros(row.domain_since),
            display_name: row.display_name,
        }
    }
}

/// Display names of users that have one.
pub async fn user_names(db: &impl ConnectionTrait) -> Result<HashMap<UserId, String>> {
    let rows: Vec<(Uuid, Option<String>)> = user::Entity::find()
        .select_only()
        .columns([user::Column::Id, user::Column::DisplayName])
        .filter(user::Column::DisplayName.is_not_null())
        .into_tuple()
        .all(db)
        .await?;
    Ok(rows.into_iter().filter_map(|(id, name)| Some((UserId(id), name?))).collect())
}

/// Which of `ids` are known users.
pub async fn known_users(db: &impl ConnectionTrait, ids: Vec<Uuid>) -> Result<Vec<UserId>> {
    let rows: Vec<Uuid> = user::Entity::find()
        .select_only()
        .column(user::Column::Id)
        .filter(user::Column::Id.is_in(ids))
        .into_tuple()
        .all(db)
        .await?;
    Ok(rows.into_iter().map(UserId).collect())
}

/// The projects that a user is known in.
pub async fn memberships_of(db: &impl ConnectionTrait, user: UserId) -> Result<Vec<Member>> {
    let rows = membership::Entity::find().filter(membership::Column::UserUuid.eq(user.0)).all(db).await?;
    Ok(rows.into_iter().map(|m| Member { user: UserId(m.user_uuid), project: ProjectId(m.project_id) }).collect())
}

pub async fn add_domains(
    db: &impl ConnectionTrait,
    names: impl IntoIterator<Item = String, IntoIter: Send>,
    now: Timestamp,
) -> Result<()> {
    let rows = names.into_iter().map(|name| domain::ActiveModel { name: Set(name), created_at: Set(now.micros()) });
    let mut keep = OnConflict::column(domain::Column::Name);
    bulk::insert(db, rows, Some(keep.do_nothing().to_owned())).await?;
    Ok(())
}

/// Adds projects, or moves them to another domain; a display name once known is not forgotten.
pub async fn save_projects(db: &impl ConnectionTrait, projects: Vec<Project>, now: Timestamp) -> Result<()> {
    let rows = projects.into_iter().map(|p| project::ActiveModel {
        id: Set(p.id.0),
        domain_name: Set(p.domain_name),
        domain_since: Set(p.domain_since.micros()),
        display_name: Set(p.display_name),
        created_at: Set(now.micros()),
    });
    let mut replace = OnConflict::column(project::Column::Id);
    // Two groups may name one project at the same time; the newest start wins on either side.
    // Names compare by their bytes, as everywhere, whatever the database's locale.
    let bytes = if db.get_database_backend() == DbBackend::Postgres { r#"COLLATE "C""# } else { "COLLATE BINARY" };
    let newest = format!(
        "(excluded.domain_since, excluded.domain_name {bytes}) > (projects.domain_since, projects.domain_name {bytes})"
    );
    let newer =
        |column: &str| Expr::cust(format!("CASE WHEN {newest} THEN excluded.{column} ELSE projects.{column} END"));
    replace
        .value(project::Column::DomainName, newer("domain_name"))
        .value(project::Column::DomainSince, newer("domain_since"));
    replace.value(project::Column::DisplayName, Expr::cust("COALESCE(excluded.display_name, projects.display_name)"));
    bulk::insert(db, rows, Some(replace)).await?;
    Ok(())
}

/// Adds users; a display name once known is not forgotten.
pub async fn save_users(db: &impl ConnectionTrait, users: Vec<(UserId, Option<String>)>, now: Timestamp) -> Result<()> {
    let rows = users.into_iter().map(|(id, name)| user::ActiveModel {
        id: Set(id.0),
        display_name: Set(name),
        created_at: Set(now.micros()),
    });
    let mut replace = OnConflict::column(user::Column::Id);
    replace.value(user::Column::DisplayName, Expr::cust("COALESCE(excluded.display_name, users.display_name)"));
    bulk::insert(db, rows, Some(replace)).await?;
    Ok(())
}

pub async fn add_memberships(
    db: &impl ConnectionTrait,
    members: impl IntoIterator<Item = Member, IntoIter: Send>,
) -> Result<()> {
    let rows =
        members.into_iter().map(|m| membership::ActiveModel { user_uuid: Set(m.user.0), project_id: Set(m.project.0) });
    let mut keep = OnConflict::columns([membership::Column::UserUuid, membership::Column::ProjectId]);
    bulk::insert(db, rows, Some(keep.do_nothing().to_owned())).await?;
    Ok(())
}
