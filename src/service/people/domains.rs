//! Domains: they can be created before their first kernel, get a display name, and be archived.

use std::sync::Arc;

use serde_json::{Value, json};

use super::Domain;
use super::change::{KeyUpdate, PeopleWrite, PersonRow, all_good, archive, check_display_name};
use super::list::PeopleList;
use crate::engine::group::snapshots::rows::RankedRows;
use crate::engine::work::run_to_completion;
use crate::service::input::page::{CursorKey, Page};
use crate::service::{Caller, Error, Fault, Result, Service};
use crate::store::people::PeopleRows;

/// The changes that an admin requests for a domain; absent keys stay as they are.
#[derive(Clone, Debug, Default)]
pub struct DomainChange {
    pub display_name: KeyUpdate<String>,
    pub archived: Option<bool>,
    pub reason: Option<String>,
}

impl Service {
    /// The name of the list of domains in page cursors.
    pub const DOMAIN_LIST: &'static str = "domains";

    /// The domains by name.
    pub fn domains(&self, caller: &Caller, list: &PeopleList) -> Result<Page<Arc<Domain>>> {
        caller.require_reader()?;
        caller.require_all_groups()?;
        let people = self.people();
        let shows = |domain: &Domain| {
            list.filter.shows(domain.archived_at.is_some(), [Some(&*domain.name), domain.display_name.as_deref()])
        };
        let rows = people.domains().filter(|domain| shows(domain)).cloned().collect();
        Ok(list.page(Self::DOMAIN_LIST, rows, |domain| vec![CursorKey::Text(domain.name.to_string())]))
    }

    /// The domain; `None` if it is unknown.
    pub fn known_domain(&self, caller: &Caller, name: &str) -> Result<Option<Arc<Domain>>> {
        caller.require_reader()?;
        caller.require_all_groups()?;
        Ok(self.people().domain(name).cloned())
    }

    /// Creates or changes a domain. Returns it, and true if it is new.
    #[tracing::instrument(name = "service.people.domains.put_domain", level = "debug", skip_all, err(level = "debug"))]
    pub async fn put_domain(
        self: &Arc<Self>,
        caller: Caller,
        name: String,
        change: DomainChange,
    ) -> Result<(Arc<Domain>, bool)> {
        caller.require_admin()?;
        caller.require_all_groups()?;
        {
            let people = self.people();
            people.check_domain_name(&name).map_err(|e| Error::invalid_name("/name", e))?;
            let stored = people.domain(&name).and_then(|domain| domain.display_name.as_ref());
            let mut faults: Vec<Fault> = Vec::new();
            check_display_name(&change.display_name, stored, &mut faults);
            all_good(faults)?;
        }
        let service = Arc::clone(self);
        run_to_completion(async move {
            let write = PeopleWrite::begin(&service, &caller).await?;
            let known = write.read(|people| people.domain(&name).cloned());
            let fresh = || Domain::new(Arc::from(name.as_str()), write.now);
            let mut domain = known.as_deref().cloned().unwrap_or_else(fresh);
            change.display_name.apply(&mut domain.display_name);
            archive(&mut domain.archived_at, change.archived, write.now);
            write.put(known, domain, PeopleRows::default(), change.reason).await
        })
        .await
    }
}

impl PersonRow for Domain {
    const ACTION: &'static str = "domain.put";

    fn target(&self) -> String {
        self.name.to_string()
    }

    fn describe(&self) -> Value {
        json!({"display_name": self.display_name, "archived": self.archived_at.is_some()})
    }

    fn is_shown(&self, rows: &RankedRows) -> bool {
        rows.domain(&self.name).is_some()
    }

    fn add_to(self, people: &mut PeopleRows) {
        people.domains.push(self);
    }
}
