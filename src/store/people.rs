//! Domains, projects, users and memberships. They are registered when a report or a request names them, or by an admin.
//!
//! A writer that changes a row of the first three takes the next revision first, and holds its lock until the end of the
//! transaction. Therefore revisions are committed in their order, and names stay unique even if two processes assign them at
//! once.

use std::sync::Arc;

use futures::TryStreamExt;
use sea_orm::ActiveValue::Set;
use sea_orm::sea_query::{Expr, OnConflict};
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter, QuerySelect, StreamTrait};

use super::entity::{domain, membership, people_revision, people_revision_tag, project, user};
use super::nullable::NullableColumn;
use super::revision::TaggedRevision;
use super::{Result, bulk};
use crate::domain::ids::{Member, ProjectId, UserId};
use crate::domain::time::Timestamp;

/// A domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Domain {
    pub name: Arc<str>,
    pub display_name: Option<Arc<str>>,
    pub created_at: Timestamp,
    /// The time at which it was archived; `None`: it is not archived.
    pub archived_at: Option<Timestamp>,
    /// The revision of the last change.
    pub revision: i64,
}

/// A project with its current domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    pub id: ProjectId,
    pub domain_name: Arc<str>,
    /// The newest start of a kernel that named the domain.
    pub domain_since: Timestamp,
    /// True if reports do not move the project.
    pub domain_pinned: bool,
    /// Unique among projects.
    pub name: Option<Arc<str>>,
    pub display_name: Option<Arc<str>>,
    pub created_at: Timestamp,
    pub archived_at: Option<Timestamp>,
    pub revision: i64,
}

/// A user, who may be in any number of projects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    pub id: UserId,
    /// Unique among users.
    pub name: Option<Arc<str>>,
    pub display_name: Option<Arc<str>>,
    pub created_at: Timestamp,
    pub archived_at: Option<Timestamp>,
    pub revision: i64,
}

impl Domain {
    pub fn new(name: Arc<str>, now: Timestamp) -> Self {
        Self { name, display_name: None, created_at: now, archived_at: None, revision: 0 }
    }
}

impl Project {
    pub fn new(id: ProjectId, domain_name: Arc<str>, domain_since: Timestamp, now: Timestamp) -> Self {
        Self {
            id,
            domain_name,
            domain_since,
            domain_pinned: false,
            name: None,
            display_name: None,
            created_at: now,
            archived_at: None,
            revision: 0,
        }
    }

    /// The name that is shown with the id.
    pub fn shown(&self) -> Option<&Arc<str>> {
        self.name.as_ref().or(self.display_name.as_ref())
    }

    /// The name that is shown, or the id of who has none.
    pub fn shown_or_id(&self) -> String {
        self.shown().map_or_else(|| self.id.to_string(), ToString::to_string)
    }
}

impl User {
    pub fn new(id: UserId, now: Timestamp) -> Self {
        Self { id, name: None, display_name: None, created_at: now, archived_at: None, revision: 0 }
    }

    /// The name that is shown with the id.
    pub fn shown(&self) -> Option<&Arc<str>> {
        self.name.as_ref().or(self.display_name.as_ref())
    }

    /// The name that is shown, or the id of who has none.
    pub fn shown_or_id(&self) -> String {
        self.shown().map_or_else(|| self.id.to_string(), ToString::to_string)
    }
}

impl From<domain::Model> for Domain {
    fn from(row: domain::Model) -> Self {
        Self {
            name: row.name.into(),
            display_name: row.display_name.map(Arc::from),
            created_at: Timestamp::from_micros(row.created_at),
            archived_at: row.archived_at.map(Timestamp::from_micros),
            revision: row.revision,
        }
    }
}

impl From<project::Model> for Project {
    fn from(row: project::Model) -> Self {
        Self {
            id: ProjectId(row.id),
            domain_name: row.domain_name.into(),
            domain_since: Timestamp::from_micros(row.domain_since),
            domain_pinned: row.domain_pinned,
            name: row.name.map(Arc::from),
            display_name: row.display_name.map(Arc::from),
            created_at: Timestamp::from_micros(row.created_at),
            archived_at: row.archived_at.map(Timestamp::from_micros),
            revision: row.revision,
        }
    }
}

impl From<user::Model> for User {
    fn from(row: user::Model) -> Self {
        Self {
            id: UserId(row.id),
            name: row.name.map(Arc::from),
            display_name: row.display_name.map(Arc::from),
            created_at: Timestamp::from_micros(row.created_at),
            archived_at: row.archived_at.map(Timestamp::from_micros),
            revision: row.revision,
        }
    }
}

/// Rows of domains, projects and users.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PeopleRows {
    pub domains: Vec<Domain>,
    pub projects: Vec<Project>,
    pub users: Vec<User>,
}

impl PeopleRows {
    pub fn is_empty(&self) -> bool {
        self.domains.is_empty() && self.projects.is_empty() && self.users.is_empty()
    }
}

