//! Users: they can be created before their first kernel, named, and archived.

use std::sync::Arc;

use serde_json::{Value, json};

use super::User;
use super::change::{KeyUpdate, PeopleWrite, PersonRow, all_good, archive, check_display_name, check_free, check_name};
use super::list::{PeopleFilter, PeopleList};
use crate::domain::identity;
use crate::domain::ids::UserId;
use crate::engine::group::snapshots::rows::RankedRows;
use crate::engine::people::PeopleDirectory;
use crate::engine::work::run_to_completion;
use crate::service::input::page::Page;
use crate::service::{Caller, Fault, Result, Service};
use crate::store::people::PeopleRows;

/// The changes that an admin requests for a user; absent keys stay as they are.
#[derive(Clone, Debug, Default)]
pub struct UserChange {
    pub name: KeyUpdate<String>,
    pub display_name: KeyUpdate<String>,
    pub archived: Option<bool>,
    pub reason: Option<String>,
}

impl UserChange {
    fn check(&self, id: UserId, people: &PeopleDirectory) -> Result<()> {
        let mut faults: Vec<Fault> = Vec::new();
        let known = people.user(id);
        check_name(&self.name, known.and_then(|user| user.name.as_ref()), &id, identity::user, &mut faults);
        check_display_name(&self.display_name, known.and_then(|user| user.display_name.as_ref()), &mut faults);
        all_good(faults)
    }
}

impl Service {
    /// The name of the list of users in page cursors.
    pub const USER_LIST: &'static str = "users";

    /// The users by shown name, then by id. A user's own key sees only that user.
    pub async fn users(&self, caller: &Caller, list: &PeopleList) -> Result<Page<Arc<User>>> {
        let only = caller.only_user();
        if only.is_none() {
            caller.require_all_groups()?;
        }
        // The list is copied first, because writers of people wait while the directory is read.
        let mut users: Vec<Arc<User>> = match only {
            Some(only) => self.people().user(only).cloned().into_iter().collect(),
            None => self.people().users().cloned().collect(),
        };
        let count = users.len();
        let found = || {
            users.retain(|user| passes_filter(&list.filter, user));
            Ok(list.by_name(Self::USER_LIST, users, |user| (user.shown(), user.id)))
        };
        self.permits.scan(caller.client(), count, found).await
    }

    /// The user; `None` if it is unknown.
    pub fn known_user(&self, caller: &Caller, id: UserId) -> Result<Option<Arc<User>>> {
        caller.require_user(id)?;
        if caller.only_user().is_none() {
            caller.require_all_groups()?;
        }
        Ok(self.people().user(id).cloned())
    }

    /// Creates or changes a user. Returns it, and true if it is new.
    #[tracing::instrument(name = "service.people.users.put_user", level = "debug", skip_all, err(level = "debug"))]
    pub async fn put_user(
        self: &Arc<Self>,
        caller: Caller,
        id: UserId,
        change: UserChange,
    ) -> Result<(Arc<User>, bool)> {
        caller.require_admin()?;
        caller.require_all_groups()?;
        change.check(id, &self.people())?;
        let service = Arc::clone(self);
        run_to_completion(async move {
            let write = PeopleWrite::begin(&service, &caller).await?;
            let known = write.read(|people| people.user(id).cloned());
            let mut user = known.as_deref().cloned().unwrap_or_else(|| User::new(id, write.now));
            if let KeyUpdate::To(name) = &change.name {
                let by_rule = identity::user(name);
                write.read(|people| {
                    check_free("user", name, id, people.user_called(name), by_rule, |id| is_unnamed(people, id))
                })?;
            }
            change.name.apply(&mut user.name);
            change.display_name.apply(&mut user.display_name);
            archive(&mut user.archived_at, change.archived, write.now);
            write.put(known, user, PeopleRows::default(), change.reason).await
        })
        .await
    }
}

fn passes_filter(filter: &PeopleFilter, user: &User) -> bool {
    filter.shows(user.archived_at.is_some(), [user.name.as_deref(), user.display_name.as_deref()])
}

fn is_unnamed(people: &PeopleDirectory, id: UserId) -> bool {
    people.user(id).is_some_and(|user| user.name.is_none())
}

impl PersonRow for User {
    const ACTION: &'static str = "user.put";

    fn target(&self) -> String {
        self.id.to_string()
    }

    fn describe(&self) -> Value {
        json!({"name": self.name, "display_name": self.display_name, "archived": self.archived_at.is_some()})
    }

    fn is_shown(&self, rows: &RankedRows) -> bool {
        !rows.memberships(self.id).is_empty()
    }

    fn add_to(self, people: &mut PeopleRows) {
        people.users.push(self);
    }
}
