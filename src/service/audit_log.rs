//! The audit log as admins read it: the author, time, content and reason of each change.

use std::collections::BTreeMap;

use super::input::moment;
use super::input::page::{Page, PageWindow, id_page, id_window};
use super::visible_group::VisibleGroup;
use super::{Caller, Error, Result, Service};
use crate::domain::ids::{Member, Owner};
use crate::domain::time::Day;
use crate::engine::audit::{INFERRED_END_ACTION, INGEST_ACTION, label};
use crate::engine::people::{PeopleDirectory, lookup};
use crate::store::audit_targets::TargetNames;
use crate::store::{audit, audit_targets};

pub use crate::store::audit::{AuditFilter, StoredEntry as AuditEntry};
pub use crate::store::audit_targets::ChangeAuthor;

/// The filter of entries, as requests contain it.
#[derive(Clone, Debug, Default)]
pub struct AuditQuery {
    pub resource_group: Option<String>,
    pub action: Option<String>,
    pub actor: Option<String>,
    pub target: Option<String>,
    /// An instant or a day.
    pub from: Option<String>,
    /// An instant, or a day, which is included.
    pub to: Option<String>,
}

impl AuditQuery {
    pub fn read(self, people: &PeopleDirectory) -> Result<AuditFilter> {
        let Self { resource_group, action, actor, target, from, to } = self;
        let includes_day = to.as_deref().is_some_and(|text| text.parse::<Day>().is_ok());
        let from = from.map(|text| moment::parse_beginning("/from", &text)).transpose()?;
        let until = to.map(|text| moment::end("/to", &text)).transpose()?;
        let is_before = |(from, until)| until < from || (includes_day && until == from);
        if from.zip(until).is_some_and(is_before) {
            return Err(Error::about("/to", "contradiction", "lies before `from`"));
        }
        let target = target.map(|text| targets(&text, people));
        Ok(AuditFilter { resource_group, action, actor, target, from, until, groups: None })
    }
}

/// The targets that a text stands for. `user:` and `project:` also take names, and a user without a project stands for
/// all of the user's projects.
fn targets(text: &str, people: &PeopleDirectory) -> TargetNames {
    let named = |names: Vec<String>| TargetNames { names, prefix: None };
    if let Some(name) = text.strip_prefix("project:")
        && let Ok(id) = lookup::project_of_text(people, name, "/target")
    {
        return named(vec![text.to_owned(), label(&Owner::Project(id)), id.to_string()]);
    }
    let Some(rest) = text.strip_prefix("user:") else { return named(vec![text.to_owned()]) };
    let of_user = |name: &str| lookup::user_of_text(people, name, "/target").ok();
    if let Some((name, project)) = rest.split_once('/')
        && let Some(user) = of_user(name)
        && let Ok(project) = lookup::project_of_text(people, project, "/target")
    {
        return named(vec![text.to_owned(), label(&Owner::User(Member { user, project }))]);
    }
    match of_user(rest) {
        Some(user) => {
            TargetNames { names: vec![text.to_owned(), user.to_string()], prefix: Some(format!("user:{user}/")) }
        }
        None => named(vec![text.to_owned()]),
    }
}

impl Service {
    /// The name of the audit log in page cursors.
    pub const AUDIT_LIST: &'static str = "audit-log";

    /// Entries by their ids. Missing ones are left out.
    #[tracing::instrument(name = "service.audit_log.audit_entries", level = "debug", skip_all, err(level = "debug"))]
    pub async fn audit_entries(&self, caller: &Caller, ids: impl IntoIterator<Item = i64>) -> Result<Vec<AuditEntry>> {
        caller.require_admin()?;
        Ok(audit::by_ids(&self.reads_for(caller.client()), caller.principal.groups.as_deref(), ids).await?)
    }

    /// Removes counts of ingests, and inferred ends, that are older than the given number of days. Returns the number
    /// of entries.
    #[tracing::instrument(
        name = "service.audit_log.purge_ingest_audit",
        level = "debug",
        skip_all,
        err(level = "debug")
    )]
    pub async fn purge_ingest_audit(&self, keep_days: u32) -> Result<u64> {
        let before = self.clock().now().day().back(keep_days).start();
        Ok(audit::purge(self.store().write(), &[INGEST_ACTION, INFERRED_END_ACTION], before).await?)
    }

    /// The authors of the last changes of weights, options, projects and queues of the group, by their names in the
    /// audit log (`label`, `option_label` and `queue_label` of [`crate::engine::audit`]), as far as the audit log has them.
    pub(in crate::service) async fn last_changes(
        &self,
        group: &VisibleGroup,
        targets: &[String],
    ) -> Result<BTreeMap<String, ChangeAuthor>> {
        let db = self.reads_for(group.access().client());
        Ok(audit_targets::last(&db, &group.name, targets).await?)
    }

    /// The entries, newest first. A key that is limited to groups sees the entries of those groups.
    #[tracing::instrument(name = "service.audit_log.audit_log", level = "debug", skip_all, err(level = "debug"))]
    pub async fn audit_log(
        &self,
        caller: &Caller,
        filter: &AuditFilter,
        window: &PageWindow,
    ) -> Result<Page<AuditEntry>> {
        caller.require_admin()?;
        if let Some(group) = &filter.resource_group {
            caller.require_group(group)?;
        }
        let filter = AuditFilter { groups: caller.principal.groups.clone(), ..filter.clone() };
        let found = audit::page(&self.reads_for(caller.client()), &filter, &id_window(window)?).await?;
        Ok(id_page(Self::AUDIT_LIST, found, |e| e.id, window))
    }
}
