//! Users: created ahead of their first kernel, named, archived.

use std::sync::Arc;

use serde_json::{Value, json};

use super::change::{Entry, Set, Write, all_good, archive, check_display_name, check_name, taken};
use super::list::{PeopleFilter, PeopleList};
use super::{Directory, User};
use crate::domain::identity;
use crate::domain::ids::UserId;
use crate::service::input::page::{Key, Page};
use crate::service::work::detached;
use crate::service::{Caller, Fault, Result, Service};
use crate::store::people::People;

/// What an admin wants of a user; keys that are left out stay as they are.
#[derive(Clone, Debug, Default)]
pub struct UserChange {
    pub name: Set<String>,
    pub display_name: Set<String>,
    pub archived: Option<bool>,
    pub reason: Option<String>,
}

impl UserChange {
    fn check(&self) -> Result<()> {
        let mut faults: Vec<Fault> = Vec::new();
        check_name(&self.name, &mut faults);
        check_display_name(&self.display_name, &mut faults);
        all_good(faults)
    }
}

impl Service {
    /// The name in cursors of the users.
    pub const USER_LIST: &'static str = "users";

    /// By what is shown of them, then by id. A user's own key sees that user.
    pub fn users(&self, caller: &Caller, list: &PeopleList) -> Result<Page<Arc<User>>> {
        let only = caller.only_user();
        if only.is_none() {
            caller.require_all_groups()?;
        }
        let people = self.people();
        let rows = people.users().filter(|user| only.is_none_or(|only| only == user.id) && shows(&list.filter, user));
        Ok(list.page(Self::USER_LIST, rows.cloned().collect(), |user| {
            let name = user.shown().map_or_else(|| user.id.to_string(), ToString::to_string);
            vec![Key::Text(name), Key::Text(user.id.to_string())]
        }))
    }

    /// `None`: nobody knows the user.
    pub fn known_user(&self, caller: &Caller, id: UserId) -> Result<Option<Arc<User>>> {
        caller.require_user(id)?;
        if caller.only_user().is_none() {
            caller.require_all_groups()?;
        }
        Ok(self.people().user(id).cloned())
    }

    /// Creates or changes a user. Returns it and whether it is new.
    pub async fn put_user(
        self: &Arc<Self>,
        caller: Caller,
        id: UserId,
        change: UserChange,
    ) -> Result<(Arc<User>, bool)> {
        caller.require_admin()?;
        caller.require_all_groups()?;
        change.check()?;
        let service = Arc::clone(self);
        detached(async move {
            let write = Write::begin(&service, &caller).await?;
            let known = write.read(|people| people.user(id).cloned());
            let mut user = known.as_deref().cloned().unwrap_or_else(|| User::new(id, write.now));
            if let Set::To(name) = &change.name {
                write.read(|people| check_free(people, id, name))?;
            }
            change.name.apply(&mut user.name);
            change.display_name.apply(&mut user.display_name);
            archive(&mut user.archived_at, change.archived, write.now);
            if let Some(known) = known.as_ref().filter(|known| ***known == user) {
                return Ok((Arc::clone(known), false));
            }
            let entry = Entry {
                action: "user.put",
                target: id.to_string(),
                before: known.as_deref().map(describe),
                after: describe(&user),
                reason: change.reason,
            };
            let rows = People { users: vec![user.clone()], ..People::default() };
            write.commit(rows, entry, |group| group.memberships(id).next().is_some()).await?;
            Ok((Arc::new(user), known.is_none()))
        })
        .await
    }
}

fn shows(filter: &PeopleFilter, user: &User) -> bool {
    filter.shows(user.archived_at.is_some(), [user.name.as_deref(), user.display_name.as_deref()])
}

/// A name belongs to one user, whether it is stored or only the one that the user's id follows from.
fn check_free(people: &Directory, id: UserId, name: &str) -> Result<()> {
    let holder = people.user_called(name).filter(|holder| *holder != id);
    let by_rule = Some(identity::user(name)).filter(|by_rule| *by_rule != id);
    let unnamed = by_rule.filter(|by_rule| people.user(*by_rule).is_some_and(|user| user.name.is_none()));
    holder.or(unnamed).map_or(Ok(()), |holder| Err(taken("user", name, holder)))
}

fn describe(user: &User) -> Value {
    json!({"name": user.name, "display_name": user.display_name, "archived": user.archived_at.is_some()})
}
