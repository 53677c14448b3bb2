//! Applies the changes of a simulation: all in one transaction with one audit entry, or none.

use std::sync::Arc;

use serde_json::json;

use super::answer::AppliedChanges;
use super::changes::{WantedChanges, below_weights};
use crate::domain::ids::{Owner, ProjectId};
use crate::engine::audit::label;
use crate::engine::group::changes::options::{self, OptionsChange};
use crate::engine::group::changes::projects::{self, DomainAssignment};
use crate::engine::group::changes::record::ChangeRecord;
use crate::engine::group::changes::weights;
use crate::engine::group::transaction::GroupTransaction;
use crate::service::input::terms::WriteTerms;
use crate::service::{Caller, Result, Service};

/// The action in the audit log.
pub const ACTION: &str = "configuration.apply";

/// Applies the changes, if the configuration is the one that the terms name.
pub async fn apply(
    service: Arc<Service>,
    caller: Caller,
    group: String,
    changes: WantedChanges,
    terms: WriteTerms,
) -> Result<AppliedChanges> {
    let moved: Vec<ProjectId> = changes.projects.iter().map(|(project, _)| *project).collect();
    let change = async move |session: &mut GroupTransaction| {
        session.require_revision(terms.if_revision.as_deref()).await?;
        make_changes(session, &changes, terms.reason).await
    };
    let (audit_id, visible) = Arc::clone(&service).change_and_see(caller, group.clone(), change).await?;
    projects::show_elsewhere(&service.engine, &group, &moved).await;
    Ok(AppliedChanges { audit_id, config_revision: visible.config_revision.to_string() })
}

/// Returns the audit entry; `None` if nothing has changed.
async fn make_changes(
    session: &mut GroupTransaction,
    changes: &WantedChanges,
    reason: Option<String>,
) -> Result<Option<i64>> {
    let mut record = ChangeRecord::default();
    changes.check_projects(session.state(), &session.people())?;
    let domain_assignments =
        changes.projects.iter().map(|(id, domain)| (*id, DomainAssignment::pinned(domain))).collect();
    for (id, before, after) in projects::move_projects(session, domain_assignments).await? {
        record.note("projects", &label(&Owner::Project(id)), json!(before), json!(after));
    }
    let planned = weights::plan_in(session.state(), &session.people(), &changes.weights).map_err(below_weights)?;
    let planned: Vec<_> = planned.into_iter().filter(|change| change.from != change.to).collect();
    weights::set_weights(session, &planned)?;
    for change in planned {
        record.note("weights", &label(&change.target), json!(change.from), json!(change.to));
    }
    if changes.sets_options() {
        let group = session.state().group.clone();
        let source = session.slot_name_source();
        let change = OptionsChange::plan(&source, &group.scheduler, &group.scheduler_opts, changes.options.clone())?;
        if !change.is_of(session.state()) {
            record.note_options(
                &options::describe(&group.scheduler, &group.scheduler_opts),
                &options::describe(&change.scheduler, &change.opts),
            );
            change.make(session).await?;
        }
    }
    record.write(session, ACTION, reason).await
}
