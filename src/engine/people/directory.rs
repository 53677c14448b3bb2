//! All domains, projects and users of the server in memory. Resolving a name and finding the name of an id needs
//! neither SQL nor a reachable database.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockWriteGuard};

use uuid::Uuid;

use super::named_entities::NamedEntities;
use super::resolution::{AmbiguousName, UnknownUuid};
use crate::domain::ids::{Member, ProjectId, UserId};
use crate::domain::names::{NameError, check_name};
use crate::engine::error::Result;
use crate::engine::work::spawn_use_case;
use crate::store::people::{self, Domain, PeopleLock, PeopleRows, Project, User};
use crate::store::revision::TaggedRevision;
use crate::store::{ConnectionTrait, Store, StreamTrait, Tx};

/// The people of the server as of one revision.
#[derive(Clone, Debug, Default)]
pub struct PeopleDirectory {
    revision: TaggedRevision,
    /// The number of times that everything was read again, because the database had gone back to an earlier state.
    rewinds: u64,
    /// The number of times that a project moved to another domain.
    moves: u64,
    /// The number of times that a shown property of a known entity changed.
    changes: u64,
    domains: BTreeMap<Arc<str>, Arc<Domain>>,
    projects: NamedEntities<Project>,
    users: NamedEntities<User>,
}

impl PeopleDirectory {
    pub fn revision(&self) -> TaggedRevision {
        self.revision
    }