/// The number of revisions whose tags stay. A server that is further behind reads all people again.
const KEPT_TAGS: i64 = 1_000;

/// The newest revision of any row.
#[tracing::instrument(name = "db.people.revision", level = "debug", skip_all, err(level = "debug"))]
pub async fn revision(db: &impl ConnectionTrait) -> Result<TaggedRevision> {
    Ok(revision_of(people_revision::Entity::find_by_id(1).one(db).await?))
}

fn revision_of(row: Option<people_revision::Model>) -> TaggedRevision {
    row.map_or_else(TaggedRevision::default, |row| TaggedRevision::stored(row.revision, row.tag))
}

/// The right to change people until the transaction ends.
#[derive(Clone, Copy, Debug)]
pub struct PeopleLock {
    /// The revision before the changes.
    pub before: TaggedRevision,
    /// The revision that the changes get.
    pub revision: TaggedRevision,
}

/// Takes the next revision: no other process changes a domain, a project or a user until the transaction ends.
#[tracing::instrument(name = "db.people.lock", level = "debug", skip_all, err(level = "debug"))]
pub async fn lock(db: &impl ConnectionTrait) -> Result<PeopleLock> {
    let before = revision_of(people_revision::Entity::find_by_id(1).lock_exclusive().one(db).await?);
    let revision = before.next();
    let next = people_revision::Entity::update_many()
        .col_expr(people_revision::Column::Revision, Expr::value(revision.number()))
        .col_expr(people_revision::Column::Tag, Expr::value(revision.tag()));
    next.exec(db).await?;
    let tag = people_revision_tag::ActiveModel { revision: Set(revision.number()), tag: Set(revision.tag()) };
    // Replaced, because an earlier version that runs at the same time does not write this table.
    let mut replace = OnConflict::column(people_revision_tag::Column::Revision);
    replace.update_column(people_revision_tag::Column::Tag);
    people_revision_tag::Entity::insert(tag).on_conflict(replace).exec_without_returning(db).await?;
    if revision.number() % KEPT_TAGS == 0 {
        let old = people_revision_tag::Column::Revision.lt(revision.number() - KEPT_TAGS);
        people_revision_tag::Entity::delete_many().filter(old).exec(db).await?;
    }
    Ok(PeopleLock { before, revision })
}

/// Returns true if the database has had the revision `seen` on its way to the newest one; `None`: that is not known any
/// more.
#[tracing::instrument(name = "db.people.has_passed", level = "debug", skip_all, err(level = "debug"))]
pub async fn has_passed(db: &impl ConnectionTrait, seen: TaggedRevision) -> Result<Option<bool>> {
    let stored = people_revision_tag::Entity::find_by_id(seen.number()).one(db).await?;
    Ok(stored.map(|row| row.tag == seen.tag()))
}

/// Every row that was changed after `revision`.
#[tracing::instrument(name = "db.people.changed_since", level = "debug", skip_all, err(level = "debug"))]
pub async fn changed_since(db: &(impl ConnectionTrait + StreamTrait), revision: i64) -> Result<PeopleRows> {
    let users = users_since(db, revision).await?;
    Ok(PeopleRows { users, ..all_but_users_since(db, revision).await? })
}

/// The domains and projects of [`changed_since`].
#[tracing::instrument(name = "db.people.all_but_users_since", level = "debug", skip_all, err(level = "debug"))]
pub async fn all_but_users_since(db: &(impl ConnectionTrait + StreamTrait), revision: i64) -> Result<PeopleRows> {
    // Each row is converted while the next ones are read.
    macro_rules! rows {
        ($table:ident) => {{
            let rows = $table::Entity::find().filter($table::Column::Revision.gt(revision)).stream(db).await?;
            rows.map_ok(From::from).try_collect().await?
        }};
    }
    Ok(PeopleRows { domains: rows!(domain), projects: rows!(project), users: Vec::new() })
}

/// The users of [`changed_since`]. They are read without column names, because they are the most by far, and finding the
/// values of a row by name takes longer than reading it.
#[tracing::instrument(name = "db.people.users_since", level = "debug", skip_all, err(level = "debug"))]
pub async fn users_since(db: &(impl ConnectionTrait + StreamTrait), revision: i64) -> Result<Vec<User>> {
    use user::Column::{ArchivedAt, CreatedAt, DisplayName, Id, Name, Revision};
    let rows = user::Entity::find()
        .select_only()
        .columns([Id, Name, DisplayName, CreatedAt, ArchivedAt, Revision])
        .filter(Revision.gt(revision))
        .into_tuple()
        .stream(db)
        .await?;
    let user = |(
        id,
        NullableColumn(name),
        NullableColumn(display_name),
        created_at,
        NullableColumn(archived_at),
        revision,
    )| { User::from(user::Model { id, name, display_name, created_at, archived_at, revision }) };
    Ok(rows.map_ok(user).try_collect().await?)
}

