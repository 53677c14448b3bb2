//! Every domain, project and user of the server, in memory: what a name means and what is shown beside an id costs no
//! SQL, and does not need the database to be there.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use uuid::Uuid;

use crate::domain::identity;
use crate::domain::ids::{Member, ProjectId, UserId};
use crate::domain::maps::FastMap;
use crate::service::work::begun;
use crate::service::{Fault, Result};
use crate::store::people::{self, Domain, People as Rows, Project, User};
use crate::store::{ConnectionTrait, Store, StreamTrait, Tx};

/// The people of the server as of one revision.
#[derive(Debug, Default)]
pub struct Directory {
    revision: i64,
    /// How often a project was put into another domain.
    moves: u64,
    /// How often something changed that is shown of someone who was known.
    changes: u64,
    domains: BTreeMap<Arc<str>, Arc<Domain>>,
    projects: FastMap<ProjectId, Arc<Project>>,
    users: FastMap<UserId, Arc<User>>,
    project_names: FastMap<Arc<str>, Named>,
    user_names: FastMap<Arc<str>, Named>,
}

/// Who has a name that is stored.
#[derive(Clone, Copy, Debug)]
struct Named {
    id: Uuid,
    /// The rule of names gives the same id.
    by_rule: bool,
}

/// A name that means two entities: one has it, and the other has its UUID.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ambiguous;

impl Ambiguous {
    /// The fault of a request that names so at `pointer`.
    pub fn fault(self, pointer: impl Into<String>, name: &str) -> Fault {
        let detail = format!("{name:?} is the name of one and by the rule of names the UUID of another; give the UUID");
        Fault::new(pointer, "ambiguous_name", detail)
    }
}

impl Directory {
    pub fn revision(&self) -> i64 {
        self.revision
    }

    pub fn moves(&self) -> u64 {
        self.moves
    }

    pub fn changes(&self) -> u64 {
        self.changes
    }

    pub fn domain(&self, name: &str) -> Option<&Arc<Domain>> {
        self.domains.get(name)
    }

    pub fn project(&self, id: ProjectId) -> Option<&Arc<Project>> {
        self.projects.get(&id)
    }

    pub fn user(&self, id: UserId) -> Option<&Arc<User>> {
        self.users.get(&id)
    }

    /// By name.
    pub fn domains(&self) -> impl Iterator<Item = &Arc<Domain>> {
        self.domains.values()
    }

    /// In no order.
    pub fn projects(&self) -> impl Iterator<Item = &Arc<Project>> {
        self.projects.values()
    }

    /// In no order.
    pub fn users(&self) -> impl Iterator<Item = &Arc<User>> {
        self.users.values()
    }

    /// Whom a name means: the user that has it, else the UUID that follows from it, known or not.
    pub fn find_user(&self, name: &str) -> std::result::Result<UserId, Ambiguous> {
        let unnamed = |id| self.users.get(&UserId(id)).is_some_and(|user| user.name.is_none());
        resolve(self.user_names.get(name), || identity::user(name).0, unnamed).map(UserId)
    }

    /// [`Directory::find_user`] for projects.
    pub fn find_project(&self, name: &str) -> std::result::Result<ProjectId, Ambiguous> {
        let unnamed = |id| self.projects.get(&ProjectId(id)).is_some_and(|project| project.name.is_none());
        resolve(self.project_names.get(name), || identity::project(name).0, unnamed).map(ProjectId)
    }

    /// Who has the stored name.
    pub fn user_called(&self, name: &str) -> Option<UserId> {
        self.user_names.get(name).map(|named| UserId(named.id))
    }

    pub fn project_called(&self, name: &str) -> Option<ProjectId> {
        self.project_names.get(name).map(|named| ProjectId(named.id))
    }

    pub fn user_name(&self, id: UserId) -> Option<Arc<str>> {
        self.users.get(&id)?.shown().cloned()
    }

    pub fn project_name(&self, id: ProjectId) -> Option<Arc<str>> {
        self.projects.get(&id)?.shown().cloned()
    }

    /// The names shown beside the ids of a member.
    pub fn names(&self, member: Member) -> (Option<Arc<str>>, Option<Arc<str>>) {
        (self.user_name(member.user), self.project_name(member.project))
    }

    pub fn hides_domain(&self, name: &str) -> bool {
        self.domains.get(name).is_some_and(|domain| domain.archived_at.is_some())
    }

    pub fn hides_project(&self, id: ProjectId) -> bool {
        let Some(project) = self.projects.get(&id) else { return false };
        project.archived_at.is_some() || self.hides_domain(&project.domain_name)
    }

    pub fn hides_user(&self, id: UserId) -> bool {
        self.users.get(&id).is_some_and(|user| user.archived_at.is_some())
    }