    pub fn rewinds(&self) -> u64 {
        self.rewinds
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

    /// Checks the name of a domain. A known name is accepted, even if a newer rule would refuse it.
    pub fn check_domain_name(&self, name: &str) -> std::result::Result<(), NameError> {
        if self.domains.contains_key(name) { Ok(()) } else { check_name(name) }
    }

    pub fn project(&self, id: ProjectId) -> Option<&Arc<Project>> {
        self.projects.get(id.0)
    }

    pub fn user(&self, id: UserId) -> Option<&Arc<User>> {
        self.users.get(id.0)
    }

    /// All domains by name.
    pub fn domains(&self) -> impl Iterator<Item = &Arc<Domain>> {
        self.domains.values()
    }

    /// All projects, in no order.
    pub fn projects(&self) -> impl ExactSizeIterator<Item = &Arc<Project>> {
        self.projects.rows()
    }

    /// All users, in no order.
    pub fn users(&self) -> impl ExactSizeIterator<Item = &Arc<User>> {
        self.users.rows()
    }

    /// The user that a name stands for: the one that has it, otherwise the UUID that is made from it, whether known or
    /// not.
    pub fn find_user(&self, name: &str) -> std::result::Result<UserId, AmbiguousName> {
        self.users.resolve(name, UnknownUuid::IsName).map(UserId)
    }

    /// The user that a name or a UUID stands for. A stored name takes precedence over reading the text as a UUID.
    pub fn find_user_or_id(&self, text: &str) -> std::result::Result<UserId, AmbiguousName> {
        self.users.resolve(text, UnknownUuid::IsId).map(UserId)
    }

    /// The user for a UUID whose spelling is not known: the one whose stored name it is, otherwise the one with this
    /// id.
    pub fn user_of_uuid(&self, id: Uuid) -> UserId {
        UserId(self.users.id_of_uuid(id))
    }

    /// [`PeopleDirectory::find_user`] for projects.
    pub fn find_project(&self, name: &str) -> std::result::Result<ProjectId, AmbiguousName> {
        self.projects.resolve(name, UnknownUuid::IsName).map(ProjectId)
    }

    /// [`PeopleDirectory::find_user_or_id`] for projects.
    pub fn find_project_or_id(&self, text: &str) -> std::result::Result<ProjectId, AmbiguousName> {
        self.projects.resolve(text, UnknownUuid::IsId).map(ProjectId)
    }

    /// [`PeopleDirectory::user_of_uuid`] for projects.
    pub fn project_of_uuid(&self, id: Uuid) -> ProjectId {
        ProjectId(self.projects.id_of_uuid(id))
    }

    /// [`PeopleDirectory::user_of_uuid`] and [`PeopleDirectory::project_of_uuid`] together.
    pub fn member_of_uuids(&self, user: Uuid, project: Uuid) -> Member {
        Member { user: self.user_of_uuid(user), project: self.project_of_uuid(project) }
    }

    /// The user with the stored name.
    pub fn user_called(&self, name: &str) -> Option<UserId> {
        self.users.id_of_name(name).map(UserId)
    }

    pub fn project_called(&self, name: &str) -> Option<ProjectId> {
        self.projects.id_of_name(name).map(ProjectId)
    }

    /// The stored names of users with their ids, in no order.
    pub(super) fn user_names(&self) -> impl Iterator<Item = (&Arc<str>, Uuid)> {
        self.users.names()
    }

    /// [`PeopleDirectory::user_names`] for projects.
    pub(super) fn project_names(&self) -> impl Iterator<Item = (&Arc<str>, Uuid)> {
        self.projects.names()
    }

    pub fn user_name(&self, id: UserId) -> Option<Arc<str>> {
        self.users.shown_name(id.0)
    }

    pub fn project_name(&self, id: ProjectId) -> Option<Arc<str>> {
        self.projects.shown_name(id.0)
    }

    /// The names that are shown beside the ids of a member.
    pub fn names(&self, member: Member) -> (Option<Arc<str>>, Option<Arc<str>>) {
        (self.user_name(member.user), self.project_name(member.project))
    }

    pub fn hides_domain(&self, name: &str) -> bool {
        self.domains.get(name).is_some_and(|domain| domain.archived_at.is_some())
    }

    pub fn hides_project(&self, id: ProjectId) -> bool {
        let Some(project) = self.projects.get(id.0) else { return false };
        project.archived_at.is_some() || self.hides_domain(&project.domain_name)
    }

    pub fn hides_user(&self, id: UserId) -> bool {
        self.users.get(id.0).is_some_and(|user| user.archived_at.is_some())
    }

    /// A directory of the visible entities only.
    pub(crate) fn only(
        &self,
        has_domain: impl Fn(&str) -> bool,
        has_project: impl Fn(ProjectId) -> bool,
        has_user: impl Fn(UserId) -> bool,
    ) -> Self {
        let mut seen = Self { revision: self.revision, moves: self.moves, ..Self::default() };
        let rows = PeopleRows {
            domains: self.domains().filter(|row| has_domain(&row.name)).map(|row| Domain::clone(row)).collect(),
            projects: self.projects().filter(|row| has_project(row.id)).map(|row| Project::clone(row)).collect(),
            users: self.users().filter(|row| has_user(row.id)).map(|row| User::clone(row)).collect(),
        };
        seen.apply(rows, self.revision);
        // Snapshots compare the number of changes of people.
        seen.changes = self.changes;
        seen
    }

    /// Adds committed rows. A known row that is newer stays.
    fn apply(&mut self, rows: PeopleRows, until: TaggedRevision) {
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
            let known = self.projects.get(project.id.0);
            if known.is_some_and(|known| known.revision > project.revision) {
                continue;
            }
            self.moves += u64::from(known.is_some_and(|known| known.domain_name != project.domain_name));
            let of_shown = |row: &Project| (row.domain_name.clone(), row.shown().cloned(), row.archived_at.is_some());
            self.changes += u64::from(known.is_some_and(|known| of_shown(known) != of_shown(&project)));
            self.projects.insert(project);
        }
        for user in rows.users {
            let known = self.users.get(user.id.0);
            if known.is_some_and(|known| known.revision > user.revision) {
                continue;
            }
            let of_shown = |row: &User| (row.shown().cloned(), row.archived_at.is_some());
            self.changes += u64::from(known.is_some_and(|known| of_shown(known) != of_shown(&user)));
            self.users.insert(user);
        }
        if until.number() > self.revision.number() {
            self.revision = until;
        }
    }

    /// Replaces all known rows by `rows`.
    fn replace(&mut self, rows: PeopleRows, until: TaggedRevision) {
        let Self { rewinds, moves, changes, .. } = *self;
        *self = Self::default();
        self.apply(rows, until);
        self.revision = until;
        // Any project may be in another domain now, and any name may have changed.
        (self.rewinds, self.moves, self.changes) = (rewinds, moves + 1, changes + 1);
    }
}

/// A revision before all rows; rows from before revisions existed have 0.
const BEFORE_ALL: i64 = -1;

/// Users without domains and projects.
pub struct UsersRead(PeopleDirectory);

/// The directory of this process. Reading it does not wait for the database.
///
/// The lock is held for as long as an `Arc` is copied or a few rows are changed, and never while a reader looks through all people: a
/// report that waits to change them would hold up every other reader, sequences and probes too.
#[derive(Debug, Default)]
pub struct CurrentDirectory(RwLock<Arc<PeopleDirectory>>);

