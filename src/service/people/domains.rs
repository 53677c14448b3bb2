//! Domains: created ahead of their first kernel, given a display name, archived.

use std::sync::Arc;

use serde_json::{Value, json};

use super::Domain;
use super::change::{Entry, Set, Write, all_good, archive, check_display_name};
use super::list::PeopleList;
use crate::domain::names::check_name;
use crate::service::input::page::{Key, Page};
use crate::service::work::detached;
use crate::service::{Caller, Error, Fault, Result, Service};
use crate::store::people::People;

/// What an admin wants of a domain; keys that are left out stay as they are.
#[derive(Clone, Debug, Default)]
pub struct DomainChange {
    pub display_name: Set<String>,
    pub archived: Option<bool>,
    pub reason: Option<String>,
}

impl Service {
    /// The name in cursors of the domains.
    pub const DOMAIN_LIST: &'static str = "domains";

    /// By name.
    pub fn domains(&self, caller: &Caller, list: &PeopleList) -> Result<Page<Arc<Domain>>> {
        caller.require_reader()?;
        caller.require_all_groups()?;
        let people = self.people();
        let shows = |domain: &Domain| {
            list.filter.shows(domain.archived_at.is_some(), [Some(&*domain.name), domain.display_name.as_deref()])
        };
        let rows = people.domains().filter(|domain| shows(domain)).cloned().collect();
        Ok(list.page(Self::DOMAIN_LIST, rows, |domain| vec![Key::Text(domain.name.to_string())]))
    }

    /// `None`: nobody knows the domain.
    pub fn known_domain(&self, caller: &Caller, name: &str) -> Result<Option<Arc<Domain>>> {
        caller.require_reader()?;
        caller.require_all_groups()?;
        Ok(self.people().domain(name).cloned())
    }

    /// Creates or changes a domain. Returns it and whether it is new.
    pub async fn put_domain(
        self: &Arc<Self>,
        caller: Caller,
        name: String,
        change: DomainChange,
    ) -> Result<(Arc<Domain>, bool)> {
        caller.require_admin()?;
        caller.require_all_groups()?;
        check_name(&name).map_err(|e| Error::invalid_name("/name", e))?;
        let mut faults: Vec<Fault> = Vec::new();
        check_display_name(&change.display_name, &mut faults);
        all_good(faults)?;
        let service = Arc::clone(self);
        detached(async move {
            let write = Write::begin(&service, &caller).await?;
            let known = write.read(|people| people.domain(&name).cloned());
            let fresh = || Domain::new(Arc::from(name.as_str()), write.now);
            let mut domain = known.as_deref().cloned().unwrap_or_else(fresh);
            change.display_name.apply(&mut domain.display_name);
            archive(&mut domain.archived_at, change.archived, write.now);
            if let Some(known) = known.as_ref().filter(|known| ***known == domain) {
                return Ok((Arc::clone(known), false));
            }
            let entry = Entry {
                action: "domain.put",
                target: name.clone(),
                before: known.as_deref().map(describe),
                after: describe(&domain),
                reason: change.reason,
            };
            let rows = People { domains: vec![domain.clone()], ..People::default() };
            write.commit(rows, entry, |group| group.domain(&name).is_some()).await?;
            Ok((Arc::new(domain), known.is_none()))
        })
        .await
    }
}

fn describe(domain: &Domain) -> Value {
    json!({"display_name": domain.display_name, "archived": domain.archived_at.is_some()})
}