    /// Takes rows that are committed; one that is known as newer stays.
    fn apply(&mut self, rows: Rows, until: i64) {
        for domain in rows.domains {
            let known = self.domains.get(&domain.name);
            if known.is_some_and(|known| known.revision > domain.revision) {
                continue;
            }
            self.changes +=
                u64::from(known.is_some_and(|known| known.archived_at.is_some() != domain.archived_at.is_some()));
            self.domains.insert(Arc::clone(&domain.name), Arc::new(domain));
        }
        for project in rows.projects {
            let known = self.projects.get(&project.id);
            if known.is_some_and(|known| known.revision > project.revision) {
                continue;
            }
            self.moves += u64::from(known.is_some_and(|known| known.domain_name != project.domain_name));
            let of_shown = |row: &Project| (row.domain_name.clone(), row.shown().cloned(), row.archived_at.is_some());
            self.changes += u64::from(known.is_some_and(|known| of_shown(known) != of_shown(&project)));
            rename(
                &mut self.project_names,
                project.id.0,
                known.and_then(|known| known.name.as_ref()),
                project.name.as_ref(),
                |name| identity::project(name).0,
            );
            self.projects.insert(project.id, Arc::new(project));
        }
        for user in rows.users {
            let known = self.users.get(&user.id);
            if known.is_some_and(|known| known.revision > user.revision) {
                continue;
            }
            let of_shown = |row: &User| (row.shown().cloned(), row.archived_at.is_some());
            self.changes += u64::from(known.is_some_and(|known| of_shown(known) != of_shown(&user)));
            let before = known.and_then(|known| known.name.as_ref());
            rename(&mut self.user_names, user.id.0, before, user.name.as_ref(), |name| identity::user(name).0);
            self.users.insert(user.id, Arc::new(user));
        }
        self.revision = self.revision.max(until);
    }
}

fn resolve(
    named: Option<&Named>,
    by_rule: impl FnOnce() -> Uuid,
    unnamed: impl FnOnce(Uuid) -> bool,
) -> std::result::Result<Uuid, Ambiguous> {
    match named {
        Some(named) if named.by_rule => Ok(named.id),
        Some(named) => {
            if unnamed(by_rule()) {
                Err(Ambiguous)
            } else {
                Ok(named.id)
            }
        }
        None => Ok(by_rule()),
    }
}

fn rename(
    names: &mut FastMap<Arc<str>, Named>,
    id: Uuid,
    before: Option<&Arc<str>>,
    after: Option<&Arc<str>>,
    by_rule: impl Fn(&str) -> Uuid,
) {
    if before == after {
        return;
    }
    // Another one may have the name already.
    if let Some(before) = before.filter(|name| names.get(*name).is_some_and(|named| named.id == id)) {
        names.remove(before);
    }
    if let Some(after) = after {
        names.insert(Arc::clone(after), Named { id, by_rule: by_rule(after) == id });
    }
}

/// Rows from before revisions have 0.
const BEFORE_ALL: i64 = -1;

/// Users without domains and projects.
pub struct UsersRead(Directory);

/// The directory of this process. Reading waits for no database.
#[derive(Debug, Default)]
pub struct People(RwLock<Directory>);

impl People {
    /// The people of a server that starts, without its users. These are many, the state of a group does not need them, and they are
    /// read meanwhile on another connection: users who change later than `db` reads are taken as they are then.
    pub async fn load(store: &Store, db: &Tx) -> Result<(Self, impl Future<Output = Result<UsersRead>> + use<>)> {
        let people = Self::default();
        let until = people::revision(db).await?;
        let read = store.read().clone();
        let users = begun(async move {
            let mut directory = Directory::default();
            let users = people::users_since(&read, BEFORE_ALL).await?;
            directory.apply(Rows { users, ..Rows::default() }, until);
            Ok(UsersRead(directory))
        });
        let rows = people::all_but_users_since(db, BEFORE_ALL).await?;
        people.write().apply(rows, until);
        Ok((people, users))
    }

    /// Takes the users that were read.
    pub fn take_users(&self, UsersRead(read): UsersRead) {
        let mut directory = self.write();
        (directory.users, directory.user_names) = (read.users, read.user_names);
    }

    /// Never to be held over an await.
    pub fn read(&self) -> RwLockReadGuard<'_, Directory> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Directory> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes what other processes have changed. `db` must have no changes of its own that are not committed.
    pub async fn sync(&self, db: &(impl ConnectionTrait + StreamTrait)) -> Result<()> {
        let known = self.read().revision;
        let until = people::revision(db).await?;
        if until > known {
            let rows = people::changed_since(db, known).await?;
            self.write().apply(rows, until);
        }
        Ok(())
    }

    /// Keeps other writers from changing people until the transaction ends, and takes what they have changed before.
    /// Returns the revision that the changes of this transaction get.
    pub async fn lock(&self, db: &(impl ConnectionTrait + StreamTrait)) -> Result<i64> {
        let next = people::next_revision(db).await?;
        let known = self.read().revision;
        if next > known + 1 {
            let rows = people::changed_since(db, known).await?;
            self.write().apply(rows, next - 1);
        }
        Ok(next)
    }

    /// Takes rows that a transaction has stored as of `revision`, after its commit.
    pub fn committed(&self, mut rows: Rows, revision: i64) {
        rows.domains.iter_mut().for_each(|row| row.revision = revision);
        rows.projects.iter_mut().for_each(|row| row.revision = revision);
        rows.users.iter_mut().for_each(|row| row.revision = revision);
        let mut directory = self.write();
        // One between may be on its way: then the next sync reads both.
        let until = if directory.revision + 1 == revision { revision } else { directory.revision };
        directory.apply(rows, until);
    }

    /// Takes newer starts of kernels that named the domain in which their project is.
    pub fn starts_noted(&self, projects: Vec<Project>) {
        let mut directory = self.write();
        for noted in projects {
            if let Some(known) = directory.projects.get_mut(&noted.id)
                && known.domain_name == noted.domain_name
                && known.domain_since < noted.domain_since
            {
                Arc::make_mut(known).domain_since = noted.domain_since;
            }
        }
    }
}