impl CurrentDirectory {
    /// The people of a starting server, without its users. Users are many, and the state of a group does not need them,
    /// so they are read at the same time on another connection. Users that change after `db` was read have their later
    /// state.
    pub async fn load(store: &Store, db: &Tx) -> Result<(Self, impl Future<Output = Result<UsersRead>> + use<>)> {
        let people = Self::default();
        let until = people::revision(db).await?;
        let read = store.read().clone();
        let users = spawn_use_case(async move {
            let mut directory = PeopleDirectory::default();
            let users = people::users_since(&read, BEFORE_ALL).await?;
            directory.apply(PeopleRows { users, ..PeopleRows::default() }, until);
            Ok(UsersRead(directory))
        });
        let rows = people::all_but_users_since(db, BEFORE_ALL).await?;
        Arc::make_mut(&mut people.write()).replace(rows, until);
        Ok((people, users))
    }

    /// Takes over the users that were read.
    pub fn take_users(&self, UsersRead(read): UsersRead) {
        Arc::make_mut(&mut self.write()).users = read.users;
    }

    /// The present directory. Later changes make another one, if this one is still in use then.
    pub fn read(&self) -> Arc<PeopleDirectory> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn write(&self) -> RwLockWriteGuard<'_, Arc<PeopleDirectory>> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the changes of other processes. `db` must have no uncommitted changes of its own.
    pub async fn sync(&self, db: &(impl ConnectionTrait + StreamTrait)) -> Result<()> {
        // The known revision is read first, because another task may update it at any time.
        let known = self.read().revision;
        let stored = people::revision(db).await?;
        // If another task was faster, it has read a state that is at least as new.
        self.catch_up(db, known, stored).await?;
        Ok(())
    }

    /// Keeps other writers from changing people until the transaction ends, and reads their earlier changes.
    pub async fn lock(&self, db: &(impl ConnectionTrait + StreamTrait)) -> Result<PeopleLock> {
        let lock = people::lock(db).await?;
        loop {
            let known = self.read().revision;
            if self.catch_up(db, known, lock.before).await? {
                return Ok(lock);
            }
        }
    }

    /// Reads the rows that changed between the revisions `known` and `stored`. If the database did not get from one to
    /// the other by writes alone, everything is read again, because known rows may be gone. Returns false if another
    /// task has updated the directory meanwhile, so that the rows were discarded.
    async fn catch_up(
        &self,
        db: &(impl ConnectionTrait + StreamTrait),
        known: TaggedRevision,
        stored: TaggedRevision,
    ) -> Result<bool> {
        if stored == known {
            return Ok(true);
        }
        let has_passed = if stored.contradicts(known) { Some(false) } else { people::has_passed(db, known).await? };
        if has_passed == Some(true) {
            let rows = people::changed_since(db, known.number()).await?;
            Arc::make_mut(&mut self.write()).apply(rows, stored);
            return Ok(true);
        }
        let rows = people::changed_since(db, BEFORE_ALL).await?;
        let mut current = self.write();
        if current.revision != known {
            return Ok(false);
        }
        let directory = Arc::make_mut(&mut current);
        directory.replace(rows, stored);
        directory.rewinds += u64::from(has_passed == Some(false));
        Ok(true)
    }

    /// Reads all people again.
    pub async fn read_again(&self, db: &(impl ConnectionTrait + StreamTrait)) -> Result<()> {
        loop {
            let known = self.read().revision;
            let stored = people::revision(db).await?;
            let rows = people::changed_since(db, BEFORE_ALL).await?;
            let mut current = self.write();
            if current.revision == known {
                Arc::make_mut(&mut current).replace(rows, stored);
                return Ok(());
            }
        }
    }

    /// Adds rows that a transaction has stored under `lock`, after its commit.
    pub fn committed(&self, mut rows: PeopleRows, lock: PeopleLock) {
        let number = lock.revision.number();
        rows.domains.iter_mut().for_each(|row| row.revision = number);
        rows.projects.iter_mut().for_each(|row| row.revision = number);
        rows.users.iter_mut().for_each(|row| row.revision = number);
        let mut current = self.write();
        let directory = Arc::make_mut(&mut current);
        // A revision between the two may not be known yet. The next sync then reads both.
        let until = if directory.revision == lock.before { lock.revision } else { directory.revision };
        directory.apply(rows, until);
    }

    /// Notes newer starts of kernels that named the present domain of their project.
    pub fn starts_noted(&self, projects: Vec<Project>) {
        let mut current = self.write();
        let directory = Arc::make_mut(&mut current);
        for noted in projects {
            if let Some(known) = directory.projects.get_mut(noted.id.0)
                && known.domain_name == noted.domain_name
                && known.domain_since < noted.domain_since
            {
                Arc::make_mut(known).domain_since = noted.domain_since;
            }
        }
    }
}