/// Stores rows as given, with the revision of the lock.
#[tracing::instrument(name = "db.people.save", level = "debug", skip_all, err(level = "debug"))]
pub async fn save(db: &impl ConnectionTrait, people: &PeopleRows, lock: PeopleLock) -> Result<()> {
    if people.is_empty() {
        return Ok(());
    }
    let revision = lock.revision.number();
    save_domains(db, &people.domains, revision).await?;
    save_projects(db, &people.projects, revision).await?;
    save_users(db, &people.users, revision).await
}

fn text(name: Option<&Arc<str>>) -> Option<String> {
    name.map(ToString::to_string)
}

async fn save_domains(db: &impl ConnectionTrait, domains: &[Domain], revision: i64) -> Result<()> {
    use domain::Column::{ArchivedAt, DisplayName, Name, Revision};
    let rows = domains.iter().map(|d| domain::ActiveModel {
        name: Set(d.name.to_string()),
        display_name: Set(text(d.display_name.as_ref())),
        created_at: Set(d.created_at.micros()),
        archived_at: Set(d.archived_at.map(Timestamp::micros)),
        revision: Set(revision),
    });
    let replace = OnConflict::column(Name).update_columns([DisplayName, ArchivedAt, Revision]).to_owned();
    bulk::insert(db, rows, Some(replace)).await?;
    Ok(())
}

async fn save_projects(db: &impl ConnectionTrait, projects: &[Project], revision: i64) -> Result<()> {
    use project::Column::{ArchivedAt, DisplayName, DomainName, DomainPinned, DomainSince, Id, Name, Revision};
    let rows = projects.iter().map(|p| project::ActiveModel {
        id: Set(p.id.0),
        domain_name: Set(p.domain_name.to_string()),
        domain_since: Set(p.domain_since.micros()),
        domain_pinned: Set(p.domain_pinned),
        name: Set(text(p.name.as_ref())),
        display_name: Set(text(p.display_name.as_ref())),
        created_at: Set(p.created_at.micros()),
        archived_at: Set(p.archived_at.map(Timestamp::micros)),
        revision: Set(revision),
    });
    let columns = [DomainName, DomainSince, DomainPinned, Name, DisplayName, ArchivedAt, Revision];
    let replace = OnConflict::column(Id).update_columns(columns).to_owned();
    bulk::insert(db, rows, Some(replace)).await?;
    Ok(())
}

async fn save_users(db: &impl ConnectionTrait, users: &[User], revision: i64) -> Result<()> {
    use user::Column::{ArchivedAt, DisplayName, Id, Name, Revision};
    let rows = users.iter().map(|u| user::ActiveModel {
        id: Set(u.id.0),
        name: Set(text(u.name.as_ref())),
        display_name: Set(text(u.display_name.as_ref())),
        created_at: Set(u.created_at.micros()),
        archived_at: Set(u.archived_at.map(Timestamp::micros)),
        revision: Set(revision),
    });
    let replace = OnConflict::column(Id).update_columns([Name, DisplayName, ArchivedAt, Revision]).to_owned();
    bulk::insert(db, rows, Some(replace)).await?;
    Ok(())
}

/// Notes newer starts of kernels that named the current domain of their project. Readers never see these times, so the
/// change needs no revision.
#[tracing::instrument(name = "db.people.note_starts", level = "debug", skip_all, err(level = "debug"))]
pub async fn note_starts(db: &impl ConnectionTrait, projects: &[Project]) -> Result<()> {
    let rows = projects.iter().map(|p| project::ActiveModel {
        id: Set(p.id.0),
        domain_name: Set(p.domain_name.to_string()),
        domain_since: Set(p.domain_since.micros()),
        domain_pinned: Set(p.domain_pinned),
        name: Set(None),
        display_name: Set(None),
        created_at: Set(p.created_at.micros()),
        archived_at: Set(None),
        revision: Set(p.revision),
    });
    let newer = "CASE WHEN excluded.domain_name = projects.domain_name AND excluded.domain_since > projects.domain_since \
                 THEN excluded.domain_since ELSE projects.domain_since END";
    let mut note = OnConflict::column(project::Column::Id);
    note.value(project::Column::DomainSince, Expr::cust(newer));
    bulk::insert(db, rows, Some(note)).await?;
    Ok(())
}

/// The projects of a user.
#[tracing::instrument(name = "db.people.memberships_of", level = "debug", skip_all, err(level = "debug"))]
pub async fn memberships_of(db: &impl ConnectionTrait, user: UserId) -> Result<Vec<Member>> {
    let rows = membership::Entity::find().filter(membership::Column::UserUuid.eq(user.0)).all(db).await?;
    Ok(rows.into_iter().map(|m| Member { user: UserId(m.user_uuid), project: ProjectId(m.project_id) }).collect())
}

#[tracing::instrument(name = "db.people.add_memberships", level = "debug", skip_all, err(level = "debug"))]
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
